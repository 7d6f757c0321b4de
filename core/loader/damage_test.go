package loader

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/storage"
	"deeplake/go/tests/clock"
)

// damage damages the chunks of a lake: bits of some are flipped, one is cut short, one is removed.
func damage(t *testing.T, l *remoteSet) {
	t.Helper()
	ctx := context.Background()
	p, err := l.env.Stores.Open(ctx, "mem://lake", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var chunks []storage.Object
	err = p.List(ctx, "data/", "", func(o storage.Object) bool {
		chunks = append(chunks, o)
		return true
	})
	if err != nil || len(chunks) < 20 {
		t.Fatalf("%d chunks, %v", len(chunks), err)
	}
	slices.SortFunc(chunks, func(a, b storage.Object) int { return int(b.Size - a.Size) })
	for i, o := range chunks[:9] {
		data, err := p.Get(ctx, o.Key)
		if err != nil {
			t.Fatal(err)
		}
		data = slices.Clone(data)
		if err := p.Delete(ctx, o.Key); err != nil {
			t.Fatal(err)
		}
		switch i {
		case 0:
			continue // gone
		case 1:
			data = data[:len(data)/2]
		default:
			data[len(data)/2] ^= 4
		}
		if err := p.Put(ctx, o.Key, data); err != nil {
			t.Fatal(err)
		}
	}
}

// run returns an epoch with its skipped rows, or the error that ended it.
func run(t *testing.T, src Source, o Options) (batches []string, skipped []SkipNote, n int64, err error) {
	t.Helper()
	l := open2(t, src, o)
	defer l.Close()
	e, err := l.Start(context.Background(), order.Pass{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for {
		b, err := e.Next(context.Background())
		if err != nil || b == nil {
			s := e.Stats()
			return batches, s.FirstSkips, s.Skipped, err
		}
		batches = append(batches, digest(b))
		b.Release()
	}
}

// Damage belongs to the samples that it is in, also where they came in one request with others.
func TestDamageIsThatOfItsSamples(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 200)
	damage(t, l)
	for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
		for _, onError := range []string{Skip, Raise} {
			t.Run(shuffle+"/"+onError, func(t *testing.T) {
				o := mixedOptions()
				o.Shuffle, o.OnError = shuffle, onError
				want, notes, n, wantErr := run(t, SourceOf(l.local), o)
				if onError == Skip && (n < 5 || wantErr != nil) || onError == Raise && !errs.Is(wantErr, errs.Corrupt) {
					t.Fatalf("near: %d rows skipped, %v", n, wantErr)
				}
				synctest.Test(t, func(t *testing.T) {
					got, farNotes, farN, err := run(t, SourceOf(l.open(t)), o)
					if farN != n || !slices.Equal(farNotes, notes) {
						t.Errorf("%d rows skipped %v, want %d %v", farN, farNotes, n, notes)
					}
					if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
						t.Errorf("%v, want %v", err, wantErr)
					}
					if !slices.Equal(got, want) {
						t.Errorf("%d batches differ from %d", len(got), len(want))
					}
				})
			})
		}
	}
}

// Bytes damaged in transit are requested once more.
func TestDamageOnTheWayIsRepaired(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 100)
	o := mixedOptions()
	want, _ := epochOf(t, SourceOf(l.local), o, 0)
	synctest.Test(t, func(t *testing.T) {
		v := l.open(t)
		flips := 0
		l.remote.damage = func(key string, dst []byte) {
			if strings.HasPrefix(key, "data/") && flips < 10 {
				dst[len(dst)/2] ^= 1
				flips++
			}
		}
		got, _ := epochOf(t, SourceOf(v), o, 0)
		if flips == 0 || !slices.Equal(got, want) {
			t.Errorf("%d bits flipped; %d batches differ", flips, len(got))
		}
	})
}

// A failing store ends the epoch with its error for every on_error: it is not the sample's fault.
func TestFailingStoreEndsTheEpoch(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 100)
	synctest.Test(t, func(t *testing.T) {
		v := l.open(t)
		o := mixedOptions()
		o.OnError = Skip
		l.remote.fault = func(key string, _, _ int64) error {
			if strings.HasPrefix(key, "data/") {
				return errs.Op("read", key).New(errs.Storage, "no route to host")
			}
			return nil
		}
		_, _, n, err := run(t, SourceOf(v), o)
		if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "read row ") || n != 0 {
			t.Errorf("%v, %d rows skipped, want the row and the store's error", err, n)
		}
	})
}

// No goroutine waits for requests that are needed no more: the bubble's clock stands still.
func TestEarlyEndCancelsRequests(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 100)
	for name, end := range map[string]func(t *testing.T, e *Epoch, cancel func()){
		"close":  func(_ *testing.T, e *Epoch, _ func()) { e.Close() },
		"cancel": func(_ *testing.T, _ *Epoch, cancel func()) { cancel() },
		"next": func(t *testing.T, e *Epoch, _ func()) {
			ctx, stop := context.WithTimeout(context.Background(), time.Millisecond)
			defer stop()
			if _, err := e.Next(ctx); !errs.Is(err, errs.Canceled) {
				t.Errorf("%v, want canceled", err)
			}
			e.Close()
		},
	} {
		for _, wait := range []time.Duration{0, 30 * time.Millisecond, 60 * time.Millisecond, 80 * time.Millisecond} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					v := l.open(t)
					l.remote.slow = func(key string, _ int64) time.Duration {
						if strings.HasPrefix(key, "data/") {
							return time.Hour
						}
						return 0
					}
					o := mixedOptions()
					o.Shuffle = order.Window
					loader := open2(t, SourceOf(v), o)
					defer loader.Close()
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					e, err := loader.Start(ctx, order.Pass{})
					if err != nil {
						t.Fatal(err)
					}
					clock.Pass(wait)
					began := time.Now()
					end(t, e, cancel)
					e.Close()
					if took := time.Since(began); took > 2*time.Millisecond {
						t.Errorf("the end took %v", took)
					}
				})
			})
		}
	}
}

// A read that is given up returns at once too.
func TestCanceledRead(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 100)
	synctest.Test(t, func(t *testing.T) {
		v := l.open(t)
		l.remote.slow = func(string, int64) time.Duration { return time.Hour }
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		began := time.Now()
		if _, err := readOnce(ctx, SourceOf(v), []int64{1, 50, 70}, ReadOptions{Collate: List}); !errs.Is(err, errs.Canceled) {
			t.Errorf("%v, want canceled", err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
