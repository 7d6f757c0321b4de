package loader

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/order"
	"deeplake/core/storage"
)

// delivered holds the batches of an epoch, and its error.
type delivered struct {
	batches []Batch // without slabs
	data    [][]byte
	stats   Stats
	err     error
}

// deliver reads a pass to its end.
func deliver(t testing.TB, src Source, o Options, p order.Pass) *delivered {
	t.Helper()
	l, err := Open(context.Background(), src, o)
	if err != nil {
		return &delivered{err: err}
	}
	defer l.Close()
	e, err := l.Start(context.Background(), p)
	if err != nil {
		return &delivered{err: err}
	}
	defer e.Close()
	d := &delivered{}
	for {
		b, err := e.Next(context.Background())
		if b == nil || err != nil {
			d.err, d.stats = err, e.Stats()
			break
		}
		for i := range b.Columns {
			d.data = append(d.data, bytes.Clone(b.Data(&b.Columns[i])))
		}
		one := *b
		one.Slab = nil
		d.batches = append(d.batches, one)
		b.Release()
	}
	e.Close()
	if s := l.ring.Stats(); s.Slabs != s.FreeSlabs {
		t.Errorf("%d of %d slabs are free after the epoch", s.FreeSlabs, s.Slabs)
	}
	return d
}

// sameEpoch compares a pass in bulk with the same pass of single samples.
func sameEpoch(t testing.TB, got, want *delivered, what string) {
	t.Helper()
	if fmt.Sprint(got.err) != fmt.Sprint(want.err) || errs.KindOf(got.err) != errs.KindOf(want.err) {
		t.Errorf("%s: %v, want %v", what, got.err, want.err)
	}
	if !reflect.DeepEqual(got.batches, want.batches) {
		t.Fatalf("%s: %d batches %+v, want %d %+v", what, len(got.batches), got.batches, len(want.batches), want.batches)
	}
	for i := range want.data {
		if !bytes.Equal(got.data[i], want.data[i]) {
			t.Fatalf("%s: array %d differs", what, i)
		}
	}
	if a, b := got.stats, want.stats; a.Rows != b.Rows || a.Bytes != b.Bytes || a.Stored != b.Stored || a.Skipped != b.Skipped || a.Batches != b.Batches {
		t.Errorf("%s: %d rows of %d bytes, %d stored, want %d of %d, %d", what, a.Rows, a.Bytes, a.Stored, b.Rows, b.Bytes, b.Stored)
	}
}

// anyOptions returns the wishes for a pass over so many rows, and the pass.
func anyOptions(r *rand.Rand, n int64, names []string) (Options, order.Pass) {
	o := Options{BatchSize: bulkRows - 3 + r.IntN(900), Shuffle: []string{order.Sequential, order.Window, order.Full}[r.IntN(3)], Seed: r.Uint64(), ShuffleBytes: 1 << (10 + r.IntN(12)),
		Tail: []string{order.TailExact, order.TailDrop, order.TailPad}[r.IntN(3)], Tensors: names, ReturnIndex: r.IntN(2) == 0, Workers: 1 + r.IntN(3), Prefetch: 1 + r.IntN(3)}
	o.Collate = []string{Stack, Pad}[r.IntN(2)]
	o.OnError = []string{Raise, Raise, Skip}[r.IntN(3)]
	p := order.Pass{Epoch: r.Int64N(3), World: 1 + r.IntN(3)}
	p.Rank, p.Position = r.IntN(p.World), r.Int64N(n+1)/2
	return o, p
}

// TestBulkEpoch: an epoch read in bulk equals one of single samples, for any options and rows.
func TestBulkEpoch(t *testing.T) {
	t.Parallel()
	rounds, _ := strconv.Atoi(os.Getenv("DEEPLAKE_BULK_ROUNDS"))
	for seed := range uint64(max(rounds, 6)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 22))
			uri := "mem://d"
			if seed%2 == 0 {
				uri = "file://" + t.TempDir() + "/d"
			}
			s := newBulkSet(t, r, uri, false)
			whole, err := s.d.View(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for range 30 {
				v := whole
				switch r.IntN(4) {
				case 0:
					v, err = whole.Select(pick(r, s.rows))
				case 1:
					v, err = whole.Slice(s.rows-1, -1, -1-r.Int64N(2))
				case 2:
					rows := pick(r, s.rows)
					rows[r.IntN(len(rows))] = -1
					v, err = whole.SelectOrMissing(context.Background(), rows)
				}
				if err != nil {
					t.Fatal(err)
				}
				names := append([]string{}, v.Names()...) // the last two are uneven
				even := names[:len(names)-2]
				r.Shuffle(len(even), func(i, k int) { even[i], even[k] = even[k], even[i] })
				if names = even[:1+r.IntN(6)]; r.IntN(6) == 0 {
					names = append(append([]string{}, names...), []string{"holes", "ragged"}[r.IntN(2)])
				}
				o, p := anyOptions(r, v.Len(), names)
				bulk := &watched{View: v}
				var one, other Source = bulk, &watched{View: v, alone: true}
				if r.IntN(3) == 0 {
					mix := func(a Source, alone bool) Source {
						m, err := NewMix([]Part{{&watched{View: whole, alone: alone}, "a"}, {a, "b"}}, nil, order.MixPolicy{Weights: []float64{1, 2}})
						if err != nil {
							t.Fatal(err)
						}
						return m
					}
					one, other = mix(one, false), mix(other, true)
				} else if r.IntN(3) == 0 {
					weights := make([]float64, v.Len())
					for i := range weights {
						weights[i] = float64(r.IntN(3)) + 0.1
					}
					if o.Weights, err = order.NewWeights(weights); err != nil {
						t.Fatal(err)
					}
					o.Length = 1 + r.Int64N(3*v.Len())
					p.Position = min(p.Position, o.Length)
				}
				got, want := deliver(t, one, o, p), deliver(t, other, o, p)
				sameEpoch(t, got, want, fmt.Sprintf("%+v %+v", o, p))
				full := false
				for _, b := range got.batches {
					full = full || b.Rows >= bulkRows
				}
				if full && got.err == nil && o.OnError == Raise && o.Collate == Stack && bulk.found.Load() == 0 {
					t.Errorf("%+v: nothing was read in bulk", o)
				}
			}
		})
	}
}

// TestBulkEpochDamage: an epoch meets damage as one of single samples does: the same batches before
// it, then the same error.
func TestBulkEpochDamage(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 9))
	dir := t.TempDir()
	s := newBulkSet(t, r, "file://"+dir+"/d", false)
	v, err := s.d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.Contains(path, "data") {
			return err
		}
		switch n++; n % 12 {
		case 1:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/3] ^= 4
			return os.WriteFile(path, data, 0o600)
		case 5:
			return os.Remove(path)
		case 9:
			return os.Truncate(path, 1000)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	failed, inBulk := 0, int64(0)
	for range 100 {
		all := bulkTensors()
		names := []string{all[r.IntN(len(all))].Name}
		if second := all[r.IntN(len(all))].Name; second != names[0] {
			names = append(names, second)
		}
		o, p := anyOptions(r, v.Len(), names)
		bulk := &watched{View: v}
		var one, other Source = bulk, &watched{View: v, alone: true}
		if r.IntN(3) == 0 {
			if one, err = NewMix([]Part{{one, "a"}, {&watched{View: v}, "b"}}, nil, order.MixPolicy{}); err != nil {
				t.Fatal(err)
			}
			if other, err = NewMix([]Part{{other, "a"}, {&watched{View: v, alone: true}, "b"}}, nil, order.MixPolicy{}); err != nil {
				t.Fatal(err)
			}
		}
		got, want := deliver(t, one, o, p), deliver(t, other, o, p)
		sameEpoch(t, got, want, fmt.Sprintf("%+v %+v", o, p))
		if want.err != nil {
			failed++
		}
		inBulk += bulk.found.Load()
	}
	if failed == 0 || failed == 100 || inBulk == 0 {
		t.Errorf("%d of 100 epochs failed, with %d files, %d plans", failed, n, inBulk)
	}
}

// TestBulkEpochStops: an epoch ends with its context, in the middle of bulk reads.
func TestBulkEpochStops(t *testing.T) {
	t.Parallel()
	s := newBulkSet(t, rand.New(rand.NewPCG(2, 2)), "mem://d", false)
	var store *stopping
	s.env.Stores["mem"] = func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		p, err := s.space.Open(ctx, name, o)
		store = &stopping{Provider: p}
		return store, err
	}
	d, err := dataset.Open(context.Background(), s.env, "mem://d", dataset.OpenOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for after := range int64(12) {
		ctx, cancel := context.WithCancel(context.Background())
		store.stop = cancel
		if store.reads.Store(after); after == 0 {
			cancel()
		}
		l, err := Open(context.Background(), &watched{View: v}, Options{BatchSize: bulkRows, Shuffle: order.Full, Tensors: []string{"int64_1", "float64_0"}, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		e, err := l.Start(ctx, order.Pass{})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			var b *Batch
			if b, err = e.Next(context.Background()); b == nil {
				break
			}
			b.Release()
		}
		if err != nil && !errs.Is(err, errs.Canceled) || err == nil && after == 0 {
			t.Errorf("stopped at read %d: %v, want errs.Canceled", after, err)
		}
		e.Close()
		if s := l.ring.Stats(); s.Slabs != s.FreeSlabs {
			t.Errorf("stopped at read %d: %d of %d slabs are free", after, s.FreeSlabs, s.Slabs)
		}
		l.Close()
		cancel()
	}
}
