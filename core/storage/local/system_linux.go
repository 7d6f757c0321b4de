package local

import "golang.org/x/sys/unix"

// syncFile makes content and length durable; times may be lost.
func syncFile(fd int) error { return unix.Fdatasync(fd) }

func syncDescriptor(fd int) error { return unix.Fsync(fd) }

// renameExclusive renames unless the new name exists (unix.EEXIST).
func renameExclusive(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// beginWriteback lets the kernel begin to write a range that was just written. It promises nothing,
// so that its failure means nothing either.
func beginWriteback(fd int, off, length int64) {
	_ = unix.SyncFileRange(fd, off, length, unix.SYNC_FILE_RANGE_WRITE)
}
