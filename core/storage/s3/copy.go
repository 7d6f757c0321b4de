package s3

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

const (
	copyPart     = 1 << 30
	copiesAtOnce = 8
)

// CopyFrom copies an object within the store; storage.Copier. It is not done between endpoints,
// between credentials, or where the writer may not read the source.
func (p *Provider) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error) {
	const op = "copy"
	from, ok := storage.Innermost(src).(*Provider)
	if !ok || !p.reaches(from.store) {
		return false, nil
	}
	if err := p.admit(ctx, op, key); err != nil {
		return false, err
	}
	if err := from.admit(ctx, op, srcKey); err != nil {
		return false, err
	}
	c := &copying{from: from.store, to: p.store, source: from.prefix + srcKey, name: p.prefix + key}
	attempts := storage.AttemptsOf(ctx)
	err := attempts(ctx, op, key, 0, c.whole)
	if errors.Is(err, errTooLarge) {
		err = c.inParts(ctx, attempts, copyPart)
	}
	var missing *missingBucket
	switch {
	case err == nil:
		return true, nil
	case errs.Is(err, errs.Denied), errs.Is(err, errs.Unsupported):
		return false, nil // the reader's identity may differ from the writer's
	case errs.Is(err, errs.NotFound) && !errors.As(err, &missing):
		return false, errs.Wrap(errs.NotFound, op, srcKey, err)
	}
	return false, errs.Wrap(errs.Storage, op, key, err)
}

// reaches reports whether a request to s can name an object of other: same endpoint, same account.
func (s *store) reaches(other *store) bool {
	if s == other {
		return true
	}
	a, b := s.settings, other.settings
	return a.Endpoint == b.Endpoint && a.AccessKeyID == b.AccessKeyID && a.SecretAccessKey == b.SecretAccessKey &&
		a.SessionToken == b.SessionToken && a.Profile == b.Profile && a.Anonymous == b.Anonymous && !a.Anonymous
}

// errTooLarge says that the object needs more than one request.
var errTooLarge = errors.New("too large for one copy")

// copying is one object on its way.
type copying struct {
	from, to     *store
	source, name string
	size         int64
	tag          string
}

// whole copies with one request.
func (c *copying) whole(ctx context.Context) error {
	in := &s3.CopyObjectInput{
		Bucket: &c.to.bucket, Key: &c.name, CopySource: aws.String(c.from.copySource(c.source)), RequestPayer: types.RequestPayer(c.to.payer()),
		ServerSideEncryption: types.ServerSideEncryption(c.to.settings.Encryption),
	}
	if c.to.settings.Encryption != "" && c.to.settings.EncryptionKey != "" {
		in.SSEKMSKeyId = &c.to.settings.EncryptionKey
	}
	if k := c.to.customer; k != nil {
		in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &k.key, &k.md5
	}
	if k := c.from.customer; k != nil {
		in.CopySourceSSECustomerAlgorithm, in.CopySourceSSECustomerKey, in.CopySourceSSECustomerKeyMD5 = aws.String("AES256"), &k.key, &k.md5
	}
	limited, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	_, err := c.to.api.CopyObject(limited, in, c.to.here)
	if err == nil {
		return nil
	}
	// The one refusal that is about size comes as an invalid request, or by its name.
	err = c.to.apiError(ctx, err)
	var r *invalidRequest
	if errors.As(err, &r) {
		return fmt.Errorf("%w: %w", errTooLarge, err)
	}
	return err
}

// inParts copies ranges of the source into an upload.
func (c *copying) inParts(ctx context.Context, attempts storage.Attempts, partBytes int64) error {
	if err := attempts(ctx, "copy", c.source, 0, c.measure); err != nil {
		return err
	}
	s := &stream{p: &Provider{part{store: c.to}}, name: c.name, key: c.name, attempts: attempts, size: c.size}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.group = task.New(ctx, copiesAtOnce)
	partBytes = max(partBytes, (c.size+maxParts-1)/maxParts)
	for off := int64(0); off < c.size; off += partBytes {
		s.parts++
		number, end := s.parts, min(off+partBytes, c.size)
		s.group.Go(func(ctx context.Context) error {
			return attempts(ctx, "copy part", c.name, 0, func(ctx context.Context) error { return c.part(ctx, s, number, off, end) })
		})
	}
	err := s.group.Wait()
	if err == nil {
		err = s.complete(ctx)
	}
	if err != nil {
		s.Abort()
	}
	return err
}

// measure asks for size and tag of the source, so that all parts are of one version of it.
func (c *copying) measure(ctx context.Context) error {
	p := &part{store: c.from}
	b, err := p.ranged(ctx, c.source, 0, 0, "")
	if err != nil {
		return err
	}
	defer b.Close()
	c.size, c.tag = b.Size(), b.Tag()
	return nil
}

func (c *copying) part(ctx context.Context, s *stream, number int32, off, end int64) error {
	in := &s3.UploadPartCopyInput{
		Bucket: &c.to.bucket, Key: &c.name, UploadId: &s.upload, PartNumber: &number, CopySource: aws.String(c.from.copySource(c.source)),
		CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", off, end-1)), RequestPayer: types.RequestPayer(c.to.payer()),
	}
	if c.tag != "" {
		in.CopySourceIfMatch = &c.tag
	}
	if k := c.to.customer; k != nil {
		in.SSECustomerAlgorithm, in.SSECustomerKey, in.SSECustomerKeyMD5 = aws.String("AES256"), &k.key, &k.md5
	}
	if k := c.from.customer; k != nil {
		in.CopySourceSSECustomerAlgorithm, in.CopySourceSSECustomerKey, in.CopySourceSSECustomerKeyMD5 = aws.String("AES256"), &k.key, &k.md5
	}
	limited, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	out, err := c.to.api.UploadPartCopy(limited, in, c.to.here)
	if err != nil {
		return c.to.apiError(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, types.CompletedPart{
		PartNumber: &number, ETag: out.CopyPartResult.ETag, ChecksumCRC32C: out.CopyPartResult.ChecksumCRC32C,
	})
	return nil
}
