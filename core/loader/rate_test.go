package loader

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/order"
	"deeplake/core/prefetch"
	"deeplake/core/tensor"
	"deeplake/go/tests/clock"
)

const (
	plainRows  = 2500
	plainBytes = 40_000
)

// plainRemoteSet has rows of 40 kB, 100 MB together, and labels.
func plainRemoteSet(t testing.TB) *remoteSet {
	t.Helper()
	return newRemoteSet(t, func(d *dataset.Dataset) {
		create(t, d, dataset.TensorSpec{Name: "x", DType: "uint8"}, dataset.TensorSpec{Name: "labels", DType: "int64"})
		const step = 100
		data := make([]byte, step*plainBytes)
		for from := 0; from < plainRows; from += step {
			for i := range step {
				data[i*plainBytes] = byte(from + i)
				data[i*plainBytes+1] = byte((from + i) >> 8)
			}
			err := d.Append(context.Background(), []tensor.Rows{
				{Tensor: "x", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{plainBytes}, Data: data}},
				{Tensor: "labels", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: data[:step*8]}},
			}, step)
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// timed runs an epoch with a consumer that takes a batch each step, and gives the time to the first
// batch and of all.
func timed(t *testing.T, src Source, o Options, step time.Duration) (first, total time.Duration, s Stats) {
	t.Helper()
	began := time.Now()
	l := open2(t, src, o)
	defer l.Close()
	e := start(t, l, 1)
	rows := 0
	for {
		b := next(t, e)
		if b == nil {
			break
		}
		if rows == 0 {
			first = time.Since(began)
		}
		rows += b.Rows
		b.Release()
		clock.Pass(step)
	}
	total = time.Since(began)
	if int64(rows) != l.order.Order().Rows {
		t.Errorf("%d rows, want %d", rows, l.order.Order().Rows)
	}
	return first, total, e.Stats()
}

func open2(t testing.TB, src Source, o Options) *Loader {
	t.Helper()
	l, err := Open(context.Background(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A consumer that takes 3,700 rows a second, as two cores decode noise, must not notice the
// network. Small windows are few: which blocks they have decides how well requests fit. So their
// epoch is the mean over seeds.
func TestFetchKeepsUp(t *testing.T) {
	t.Parallel()
	l := plainRemoteSet(t)
	const batch = 128
	step := time.Second * batch / 3700
	for name, o := range map[string]Options{
		"window":       {Shuffle: order.Window},
		"small window": {Shuffle: order.Window, ShuffleBytes: 24 << 20},
		"slides":       {Shuffle: order.Window, ShuffleBytes: 24 << 20, blockBytes: 2 << 20},
		"sequential":   {},
		"full":         {Shuffle: order.Full},
		"full poor":    {Shuffle: order.Full, FetchBytes: 40 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			o.BatchSize, o.Workers = batch, 2
			seeds, late, most := uint64(1), 200*time.Millisecond, int64(prefetch.MaxRequest)
			switch name {
			case "slides":
				// the first windows open two thirds of the blocks
				seeds, late = 4, 500*time.Millisecond
			case "small window": // most seeds need more memory than the bound of the others
				seeds, late, most = 4, 300*time.Millisecond, 2*prefetch.MaxRequest
			}
			mean, ideal := time.Duration(0), step*(plainRows/batch+1)
			synctest.Test(t, func(t *testing.T) {
				for o.Seed = range seeds {
					v := l.open(t)
					opened := l.remote.gets["tsf.json"] + l.remote.gets["log"]
					l.remote.reset()
					first, total, s := timed(t, SourceOf(v), o, step)
					mean += total / time.Duration(seeds)
					f := s.Fetch
					t.Logf("first batch %v (%d requests to open); epoch %v, %.3f of the local rate; %v; %.0f MB fetched of %.0f; peak %.0f MB of %.0f; %s", first, opened, total,
						ideal.Seconds()/total.Seconds(), l.remote.gets, mega(f.Bytes), mega(s.Stored), mega(f.PeakBuffered), mega(f.Limit), s.Bottleneck)
					if first > 250*time.Millisecond {
						t.Errorf("the first batch came after %v", first)
					}
					if requests := int(mega(s.Stored)/8*1.2) + 1; name == "window" && l.remote.gets["data"] > requests {
						t.Errorf("%d requests for data, want at most %d", l.remote.gets["data"], requests)
					}
					if f.PeakBuffered > f.Limit+most {
						t.Errorf("%d bytes held, want at most %d", f.PeakBuffered, f.Limit+most)
					}
					if f.Direct != 0 {
						t.Errorf("%d blocks were not fetched ahead", f.Direct)
					}
					if (name == "window" || name == "sequential") && float64(f.Bytes) > 1.1*float64(s.Stored) {
						t.Errorf("%d bytes fetched, %d needed", f.Bytes, s.Stored)
					}
				}
			})
			if name != "full poor" && mean > ideal*110/100+late {
				t.Errorf("the epoch took %v, want about %v", mean, ideal)
			}
		})
	}
}

func TestReadsOfFewRows(t *testing.T) {
	t.Parallel()
	l := plainRemoteSet(t)
	synctest.Test(t, func(t *testing.T) {
		v := l.open(t)
		rng := rand.New(rand.NewPCG(1, 2))
		r := NewReader(SourceOf(v))
		defer r.Close()
		read := func(n int, o ReadOptions) (time.Duration, string) {
			t.Helper()
			rows := make([]int64, n)
			for i := range rows {
				rows[i] = rng.Int64N(plainRows)
			}
			l.remote.reset()
			began := time.Now()
			b, err := r.Read(context.Background(), rows, o)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range rows {
				c := column(t, b, "x")
				if got := b.Data(c)[i*plainBytes:]; got[0] != byte(row) || got[1] != byte(row>>8) {
					t.Fatalf("row %d: %x", row, got[:2])
				}
			}
			b.Release()
			return time.Since(began), fmt.Sprint(l.remote.gets)
		}
		read(1, ReadOptions{}) // warms the index
		for range 20 {
			if took, gets := read(1, ReadOptions{Tensors: []string{"x"}}); gets != "map[data:1]" || took > 30*time.Millisecond {
				t.Errorf("one row: %s in %v, want one request", gets, took)
			}
		}
		if took, gets := read(1, ReadOptions{}); gets != "map[data:2]" || took > 30*time.Millisecond {
			t.Errorf("one row of two tensors: %s in %v, want two requests at once", gets, took)
		}
		took, gets := read(256, ReadOptions{})
		t.Logf("256 rows: %s in %v", gets, took)
		if took > 250*time.Millisecond {
			t.Errorf("256 rows: %v", took)
		}
		s, err := NewStoredReader(SourceOf(v), "x")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		l.remote.reset()
		dst := make([]byte, plainBytes)
		if _, err := s.One(context.Background(), 77, dst); err != nil || dst[0] != 77 {
			t.Fatalf("row 77: %x, %v", dst[0], err)
		}
		if fmt.Sprint(l.remote.gets) != "map[data:1]" {
			t.Errorf("one stored row: %v, want one request", l.remote.gets)
		}
	})
}
