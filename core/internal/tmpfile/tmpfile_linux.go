package tmpfile

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// anonymous makes a file without a name; nil without an error: there are none here.
func anonymous(root *os.Root, folder string) (*File, error) {
	made, err := root.OpenFile(folder, unix.O_TMPFILE|os.O_RDWR, 0o600)
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EINTR):
		return nil, nil
	case err != nil:
		return nil, err
	}
	f := &File{made, root, ""}
	if _, err := os.Lstat(f.door()); err != nil { // without /proc it could never get a name
		return nil, f.File.Close()
	}
	return f, nil
}

// door returns a path that leads to the file.
func (f *File) door() string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func (f *File) linkAnonymous(name string) (err error) {
	// With O_DIRECTORY, the call waits for no FIFO.
	dir, err := f.root.OpenFile(path.Dir(name), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := unix.Linkat(unix.AT_FDCWD, f.door(), int(dir.Fd()), path.Base(name), unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: "a new file", New: name, Err: err}
	}
	return nil
}
