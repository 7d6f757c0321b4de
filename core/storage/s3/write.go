package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/internal/task"
)

const (
	deleteBatch   = 1000
	deletesAtOnce = 4
	expectFrom    = 2 << 20 // bytes from which the store must agree before they are sent
	maxDrain      = 64 << 10
	// in which a store must have copied, or joined, its own data
	joinTime       = 5 * time.Minute
	errExistsText  = "the object exists already"
	contentType    = "application/octet-stream"
	checksumHeader = "X-Amz-Checksum-Crc32c"
)

// Put stores data; storage.Provider.
func (p *Provider) Put(ctx context.Context, key string, data []byte) error {
	if err := p.admit(ctx, "put", key); err != nil {
		return err
	}
	return errs.Wrap(errs.Storage, "put", key, p.put(ctx, p.prefix+key, [][]byte{data}, false))
}

// PutIfAbsent stores data unless the key is taken; storage.Provider.
func (p *Provider) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := p.admit(ctx, "put-if-absent", key); err != nil {
		return err
	}
	return errs.Wrap(errs.Storage, "put-if-absent", key, p.put(ctx, p.prefix+key, [][]byte{data}, true))
}

// put sends one whole object.
func (s *store) put(ctx context.Context, name string, data [][]byte, ifAbsent bool) error {
	rq := s.request(http.MethodPut, s.where.Load().url(name))
	rq.Header["Content-Type"] = []string{contentType}
	s.lock(rq.Header)
	if ifAbsent {
		rq.Header["If-None-Match"] = []string{"*"}
	}
	_, _, err := s.send(ctx, rq, data)
	if ifAbsent && errs.Is(err, errs.Conflict) {
		return errs.New(errs.Exists, errExistsText)
	}
	return err
}

// lock adds the encryption settings to the headers of a new object.
func (s *store) lock(h http.Header) {
	if e := s.settings.Encryption; e != "" {
		h["X-Amz-Server-Side-Encryption"] = []string{e}
		if k := s.settings.EncryptionKey; k != "" {
			h["X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"] = []string{k}
		}
	}
	s.unlock(h)
}

// send sends data as the body of rq and returns the head of a good answer and the checksum that it
// sent, "" for none.
//
// The payload is not part of the signature: TLS protects it, and a CRC-32C that is signed with the
// headers finds accidents elsewhere. Over plain HTTP the checksum costs a third of a hash, and an
// attacker who can change sent bytes can change read bytes as well. The payload is hashed only if
// no checksum may be sent.
func (s *store) send(ctx context.Context, rq *http.Request, data [][]byte) (http.Header, string, error) {
	b := newBody(data)
	rq = rq.WithContext(ctx)
	rq.ContentLength = b.size
	rq.Body = b
	if b.size == 0 {
		rq.Body = http.NoBody
	}
	rq.GetBody = func() (io.ReadCloser, error) { return newBody(data), nil }
	if b.size >= expectFrom {
		rq.Header["Expect"] = []string{"100-continue"}
	}
	hash, sum := unsignedPayload, ""
	switch {
	case s.settings.Checksums != whenRequired:
		sum = checksum(data)
		rq.Header[checksumHeader] = []string{sum}
	case !s.secure:
		hash = sha256Of(data)
	}
	if err := s.sign(ctx, rq, hash); err != nil {
		return nil, "", err
	}
	rs, err := s.net.RoundTrip(rq)
	if err != nil {
		return nil, "", err
	}
	if rs.StatusCode >= http.StatusMultipleChoices || request.IsPageOf(rs) {
		return nil, "", s.refused(rq, rs)
	}
	s.seen.Store(true)
	_, _ = io.CopyN(io.Discard, rs.Body, maxDrain) // leaves the connection for the next
	return rs.Header, sum, rs.Body.Close()
}

// body reads blocks one after the other.
type body struct {
	left [][]byte
	size int64
}

func newBody(blocks [][]byte) *body {
	b := &body{left: blocks}
	for _, block := range blocks {
		b.size += int64(len(block))
	}
	return b
}

// Read gives the next piece.
func (b *body) Read(p []byte) (int, error) {
	for len(b.left) > 0 && len(b.left[0]) == 0 {
		b.left = b.left[1:]
	}
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.left[0])
	// The slice of slices is the caller's: a changed element would be missing from the next
	// attempt.
	rest := b.left[0][n:]
	if len(rest) == 0 {
		b.left = b.left[1:]
	} else {
		b.left = append([][]byte{rest}, b.left[1:]...)
	}
	return n, nil
}

// Close does nothing: the blocks are the caller's.
func (b *body) Close() error { return nil }

func checksum(data [][]byte) string {
	table := crc32.MakeTable(crc32.Castagnoli)
	var sum uint32
	for _, block := range data {
		sum = crc32.Update(sum, table, block)
	}
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

func sha256Of(data [][]byte) string {
	h := sha256.New()
	for _, block := range data {
		h.Write(block)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Delete removes objects, a thousand with one request; storage.Provider.
func (p *Provider) Delete(ctx context.Context, keys ...string) error {
	const op = "delete"
	if err := p.part.admit(ctx, op, p.URI()); err != nil {
		return err
	}
	for _, key := range keys {
		if err := p.admit(ctx, op, key); err != nil {
			return err
		}
	}
	if len(keys) == 1 {
		return errs.Wrap(errs.Storage, op, keys[0], p.deleteOne(ctx, keys[0]))
	}
	group := task.New(ctx, deletesAtOnce)
	for len(keys) > 0 {
		batch := keys[:min(len(keys), deleteBatch)]
		keys = keys[len(batch):]
		group.Go(func(ctx context.Context) error { return p.deleteBatch(ctx, op, batch) })
	}
	return group.Wait()
}

func (p *Provider) deleteOne(ctx context.Context, key string) error {
	limited, cancel := context.WithTimeout(ctx, p.net.Patience())
	defer cancel()
	_, err := p.api.DeleteObject(limited, &s3.DeleteObjectInput{
		Bucket: &p.bucket, Key: aws.String(p.prefix + key), RequestPayer: types.RequestPayer(p.payer()),
	}, p.here)
	if err == nil {
		return nil
	}
	var missing *missingBucket
	if err = p.apiError(ctx, err); errs.Is(err, errs.NotFound) && !errors.As(err, &missing) {
		return nil
	}
	return err
}

func (p *Provider) deleteBatch(ctx context.Context, op string, keys []string) error {
	limited, cancel := context.WithTimeout(ctx, p.net.Patience())
	defer cancel()
	ids := make([]types.ObjectIdentifier, len(keys))
	for i, key := range keys {
		ids[i].Key = aws.String(p.prefix + key)
	}
	out, err := p.api.DeleteObjects(limited, &s3.DeleteObjectsInput{
		Bucket: &p.bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
		ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c, RequestPayer: types.RequestPayer(p.payer()),
	}, p.here)
	if err != nil {
		return errs.Wrap(errs.Storage, op, keys[0], p.apiError(ctx, err))
	}
	for _, e := range out.Errors {
		if code := aws.ToString(e.Code); code != "NoSuchKey" {
			a := &request.Response{Method: http.MethodPost, Host: p.host(), Status: statusOf(code), Header: http.Header{}}
			return errs.Wrap(errs.Storage, op, aws.ToString(e.Key), p.meaning(&refusal{Response: a, code: code, message: aws.ToString(e.Message)}))
		}
	}
	return nil
}

// statusOf gives an error within an answer the status that it would have by itself.
func statusOf(code string) int {
	switch code {
	case "AccessDenied":
		return http.StatusForbidden
	case "InternalError":
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

// partURL is the address of a part of an upload.
func (s *store) partURL(name, upload string, number int32) *url.URL {
	u := s.where.Load().url(name)
	u.RawQuery = url.Values{"partNumber": {itoa(number)}, "uploadId": {upload}}.Encode()
	return u
}
