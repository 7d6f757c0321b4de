package s3

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

// Stores opens buckets. Providers and sources of the same bucket and the same settings share
// connections and credentials, which are closed with the last of them. The zero value is ready; it
// may be used in parallel and must not be copied.
type Stores struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*shared
}

// shared is a store with its users.
type shared struct {
	*store
	users int
}

// Provider keeps the objects of a dataset below one prefix of a bucket. All methods may be called
// in parallel.
type Provider struct{ part }

// Source is the objects below one prefix of a bucket that others write. All methods may be called
// in parallel. Names are relative to its address.
type Source struct{ part }

var (
	_ storage.Provider = (*Provider)(nil)
	_ storage.Ranger   = (*Provider)(nil)
	_ storage.Streamer = (*Provider)(nil)
	_ storage.Copier   = (*Provider)(nil)

	_ storage.Identified = (*Provider)(nil)
	_ storage.Hosted     = (*Provider)(nil)
	_ storage.Source     = (*Source)(nil)

	_ storage.Opener       = (*Stores)(nil).Open
	_ storage.SourceOpener = (*Stores)(nil).OpenSource
)

// part is a prefix of a store.
type part struct {
	*store
	prefix  string // "" or ends with "/"
	release func()
	closed  atomic.Bool
}

// Open gives the provider of "bucket/prefix". Nothing is sent: a missing bucket shows with the
// first call.
func (p *Stores) Open(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
	out := &Provider{}
	if err := p.take(ctx, rest, o, &out.part, checkPrefix); err != nil {
		return nil, errs.Wrap(errs.Storage, "open", "s3://"+rest, err)
	}
	return out, nil
}

// OpenSource gives the source of "bucket/prefix". Nothing is sent.
func (p *Stores) OpenSource(ctx context.Context, rest string, o storage.Options) (storage.Source, error) {
	out := &Source{}
	if err := p.take(ctx, rest, o, &out.part, func(string) error { return nil }); err != nil {
		return nil, errs.Wrap(errs.Storage, "open", "s3://"+rest, err)
	}
	return out, nil
}

// take fills out with a store that is open already, or a new one.
func (p *Stores) take(ctx context.Context, rest string, o storage.Options, out *part, check func(prefix string) error) error {
	if err := ctx.Err(); err != nil {
		return errs.New(errs.Canceled, "%w", context.Cause(ctx))
	}
	bucket, prefix, err := split(rest)
	if err == nil {
		err = check(prefix)
	}
	if err != nil {
		return err
	}
	key := identityOf(bucket, o)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.open[key]
	if s == nil {
		made, err := connect(ctx, bucket, o)
		if err != nil {
			return err
		}
		s = &shared{store: made}
		if p.open == nil {
			p.open = map[[sha256.Size]byte]*shared{}
		}
		p.open[key] = s
	}
	s.users++
	out.store, out.prefix = s.store, prefix
	out.release = func() { p.drop(key, s) }
	return nil
}

func (p *Stores) drop(key [sha256.Size]byte, s *shared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(p.open, key)
		s.close()
	}
}

// identityOf is equal for what may share connections and credentials. It is a hash, so that no
// secret lies about twice.
func identityOf(bucket string, o storage.Options) [sha256.Size]byte {
	h := sha256.New()
	add := func(values ...any) {
		for _, v := range values {
			text := fmt.Sprint(v)
			_ = binary.Write(h, binary.LittleEndian, uint64(len(text)))
			h.Write([]byte(text))
		}
	}
	s, pathStyle := o.Settings, "default"
	if s.PathStyle != nil {
		pathStyle = fmt.Sprint(*s.PathStyle)
	}
	add(bucket, s.Endpoint, s.Region, s.Profile, s.Anonymous, pathStyle, s.AccessKeyID, s.SecretAccessKey.Reveal(), s.SessionToken.Reveal(),
		s.RequesterPays, s.Encryption, s.EncryptionKey, s.CustomerKey.Reveal(), s.Checksums, s.CAFile, s.Proxy,
		s.MaxConnections, s.ConnectTimeout, s.Timeout)
	lookup := request.Lookup(o.Environ)
	names := []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_S3", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE", "AWS_ROLE_ARN", "HOME",
	}
	for _, name := range names {
		add(lookup(name))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Environ)) {
		if !slices.Contains(names, name) {
			add(name, o.Environ[name])
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// URI is the address, without settings.
func (p *part) URI() string { return "s3://" + strings.TrimSuffix(p.bucket+"/"+p.prefix, "/") }

// Service is the URL of the bucket; known where Amazon answers, then without the region, which may
// be corrected.
func (p *Provider) Service() (name string, known bool) {
	base := p.where.Load().base
	for _, amazon := range []string{"amazonaws.com", "amazonaws.com.cn"} {
		if base.Scheme == "https" && strings.HasSuffix(base.Hostname(), "."+amazon) {
			return "https://s3." + amazon + "/" + p.bucket, true
		}
	}
	return base.String(), false
}

// Identity is the endpoint and the account. Credentials that change while their owner stays are
// named by their source, except at endpoints that do not tell whether bucket names belong to the
// server or to the account.
func (p *part) Identity() string {
	return p.where.Load().base.Scheme + "://" + p.settings.Endpoint + " " + p.account()
}

func (s *store) account() string {
	if s.identity == nil {
		return "anonymous"
	}
	id, set := s.identity, s.identity.settings
	key, temporary := set.AccessKeyID, set.SessionToken != ""
	if key == "" && set.Profile == "" {
		key, temporary = id.lookup("AWS_ACCESS_KEY_ID"), id.lookup("AWS_SESSION_TOKEN") != ""
	}
	switch {
	case key != "" && (!temporary || s.settings.Endpoint != ""):
		return "key " + key
	case key != "":
		return "temporary key"
	case id.files.named:
		return "profile " + id.files.profile
	case id.lookup("AWS_ROLE_ARN") != "":
		return "role " + id.lookup("AWS_ROLE_ARN")
	}
	return "machine"
}

// Close ends the use of the store. Connections are closed with the last user.
func (p *part) Close() error {
	if p.closed.Swap(true) {
		return errClosed("close", p.URI())
	}
	p.release()
	return nil
}

func errClosed(op, object string) error {
	return errs.Wrap(errs.Closed, op, object, errors.New("the store was closed"))
}

// admit refuses what cannot be done: after Close, and for a caller who has given up.
func (p *part) admit(ctx context.Context, op, object string) error {
	if p.closed.Load() {
		return errClosed(op, object)
	}
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, op, object, context.Cause(ctx))
	}
	return nil
}

// admit checks the key too.
func (p *Provider) admit(ctx context.Context, op, key string) error {
	if err := p.part.admit(ctx, op, key); err != nil {
		return err
	}
	return errs.Wrap(errs.Invalid, op, "", storage.CheckKey(key))
}
