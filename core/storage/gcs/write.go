package gcs

import (
	"context"
	"errors"
	"hash/crc32"
	"sync/atomic"
	"time"

	gcloud "cloud.google.com/go/storage"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

const (
	// wholeBytes is up to how many bytes a stream becomes one request, which storage.Attempts can
	// repeat. Larger ones are uploaded in parts, which Google's client repeats: it alone has their
	// bytes.
	wholeBytes = 16 << 20
	partBytes  = 8 << 20
	blockBytes = 1 << 20

	deletesAtOnce = 16
	defaultRetry  = 60 * time.Second

	contentType = "application/octet-stream"
)

// Put stores data by one request, which carries its CRC32C.
func (p *Provider) Put(ctx context.Context, key string, data []byte) error {
	const op = "put"
	if err := p.admit(ctx, op, key); err != nil {
		return err
	}
	return p.upload(ctx, op, key, false, data)
}

// PutIfAbsent stores data if the object has no generation yet. A lost answer is an error, and the
// object may stand.
func (p *Provider) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	const op = "put-if-absent"
	if err := p.admit(ctx, op, key); err != nil {
		return err
	}
	return p.upload(ctx, op, key, true, data)
}

// upload sends blocks as one object by one request.
func (p *root) upload(ctx context.Context, op, key string, ifAbsent bool, blocks ...[]byte) error {
	o := p.object(key)
	if ifAbsent {
		o = o.If(gcloud.Conditions{DoesNotExist: true})
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.client.net.Patience(), errSlow)
	defer cancel()
	w := p.writer(ctx, o)
	w.ChunkSize = 0
	w.SendCRC32C = true
	for _, block := range blocks {
		w.CRC32C = crc32.Update(w.CRC32C, castagnoli(), block)
	}
	var err error
	for _, block := range blocks {
		if _, err = w.Write(block); err != nil {
			break
		}
	}
	if closeErr := w.Close(); closeErr != nil {
		err = closeErr // says more than a broken pipe
	}
	if err != nil {
		return p.writeError(ctx, op, key, ifAbsent, err)
	}
	p.seen.Store(true)
	return nil
}

func (p *root) writer(ctx context.Context, o *gcloud.ObjectHandle) *gcloud.Writer {
	w := o.NewWriter(ctx)
	w.ContentType = contentType
	w.KMSKeyName = p.client.kmsKey
	return w
}

// castagnoli returns the table of CRC-32C, which the library makes once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Create begins an object. Up to 16 MiB stay in memory until Finish; longer objects are uploaded
// while they are written.
func (p *Provider) Create(ctx context.Context, key string) (storage.Stream, error) {
	const op = "create"
	if err := p.admit(ctx, op, key); err != nil {
		return nil, err
	}
	begin := func() (*gcloud.Writer, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		return p.partWriter(ctx, key), cancel
	}
	return &stream{p: p, key: key, begin: begin, attempts: storage.AttemptsOf(ctx)}, nil
}

// partWriter uploads in parts, each of which is sent again when that helps, for as long as one call
// may take.
func (p *root) partWriter(ctx context.Context, key string) *gcloud.Writer {
	patience := defaultRetry
	if s := p.client.settings.RetryTime; s > 0 && s < 1e6 {
		patience = time.Duration(s * float64(time.Second))
	}
	var last atomic.Int64 // when something was sent
	moved := func(int64) { last.Store(time.Now().UnixNano()) }
	moved(0)
	w := p.writer(ctx, p.object(key).Retryer(gcloud.WithPolicy(gcloud.RetryAlways), gcloud.WithErrorFunc(func(err error) bool {
		var fault *storage.Fault
		again := errors.As(err, &fault) || errs.KindOf(err) == errs.Internal && gcloud.ShouldRetry(err)
		return again && time.Since(time.Unix(0, last.Load())) < patience
	})))
	w.ChunkSize = partBytes
	w.ChunkRetryDeadline = patience
	w.ChunkTransferTimeout = p.client.net.Patience()
	w.ProgressFunc = moved
	return w
}

// stream is a storage.Stream. A Finish that failed before anything was sent may be called again.
type stream struct {
	p        *Provider
	key      string
	begin    func() (*gcloud.Writer, context.CancelFunc)
	attempts storage.Attempts
	blocks   [][]byte // not sent yet
	size     int
	crc      uint32
	w        *gcloud.Writer // nil: nothing is sent yet
	cancel   context.CancelFunc
	err      error // of w
	done     bool  // finished or aborted
}

// Write keeps a copy of b, or sends it.
func (s *stream) Write(b []byte) (int, error) {
	if s.done {
		return 0, s.ended("write")
	}
	if s.err != nil {
		return 0, s.err
	}
	s.crc = crc32.Update(s.crc, castagnoli(), b)
	if s.w == nil && s.size+len(b) <= wholeBytes {
		s.keep(b)
		return len(b), nil
	}
	if s.w == nil {
		s.w, s.cancel = s.begin()
		for _, block := range s.blocks {
			if err := s.send(block); err != nil {
				return 0, err
			}
		}
		s.blocks = nil
	}
	if err := s.send(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (s *stream) keep(b []byte) {
	s.size += len(b)
	for len(b) > 0 {
		last := len(s.blocks) - 1
		if last < 0 || len(s.blocks[last]) == cap(s.blocks[last]) {
			s.blocks = append(s.blocks, make([]byte, 0, max(blockBytes, min(len(b), partBytes))))
			last++
		}
		block := s.blocks[last]
		n := min(len(b), cap(block)-len(block))
		s.blocks[last], b = append(block, b[:n]...), b[n:]
	}
}

func (s *stream) send(b []byte) error {
	if _, err := s.w.Write(b); err != nil {
		s.err = s.p.writeError(context.Background(), "write", s.key, false, err)
		s.cancel()
	}
	return s.err
}

// Finish makes the object visible.
func (s *stream) Finish(ctx context.Context) error {
	const op = "finish"
	if s.done {
		return s.ended(op)
	}
	if err := s.p.admit(ctx, op, s.key); err != nil {
		return err
	}
	if s.w == nil {
		err := s.attempts(ctx, op, s.key, int64(s.size), func(ctx context.Context) error {
			return s.p.upload(ctx, op, s.key, false, s.blocks...)
		})
		if err == nil {
			s.Abort()
		}
		return err
	}
	if s.err != nil {
		return s.err
	}
	group := task.New(ctx, 0) // ends the upload, which began under another context, with this one
	group.Go(func(ctx context.Context) error {
		<-ctx.Done()
		s.cancel()
		return nil
	})
	err := s.w.Close()
	sum := uint32(0)
	if err == nil {
		sum = s.w.Attrs().CRC32C
	}
	group.Stop()
	_ = group.Wait()
	if err != nil {
		s.err = s.p.writeError(ctx, op, s.key, false, err)
		return s.err
	}
	s.done = true
	if sum != s.crc {
		_ = s.p.Delete(ctx, s.key) // its content is wrong
		return errs.Op("finish", s.key).New(errs.Corrupt, "the store has checksum 0x%08x, want 0x%08x", sum, s.crc)
	}
	return nil
}

// Abort drops the buffered bytes. The store forgets an upload that is never finished.
func (s *stream) Abort() {
	if s.cancel != nil {
		s.cancel()
	}
	s.blocks, s.done = nil, true
}

func (s *stream) ended(op string) error {
	return errs.Op(op, s.key).New(errs.Closed, "the stream was finished or aborted")
}

// Delete removes objects one by one, several at a time.
func (p *Provider) Delete(ctx context.Context, keys ...string) error {
	const op = "delete"
	for _, key := range keys {
		if err := p.admit(ctx, op, key); err != nil {
			return err
		}
	}
	if len(keys) == 1 {
		return p.remove(ctx, op, keys[0])
	}
	group := task.New(ctx, deletesAtOnce)
	for _, key := range keys {
		if group.Context().Err() != nil {
			break
		}
		group.Go(func(ctx context.Context) error { return p.remove(ctx, op, key) })
	}
	err := group.Wait()
	if err == nil {
		err = p.root.admit(ctx, op, p.URI())
	}
	return err
}

func (p *Provider) remove(ctx context.Context, op, key string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.client.net.Patience(), errSlow)
	defer cancel()
	err := p.object(key).Delete(ctx)
	if err == nil || errors.Is(err, gcloud.ErrObjectNotExist) && !noBucket(err) {
		return nil
	}
	return p.writeError(ctx, op, key, false, err)
}

// CopyFrom rewrites an object of this store. It is not done where the source is elsewhere, or may
// not be read.
func (p *Provider) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error) {
	const op = "copy"
	from, ok := storage.Innermost(src).(*Provider)
	if !ok || from.client.base.Host != p.client.base.Host {
		return false, nil
	}
	if err := p.admit(ctx, op, key); err != nil {
		return false, err
	}
	if err := from.admit(ctx, op, srcKey); err != nil {
		return false, err
	}
	c := p.object(key).CopierFrom(from.object(srcKey))
	c.ContentType = contentType
	c.DestinationKMSKeyName = p.client.kmsKey
	if _, err := c.Run(ctx); err != nil {
		err = p.copyError(ctx, op, srcKey, err)
		if errs.Is(err, errs.Denied) {
			return false, nil // the reader's identity may differ from the writer's
		}
		return false, err
	}
	return true, nil
}
