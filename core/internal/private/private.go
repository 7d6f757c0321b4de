// Package private opens folders and files that no other account can change: caches and the
// configuration. It owns the rules of ownership and mode. It knows no contents.
//
// A Dir is a handle. Names below it never lead out of the folder, so a symbolic link of another
// account reaches none of the user's files. Files are regular ones, so no call waits for a FIFO.
package private

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"deeplake/core/errs"
)

// Dir is a folder that this account alone changes. All methods may be called in parallel. Names
// have slashes and are relative to it.
type Dir struct {
	path string

	mu     sync.Mutex
	root   *os.Root
	shared bool // others can add files, as in /tmp
}

// Open opens a folder, which it makes with mode 0700 if there is none.
//
// It refuses a folder of another account, and one that other accounts can write. A folder with the
// sticky bit, as /tmp, passes: others can add to it, and change nothing. The methods check the
// owner of each folder and file in it.
func Open(dir string) (*Dir, error) {
	d := &Dir{path: dir}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Dir) open() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	// Stat of the handle, not of the path: another folder may have the path by now.
	info, err := root.Stat(".")
	if err == nil {
		err = check(d.path, info)
	}
	if err != nil {
		return errors.Join(err, root.Close())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root, d.shared = root, info.Mode()&writable != 0
	return nil
}

// Root returns the handle.
func (d *Dir) Root() *os.Root {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.root
}

// Folder makes a folder in it, unless there is one. If the folder of the Dir itself was removed, it
// makes that again.
func (d *Dir) Folder(name string) error {
	err := d.folder(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.open(); err == nil {
			err = d.folder(name)
		}
	}
	return err
}

func (d *Dir) folder(name string) error {
	root := d.Root()
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.checked(root, name)
}

// checked refuses a folder that another account has made.
func (d *Dir) checked(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errs.Op("open folder", filepath.Join(d.path, name)).New(errs.Invalid, "got %s, want a folder", kindOf(info))
	}
	return check(filepath.Join(d.path, name), info)
}

// Usable refuses the folder of a name if another account has made it.
func (d *Dir) Usable(name string) error {
	d.mu.Lock()
	root, shared := d.root, d.shared
	d.mu.Unlock()
	if folder := path.Dir(name); shared && folder != "." {
		return d.checked(root, folder)
	}
	return nil
}

// File opens a regular file of this account, with the flags of os.OpenFile. It never waits.
func (d *Dir) File(name string, flag int) (*os.File, error) {
	if err := d.Usable(name); err != nil {
		return nil, err
	}
	f, err := d.Root().OpenFile(name, flag|nonblock, 0o600)
	if err != nil {
		return nil, err
	}
	return regular(f, filepath.Join(d.path, name), false)
}

// Remove removes a file.
func (d *Dir) Remove(name string) error {
	if err := d.Usable(name); err != nil {
		return err
	}
	return d.Root().Remove(name)
}

// Touch notes that a file was used now. Without the note, it is removed earlier than it might.
func (d *Dir) Touch(name string, now time.Time) { _ = d.Root().Chtimes(name, now, now) }

// Has reports whether there is something of a name.
func (d *Dir) Has(name string) bool {
	_, err := d.Root().Lstat(name)
	return err == nil
}

// Folders returns the names of the folders in it, in any order.
func (d *Dir) Folders() (names []string, err error) {
	entries, err := d.entries(".")
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Files returns the regular files of a folder, in any order.
func (d *Dir) Files(folder string) (files []fs.FileInfo, err error) {
	if err := d.Usable(folder + "/x"); err != nil {
		return nil, err
	}
	entries, err := d.entries(folder)
	if err != nil {
		return nil, err
	}
	root := d.Root()
	for _, e := range entries {
		if info, err := root.Lstat(path.Join(folder, e.Name())); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	return files, nil
}

func (d *Dir) entries(folder string) (entries []fs.DirEntry, err error) {
	f, err := d.Root().OpenFile(folder, os.O_RDONLY|directory, 0) // OpenRoot would wait for a FIFO
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.ReadDir(-1)
}

// Check refuses a folder that another account owns or can write. A folder that is not there passes.
func Check(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return check(dir, info)
}

// ReadFile returns a file of at most most bytes. It refuses one that another account owns or can
// write, and all but regular files.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if f, err = regular(f, name, true); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = errs.New(errs.Invalid, "got more than %d bytes", most)
	}
	return data, errors.Join(err, f.Close())
}

// regular closes all but regular files of this account. exclusive refuses files that other accounts
// can write, too.
func regular(f *os.File, name string, exclusive bool) (*os.File, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errs.Op("open", name).New(errs.Invalid, "got %s, want a regular file", kindOf(info))
	case exclusive:
		err = check(name, info)
	default:
		err = owned(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// kindOf names the kind of a file that is not regular.
func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}
