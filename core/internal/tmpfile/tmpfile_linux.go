package tmpfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// anonymous makes a file without a name; nil without an error: there are none here.
func anonymous(dir string) (*File, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EINTR):
		return nil, nil
	case err != nil:
		return nil, &os.PathError{Op: "create a file in", Path: dir, Err: err}
	}
	f := &File{os.NewFile(uintptr(fd), dir), ""}
	if _, err := os.Lstat(f.door()); err != nil { // without /proc it could never get a name
		return nil, f.File.Close()
	}
	return f, nil
}

// door returns a path by which the file can be reached.
func (f *File) door() string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func (f *File) linkAnonymous(path string) error {
	if err := unix.Linkat(unix.AT_FDCWD, f.door(), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: "a new file", New: path, Err: err}
	}
	return nil
}
