package loader

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/order"
	"deeplake/core/tensor"
	"deeplake/go/tests/clock"
)

// mixedRemoteSet has a tensor of every way in which samples lie in chunks, in many small chunks of
// several commits.
func mixedRemoteSet(t testing.TB, rows int64) *remoteSet {
	t.Helper()
	return newRemoteSet(t, func(d *dataset.Dataset) {
		const small = 32 << 10
		create(t, d,
			dataset.TensorSpec{Name: "images", HType: "image.rgb", Compression: "png", ChunkBytes: small},
			dataset.TensorSpec{Name: "labels", DType: "int64"},
			dataset.TensorSpec{Name: "text", HType: "text", ChunkBytes: small},
			dataset.TensorSpec{Name: "boxes", DType: "float32", ChunkBytes: small},
			dataset.TensorSpec{Name: "packed", DType: "int64", Compression: "zstd", ChunkBytes: small},
			dataset.TensorSpec{Name: "frames", HType: "sequence[image.rgb]", Compression: "png", ChunkBytes: small},
			dataset.TensorSpec{Name: "tiled", DType: "uint8", ChunkBytes: small},
			dataset.TensorSpec{Name: "maybe", DType: "uint8"},
		)
		for from := int64(0); from < rows; from += 100 {
			for i := from; i < min(from+100, rows); i++ {
				appendMixed(t, d, i)
			}
			if _, err := d.Commit(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.DeleteRows(context.Background(), []int64{3, 4, 50}); err != nil {
			t.Fatal(err)
		}
		err := d.Update(context.Background(), []int64{7, 20}, []tensor.Rows{{Tensor: "images", Samples: []tensor.Sample{pngOf(t, 1000, 20), pngOf(t, 1001, 20)}}})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func appendMixed(t testing.TB, d *dataset.Dataset, i int64) {
	t.Helper()
	number := binary.LittleEndian.AppendUint64(nil, uint64(i))
	side := int64(4)
	if i%10 == 5 {
		side = 300 // 90 kB: cut into tiles
	}
	tile := make([]byte, side*side)
	for k := range tile {
		tile[k] = byte(i + int64(k)*7)
	}
	maybe := tensor.Sample{Form: tensor.FormHole}
	if i%3 != 1 {
		maybe = tensor.Sample{DType: tensor.Uint8, Shape: tensor.Shape{1}, Data: []byte{byte(i)}}
	}
	frames := make([]tensor.Sample, i%4)
	for k := range frames {
		frames[k] = pngOf(t, i*10+int64(k), 6)
	}
	err := d.Append(context.Background(), []tensor.Rows{
		{Tensor: "images", Samples: []tensor.Sample{pngOf(t, i, 20)}},
		{Tensor: "labels", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: number}},
		{Tensor: "text", Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "row %*d", i%40, i)}}},
		{Tensor: "boxes", Samples: []tensor.Sample{{DType: tensor.Float32, Shape: tensor.Shape{i % 5, 4}, Data: make([]byte, i%5*16)}}},
		{Tensor: "packed", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: number}},
		{Tensor: "frames", Samples: frames, RowItems: []int64{int64(len(frames))}},
		{Tensor: "tiled", Samples: []tensor.Sample{{DType: tensor.Uint8, Shape: tensor.Shape{side, side}, Data: tile}}},
		{Tensor: "maybe", Samples: []tensor.Sample{maybe}},
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
}

func mixedOptions() Options {
	return Options{BatchSize: 32, Collate: List, Workers: 2, ReturnIndex: true}
}

// digest describes a batch: its rows, and a checksum of every item and shape.
func digest(b *Batch) string {
	out := fmt.Sprintf("batch %d of %d", b.Index, b.Rows)
	for i := range b.Columns {
		c := &b.Columns[i]
		sum := crc32.NewIEEE()
		if c.Kind == KindArray {
			sum.Write(b.Data(c))
		} else {
			for k := range c.Count {
				sum.Write(b.Item(c, k))
				if c.Kind == KindList {
					fmt.Fprint(sum, c.Items[k].Shape)
				}
			}
		}
		out += fmt.Sprintf(" %s:%d:%08x:%v", c.Name, c.Count, sum.Sum32(), c.Null)
	}
	return out
}

// epochOf runs an epoch to its end.
func epochOf(t testing.TB, src Source, o Options, epoch int64) ([]string, Stats) {
	t.Helper()
	l, err := Open(context.Background(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e, err := l.Start(context.Background(), order.Pass{Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var out []string
	for {
		b, err := e.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		out = append(out, digest(b))
		b.Release()
	}
	s := e.Stats()
	l.Close()
	if e.prefetcher != nil {
		if f := e.prefetcher.Figures(); f.Flying != 0 || f.Running != 0 || l.fetched.Mapped() != 0 {
			t.Errorf("%d bytes held, %d on their way in %d requests after Close", l.fetched.Mapped(), f.Flying, f.Running)
		}
	}
	return out, s
}

// Prefetched bytes equal a local disk's, for all options.
func TestFetchedEpochIsLocalEpoch(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 300)
	rows := make([]int64, 0, 500)
	for i := range int64(500) {
		rows = append(rows, i*i%l.local.Len())
	}
	views := map[string]func(v *dataset.View) (*dataset.View, error){
		"all":    func(v *dataset.View) (*dataset.View, error) { return v, nil },
		"slice":  func(v *dataset.View) (*dataset.View, error) { return v.Slice(250, 10, -3) },
		"select": func(v *dataset.View) (*dataset.View, error) { return v.Select(rows) },
		"none":   func(v *dataset.View) (*dataset.View, error) { return v.Select(nil) },
	}
	orders := map[string]func(o *Options){
		"sequential": func(*Options) {},
		"window":     func(o *Options) { o.Shuffle = order.Window },
		"narrow":     func(o *Options) { o.Shuffle, o.ShuffleBytes = order.Window, 200<<10 },
		"poor":       func(o *Options) { o.Shuffle, o.ShuffleBytes, o.FetchBytes = order.Window, 500<<10, 100<<10 },
		"slides":     func(o *Options) { o.Shuffle, o.ShuffleBytes, o.blockBytes = order.Window, 1<<20, 256<<10 },
		"slides poor": func(o *Options) {
			o.Shuffle, o.ShuffleBytes, o.FetchBytes, o.blockBytes = order.Window, 500<<10, 100<<10, 64<<10
		},
		"full":        func(o *Options) { o.Shuffle = order.Full },
		"full poor":   func(o *Options) { o.Shuffle, o.FetchBytes = order.Full, 300<<10 },
		"poorest":     func(o *Options) { o.Shuffle, o.FetchBytes, o.Workers = order.Full, 1, 5 },
		"one worker":  func(o *Options) { o.Shuffle, o.Workers, o.Prefetch = order.Full, 1, 1 },
		"stored":      func(o *Options) { o.Decode = map[string]string{"images": Raw, "frames": Raw, "text": Raw} },
		"few tensors": func(o *Options) { o.Shuffle, o.Tensors = order.Window, []string{"labels", "frames"} },
		"drop last":   func(o *Options) { o.Shuffle, o.DropLast = order.Window, true },
	}
	for view, make := range views {
		for name, set := range orders {
			t.Run(view+"/"+name, func(t *testing.T) {
				o := mixedOptions()
				set(&o)
				near, err := make(l.local)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := epochOf(t, SourceOf(near), o, 3)
				synctest.Test(t, func(t *testing.T) {
					v, err := make(l.open(t))
					if err != nil {
						t.Fatal(err)
					}
					if !SourceOf(v).Remote() {
						t.Fatal("the view is not remote")
					}
					began := time.Now()
					got, s := epochOf(t, SourceOf(v), o, 3)
					if len(got) != len(want) {
						t.Fatalf("%d batches, want %d", len(got), len(want))
					}
					for i := range want {
						if got[i] != want[i] {
							t.Fatalf("got  %s\nwant %s", got[i], want[i])
						}
					}
					t.Logf("%v, %v, %d at once; %s", time.Since(began), l.remote.gets, l.remote.most, s.Bottleneck)
				})
			})
		}
	}
}

// If all rows fit in memory, later epochs request nothing. Their rows are right, also with two
// epochs at once.
func TestEpochsShareWhatHasRoom(t *testing.T) {
	t.Parallel()
	l := mixedRemoteSet(t, 200)
	for _, shuffle := range []string{order.Sequential, order.Window, order.Full} {
		t.Run(shuffle, func(t *testing.T) {
			o := mixedOptions()
			o.Shuffle = shuffle
			var want [4][]string
			for k := range want {
				want[k], _ = epochOf(t, SourceOf(l.local), o, int64(k))
			}
			synctest.Test(t, func(t *testing.T) {
				loader := open2(t, SourceOf(l.open(t)), o)
				defer loader.Close()
				read := func(e *Epoch, want []string, n int) {
					t.Helper()
					defer e.Close()
					for i := range n {
						b := next(t, e)
						if got := digest(b); got != want[i] {
							t.Fatalf("got  %s\nwant %s", got, want[i])
						}
						b.Release()
					}
				}
				read(start(t, loader, 0), want[0], 2) // given up early
				clock.Pass(time.Second)
				read(start(t, loader, 1), want[1], len(want[1]))
				l.remote.reset()
				a, b := start(t, loader, 2), start(t, loader, 3)
				read(a, want[2], len(want[2]))
				read(b, want[3], len(want[3]))
				asked := l.remote.gets["data"]
				read(start(t, loader, 1), want[1], len(want[1]))
				if again := l.remote.gets["data"]; again != asked {
					t.Errorf("%d requests for an epoch whose bytes are there", again-asked)
				}
				if s := loader.Stats(); s.Fetch.Requests != 0 || s.Fetch.Direct != 0 {
					t.Errorf("stats %+v, want no requests", s.Fetch)
				}
			})
		})
	}
}
