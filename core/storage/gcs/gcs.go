// Package gcs owns the provider for buckets of Google Cloud Storage. Reads are range requests of
// its own; Google's client does everything else over HTTP. It neither retries nor caches, and never
// uses gRPC.
package gcs

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	gcloud "cloud.google.com/go/storage"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// MaxWholeBytes is the largest object that Get returns.
const MaxWholeBytes = 1 << 31

// trustBytes is the memory that Get takes on the word of the store alone.
const trustBytes = 16 << 20

// Provider keeps objects of a dataset below one prefix of a bucket. All methods may be called in
// parallel.
type Provider struct{ root }

// Source is the objects below one prefix of a bucket that others write. All methods may be called
// in parallel.
type Source struct{ root }

var (
	_ storage.Provider = (*Provider)(nil)
	_ storage.Ranger   = (*Provider)(nil)
	_ storage.Streamer = (*Provider)(nil)
	_ storage.Copier   = (*Provider)(nil)
	_ storage.Hosted   = (*Provider)(nil)

	_ storage.Identified = (*Provider)(nil)
	_ storage.Source     = (*Source)(nil)

	_ storage.Opener       = Open
	_ storage.SourceOpener = OpenSource
)

// root is a prefix of a bucket.
type root struct {
	client  *Client
	owned   bool // the client is closed with the root
	bucket  string
	prefix  string       // "" or ends with "/"
	garbled atomic.Int32 // answers that could not be read since the last one that could
	// the bucket has answered, so that a missing object does not mean a missing bucket
	seen   atomic.Bool
	closed atomic.Bool
}

// Open gives the provider of "bucket/prefix". Nothing is sent: a missing bucket shows with the
// first call.
func Open(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
	c, err := Connect(ctx, o)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "open", "gs://"+rest, err)
	}
	p, err := c.Open(rest)
	if err != nil {
		c.Close()
		return nil, err
	}
	p.owned = true
	return p, nil
}

// OpenSource gives the objects whose names start with "prefix/" in "bucket/prefix" as a source.
// Keys are the rest of the names. Nothing is sent.
func OpenSource(ctx context.Context, rest string, o storage.Options) (storage.Source, error) {
	c, err := Connect(ctx, o)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "open", "gs://"+rest, err)
	}
	s, err := c.OpenSource(rest)
	if err != nil {
		c.Close()
		return nil, err
	}
	s.owned = true
	return s, nil
}

// Open gives a provider that uses the connections of c, which must stay open as long.
func (c *Client) Open(rest string) (*Provider, error) {
	bucket, prefix, err := split(rest)
	if err == nil && prefix != "" {
		err = storage.CheckKey(strings.TrimSuffix(prefix, "/"))
	}
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "open", "gs://"+rest, err)
	}
	return &Provider{root{client: c, bucket: bucket, prefix: prefix}}, nil
}

// OpenSource gives a source that uses the connections of c, which must stay open as long.
func (c *Client) OpenSource(rest string) (*Source, error) {
	bucket, prefix, err := split(rest)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "open", "gs://"+rest, err)
	}
	return &Source{root{client: c, bucket: bucket, prefix: prefix}}, nil
}

// split takes "bucket/prefix" apart; the prefix is "" or ends with "/".
func split(rest string) (bucket, prefix string, err error) {
	bucket, prefix, _ = strings.Cut(rest, "/")
	if len(bucket) < 3 || len(bucket) > 222 || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return "", "", errs.New(errs.Invalid, "bucket %q is not a name (want 3 to 222 of a-z, 0-9, \"-\", \"_\" and \".\")", bucket)
	}
	if prefix = strings.TrimRight(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return bucket, prefix, nil
}

// URI is the address, without settings.
func (p *root) URI() string { return "gs://" + strings.TrimSuffix(p.bucket+"/"+p.prefix, "/") }

// Service is the URL of the bucket; known where Google answers.
func (p *Provider) Service() (name string, known bool) {
	base := p.client.base
	known = base.Scheme == "https" && strings.HasSuffix("."+base.Hostname(), ".googleapis.com")
	return base.JoinPath(p.bucket).String(), known
}

// Identity is the endpoint, and where the identity comes from: tokens change every hour.
func (p *root) Identity() string {
	s := p.client.settings
	from := "machine"
	switch {
	case p.client.id.anonymous():
		from = "anonymous"
	case p.client.id.fixed:
		from = "token"
	case s.CredentialsFile != "":
		from = "file " + s.CredentialsFile
	case p.client.id.project != "":
		from = "project " + p.client.id.project
	}
	return p.client.base.String() + " " + from
}

// Close ends the use of the bucket; requests in flight go on.
func (p *root) Close() error {
	if p.closed.Swap(true) {
		return errs.Op("close", p.URI()).New(errs.Closed, "it is closed already")
	}
	if p.owned {
		p.client.Close()
	}
	return nil
}

// admit refuses calls that cannot succeed, before a request is sent.
func (p *root) admit(ctx context.Context, op, object string) error {
	if p.closed.Load() {
		return errs.Op(op, object).New(errs.Closed, "%q is closed", p.URI())
	}
	if err := ctx.Err(); err != nil {
		return errs.Wrap(errs.Canceled, op, object, context.Cause(ctx))
	}
	return nil
}

func (p *Provider) admit(ctx context.Context, op, key string) error {
	if err := p.root.admit(ctx, op, key); err != nil {
		return err
	}
	if err := storage.CheckKey(key); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (p *root) bucketHandle() *gcloud.BucketHandle {
	b := p.client.api.Bucket(p.bucket)
	if p.client.project != "" {
		b = b.UserProject(p.client.project)
	}
	return b
}

// object is the object of a key.
func (p *root) object(key string) *gcloud.ObjectHandle {
	o := p.bucketHandle().Object(p.prefix + key)
	if p.client.customer != nil {
		o = o.Key(p.client.customer.key)
	}
	return o
}
