package loader

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/tensor"
)

// stopping is a store that ends a context after some reads of chunks.
type stopping struct {
	storage.Provider
	reads atomic.Int64
	stop  func()
}

func (s *stopping) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	if ctx.Err() == nil && strings.Contains(key, "data") && s.reads.Add(-1) == 0 {
		s.stop()
	}
	return s.Provider.ReadAt(ctx, key, dst, off)
}

// TestBulkStops: a read ends with its context, before rows are located and in the middle of the
// read.
func TestBulkStops(t *testing.T) {
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
	for _, after := range []int64{0, 1, 2} {
		for _, workers := range []int{1, 2} {
			ctx, cancel := context.WithCancel(context.Background())
			store.stop = cancel
			if store.reads.Store(after); after == 0 {
				cancel()
			}
			rows := make([]int64, s.rows)
			for i := range rows {
				rows[i] = int64(i) * 7 % s.rows
			}
			src := &watched{View: v}
			b, err := readOnce(ctx, src, rows, ReadOptions{Tensors: []string{"int64_1", "float64_0"}, Workers: workers})
			if b != nil || !errs.Is(err, errs.Canceled) {
				t.Errorf("%d workers, stopped at read %d: %v, want errs.Canceled", workers, after, err)
			}
			if after > 0 && src.found.Load() == 0 {
				t.Errorf("stopped at read %d: rows were read one by one", after)
			}
			cancel()
		}
	}
}

// BenchmarkReadNumbers measures the cost of a number, in bulk and one by one.
func BenchmarkReadNumbers(b *testing.B) {
	const n = 2_000_000
	ctx := context.Background()
	env := &dataset.Env{Stores: storage.Registry{"file": local.Open}, Codecs: all.All(), Writer: "test"}
	d, err := dataset.Create(ctx, env, "file://"+b.TempDir()+"/d", dataset.CreateOptions{})
	if err == nil {
		err = d.CreateTensor(ctx, dataset.TensorSpec{Name: "x", DType: "int64"})
	}
	if err == nil {
		err = d.Append(ctx, []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: make([]byte, 8*n)}}}, n)
	}
	if err == nil {
		_, err = d.Commit(ctx, "")
	}
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(ctx)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	shuffled := make([]int64, n/20)
	for i := range shuffled {
		shuffled[i] = r.Int64N(n)
	}
	sorted := slices.Sorted(slices.Values(shuffled))
	for _, alone := range []bool{false, true} {
		for name, rows := range map[string][]int64{"sorted": sorted, "shuffled": shuffled} {
			b.Run(fmt.Sprintf("%s/one by one=%v", name, alone), func(b *testing.B) {
				reader := NewReader(&watched{View: v, alone: alone})
				defer reader.Close()
				for b.Loop() {
					batch, err := reader.Read(ctx, rows, ReadOptions{})
					if err != nil {
						b.Fatal(err)
					}
					batch.Release()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
			})
		}
	}
}

// TestBulkDamage: damage gives the errors of reading one by one: the same error, about the first
// row that it touches.
func TestBulkDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"flipped": func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err == nil {
				data[len(data)/3] ^= 4
				err = os.WriteFile(path, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"cut": func(t *testing.T, path string) {
			if err := os.Truncate(path, 1000); err != nil {
				t.Fatal(err)
			}
		},
		"gone": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(5, 8))
			dir := t.TempDir()
			s := newBulkSet(t, r, "file://"+dir+"/d", false)
			v, err := s.d.View(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			var paths []string
			_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
				if err == nil && !e.IsDir() && strings.Contains(path, "data") {
					paths = append(paths, path)
				}
				return nil
			})
			for i := 0; i < len(paths); i += 3 {
				damage(t, paths[i])
			}
			for _, spec := range bulkTensors() {
				for range 3 {
					rows := pick(r, s.rows)
					bulk, alone, _, err, want := both(t, v, rows, ReadOptions{Tensors: []string{spec.Name}, Workers: 2})
					if fmt.Sprint(err) != fmt.Sprint(want) || errs.KindOf(err) != errs.KindOf(want) {
						t.Errorf("%s: %v, want %v", spec.Name, err, want)
					}
					if err != nil {
						failed++
						continue
					}
					bulk.Release()
					alone.Release()
				}
			}
			if failed == 0 {
				t.Errorf("nothing failed with %d files damaged", len(paths))
			}
		})
	}
}
