//go:build linux || darwin

package local

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// dirs remembers which directories were written to since their last fsync. Directories are named by
// their key part, "" being the root.
type dirs struct {
	mu    sync.Mutex
	known map[string]bool // exist, and their parents were marked since
	dirty map[string]bool
	above []string // absolute: directories above the root in which Open made an entry

	// flushing is held by one flush after the other: the second must not return before what the
	// first took is durable.
	flushing sync.Mutex
}

func (d *dirs) init() {
	d.known = map[string]bool{"": true}
	d.dirty = make(map[string]bool)
}

// makeRoot makes the root and its missing parents. Other processes may do the same at the same
// time.
func (p *Provider) makeRoot() error {
	var missing []string
	for dir := p.root; ; dir = filepath.Dir(dir) {
		missing = append(missing, dir)
		if _, err := p.stat(filepath.Dir(dir)); !errors.Is(err, unix.ENOENT) || dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range slices.Backward(missing) {
		if err := unix.Mkdir(dir, 0o777); err != nil && err != unix.EEXIST {
			return err
		}
		p.dirs.above = append(p.dirs.above, filepath.Dir(dir))
	}
	return nil
}

// ensureDir makes the directory of a key part and its parents up to the root, which must exist. A
// directory that is used for the first time marks its parents dirty: another process that made it
// may not have synchronised them.
func (p *Provider) ensureDir(dir string) error {
	d := &p.dirs
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[dir] {
		return nil
	}
	for end := 0; end < len(dir); {
		parent := dir[:max(0, end-1)]
		if i := strings.IndexByte(dir[end:], '/'); i >= 0 {
			end += i + 1
		} else {
			end = len(dir) + 1
		}
		part := dir[:end-1]
		if d.known[part] {
			continue
		}
		if err := unix.Mkdir(p.path(part), 0o777); err != nil && err != unix.EEXIST {
			return err
		}
		d.dirty[parent] = true
		d.known[part] = true
	}
	return nil
}

// forget says that the directory, or one above it, may not exist any more.
func (d *dirs) forget(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; dir != ""; dir = parentOf(dir) {
		delete(d.known, dir)
	}
}

// mark says that an entry of the directory changed. It must follow the change, or a flush between
// would miss it.
func (d *dirs) mark(dir string) {
	d.mu.Lock()
	d.dirty[dir] = true
	d.mu.Unlock()
}

// unsafe reports whether an entry of the directory changed since its last fsync.
func (d *dirs) unsafe(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dirty[dir]
}

// flushDirs makes durable every name given by calls that returned before. What could not be
// synchronised stays marked.
func (p *Provider) flushDirs() error {
	d := &p.dirs
	d.flushing.Lock()
	defer d.flushing.Unlock()
	d.mu.Lock()
	above, dirty := d.above, d.dirty
	d.above, d.dirty = nil, make(map[string]bool)
	d.mu.Unlock()

	todo := make([]string, 0, len(dirty))
	for dir := range dirty {
		todo = append(todo, dir)
	}
	slices.Sort(todo)
	err := p.syncAll(&above, &todo)
	if err != nil {
		d.mu.Lock()
		d.above = append(d.above, above...)
		for _, dir := range todo {
			d.dirty[dir] = true
		}
		d.mu.Unlock()
	}
	return err
}

// syncAll synchronises directories and takes the finished ones off the lists. A removed directory
// has nothing to save, and one above the root that this process may not open is left to its owner.
func (p *Provider) syncAll(above, below *[]string) error {
	for ; len(*above) > 0; *above = (*above)[1:] {
		if err := p.sys.syncDir((*above)[0]); err != nil && !anyOf(err, unix.ENOENT, unix.EACCES) {
			return err
		}
	}
	for ; len(*below) > 0; *below = (*below)[1:] {
		if err := p.syncDir((*below)[0]); err != nil && err != unix.ENOENT {
			return err
		}
	}
	return nil
}

func (p *Provider) syncDir(dir string) error {
	if dir == "" {
		return p.sys.syncDir(p.root)
	}
	return p.sys.syncDir(p.path(dir))
}

func (p *Provider) stat(path string) (st unix.Stat_t, err error) {
	err = unix.Stat(path, &st)
	return st, err
}

// parentOf is the directory part of a key or of a directory, "" for the root.
func parentOf(key string) string { return key[:max(0, strings.LastIndexByte(key, '/'))] }
