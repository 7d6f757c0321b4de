//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Provider keeps objects as files below one directory. All methods may be called in parallel, by
// several processes too. A descriptor of an object that was read stays open for a while (see
// files): an object that another process deletes may stay readable, and keep its disk space, until
// Close.
type Provider struct {
	root   string // absolute, without a trailing "/"
	closed atomic.Bool
	files  *files
	dirs   dirs
	sys    system
	mapped *mappings
}

// mappings counts the bytes that a provider has mapped: half of the machine's memory at most. Pages
// beyond that would be read by touching them, a few at a time, which takes longer than a request.
type mappings struct{ files, bytes atomic.Int64 }

var (
	_ storage.Provider = (*Provider)(nil)
	_ storage.Streamer = (*Provider)(nil)
	_ storage.Located  = (*Provider)(nil)
	_ storage.Opener   = Open
)

// Open gives the provider of the directory at path, relative paths being taken from the working
// directory. With o.Create the directory and its parents are made where they are missing; without,
// a missing one is errs.NotFound. So is a path that is not a directory, and with o.Create it is
// errs.Invalid.
func Open(ctx context.Context, path string, o storage.Options) (storage.Provider, error) {
	const op = "open directory"
	if err := canceled(ctx, op, path); err != nil {
		return nil, err
	}
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return nil, errs.Op(op, path).New(errs.Invalid, "not a path")
	}
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, op, path, err)
	}
	p := &Provider{root: root, files: newFiles(descriptorLimit()), sys: realSystem(), mapped: &mappings{}}
	p.dirs.init()
	st, err := os.Stat(root)
	if o.Create && errors.Is(err, unix.ENOENT) {
		if err := p.makeRoot(); err != nil {
			return nil, p.writeError(op, path, err)
		}
		st, err = os.Stat(root)
	}
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, errs.Op(op, root).New(errs.NotFound, "no such directory")
	case errors.Is(err, unix.ENOTDIR), err == nil && !st.IsDir():
		kind := errs.NotFound
		if o.Create {
			kind = errs.Invalid
		}
		return nil, errs.Op(op, root).New(kind, "not a directory")
	case err != nil:
		return nil, p.readError(op, path, err)
	}
	return p, nil
}

// descriptorLimit is the number of descriptors that may stay open: a quarter of the limit of the
// process, whose rest is the host's.
func descriptorLimit() int {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 64
	}
	return int(max(1, min(1024, uint64(lim.Cur)/4)))
}

// Get returns the present content of an object, past the descriptors that ReadAt keeps.
func (p *Provider) Get(ctx context.Context, key string) ([]byte, error) {
	const op = "get"
	if err := p.admit(ctx, op, key); err != nil {
		return nil, err
	}
	fd, err := p.openRead(key)
	if err != nil {
		return nil, p.readError(op, key, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, p.readError(op, key, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, p.readError(op, key, unix.EISDIR)
	}
	if st.Size > MaxWholeBytes {
		return nil, errs.Op("get", key).New(errs.Corrupt, "file below %q has %d bytes, want at most %d", p.root, st.Size, MaxWholeBytes)
	}
	data := make([]byte, st.Size)
	if err := p.fill(op, key, fd, data, 0); err != nil {
		return nil, err
	}
	return data, nil
}

// ReadAt fills dst from a descriptor that stays open for the next call: a warm call is one pread
// and no allocation.
func (p *Provider) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	const op = "read"
	if err := canceled(ctx, op, key); err != nil {
		return err
	}
	f := p.files.acquire(key)
	if f == nil {
		var err error
		if f, err = p.openCached(ctx, key); err != nil {
			return err
		}
	}
	err := p.fill(op, key, f.fd, dst, off)
	f.release()
	return err
}

// openCached opens the object and leaves its descriptor with the cache. The key is checked here,
// once per descriptor.
func (p *Provider) openCached(ctx context.Context, key string) (*file, error) {
	const op = "read"
	if err := p.admit(ctx, op, key); err != nil {
		return nil, err
	}
	gen := p.files.generation(key)
	fd, err := p.openRead(key)
	if err != nil {
		return nil, p.readError(op, key, err)
	}
	f, ok := p.files.insert(key, fd, gen)
	if !ok {
		return nil, closedError(op, key)
	}
	return f, nil
}

// fill reads exactly dst. A file that ends before is errs.Corrupt.
func (p *Provider) fill(op, key string, fd int, dst []byte, off int64) error {
	if off < 0 {
		return errs.Op(op, key).New(errs.Invalid, "offset %d is negative", off)
	}
	if off > math.MaxInt64-int64(len(dst)) {
		return truncated(op, key, p.root, 0, off, len(dst))
	}
	for done := 0; done < len(dst); {
		n, err := unix.Pread(fd, dst[done:], off+int64(done))
		switch {
		case n > 0:
			done += n
		case err == unix.EINTR:
		case err != nil:
			return p.readError(op, key, err)
		default:
			return truncated(op, key, p.root, done, off, len(dst))
		}
	}
	return nil
}

func truncated(op, key, root string, got int, off int64, want int) error {
	return errs.Op(op, key).New(errs.Corrupt, "object below %q is truncated (got %d bytes at offset %d, want %d)", root, got, off, want)
}

// openRead opens the file of key. Too many open files are first answered by giving up the idle
// ones. O_NONBLOCK keeps a named pipe in the directory from hanging the reader; for files it means
// nothing.
func (p *Provider) openRead(key string) (int, error) {
	return p.open(p.path(key), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK)
}

func (p *Provider) open(path string, flags int) (int, error) {
	for shed := false; ; {
		fd, err := unix.Open(path, flags, 0o666)
		switch {
		case err == unix.EINTR:
		case (err == unix.EMFILE || err == unix.ENFILE) && !shed:
			shed = true
			p.files.dropAll()
		default:
			return fd, err
		}
	}
}

// URI is "file://" and the absolute path of the directory.
func (p *Provider) URI() string { return uriOf(p.root) }

// Location returns the device and the inode of the directory: links and mounts lead to one by
// several paths. Of a removed directory it is the URI.
func (p *Provider) Location() string {
	var st unix.Stat_t
	if err := unix.Stat(p.root, &st); err != nil {
		return p.URI()
	}
	return fmt.Sprintf("file %d %d", st.Dev, st.Ino)
}

// Close closes the descriptors; those that a read in progress uses, when it ends. Streams that are
// still open stay with their owner, who must Abort them. The second Close is errs.Closed.
func (p *Provider) Close() error {
	if p.closed.Swap(true) {
		return closedError("close", p.root)
	}
	p.files.close()
	return nil
}

// path is the file of key.
func (p *Provider) path(key string) string { return p.root + "/" + key }

// admit checks what every operation on a key starts with: open, not cancelled, a key that can be a
// file.
func (p *Provider) admit(ctx context.Context, op, key string) error {
	if p.closed.Load() {
		return closedError(op, key)
	}
	if err := canceled(ctx, op, key); err != nil {
		return err
	}
	if err := storage.CheckKey(key); err != nil {
		return errs.Wrap(errs.Invalid, op, "", err) // names the key itself
	}
	if name := key[strings.LastIndexByte(key, '/')+1:]; strings.HasPrefix(name, tempPrefix) {
		return errs.Op(op, key).New(errs.Invalid, "names that begin with %q are reserved for files being written", tempPrefix)
	}
	return nil
}
