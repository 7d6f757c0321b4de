package storagetest

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
)

// broken is a sound provider of which a test replaces one method by one that breaks a promise.
type broken struct {
	storage.Provider
	get         func(ctx context.Context, key string) ([]byte, error)
	readAt      func(ctx context.Context, key string, dst []byte, off int64) error
	put         func(ctx context.Context, key string, data []byte) error
	putIfAbsent func(ctx context.Context, key string, data []byte) error
	list        func(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error
	remove      func(ctx context.Context, keys ...string) error
	create      func(ctx context.Context, key string) (storage.Stream, error)
	close       func() error
	uri         func() string
	ranged      func(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error)
	copyFrom    func(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error)
}

func (b *broken) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if b.ranged != nil {
		return b.ranged(ctx, key, off, n, tag)
	}
	return faultstore.NewRanged(b.Provider, nil).Range(ctx, key, off, n, tag)
}

func (b *broken) CopyFrom(ctx context.Context, src storage.Provider, srcKey, key string) (bool, error) {
	if b.copyFrom != nil {
		return b.copyFrom(ctx, src, srcKey, key)
	}
	data, err := src.Get(ctx, srcKey)
	if err != nil {
		return false, err
	}
	return true, b.Provider.Put(ctx, key, data)
}

func (b *broken) Get(ctx context.Context, key string) ([]byte, error) {
	if b.get != nil {
		return b.get(ctx, key)
	}
	return b.Provider.Get(ctx, key)
}

func (b *broken) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	if b.readAt != nil {
		return b.readAt(ctx, key, dst, off)
	}
	return b.Provider.ReadAt(ctx, key, dst, off)
}

func (b *broken) Put(ctx context.Context, key string, data []byte) error {
	if b.put != nil {
		return b.put(ctx, key, data)
	}
	return b.Provider.Put(ctx, key, data)
}

func (b *broken) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if b.putIfAbsent != nil {
		return b.putIfAbsent(ctx, key, data)
	}
	return b.Provider.PutIfAbsent(ctx, key, data)
}

func (b *broken) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	if b.list != nil {
		return b.list(ctx, prefix, after, fn)
	}
	return b.Provider.List(ctx, prefix, after, fn)
}

func (b *broken) Delete(ctx context.Context, keys ...string) error {
	if b.remove != nil {
		return b.remove(ctx, keys...)
	}
	return b.Provider.Delete(ctx, keys...)
}

func (b *broken) Create(ctx context.Context, key string) (storage.Stream, error) {
	if b.create != nil {
		return b.create(ctx, key)
	}
	return storage.Create(ctx, b.Provider, key)
}

func (b *broken) Close() error {
	if b.close != nil {
		return b.close()
	}
	return b.Provider.Close()
}

func (b *broken) URI() string {
	if b.uri != nil {
		return b.uri()
	}
	return b.Provider.URI()
}

// eager is a stream whose object is visible at each write, and which keeps it on Abort.
type eager struct {
	storage.Stream
	ctx context.Context
	p   storage.Provider
	key string
}

func (e *eager) Write(p []byte) (int, error) { return len(p), e.p.Put(e.ctx, e.key, p) }

// defects breaks one promise each, by the name of the check that must notice.
func defects() map[string]func(*broken) {
	return map[string]func(b *broken){
		"round trip": func(b *broken) {
			b.get = func(ctx context.Context, key string) ([]byte, error) {
				data, err := b.Provider.Get(ctx, key)
				if len(data) > 4096 {
					data = data[:4096]
				}
				return data, err
			}
		},
		"slices belong to one side": func(b *broken) {
			var kept []byte
			b.put = func(_ context.Context, _ string, data []byte) error { kept = data; return nil }
			b.get = func(context.Context, string) ([]byte, error) { return append([]byte(nil), kept...), nil }
		},
		"replace": func(b *broken) {
			b.put = func(ctx context.Context, key string, data []byte) error {
				_ = b.Provider.PutIfAbsent(ctx, key, data)
				return nil
			}
		},
		"read bounds": func(b *broken) {
			b.readAt = func(ctx context.Context, key string, dst []byte, off int64) error {
				_ = b.Provider.ReadAt(ctx, key, dst, off) // a short read goes unnoticed
				return nil
			}
		},
		"missing": func(b *broken) {
			b.get = func(ctx context.Context, key string) ([]byte, error) {
				data, err := b.Provider.Get(ctx, key)
				if err != nil {
					err = errs.Op("get", key).New(errs.Storage, "404")
				}
				return data, err
			}
		},
		"put if absent": func(b *broken) { b.putIfAbsent = b.Provider.Put },
		"bad keys": func(b *broken) {
			b.remove = func(context.Context, ...string) error { return nil }
		},
		"odd keys": func(b *broken) {
			b.put = func(ctx context.Context, key string, data []byte) error {
				if key[0] == '.' {
					return nil
				}
				return b.Provider.Put(ctx, key, data)
			}
		},
		"list": func(b *broken) {
			b.list = func(ctx context.Context, prefix, _ string, fn func(storage.Object) bool) error {
				return b.Provider.List(ctx, prefix, "", fn)
			}
		},
		"list many": func(b *broken) {
			b.list = func(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
				n := 0
				return b.Provider.List(ctx, prefix, after, func(o storage.Object) bool { n++; return n <= 1000 && fn(o) })
			}
		},
		"list calls back": func(b *broken) {
			b.list = func(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
				more := true
				for more {
					more = false
					err := b.Provider.List(ctx, prefix, after, func(o storage.Object) bool {
						more = fn(o)
						return false
					})
					if err != nil {
						return err
					}
					after = after + "z"
				}
				return nil
			}
		},
		"delete": func(b *broken) {
			b.remove = func(ctx context.Context, keys ...string) error {
				if len(keys) > 0 {
					return b.Provider.Delete(ctx, keys[0])
				}
				return nil
			}
		},
		"stream": func(b *broken) {
			b.create = func(ctx context.Context, key string) (storage.Stream, error) {
				s, err := storage.Create(ctx, b.Provider, key)
				return &eager{s, ctx, b.Provider, key}, err
			}
		},
		"stream abort": func(b *broken) {
			b.create = func(ctx context.Context, key string) (storage.Stream, error) {
				s, err := storage.Create(ctx, b.Provider, key)
				return &eager{s, ctx, b.Provider, key}, err
			}
		},
		"streams side by side": func(b *broken) {
			b.create = func(ctx context.Context, key string) (storage.Stream, error) {
				return storage.Create(ctx, b.Provider, key[:len(key)-1]+"0") // all into one object
			}
		},
		"put if absent race": func(b *broken) {
			b.putIfAbsent = func(ctx context.Context, key string, data []byte) error {
				if _, err := b.Provider.Get(ctx, key); err == nil {
					return errs.Op("put-if-absent", key).New(errs.Conflict, "taken")
				}
				return b.Provider.PutIfAbsent(ctx, key, data)
			}
		},
		"start together": func(b *broken) {
			b.putIfAbsent = func(ctx context.Context, key string, data []byte) error {
				if _, err := b.Provider.Get(ctx, key); err == nil {
					return errs.Op("put-if-absent", key).New(errs.Exists, "taken")
				}
				runtime.Gosched() // lets others come between check and write
				return b.Provider.Put(ctx, key, data)
			}
		},
		"taking numbers": func(b *broken) {
			b.putIfAbsent = b.Provider.Put // every write succeeds, the last one stays
		},
		"list after write": func(b *broken) {
			// a listing shows the state at the request of the listing before
			var shown []storage.Object
			b.list = func(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
				before := shown
				shown = nil
				if err := b.Provider.List(ctx, prefix, after, func(o storage.Object) bool { shown = append(shown, o); return true }); err != nil {
					return err
				}
				for _, o := range before {
					if !fn(o) {
						break
					}
				}
				return nil
			}
		},
		"ranges": func(b *broken) {
			b.ranged = func(ctx context.Context, key string, off, n int64, _ string) (storage.Body, error) {
				// looks at no tag
				return faultstore.NewRanged(b.Provider, nil).Range(ctx, key, off, n, "")
			}
		},
		"copies": func(b *broken) {
			b.copyFrom = func(ctx context.Context, _ storage.Provider, _, key string) (bool, error) {
				return false, b.Provider.Put(ctx, key, nil)
			}
		},
		"parallel use": func(b *broken) {
			var n atomic.Int64
			b.put = func(ctx context.Context, key string, data []byte) error {
				if n.Add(1) == 100 {
					return nil
				}
				return b.Provider.Put(ctx, key, data)
			}
		},
		"read while deleting": func(b *broken) {
			b.remove = func(ctx context.Context, keys ...string) error {
				return b.Provider.Put(ctx, keys[0], nil) // emptied instead of removed
			}
		},
		"canceled": func(b *broken) {
			b.put = func(ctx context.Context, key string, data []byte) error {
				return b.Provider.Put(context.WithoutCancel(ctx), key, data)
			}
		},
		"closed": func(b *broken) { b.close = func() error { return nil } },
		"uri":    func(b *broken) { b.uri = func() string { return "" } },
	}
}

func TestEachCheckCanFail(t *testing.T) {
	t.Parallel()
	for name, spoil := range defects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := runOn(t, name, spoil)
			if err == nil {
				t.Fatal("the check does not notice")
			}
			t.Log(err)
			if err := runOn(t, name, func(*broken) {}); err != nil {
				t.Errorf("sound provider: %v", err)
			}
		})
	}
}

// runOn runs one check on a spoilt provider of memory.
func runOn(t *testing.T, name string, spoil func(*broken)) error {
	t.Helper()
	var space mem.Space
	reopen := func() storage.Provider {
		p, err := space.Open(t.Context(), "x", storage.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		b := &broken{Provider: p}
		spoil(b)
		return b
	}
	for _, c := range checks() {
		if c.name == name {
			return c.run(t.Context(), fixture{reopen(), reopen})
		}
	}
	t.Fatalf("no check %q", name)
	return nil
}

func TestEveryCheckIsTried(t *testing.T) {
	t.Parallel()
	tried := defects()
	for _, c := range checks() {
		if tried[c.name] == nil {
			t.Errorf("no defect for the check %q", c.name)
		}
	}
}
