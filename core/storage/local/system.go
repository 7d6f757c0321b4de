//go:build linux || darwin

package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// system holds the calls on which durability and atomicity rest, so that tests can watch their
// order and let them fail.
type system struct {
	syncFile        func(fd int) error
	syncDir         func(path string) error
	link            func(from, to string) error
	renameExclusive func(from, to string) error
	beginWriteback  func(fd int, off, length int64)
}

func realSystem() system {
	return system{
		syncFile:        syncFile,
		syncDir:         syncDirectory,
		link:            unix.Link,
		renameExclusive: renameExclusive,
		beginWriteback:  beginWriteback,
	}
}

// syncDirectory makes the names in the directory at path durable.
func syncDirectory(path string) error {
	var fd int
	err := ignoringEINTR(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return ignoringEINTR(func() error { return syncDescriptor(fd) })
}

// nonblocking opens a pipe without waiting for a writer.
const nonblocking = unix.O_NONBLOCK | unix.O_NOCTTY

// openNonblocking opens a file for reading, without waiting for the other end of a pipe. Reads of
// it block as usual.
func openNonblocking(path string) (*os.File, error) {
	var fd int
	err := ignoringEINTR(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		return err
	})
	if err == nil {
		if err = unix.SetNonblock(fd, false); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
