// Package mem owns the provider of memory, for tests, demonstrations and scratch datasets. Objects
// live in a Space, and end with the process. Two Spaces share nothing.
package mem

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Space is a set of named stores. A program makes one and puts its Open into the storage.Registry
// under "mem". The zero value is an empty Space. It may be used in parallel, and must not be
// copied.
type Space struct {
	// Now is the clock that dates objects; nil is time.Now. A test may set its own before the first
	// Open.
	Now func() time.Time

	mu     sync.Mutex
	stores map[string]*store
}

// store is the bytes behind one name, shared by all its providers.
type store struct {
	now     func() time.Time
	mu      sync.RWMutex
	objects map[string]object
}

// object is content, once in here never written again, and its date.
type object struct {
	data     []byte
	modified time.Time
}

// Provider is one handle on a named store. All methods may be called in parallel.
type Provider struct {
	name   string
	store  *store
	closed atomic.Bool
}

var (
	_ storage.Provider = (*Provider)(nil)
	_ storage.Opener   = (*Space)(nil).Open
)

// Open gives a provider of the store called name. With o.Create a missing store is made, without it
// is errs.NotFound. The bytes stay after Close, as long as the Space does.
func (s *Space) Open(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
	const op = "open memory"
	if err := canceled(ctx, op, name); err != nil {
		return nil, err
	}
	if err := storage.CheckKey(name); err != nil {
		return nil, errs.Wrap(errs.Invalid, op, name, errors.New(`not a name (want letters, for example "mem://scratch")`))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stores[name]
	if st == nil {
		if !o.Create {
			return nil, errs.Wrap(errs.NotFound, op, name, errors.New("no such store in this process"))
		}
		st = &store{now: s.Now, objects: make(map[string]object)}
		if st.now == nil {
			st.now = time.Now
		}
		if s.stores == nil {
			s.stores = make(map[string]*store)
		}
		s.stores[name] = st
	}
	return &Provider{name: name, store: st}, nil
}

// Get returns a copy of the object.
func (p *Provider) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := p.lookup(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(data)), data...), nil
}

// ReadAt copies a part of the object to dst.
func (p *Provider) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	data, err := p.lookup(ctx, "read", key)
	if err != nil {
		return err
	}
	if off < 0 {
		return errs.Op("read", key).New(errs.Invalid, "offset %d is negative", off)
	}
	got := 0
	if off < int64(len(data)) {
		got = copy(dst, data[off:])
	}
	if got < len(dst) {
		return errs.Op("read", key).New(errs.Corrupt, "object is truncated (got %d bytes at offset %d, want %d)", got, off, len(dst))
	}
	return nil
}

// Put keeps a copy of data.
func (p *Provider) Put(ctx context.Context, key string, data []byte) error {
	return p.keep(ctx, "put", key, data, false)
}

// PutIfAbsent keeps a copy of data unless the key exists.
func (p *Provider) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return p.keep(ctx, "put-if-absent", key, data, true)
}

func (p *Provider) keep(ctx context.Context, op, key string, data []byte, ifAbsent bool) error {
	if err := p.admit(ctx, op, key); err != nil {
		return err
	}
	own := append(make([]byte, 0, len(data)), data...)
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	if _, taken := p.store.objects[key]; taken && ifAbsent {
		return errs.Wrap(errs.Exists, op, key, errors.New("the object exists already"))
	}
	p.store.objects[strings.Clone(key)] = object{own, p.store.now().UTC()}
	return nil
}

// List shows the objects that are there when it begins.
func (p *Provider) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	const op = "list"
	if p.closed.Load() {
		return closedError(op, prefix)
	}
	if err := canceled(ctx, op, prefix); err != nil {
		return err
	}
	if prefix != "" && (!strings.HasSuffix(prefix, "/") || storage.CheckKey(prefix[:len(prefix)-1]) != nil) {
		return errs.Op("list", prefix).New(errs.Invalid, `prefix must be "" or a key part that ends with "/"`)
	}
	for _, o := range p.store.snapshot(prefix, after) {
		if err := canceled(ctx, op, prefix); err != nil {
			return err
		}
		if !fn(o) {
			return nil
		}
	}
	return nil
}

func (s *store) snapshot(prefix, after string) []storage.Object {
	var found []storage.Object
	s.mu.RLock()
	for key, o := range s.objects {
		if key > after && strings.HasPrefix(key, prefix) {
			found = append(found, storage.Object{Key: key, Size: int64(len(o.data)), Modified: o.modified})
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(found, func(a, b storage.Object) int { return strings.Compare(a.Key, b.Key) })
	return found
}

// Delete removes the objects; with a key that is not one, none of them.
func (p *Provider) Delete(ctx context.Context, keys ...string) error {
	const op = "delete"
	if p.closed.Load() {
		return closedError(op, p.name)
	}
	for _, key := range keys {
		if err := p.admit(ctx, op, key); err != nil {
			return err
		}
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	for _, key := range keys {
		delete(p.store.objects, key)
	}
	return nil
}

// URI is "mem://" and the name; it means something within the Space only.
func (p *Provider) URI() string { return "mem://" + p.name }

// Close ends this handle, not the bytes. The second Close is errs.Closed.
func (p *Provider) Close() error {
	if p.closed.Swap(true) {
		return closedError("close", p.name)
	}
	return nil
}

// lookup returns the stored bytes, which must not be changed.
func (p *Provider) lookup(ctx context.Context, op, key string) ([]byte, error) {
	if err := p.admit(ctx, op, key); err != nil {
		return nil, err
	}
	p.store.mu.RLock()
	o, ok := p.store.objects[key]
	p.store.mu.RUnlock()
	if !ok {
		return nil, errs.Wrap(errs.NotFound, op, key, errors.New("no such object in "+p.URI()))
	}
	return o.data, nil
}

func (p *Provider) admit(ctx context.Context, op, key string) error {
	if p.closed.Load() {
		return closedError(op, key)
	}
	if err := canceled(ctx, op, key); err != nil {
		return err
	}
	return errs.Wrap(errs.Invalid, op, "", storage.CheckKey(key)) // names the key itself
}

func closedError(op, object string) error {
	return errs.Wrap(errs.Closed, op, object, errors.New("the storage was closed"))
}

func canceled(ctx context.Context, op, object string) error {
	if err := ctx.Err(); err != nil {
		return errs.Wrap(errs.Canceled, op, object, err)
	}
	return nil
}
