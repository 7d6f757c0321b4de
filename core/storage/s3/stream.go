package s3

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

const (
	wholeBytes  = 16 << 20  // up to here an object is one request
	firstPart   = 8 << 20   // of a larger one
	maxPart     = 512 << 20 // 10,000 parts hold an object of 5 TiB
	growEvery   = 1000      // parts after which they become twice as long
	partsAtOnce = 3         // in flight for one stream
	blockBytes  = 1 << 20
	smallBlock  = 64 << 10
	maxParts    = 10_000
	abandonTime = 10 * time.Second // for clearing up
	landTime    = 2 * time.Second  // for parts on their way when a stream is aborted
)

func itoa(n int32) string { return strconv.FormatInt(int64(n), 10) }

// stream is one object on its way. Written bytes are gathered in blocks; from wholeBytes on they
// leave in parts, in the background, at most partsAtOnce of them.
type stream struct {
	p        *Provider
	name     string // whole, with the prefix
	key      string
	attempts storage.Attempts
	blocks   [][]byte
	held     int   // bytes in blocks
	size     int64 // bytes written
	err      error // that ended it
	finished bool

	upload string // id of a multipart upload; "" as long as there is none
	group  *task.Group
	parts  int32

	mu   sync.Mutex
	done []types.CompletedPart
}

// Create begins an object; storage.Streamer. Background requests end with Finish, Abort or their
// own failure, not with ctx: a writer passes another to each call.
func (p *Provider) Create(ctx context.Context, key string) (storage.Stream, error) {
	if err := p.admit(ctx, "create", key); err != nil {
		return nil, err
	}
	return &stream{p: p, name: p.prefix + key, key: key, attempts: storage.AttemptsOf(ctx)}, nil
}

// Write takes a copy of data, and waits where too many parts are on their way.
func (s *stream) Write(data []byte) (int, error) {
	if err := s.usable("write"); err != nil {
		return 0, err
	}
	taken := 0
	for len(data) > 0 {
		n := s.keep(data)
		data = data[n:]
		taken += n
		s.held += n
		s.size += int64(n)
		if s.held >= wholeBytes || s.upload != "" && s.held >= s.partBytes() {
			if err := s.ship(); err != nil {
				s.err = errs.Wrap(errs.Storage, "write", s.key, err)
				return taken, s.err
			}
		}
	}
	return taken, nil
}

// keep copies as much as fits into the last block, or into a new one.
func (s *stream) keep(data []byte) int {
	last := len(s.blocks) - 1
	if last < 0 || len(s.blocks[last]) == cap(s.blocks[last]) {
		size := blockBytes
		if s.upload == "" {
			size = min(blockBytes, max(smallBlock, s.held))
		}
		s.blocks = append(s.blocks, make([]byte, 0, size))
		last++
	}
	b := s.blocks[last]
	n := min(len(data), cap(b)-len(b))
	s.blocks[last] = append(b, data[:n]...)
	return n
}

func (s *stream) partBytes() int {
	return min(maxPart, firstPart<<min(s.parts/growEvery, 6))
}

// ship sends the buffered bytes as the next part. The first of an upload begins it.
func (s *stream) ship() error {
	if s.group == nil {
		s.group = task.New(context.Background(), partsAtOnce)
	}
	ctx := s.group.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if s.upload == "" {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	if s.parts++; s.parts > maxParts {
		return errs.New(errs.Invalid, "the object is too large (want at most %d parts)", maxParts)
	}
	number, blocks, held := s.parts, s.blocks, int64(s.held)
	s.blocks, s.held = nil, 0
	s.group.Go(func(ctx context.Context) error {
		return s.attempts(ctx, "put part", s.key, held, func(ctx context.Context) error { return s.sendPart(ctx, number, blocks) })
	})
	return nil
}

func (s *stream) begin(ctx context.Context) error {
	return s.attempts(ctx, "begin upload", s.key, 0, func(ctx context.Context) error {
		in := &s3.CreateMultipartUploadInput{
			Bucket: &s.p.bucket, Key: &s.name, ContentType: aws.String(contentType), RequestPayer: types.RequestPayer(s.p.payer()),
			ServerSideEncryption: types.ServerSideEncryption(s.p.settings.Encryption),
		}
		if s.p.settings.Encryption != "" && s.p.settings.EncryptionKey != "" {
			in.SSEKMSKeyId = &s.p.settings.EncryptionKey
		}
		if s.p.settings.Checksums != whenRequired {
			in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32c
		}
		if c := s.p.customer; c != nil {
			in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &c.key, &c.md5
		}
		limited, cancel := context.WithTimeout(ctx, s.p.net.Patience())
		defer cancel()
		out, err := s.p.api.CreateMultipartUpload(limited, in, s.p.here)
		if err != nil {
			return s.p.apiError(ctx, err)
		}
		s.upload = aws.ToString(out.UploadId)
		return nil
	})
}

func (s *stream) sendPart(ctx context.Context, number int32, blocks [][]byte) error {
	rq := s.p.request(http.MethodPut, s.p.partURL(s.name, s.upload, number))
	s.p.unlock(rq.Header)
	head, sum, err := s.p.send(ctx, rq, blocks)
	if err != nil {
		return err
	}
	tag := head.Get("Etag")
	if tag == "" {
		return errs.New(errs.Unsupported, "%q stored a part of a large object and gave it no ETag, which joins the parts", s.p.host())
	}
	part := types.CompletedPart{PartNumber: &number, ETag: &tag}
	if sum != "" {
		part.ChecksumCRC32C = &sum
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, part)
	return nil
}

// Finish sends the rest and makes the object visible; storage.Stream.
func (s *stream) Finish(ctx context.Context) error {
	if err := s.usable("finish"); err != nil {
		return err
	}
	if err := s.p.part.admit(ctx, "finish", s.key); err != nil {
		return err
	}
	err := s.finish(ctx)
	if err != nil {
		s.Abort()
		return errs.Wrap(errs.Storage, "finish", s.key, err)
	}
	s.finished = true
	s.blocks = nil
	return nil
}

func (s *stream) finish(ctx context.Context) error {
	if s.upload == "" {
		return s.attempts(ctx, "put", s.key, s.size, func(ctx context.Context) error { return s.p.put(ctx, s.name, s.blocks, false) })
	}
	if s.held > 0 {
		if err := s.ship(); err != nil {
			return err
		}
	}
	err := s.land(ctx)
	if ctx.Err() != nil {
		return errs.New(errs.Canceled, "%w", context.Cause(ctx))
	}
	if err != nil {
		return err
	}
	return s.complete(ctx)
}

// land waits for the parts on their way. When ctx ends they are cut off.
func (s *stream) land(ctx context.Context) error {
	watch := task.New(ctx, 0)
	watch.Go(func(ctx context.Context) error {
		<-ctx.Done()
		s.group.Stop()
		return nil
	})
	err := s.group.Wait()
	watch.Stop()
	_ = watch.Wait()
	return err
}

// complete joins the parts. If the answer is lost, the upload no longer exists: then the object
// decides.
func (s *stream) complete(ctx context.Context) error {
	parts := make([]types.CompletedPart, s.parts)
	for _, part := range s.done {
		parts[*part.PartNumber-1] = part
	}
	again := false
	return s.attempts(ctx, "complete upload", s.key, 0, func(ctx context.Context) error {
		in := &s3.CompleteMultipartUploadInput{
			Bucket: &s.p.bucket, Key: &s.name, UploadId: &s.upload, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			RequestPayer: types.RequestPayer(s.p.payer()),
		}
		if c := s.p.customer; c != nil {
			in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &c.key, &c.md5
		}
		limited, cancel := context.WithTimeout(ctx, joinTime)
		defer cancel()
		_, err := s.p.api.CompleteMultipartUpload(limited, in, s.p.here)
		if err == nil {
			return nil
		}
		err = s.p.apiError(ctx, err)
		if again && errs.Is(err, errs.NotFound) && s.stands(ctx) {
			return nil
		}
		again = true
		return err
	})
}

// stands reports whether the object exists with the written content.
func (s *stream) stands(ctx context.Context) bool {
	b, err := s.p.ranged(ctx, s.key, 0, 0, "")
	if err != nil {
		return false
	}
	defer b.Close()
	return b.Size() == s.size
}

// Abort cancels requests in flight and removes the parts; storage.Stream.
func (s *stream) Abort() {
	if s.finished || s.err != nil && s.group == nil {
		return
	}
	s.err = errs.Op("write", s.key).New(errs.Closed, "the stream was aborted")
	s.blocks = nil
	if s.group == nil {
		return
	}
	// A server may take in a part whose connection was cut after it has ended the upload, and keeps
	// it for ever. Parts on their way are therefore let land before the upload is ended, if they do
	// so soon.
	ctx, cancel := context.WithTimeout(context.Background(), landTime)
	defer cancel()
	_ = s.land(ctx)
	s.group = nil
	if s.upload != "" {
		s.abandon()
	}
}

// abandon tries to end the upload. A store keeps the parts of an upload without an end, unseen,
// until a rule of the bucket or a person removes them.
func (s *stream) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTime)
	defer cancel()
	_ = s.attempts(ctx, "abort upload", s.key, 0, func(ctx context.Context) error {
		_, err := s.p.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: &s.p.bucket, Key: &s.name, UploadId: &s.upload, RequestPayer: types.RequestPayer(s.p.payer()),
		}, s.p.here)
		if err != nil {
			return s.p.apiError(ctx, err)
		}
		return nil
	})
}

func (s *stream) usable(op string) error {
	switch {
	case s.p.closed.Load():
		return errClosed(op, s.key)
	case s.finished:
		return errs.Op(op, s.key).New(errs.Closed, "the stream was finished")
	}
	return s.err
}
