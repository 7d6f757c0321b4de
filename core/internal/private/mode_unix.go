//go:build unix

package private

import (
	"io/fs"
	"os"
	"syscall"

	"deeplake/core/errs"
)

const (
	nonblock  = syscall.O_NONBLOCK // the open of a FIFO returns at once
	directory = syscall.O_DIRECTORY | nonblock
	writable  = 0o022
)

// owned refuses what belongs to another account than this one and root.
func owned(name string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 || int(st.Uid) == os.Geteuid() {
		return nil
	}
	return errs.Op("open", name).New(errs.Invalid,
		"belongs to account %d, want %d or root; name a folder of your own, or one within it that is made for you", st.Uid, os.Geteuid())
}

// check refuses what another account owns or can write.
//
// The group of a user who is alone in it may write: where each user has a group, the usual mode of
// new folders is 0775. As pam_umask, this takes a group of the user's number for one.
func check(name string, info fs.FileInfo) error {
	if err := owned(name, info); err != nil {
		return err
	}
	mode := info.Mode()
	if info.IsDir() && mode&fs.ModeSticky != 0 {
		return nil
	}
	others := mode & writable
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && st.Gid == st.Uid {
		others &^= 0o020
	}
	if others == 0 {
		return nil
	}
	return errs.Op("open", name).New(errs.Invalid,
		"other accounts can write it (mode %04o); run chmod go-w on it, or name a folder within it that is made for you", mode.Perm())
}
