package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Source is a directory of files that others write. Names are paths below it with "/", in byte
// order. Links to files and directories within it are followed, others if FollowLinks is set. A
// link to a directory that contains the link is listed as unreadable. Unreadable files are listed
// with the size -1, and unreadable directories also with "/" at their end: reading them returns the
// reason. All methods may be called in parallel.
type Source struct {
	root   string   // absolute
	real   string   // root without links
	dir    *os.Root // of real; nil: links may lead anywhere
	closed atomic.Bool
}

var (
	_ storage.Source       = (*Source)(nil)
	_ storage.SourceOpener = OpenSource
)

// OpenSource gives the source of the directory at path. A missing one is errs.NotFound, a file
// errs.Invalid.
func OpenSource(_ context.Context, path string, o storage.Options) (storage.Source, error) {
	const op = "open folder"
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return nil, errs.Op(op, path).New(errs.Invalid, "not a path")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, op, path, err)
	}
	st, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errs.Op(op, root).New(errs.NotFound, "there is no such folder")
	case err != nil:
		return nil, errs.Wrap(errs.Storage, op, root, err)
	case !st.IsDir():
		return nil, errs.Op(op, root).New(errs.Invalid, "it is a file, want a folder")
	}
	s := &Source{root: root}
	if o.FollowLinks {
		return s, nil
	}
	if s.real, err = filepath.EvalSymlinks(root); err == nil {
		s.dir, err = os.OpenRoot(s.real)
	}
	if err != nil {
		return nil, errs.Wrap(errs.Storage, op, root, err)
	}
	return s, nil
}

// within returns the path of a file below the directory without links. ok is false if a link leads
// out of the directory, and if the file does not exist.
func (s *Source) within(path string) (name string, ok bool) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	name, err = filepath.Rel(s.real, target)
	return name, err == nil && filepath.IsLocal(name)
}

// outside reports whether a link at path leads out of the directory, and may not be followed. A
// link to nothing does not count.
func (s *Source) outside(path string) bool {
	if s.dir == nil {
		return false
	}
	_, err := os.Stat(path)
	_, ok := s.within(path)
	return err == nil && !ok
}

// leadsOut is the reason for which a link is not followed.
func leadsOut(path string) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = "another place"
	}
	return errs.Op("read", path).New(errs.Invalid, "a link leads out of the folder, to %q; --follow-links takes such files in", target)
}

// URI is the path with its scheme.
func (s *Source) URI() string { return "file://" + filepath.ToSlash(s.root) }

// Close makes further calls fail.
func (s *Source) Close() error {
	if s.closed.Swap(true) || s.dir == nil {
		return nil
	}
	return s.dir.Close()
}

// Objects lists files below the directory. It holds the names of one directory on each level at a
// time.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	if s.closed.Load() {
		return errs.Op("list", s.root).New(errs.Closed, "the source was closed")
	}
	w := sourceWalk{s: s, prefix: prefix, after: after, fn: fn}
	_, err := w.dir(ctx, "", 0)
	return err
}

// Names lists as Objects does, but names alone: it looks at no file that is not behind a link.
func (s *Source) Names(ctx context.Context, fn func(key string) bool) error {
	if s.closed.Load() {
		return errs.Op("list", s.root).New(errs.Closed, "the source was closed")
	}
	w := sourceWalk{s: s, names: true, fn: func(e storage.Entry) bool { return fn(e.Key) }}
	_, err := w.dir(ctx, "", 0)
	return err
}

func (s *Source) path(key string) string { return filepath.Join(s.root, filepath.FromSlash(key)) }

// sourceTag changes when the file is written: it is made of its time and its size.
func sourceTag(st fs.FileInfo) string {
	return strconv.FormatInt(st.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(st.Size(), 36)
}

// Range reads the present content of a file. A name that leads out of the directory is
// errs.Invalid.
func (s *Source) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if s.closed.Load() {
		return nil, errs.Op("read", key).New(errs.Closed, "the source was closed")
	}
	if ctx.Err() != nil {
		return nil, errs.Wrap(errs.Canceled, "read", key, ctx.Err())
	}
	if !filepath.IsLocal(filepath.FromSlash(key)) {
		return nil, errs.Op("read", key).New(errs.Invalid, "the name leads out of the folder")
	}
	path := s.path(key)
	if s.outside(path) {
		return nil, leadsOut(path)
	}
	if strings.HasSuffix(key, "/") {
		return nil, unreadable(path)
	}
	f, st, err := s.open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errs.Op("read", path).New(errs.NotFound, "there is no such file")
	case err != nil:
		return nil, errs.Wrap(errs.Storage, "read", path, rootCause(err))
	}
	b := &fileBody{f: f, size: st.Size(), tag: sourceTag(st)}
	switch {
	case tag != "" && tag != b.tag:
		err = errs.Op("read", path).New(errs.Conflict, "it has changed (tag %q, want %q)", b.tag, tag)
	case off < 0 || off > b.size || off == b.size && n != 0 && off > 0:
		err = errs.Op("read", path).New(errs.Corrupt, "it has %d bytes, want some from %d on", b.size, off)
	default:
		if b.length = b.size - off; n >= 0 {
			b.length = min(n, b.length)
		}
		b.part = io.NewSectionReader(f, off, b.length)
		return b, nil
	}
	_ = f.Close()
	return nil, err
}

// open opens a regular file. Without FollowLinks, no link leads it out of the directory, not even
// one that is made meanwhile.
func (s *Source) open(path string) (*os.File, fs.FileInfo, error) {
	if s.dir == nil {
		return openRegular(path, openNonblocking)
	}
	return openRegular(path, func(path string) (*os.File, error) {
		name, ok := s.within(path)
		if !ok {
			return nil, leadsOut(path)
		}
		return s.dir.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	})
}

// openRegular opens a regular file. It looks before it opens, because opening a device may do
// something, and again after it, because another file may have taken the name. Neither waits for a
// pipe to be written to.
func openRegular(path string, open func(path string) (*os.File, error)) (*os.File, fs.FileInfo, error) {
	st, err := os.Stat(path)
	if err == nil {
		err = wantRegular(st)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	if st, err = f.Stat(); err == nil {
		err = wantRegular(st)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

func wantRegular(st fs.FileInfo) error {
	switch {
	case st.IsDir():
		return errs.New(errs.Invalid, "it is a directory")
	case !st.Mode().IsRegular():
		return errs.New(errs.Invalid, "not a regular file")
	}
	return nil
}

// rootCause leaves out the path, which the caller names.
func rootCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// fileBody is a part of an open file.
type fileBody struct {
	f      *os.File
	part   *io.SectionReader
	length int64
	done   int64
	size   int64
	tag    string
}

func (b *fileBody) Read(p []byte) (int, error) {
	n, err := b.part.Read(p)
	if b.done += int64(n); err == io.EOF && b.done < b.length {
		err = errs.Op("read", b.f.Name()).New(errs.Storage, "it became shorter while it was read")
	} else if err != nil && err != io.EOF {
		err = errs.Wrap(errs.Storage, "read", b.f.Name(), rootCause(err))
	}
	return n, err
}

func (b *fileBody) Close() error { return b.f.Close() }
func (b *fileBody) Len() int64   { return b.length }
func (b *fileBody) Size() int64  { return b.size }
func (b *fileBody) Tag() string  { return b.tag }
