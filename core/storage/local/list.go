//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// firstPage is the number of names of a directory that are sorted at first. Most listings look at a
// few names of a large directory and stop; one that goes on reads the directory a second time, then
// all of it.
const firstPage = 256

// ListsWhole says that the first name of a directory costs all of them; storage.WholeLister.
func (p *Provider) ListsWhole() {}

// List reads no directory that lies wholly before after. Objects that appear or vanish meanwhile
// may be listed or not. Files whose names are no keys, temporary files and directories behind
// symbolic links are not objects.
func (p *Provider) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	const op = "list"
	if p.closed.Load() {
		return closedError(op, prefix)
	}
	if err := canceled(ctx, op, prefix); err != nil {
		return err
	}
	if prefix != "" {
		dir, isDir := strings.CutSuffix(prefix, "/")
		if !isDir || storage.CheckKey(dir) != nil {
			return errs.Op("list", prefix).New(errs.Invalid, `prefix must be "" or a key part that ends with "/"`)
		}
	}
	if after > prefix && !strings.HasPrefix(after, prefix) {
		return nil // every key of the prefix is smaller
	}
	_, err := p.walk(ctx, prefix, after, fn)
	return err
}

// walk lists the directory whose keys begin with prefix, and says whether fn wants more.
func (p *Provider) walk(ctx context.Context, prefix, after string, fn func(storage.Object) bool) (more bool, err error) {
	dir, err := os.Open(p.root + "/" + prefix)
	if err != nil {
		if anyOf(err, unix.ENOENT, unix.ENOTDIR) {
			return true, nil
		}
		return false, p.readError("list", prefix, err)
	}
	defer dir.Close()
	bound := entryBound{after: strings.TrimPrefix(after, prefix), room: storage.MaxKeyBytes - len(prefix)}
	if !strings.HasPrefix(after, prefix) {
		bound.after = ""
	}
	for limit := firstPage; ; limit = 0 {
		names, complete, err := readNames(dir, bound, limit)
		if err != nil {
			return false, p.readError("list", prefix, err)
		}
		for _, name := range names {
			if err := canceled(ctx, "list", prefix); err != nil {
				return false, err
			}
			more, err := p.visit(ctx, dir, prefix, name, after, fn)
			if err != nil || !more {
				return false, err
			}
		}
		if complete {
			return true, nil
		}
		bound.last = names[len(names)-1]
	}
}

// visit hands one entry to fn, or walks it where it is a directory.
func (p *Provider) visit(ctx context.Context, dir *os.File, prefix, name, after string, fn func(storage.Object) bool) (more bool, err error) {
	key := prefix + name
	if strings.HasSuffix(name, "/") {
		return p.walk(ctx, key, after, fn)
	}
	var st unix.Stat_t
	err = ignoringEINTR(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, 0) })
	if anyOf(err, unix.ENOENT, unix.ELOOP) || (err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG) {
		return true, nil
	}
	if err != nil {
		return false, p.readError("list", key, err)
	}
	return fn(storage.Object{Key: key, Size: st.Size, Modified: modified(&st)}), nil
}

// entryBound says which entries of a directory are wanted. Names of directories carry a "/", so
// that the order of names is the order of keys ("a.b" < "a/b" < "a0").
type entryBound struct {
	// in the directory; entries up to it are not wanted, but the directory it lies in is
	after string
	last  string // entries up to it were seen
	room  int    // bytes that a key has left
}

func (b entryBound) wants(name string) bool {
	if len(name) > b.room || (b.last != "" && name <= b.last) {
		return false
	}
	return name > b.after || (strings.HasSuffix(name, "/") && strings.HasPrefix(b.after, name))
}

// readNames returns the wanted entries in order: all of them, or the first limit ones where limit
// is not 0; complete says that these are all.
func readNames(dir *os.File, bound entryBound, limit int) (names []string, complete bool, err error) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	complete = true
	for {
		entries, err := dir.ReadDir(1024)
		for _, e := range entries {
			name, ok := entryName(e)
			if !ok || !bound.wants(name) || (!complete && name > names[limit-1]) {
				continue
			}
			names = append(names, name)
		}
		if limit > 0 && len(names) > limit {
			slices.Sort(names)
			names, complete = names[:limit], false
		}
		if err == io.EOF || errors.Is(err, unix.ENOENT) { // the latter: removed since it was opened
			slices.Sort(names)
			return names, complete, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
}

// entryName is the entry's name as a part of a key, with "/" where it is a directory.
func entryName(e fs.DirEntry) (string, bool) {
	name := e.Name()
	if strings.HasPrefix(name, tempPrefix) && !e.IsDir() {
		return "", false
	}
	if storage.CheckKey(name) != nil {
		return "", false
	}
	switch {
	case e.IsDir():
		return name + "/", true
	case e.Type() == 0, e.Type() == fs.ModeSymlink:
		return name, true
	}
	return "", false
}
