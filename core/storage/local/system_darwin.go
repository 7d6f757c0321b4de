package local

import "golang.org/x/sys/unix"

// syncFile flushes the drive's own cache too, which fsync on macOS does not; file systems that
// cannot get an fsync.
func syncFile(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); !anyOf(err, unix.ENOTSUP, unix.EINVAL, unix.ENOTTY) {
		return err
	}
	return unix.Fsync(fd)
}

func syncDescriptor(fd int) error { return syncFile(fd) }

// renameExclusive renames unless the new name exists (unix.EEXIST).
func renameExclusive(from, to string) error {
	return unix.RenamexNp(from, to, unix.RENAME_EXCL)
}

// beginWriteback does nothing: macOS has no call for it.
func beginWriteback(int, int64, int64) {}
