package loader

import (
	"context"
	"fmt"
	"testing"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/read"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// synthetic is a column with a decoder of constant work that writes nothing. It measures the
// pipeline alone.
type synthetic struct {
	name    string
	encoded bool
	stored  int64
	shape   tensor.Shape
	spin    int
}

func (c *synthetic) Name() string { return c.name }

func (c *synthetic) DType() tensor.DType { return tensor.Uint8 }

func (c *synthetic) Sequence() bool { return false }

func (c *synthetic) Encoded() bool { return c.encoded }

func (c *synthetic) Resolve(_ context.Context, rows []int64, refs []chunk.Ref) error {
	size, err := c.shape.Elements()
	for i, row := range rows {
		refs[i] = chunk.Ref{Row: row, Chunk: theChunk, Item: row, Items: 1, Shape: c.shape, Size: size, Stored: c.stored}
	}
	return err
}

func (c *synthetic) Items(context.Context, *chunk.Ref, []chunk.Ref) error { return nil }

func (c *synthetic) Decode(_ context.Context, _ *chunk.Ref, _ []byte, _ *chunk.Worker) error {
	burn(c.spin)
	return nil
}

func (c *synthetic) Stored(ctx context.Context, r *chunk.Ref, dst []byte, w *chunk.Worker) error {
	return c.Decode(ctx, r, dst, w)
}

// burn keeps a core busy for a fixed amount of work: not until a time, which would count time
// without a core as work.
func burn(turns int) {
	x := uint64(turns) | 1
	for range turns {
		x ^= x >> 32
		x *= 0xd6e8feb86659fd93 // odd: a bijection
	}
	if x == 0 {
		panic("0 comes of 0 alone")
	}
}

// turnsOf finds how much work takes d.
func turnsOf(d time.Duration) int {
	const turns = 1_000_000
	best := time.Hour
	for range 20 {
		from := time.Now()
		burn(turns)
		best = min(best, time.Since(from))
	}
	return int(float64(turns) * float64(d) / float64(best))
}

// syntheticSource has images and labels.
type syntheticSource struct {
	rows    int64
	columns []*synthetic
}

func (s *syntheticSource) Len() int64 { return s.rows }

func (s *syntheticSource) Names() []string {
	var names []string
	for _, c := range s.columns {
		names = append(names, c.name)
	}
	return names
}

func (s *syntheticSource) Column(name string) (*synthetic, error) {
	for _, c := range s.columns {
		if c.name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no column %q", name)
}

func (s *syntheticSource) StoredBytes(context.Context) (int64, error) { return s.rows * 40_000, nil }

func (s *syntheticSource) Remote() bool           { return false }
func (s *syntheticSource) Traffic() storage.Stats { return storage.Stats{} }

func (s *syntheticSource) Identity() (dataset, commit, selection string, err error) {
	return "", "", "", errs.New(errs.Unsupported, "it is of no dataset")
}

func (c *synthetic) Access() read.Access { return read.Access{} }

func (s *syntheticSource) NewWorker() *chunk.Worker { return chunk.NewWorker(nil) }

// pass runs one epoch.
func pass(b testing.TB, l *Loader) {
	b.Helper()
	e, err := l.Start(context.Background(), order.Pass{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	for {
		batch, err := e.Next(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if batch == nil {
			return
		}
		batch.Release()
	}
}

// BenchmarkOverhead measures the pipeline itself: wall time per sample with an empty decoder. Aim:
// below 1 us with two workers.
func BenchmarkOverhead(b *testing.B) {
	const rows = 100_000
	for _, c := range []struct {
		name string
		cols []*synthetic
	}{
		{"one job per sample", []*synthetic{{name: "images", encoded: true, stored: 40_000, shape: tensor.Shape{250, 250, 3}}}},
		{"images and labels", []*synthetic{{name: "images", encoded: true, stored: 40_000, shape: tensor.Shape{250, 250, 3}}, {name: "labels", shape: tensor.Shape{}}}},
		{"scalars", []*synthetic{{name: "labels", shape: tensor.Shape{}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			l, err := Open(context.Background(), SourceOf(&syntheticSource{rows, c.cols}), Options{BatchSize: 256, Workers: 2, Shuffle: order.Window, ReturnIndex: true})
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			b.ReportAllocs()
			for b.Loop() {
				pass(b, l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/sample")
		})
	}
}

// BenchmarkEfficiency compares an epoch with a decoder of 300 us with a bare loop over that decoder
// on as many threads. Aim: 0.97.
func BenchmarkEfficiency(b *testing.B) {
	const rows, threads = 4096, 2
	spin := turnsOf(300 * time.Microsecond)
	cols := []*synthetic{{name: "images", encoded: true, stored: 40_000, shape: tensor.Shape{250, 250, 3}, spin: spin}, {name: "labels", shape: tensor.Shape{}}}
	l, err := Open(context.Background(), SourceOf(&syntheticSource{rows, cols}), Options{BatchSize: 256, Workers: threads, Shuffle: order.Window})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var bare, piped time.Duration
	for b.Loop() {
		from := time.Now()
		g := task.New(context.Background(), 0)
		for range threads {
			g.Go(func(context.Context) error {
				for range rows / threads {
					burn(spin)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(from)
		from = time.Now()
		pass(b, l)
		piped += time.Since(from)
	}
	b.ReportMetric(bare.Seconds()/piped.Seconds(), "of-bare-loop")
	b.Log(l.Stats().Bottleneck)
}
