package cache

import "syscall"

// Numbers of file systems in the answer of statfs(2).
const (
	nfsMagic  = 0x6969
	smbMagic  = 0x517b
	cifsMagic = 0xff534d42
	smb2Magic = 0xfe534d42
)

// remote reports whether a lock on an open file is a request to another machine, which may take any
// time.
func remote(fd int) bool {
	var st syscall.Statfs_t
	if syscall.Fstatfs(fd, &st) != nil {
		return true
	}
	switch uint32(st.Type) {
	case nfsMagic, smbMagic, cifsMagic, smb2Magic:
		return true
	}
	return false
}
