//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// writebackBytes is after how many bytes the system is told to begin writing them to the disk, so
// that the disk works while the next ones are copied, and Finish finds little left to do.
const writebackBytes = 4 << 20

// maxAttempts is how often a writer makes a directory again that others keep removing, before it
// believes that the root was removed.
const maxAttempts = 100

// Put replaces the content of a key. The content is on the disk when Put returns, the name after
// the next PutIfAbsent. A failure leaves the old content.
func (p *Provider) Put(ctx context.Context, key string, data []byte) error {
	s, err := p.beginWhole(ctx, "put", key, data)
	if err != nil {
		return err
	}
	return s.name()
}

// PutIfAbsent gives the object its name by link(2), which fails where the name exists. When that
// has happened and the directory cannot be synchronised, the error has a storage.NotDurable: every
// process sees the object, and a crash of the machine may take it away. It is not unlinked, since
// others may have built on it. For its key errs.Exists is returned only after the directory was
// synchronised.
func (p *Provider) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	const op = "put-if-absent"
	if err := p.admit(ctx, op, key); err != nil {
		return err
	}
	// The answer for a taken key without a write; the link below decides.
	if _, err := p.stat(p.path(key)); err == nil {
		if p.dirs.unsafe(parentOf(key)) {
			if err := p.flushDirs(); err != nil {
				return p.writeError(op, key, notDurable(err))
			}
		}
		return existsError(op, key)
	}
	s, err := p.beginWhole(ctx, op, key, data)
	if err != nil {
		return err
	}
	err = s.seal()
	if err == nil {
		err = p.flushDirs()
	}
	if err == nil {
		err = p.linkOrMove(s.temp, p.path(key))
	}
	if err != nil {
		s.Abort()
		if err == unix.EEXIST {
			return existsError(op, key)
		}
		return s.failure(err)
	}
	s.done = true
	p.files.drop(key)
	if err := p.syncDir(parentOf(key)); err != nil {
		p.dirs.mark(parentOf(key))
		return p.writeError(op, key, notDurable(err))
	}
	return nil
}

// notDurable says that a name was given and may not outlive a crash.
func notDurable(err error) error {
	return &storage.NotDurable{Err: fmt.Errorf("stored, but its directory could not be synchronised: %w; check the disk and try again", err)}
}

// beginWhole writes data to a temporary file.
func (p *Provider) beginWhole(ctx context.Context, op, key string, data []byte) (*stream, error) {
	if len(data) > MaxWholeBytes {
		return nil, errs.Op(op, key).New(errs.Invalid, "has %d bytes, want at most %d; write it with Create", len(data), MaxWholeBytes)
	}
	s, err := p.begin(ctx, op, key)
	if err != nil {
		return nil, err
	}
	if _, err := s.Write(data); err != nil {
		s.Abort()
		return nil, err
	}
	return s, nil
}

// linkOrMove gives the temporary file its final name unless that exists (unix.EEXIST), and takes
// the temporary name away.
func (p *Provider) linkOrMove(temp, final string) error {
	err := ignoringEINTR(func() error { return p.sys.link(temp, final) })
	if anyOf(err, unix.EPERM, unix.ENOTSUP, unix.EOPNOTSUPP, unix.ENOSYS, unix.EMLINK) {
		return p.moveExclusive(temp, final, err)
	}
	if err != nil {
		// Over NFS the answer to a link that was made can get lost, and the repetition finds the
		// name taken, by this file.
		if st, statErr := p.stat(temp); statErr != nil || st.Nlink != 2 {
			return err
		}
	}
	unix.Unlink(temp) // a name that stays behind is one more for the sweep
	return nil
}

// moveExclusive is for file systems without hard links.
func (p *Provider) moveExclusive(temp, final string, linkErr error) error {
	err := ignoringEINTR(func() error { return p.sys.renameExclusive(temp, final) })
	if anyOf(err, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.EOPNOTSUPP) {
		return errs.New(errs.Unsupported, "the file system has neither hard links (%v) nor an exclusive rename (%v); keep the dataset on another one",
			linkErr, err)
	}
	return err
}

// Create begins an object as a temporary file beside its final place.
func (p *Provider) Create(ctx context.Context, key string) (storage.Stream, error) {
	s, err := p.begin(ctx, "create", key)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// stream is one temporary file. Calls may come from several goroutines if one follows the other.
type stream struct {
	p       *Provider
	op, key string
	temp    string
	fd      int // -1 when closed
	size    int64
	flushed int64 // writeback has been requested up to here
	done    bool  // finished or aborted
}

// begin opens a temporary file for key in its directory, which it makes.
func (p *Provider) begin(ctx context.Context, op, key string) (*stream, error) {
	if err := p.admit(ctx, op, key); err != nil {
		return nil, err
	}
	dir := parentOf(key)
	prefix := p.root + "/"
	if dir != "" {
		prefix = p.path(dir) + "/"
	}
	for attempt := 0; ; attempt++ {
		temp := fmt.Sprintf("%s%s%016x-%d", prefix, tempPrefix, rand.Uint64(), os.Getpid())
		fd := -1
		err := p.ensureDir(dir)
		if err == nil {
			fd, err = p.open(temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC)
		}
		if err == nil {
			return &stream{p: p, op: op, key: key, temp: temp, fd: fd}, nil
		}
		// A Delete, of another process too, may take a directory away between any two of these
		// calls.
		if !anyOf(err, unix.ENOENT, unix.EEXIST) || attempt == maxAttempts {
			return nil, p.writeError(op, key, err)
		}
		p.dirs.forget(dir)
	}
}

// Write hands p to the system straight from the caller's memory. After an error the stream can only
// be aborted.
func (s *stream) Write(p []byte) (int, error) {
	if s.done || s.p.closed.Load() {
		return 0, closedError(s.op, s.key)
	}
	for done := 0; done < len(p); {
		piece := p[done:min(len(p), done+writebackBytes)]
		n, err := unix.Write(s.fd, piece)
		if n > 0 {
			done += n
			s.size += int64(n)
		}
		if err != nil && err != unix.EINTR {
			return done, s.failure(err)
		}
		if s.size-s.flushed >= writebackBytes {
			s.p.sys.beginWriteback(s.fd, s.flushed, s.size-s.flushed)
			s.flushed = s.size
		}
	}
	return len(p), nil
}

// Finish waits for the disk and gives the object its name. A failure, a cancelled ctx too, drops
// the object.
func (s *stream) Finish(ctx context.Context) error {
	if s.done {
		return closedError(s.op, s.key)
	}
	if s.p.closed.Load() {
		s.Abort()
		return closedError(s.op, s.key)
	}
	if err := canceled(ctx, s.op, s.key); err != nil {
		s.Abort()
		return err
	}
	return s.name()
}

// name seals the file, renames it and marks its directory.
func (s *stream) name() error {
	err := s.seal()
	if err == nil {
		err = ignoringEINTR(func() error { return unix.Rename(s.temp, s.p.path(s.key)) })
	}
	if err != nil {
		s.Abort()
		return s.failure(err)
	}
	s.done = true
	s.p.files.drop(s.key)
	s.p.dirs.mark(parentOf(s.key))
	return nil
}

// seal makes the content durable and closes the descriptor.
func (s *stream) seal() error {
	if err := ignoringEINTR(func() error { return s.p.sys.syncFile(s.fd) }); err != nil {
		return err
	}
	fd := s.fd
	s.fd = -1
	return unix.Close(fd)
}

// Abort removes the temporary file.
func (s *stream) Abort() {
	if s.done {
		return
	}
	s.done = true
	if s.fd >= 0 {
		unix.Close(s.fd)
		s.fd = -1
	}
	unix.Unlink(s.temp)
}

func (s *stream) failure(err error) error {
	if s.size > 0 {
		err = fmt.Errorf("%w (after %d bytes)", err, s.size)
	}
	return s.p.writeError(s.op, s.key, err)
}

func existsError(op, key string) error {
	return errs.Wrap(errs.Exists, op, key, errors.New("the object exists already"))
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
