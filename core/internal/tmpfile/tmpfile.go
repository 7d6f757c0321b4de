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
	"os"
)

// File is a new file, open for reading and writing. Close drops it, unless it got a name. One
// goroutine at a time.
type File struct {
	*os.File
	temp string // its name until then; "": it has none
}

// New makes a file on the file system of dir, which must exist. The pattern, as of os.CreateTemp,
// is for systems where it needs a name.
func New(dir, pattern string) (*File, error) {
	if f, err := anonymous(dir); f != nil || err != nil {
		return f, err
	}
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	return &File{f, f.Name()}, nil
}

// Link gives the file a name on its file system. A name in use fails with fs.ErrExist and keeps its
// file. On a file system without hard links, a name that another process takes at the same moment
// is overwritten.
func (f *File) Link(path string) error {
	if f.temp == "" {
		return f.linkAnonymous(path)
	}
	err := os.Link(f.temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, there := os.Lstat(path); there == nil {
		return &os.LinkError{Op: "link", Old: f.temp, New: path, Err: fs.ErrExist}
	}
	return os.Rename(f.temp, path)
}

// Replace gives the file a name that another file may have, which loses it.
func (f *File) Replace(path string) error {
	if f.temp != "" {
		return os.Rename(f.temp, path)
	}
	for range 8 { // another process may take each name first
		err := f.Link(path)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fmt.Errorf("replace %q: others replace it all the time", path)
}

// Close closes the file, and ends it where it has no name.
func (f *File) Close() error {
	if f.temp != "" {
		_ = os.Remove(f.temp) // a name that stays behind is for the owner's sweep
	}
	return f.File.Close()
}
