package all

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/gcs"
)

// clients are Google's, which serve any number of buckets, and are closed with the last user.
type clients struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]*client
}

type client struct {
	*gcs.Client
	users int
}

// bucket is a provider that returns its client when it is closed. It counts as a decorator, so that
// copies within the store find the provider inside.
type bucket struct {
	*gcs.Provider
	release func()
}

// Unwrap returns the provider itself.
func (b *bucket) Unwrap() storage.Provider { return b.Provider }

// Close gives the client back.
func (b *bucket) Close() error {
	err := b.Provider.Close()
	if err == nil {
		b.release()
	}
	return err
}

type objects struct {
	*gcs.Source
	release func()
}

// Close gives the client back.
func (s *objects) Close() error {
	err := s.Source.Close()
	if err == nil {
		s.release()
	}
	return err
}

// take gives the client of o, and how to give it back.
func (g *clients) take(ctx context.Context, o storage.Options) (*gcs.Client, func(), error) {
	key, err := identityOf(o)
	if err != nil {
		return nil, nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.open[key]
	if c == nil {
		made, err := gcs.Connect(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		c = &client{Client: made}
		if g.open == nil {
			g.open = map[[sha256.Size]byte]*client{}
		}
		g.open[key] = c
	}
	c.users++
	return c.Client, func() { g.drop(key, c) }, nil
}

func (g *clients) drop(key [sha256.Size]byte, c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.users--; c.users == 0 {
		delete(g.open, key)
		c.Client.Close()
	}
}

func (g *clients) provider(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
	c, release, err := g.take(ctx, o)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "open", "gs://"+rest, err)
	}
	p, err := c.Open(rest)
	if err != nil {
		release()
		return nil, err
	}
	return &bucket{Provider: p, release: release}, nil
}

func (g *clients) source(ctx context.Context, rest string, o storage.Options) (storage.Source, error) {
	c, release, err := g.take(ctx, o)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "open", "gs://"+rest, err)
	}
	s, err := c.OpenSource(rest)
	if err != nil {
		release()
		return nil, err
	}
	return &objects{Source: s, release: release}, nil
}

// identityOf is equal for what may share a client: a hash of settings, secrets and environment.
func identityOf(o storage.Options) ([sha256.Size]byte, error) {
	s := o.Settings
	headers := slices.Sorted(maps.Keys(s.Headers))
	for i, name := range headers {
		headers[i] = name + "=" + s.Headers[name].Reveal()
	}
	text, err := json.Marshal([]any{
		s, s.SecretAccessKey.Reveal(), s.SessionToken.Reveal(), s.BearerToken.Reveal(), s.CustomerKey.Reveal(), headers, o.Environ,
	})
	if err != nil {
		return [sha256.Size]byte{}, errs.New(errs.Internal, "settings: %w", err)
	}
	return sha256.Sum256(text), nil
}
