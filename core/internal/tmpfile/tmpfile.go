// Package tmpfile owns files that get their name when they are complete. A process that is killed
// while it writes one leaves nothing behind. The package knows neither the content nor the removal
// of named files.
//
// Where the system or the file system lacks such files, they have a temporary name, which a killed
// process does leave.
package tmpfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
)

// File is a new file, open for reading and writing. Close drops it, unless it got a name. One
// goroutine at a time.
type File struct {
	*os.File
	root *os.Root
	temp string // its name until then; "": it has none
}

// New makes a file on the file system of a folder below root, which must exist. The prefix begins
// its temporary name, on systems where it needs one.
func New(root *os.Root, folder, prefix string) (*File, error) {
	if f, err := anonymous(root, folder); f != nil || err != nil {
		return f, err
	}
	return named(root, folder, prefix)
}

func named(root *os.Root, folder, prefix string) (*File, error) {
	for {
		temp := path.Join(folder, fmt.Sprintf("%s%016x", prefix, rand.Uint64()))
		f, err := root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			return &File{f, root, temp}, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

// Link gives the file a name below its root. A name in use fails with fs.ErrExist and keeps its
// file. On a file system without hard links, a name that another process takes at the same moment
// is overwritten.
func (f *File) Link(name string) error {
	if f.temp == "" {
		return f.linkAnonymous(name)
	}
	err := f.root.Link(f.temp, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, there := f.root.Lstat(name); there == nil {
		return &os.LinkError{Op: "link", Old: f.temp, New: name, Err: fs.ErrExist}
	}
	return f.root.Rename(f.temp, name)
}

// Replace gives the file a name that another file may have, which loses it.
func (f *File) Replace(name string) error {
	if f.temp != "" {
		return f.root.Rename(f.temp, name)
	}
	for range 8 { // another process may take each name first
		err := f.Link(name)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("replace %q: others replace it all the time", name)
}

// Close closes the file, and ends it where it has no name.
func (f *File) Close() error {
	if f.temp != "" {
		_ = f.root.Remove(f.temp) // a name that stays behind is for the owner's sweep
	}
	return f.File.Close()
}
