// Package prove proves that a store honours conditional writes. A commit is one put-if-absent. On a
// store that ignores the condition, two writers would both succeed at the same version, and the
// rows of the first would be lost.
package prove

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// tries bounds the writes of a proof. A store is refused after that many succeeded: one delete of
// the dataset beside the proof can make one more write succeed, not all.
const tries = 3

// Proofs remembers which services were proven. The zero value is ready; it may be used in parallel
// and must not be copied.
type Proofs struct {
	mu       sync.Mutex
	services map[string]*service
}

// service is one bucket at one endpoint.
type service struct {
	proven atomic.Bool
	token  chan struct{} // held by the caller that proves
}

func (p *Proofs) service(name string) *service {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.services[name]
	if s == nil {
		if p.services == nil {
			p.services = map[string]*service{}
		}
		s = &service{token: make(chan struct{}, 1)}
		p.services[name] = s
	}
	return s
}

// Store is a provider whose first write proves the service, and which reads back conditional writes
// of services that are not known to be sound. All methods may be called in parallel.
type Store struct {
	storage.Provider
	service *service
	name    string // of the service
	known   bool   // its vendor promises that conditions hold
}

var (
	_ storage.Streamer = (*Store)(nil)
	_ storage.Copier   = (*Store)(nil)
	_ storage.Wrapper  = (*Store)(nil)
	_ storage.Meter    = (*Store)(nil)
)

// Provider decorates inner, and owns it from then on. A provider that is not a
// storage.Hosted needs no proof, and is returned unchanged.
func (p *Proofs) Provider(inner storage.Provider) storage.Provider {
	hosted, ok := storage.As[storage.Hosted](inner)
	if !ok {
		return inner
	}
	name, known := hosted.Service()
	return &Store{Provider: inner, service: p.service(name), name: name, known: known}
}

// Put stores data once the service is proven: a dataset on a store without conditions is refused
// before its data goes up.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	if err := s.prove(ctx); err != nil {
		return err
	}
	return s.Provider.Put(ctx, key, data)
}

// PutIfAbsent stores data unless the key exists, once the service is proven. Where the service is
// not known to be sound, nil means that the object was read back too: of writers whose requests
// crossed all but one then see another's object.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := s.prove(ctx); err != nil {
		return err
	}
	if err := s.Provider.PutIfAbsent(ctx, key, data); err != nil || s.known {
		return err
	}
	found, err := s.Get(ctx, key)
	if err != nil && !errs.Is(err, errs.NotFound) {
		return errs.Op("put-if-absent", key).New(errs.Storage, "%q took the object, and it cannot be read back: %w", s.name, err)
	}
	if err == nil && bytes.Equal(found, data) {
		return nil
	}
	s.service.proven.Store(false)
	what := "another object"
	if err != nil {
		what = "none"
	}
	return errs.Op("put-if-absent", key).New(errs.Storage, "%q took the object and holds %s under that key; %s", s.name, what, s.remedy())
}

// Create begins an object, once the service is proven.
func (s *Store) Create(ctx context.Context, key string) (storage.Stream, error) {
	if err := s.prove(ctx); err != nil {
		return nil, err
	}
	return storage.Create(ctx, s.Provider, key)
}

// CopyFrom copies within the store where that can, once the service is proven.
func (s *Store) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error) {
	inner, ok := storage.As[storage.Copier](s.Provider)
	if !ok {
		return false, nil
	}
	if err := s.prove(ctx); err != nil {
		return false, err
	}
	return inner.CopyFrom(ctx, src, srcKey, key)
}

// List leaves the probe out: it is none of the caller's objects.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	return s.Provider.List(ctx, prefix, after, func(o storage.Object) bool { return o.Key == storage.ProbeKey || fn(o) })
}

// Unwrap returns the decorated provider.
func (s *Store) Unwrap() storage.Provider { return s.Provider }

// Stats counts the work of the provider and of all below it.
func (s *Store) Stats() storage.Stats { return storage.StatsOf(s.Provider) }

// prove returns nil once the service has refused to overwrite. A failure is not remembered: the
// next write proves again.
func (s *Store) prove(ctx context.Context) error {
	if s.service.proven.Load() {
		return nil
	}
	select {
	case s.service.token <- struct{}{}:
	case <-ctx.Done():
		return errs.Wrap(errs.Canceled, "prove conditional writes of", s.name, context.Cause(ctx))
	}
	defer func() { <-s.service.token }()
	if s.service.proven.Load() {
		return nil
	}
	refuses, err := s.refuses(ctx)
	var lack *lackError
	if errors.As(err, &lack) {
		_ = s.Delete(ctx, storage.ProbeKey)
		return errs.Op("write to", s.URI()).New(errs.Unsupported, "%q takes an object and refuses the same one on the condition that it is absent; %s: %w", s.name, s.remedy(), lack.err)
	}
	if err != nil {
		return errs.Wrap(errs.Storage, "prove conditional writes of", s.name, err)
	}
	if !refuses {
		_ = s.Delete(ctx, storage.ProbeKey)
		return errs.Op("write to", s.URI()).New(errs.Unsupported, "%q ignores the condition of a put-if-absent; %s", s.name, s.remedy())
	}
	s.service.proven.Store(true)
	return nil
}

// remedy says how to go on with a store without conditional writes.
const remedy = "two writers would lose each other's commits, so nothing is written there: " +
	"use a store, or a release of it, that honours If-None-Match (S3) or ifGenerationMatch (Google), or copy the dataset to one"

// remedy returns the way on from this store.
func (s *Store) remedy() string {
	if bucket, ok := strings.CutPrefix(s.name, "https://storage.googleapis.com/"); ok {
		return `open it as "gs://` + bucket + `", the protocol in which it has conditions`
	}
	return remedy
}

// lackError is the refusal of the condition alone.
type lackError struct{ err error }

func (l *lackError) Error() string { return l.err.Error() }

// lack returns a lackError if the store takes the probe without the condition, with which it has
// refused it for err, and refuses it again. Otherwise the condition is not the reason, and lack
// returns the reason, or nil if there is none any more.
func (s *Store) lack(ctx context.Context, token []byte, err error) error {
	var passing *storage.Fault
	var bucket *storage.NoBucket
	if errors.As(err, &passing) || errors.As(err, &bucket) || !errs.Is(err, errs.Unsupported) && !errs.Is(err, errs.Storage) && !errs.Is(err, errs.Invalid) {
		return err
	}
	if plain := s.Provider.Put(ctx, storage.ProbeKey, token); plain != nil {
		return plain
	}
	if again := s.Provider.PutIfAbsent(ctx, storage.ProbeKey, token); again == nil || errs.Is(again, errs.Exists) {
		return nil
	}
	return &lackError{err}
}

// refuses reports whether the store refuses to put the probe where it exists, and keeps the old
// bytes.
func (s *Store) refuses(ctx context.Context) (bool, error) {
	for range tries {
		token := []byte(rand.Text() + "\n")
		err := s.Provider.PutIfAbsent(ctx, storage.ProbeKey, token)
		if err == nil {
			continue // absent until now, or the condition was ignored
		}
		if !errs.Is(err, errs.Exists) {
			if err = s.lack(ctx, token, err); err != nil {
				return false, err
			}
			continue
		}
		found, err := s.Get(ctx, storage.ProbeKey)
		switch {
		case errs.Is(err, errs.NotFound): // deleted meanwhile
		case err != nil:
			return false, err
		case !bytes.Equal(found, token):
			return true, nil
		}
		// The token stands: the answer to its first request was lost, or the store refuses and
		// writes all the same.
	}
	return false, nil
}
