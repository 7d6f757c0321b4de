package local

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// nestedLinks bounds the links to directories on one path. Without a bound, a few directories with
// several links to each other have a number of paths that is exponential in their number.
const nestedLinks = 8

// sourceWalk is one listing.
type sourceWalk struct {
	s             *Source
	prefix, after string
	names         bool // sizes and tags are not wanted
	fn            func(storage.Entry) bool
}

// walkEntry is a name of a directory, with "/" at its end if it is a directory or a link to one.
type walkEntry struct {
	name string
	link bool
	out  bool // a link that leads out of the source
}

// entries lists a directory in byte order of keys.
func (w *sourceWalk) entries(at string) ([]walkEntry, error) {
	list, err := os.ReadDir(w.s.path(at))
	if err != nil {
		return nil, err
	}
	out := make([]walkEntry, len(list))
	for i, e := range list {
		out[i] = walkEntry{name: e.Name(), link: e.Type()&fs.ModeSymlink != 0}
		dir := e.IsDir()
		if out[i].link {
			st, err := os.Stat(w.s.path(at + e.Name()))
			dir = err == nil && st.IsDir()
			out[i].out = w.s.outside(w.s.path(at + e.Name()))
		}
		if dir {
			out[i].name += "/"
		}
	}
	slices.SortFunc(out, func(a, b walkEntry) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

// dir walks the directory whose names begin with at, behind a number of links to directories. It
// reports whether fn wants more.
func (w *sourceWalk) dir(ctx context.Context, at string, links int) (more bool, err error) {
	entries, err := w.entries(at)
	if err != nil && at == "" {
		return false, errs.Wrap(errs.Storage, "list", w.s.root, err)
	}
	if err != nil {
		return w.leaveOut(at), nil
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return false, errs.Wrap(errs.Canceled, "list", w.s.root, ctx.Err())
		}
		key, behind := at+e.name, links
		if e.out {
			more = w.names || w.leaveOut(key)
		} else if !strings.HasSuffix(key, "/") {
			more = w.file(key, e.link)
		} else if w.unwanted(key) {
			continue
		} else {
			if e.link {
				behind++
			}
			if behind > nestedLinks || behind > 0 && w.contains(key) {
				more = w.leaveOut(key)
			} else {
				more, err = w.dir(ctx, key, behind)
			}
		}
		if err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// unwanted reports whether all names below a directory are outside the prefix or before after.
func (w *sourceWalk) unwanted(key string) bool {
	return !strings.HasPrefix(key, w.prefix) && !strings.HasPrefix(w.prefix, key) || key < w.after && !strings.HasPrefix(w.after, key)
}

// leaveOut lists a directory that is not walked.
func (w *sourceWalk) leaveOut(key string) (more bool) {
	return key <= w.after || !strings.HasPrefix(key, w.prefix) || w.fn(storage.Entry{Key: key, Size: -1})
}

// contains reports whether a directory is one of those on the way to it. Names do not tell, since
// links lead to it, so that the files are compared.
func (w *sourceWalk) contains(key string) bool {
	st, err := os.Stat(w.s.path(key))
	if err != nil {
		return false // reading it returns the reason
	}
	for at := strings.TrimSuffix(key, "/"); at != ""; {
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
		if above, err := os.Stat(w.s.path(at)); err == nil && os.SameFile(st, above) {
			return true
		}
	}
	return false
}

// file lists a file, and reports whether fn wants more.
func (w *sourceWalk) file(key string, link bool) (more bool) {
	if key <= w.after || !strings.HasPrefix(key, w.prefix) {
		return true
	}
	if w.names {
		return w.fn(storage.Entry{Key: key})
	}
	st, err := os.Stat(w.s.path(key))
	switch {
	case errors.Is(err, fs.ErrNotExist) && !link:
		return true // removed meanwhile
	case err != nil || !st.Mode().IsRegular():
		return w.fn(storage.Entry{Key: key, Size: -1})
	}
	return w.fn(storage.Entry{Key: key, Size: st.Size(), Tag: sourceTag(st), Modified: st.ModTime()})
}

// unreadable returns the reason for which a listing names a directory and does not walk it.
func unreadable(path string) error {
	if _, err := os.ReadDir(path); err != nil {
		return errs.Wrap(errs.Storage, "read folder", path, rootCause(err))
	}
	return errs.Op("read folder", path).New(errs.Invalid, "links to it make a cycle, or more than %d links lead to it", nestedLinks)
}
