package chunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

func memStore(t testing.TB) storage.Provider {
	t.Helper()
	space := &mem.Space{}
	p, err := space.Open(context.Background(), "c", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// written are the chunks of one tensor.
type written struct {
	t      testing.TB
	store  storage.Provider
	spec   *Spec
	b      *Builder
	sealed []*Sealed
}

func newWritten(t testing.TB, spec Spec) *written {
	w := &written{t: t, store: memStore(t), spec: &spec}
	w.spec.Tensor = format.NewUUID()
	w.b = NewBuilder(w.spec, NewSession(w.store))
	return w
}

func (w *written) took(s *Sealed, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	if s == nil {
		return
	}
	if err := s.Stream.Finish(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.sealed = append(w.sealed, s)
}

func (w *written) rows(rows [][]Item) {
	w.t.Helper()
	for _, row := range rows {
		if w.spec.Sequence {
			w.took(w.b.AddRow(context.Background(), row))
		} else {
			w.took(w.b.Add(context.Background(), row[0]))
		}
	}
}

func (w *written) seal() { w.t.Helper(); w.took(w.b.Seal()) }

// chunks opens the chunks, checking that both copies of a directory agree and that no chunk is too
// large.
func (w *written) chunks() []*Chunk {
	w.t.Helper()
	var out []*Chunk
	for i, s := range w.sealed {
		if s.Ordinal != int64(i) {
			w.t.Fatalf("chunk %d has ordinal %d", i, s.Ordinal)
		}
		key := format.DataKey(s.Session, s.Ordinal)
		data, err := w.store.Get(context.Background(), key)
		if err != nil || int64(len(data)) != s.Bytes {
			w.t.Fatalf("chunk %d has %d bytes, said %d: %v", i, len(data), s.Bytes, err)
		}
		head, err := format.DecodeChunkHead(data)
		if err != nil || head != (format.ChunkHead{Session: s.Session, Ordinal: s.Ordinal, Tensor: w.spec.Tensor}) {
			w.t.Fatalf("chunk %d has head %+v, %v", i, head, err)
		}
		dir, err := ReadDirectory(context.Background(), w.store, key, s.Bytes, head)
		if err != nil || !bytes.Equal(dir, s.Dir) {
			w.t.Fatalf("chunk %d: the directory at its end differs: %v", i, err)
		}
		if most := w.spec.Max() + 1024; s.Bytes > most && s.Rows > 1 {
			w.t.Fatalf("chunk %d of %d rows has %d bytes, want at most %d", i, s.Rows, s.Bytes, most)
		}
		c, err := Open(w.store, "", key, s.Dir)
		if err != nil || c.Index.Rows() != s.Rows {
			w.t.Fatalf("chunk %d: %v", i, err)
		}
		out = append(out, c)
	}
	return out
}

func itemBytes(x *format.Index, item int64) int64 {
	if x.SampleCodec() == codec.None {
		return x.ItemBytes(item)
	}
	n, _ := x.Shape(item).Bytes(x.DType())
	return n
}

// refs finds every row of a chunk.
func refs(c *Chunk) []Ref {
	var out []Ref
	for row := range c.Index.Rows() {
		first, n := c.Index.RowItemsRange(row)
		r := Ref{Row: row, Chunk: c, Item: first, Items: n}
		for i := first; i < first+n; i++ {
			r.Size += itemBytes(c.Index, i)
			r.Stored += c.Index.ItemBytes(i)
		}
		if !c.Index.Sequence() {
			r.Shape = c.Index.Shape(first)
		}
		out = append(out, r)
	}
	return out
}

// row is the result of reading a row.
type row struct {
	data   []byte
	shapes []tensor.Shape
	stored []byte
}

func (w *written) read(order func(n int) []int) []row {
	w.t.Helper()
	worker := NewWorker(all.All())
	defer worker.Close()
	var all []Ref
	for _, c := range w.chunks() {
		all = append(all, refs(c)...)
	}
	out := make([]row, len(all))
	for _, i := range order(len(all)) {
		r := &all[i]
		got := row{data: make([]byte, r.Size), stored: make([]byte, r.Stored)}
		if err := worker.Decode(context.Background(), r, got.data, codec.AsStored); err != nil {
			w.t.Fatal(err)
		}
		if err := worker.Stored(context.Background(), r, got.stored); err != nil {
			w.t.Fatal(err)
		}
		for k := range r.Items {
			got.shapes = append(got.shapes, r.Chunk.Index.Shape(r.Item+k))
		}
		out[i] = got
	}
	return out
}

func inOrder(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func shuffled(rng *rand.Rand) func(int) []int { return rng.Perm }

// check compares samples read with samples written.
func (w *written) check(rows [][]Item, order func(int) []int) {
	w.t.Helper()
	got := w.read(order)
	if len(got) != len(rows) {
		w.t.Fatalf("%d rows are read, %d were written", len(got), len(rows))
	}
	for i, want := range rows {
		var data []byte
		for k, it := range want {
			data = append(data, it.Data...)
			if w.spec.DType.Fixed() && !got[i].shapes[k].Equal(it.Shape) {
				w.t.Fatalf("row %d, item %d has shape %s, want %s", i, k, got[i].shapes[k], it.Shape)
			}
		}
		if !bytes.Equal(got[i].stored, data) || len(got[i].shapes) != len(want) {
			w.t.Fatalf("row %d is %d bytes in %d items, want %d in %d", i, len(got[i].stored), len(got[i].shapes), len(data), len(want))
		}
		if w.spec.SampleCodec == codec.None && !bytes.Equal(got[i].data, data) {
			w.t.Fatalf("row %d differs", i)
		}
	}
}

func noise(rng *rand.Rand, n int64) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// plain returns bytes that compress well.
func plain(rng *rand.Rand, n int64) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i / 50)
	}
	if n > 0 {
		p[0] = byte(rng.Uint32())
	}
	return p
}

func array(rng *rand.Rand, fill func(*rand.Rand, int64) []byte, d tensor.DType, shape ...int64) Item {
	s := tensor.Shape(shape)
	if s == nil {
		s = tensor.Shape{}
	}
	n, err := s.Bytes(d)
	if err != nil {
		return Item{}
	}
	return Item{Data: fill(rng, n), Shape: s}
}

func blockCodec(t testing.TB, id codec.ID) codec.Codec {
	t.Helper()
	if id == codec.None {
		return nil
	}
	c, err := all.All().Bytes(id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kind is a way to make rows.
type kind struct {
	name string
	spec Spec
	row  func(rng *rand.Rand, i int) []Item
	n    int
}

func kinds() []kind {
	one := func(f func(*rand.Rand, int) Item) func(*rand.Rand, int) []Item {
		return func(rng *rand.Rand, i int) []Item { return []Item{f(rng, i)} }
	}
	out := []kind{
		{"nothing", Spec{DType: tensor.Uint8}, nil, 0},
		{"empty arrays", Spec{DType: tensor.Int32}, one(func(r *rand.Rand, _ int) Item { return array(r, noise, tensor.Int32, 0, 3) }), 500},
		{"one empty text", Spec{DType: tensor.String}, one(func(*rand.Rand, int) Item { return Item{} }), 1},
		{"empty texts", Spec{DType: tensor.String}, one(func(*rand.Rand, int) Item { return Item{} }), 3000},
		{"texts", Spec{DType: tensor.String}, one(func(r *rand.Rand, i int) Item { return Item{Data: plain(r, r.Int64N(90))} }), 4000},
		{"bytes, some long", Spec{DType: tensor.Bytes}, one(func(r *rand.Rand, i int) Item { return Item{Data: noise(r, 1<<r.IntN(18))} }), 60},
		{"4 KiB blocks", Spec{DType: tensor.Uint8}, one(func(r *rand.Rand, i int) Item { return array(r, noise, tensor.Uint8, 4094+int64(i%5)) }), 60},
		{"16 KiB blocks", Spec{DType: tensor.Uint8}, one(func(r *rand.Rand, i int) Item { return array(r, noise, tensor.Uint8, 1023+int64(i%3)) }), 400},
		{"ragged", Spec{DType: tensor.Int16}, one(func(r *rand.Rand, i int) Item { return array(r, plain, tensor.Int16, r.Int64N(40), r.Int64N(4)) }), 2000},
		{"axes vary", Spec{DType: tensor.Uint8}, one(func(r *rand.Rand, i int) Item { return array(r, noise, tensor.Uint8, []int64{3, 2, 1}[i%4:]...) }), 700},
		{"sequences", Spec{DType: tensor.Float32, Sequence: true}, func(r *rand.Rand, i int) []Item {
			row := make([]Item, r.IntN(5))
			for k := range row {
				row[k] = array(r, plain, tensor.Float32, r.Int64N(300), 2)
			}
			return row
		}, 300},
		{"empty sequences", Spec{DType: tensor.String, Sequence: true}, func(*rand.Rand, int) []Item { return nil }, 300},
	}
	for _, d := range tensor.DTypes() {
		if d.Fixed() {
			out = append(out, kind{"scalars of " + d.String(), Spec{DType: d}, one(func(r *rand.Rand, _ int) Item { return array(r, noise, d) }), 5000})
			out = append(out, kind{"vectors of " + d.String(), Spec{DType: d}, one(func(r *rand.Rand, _ int) Item { return array(r, plain, d, 7) }), 900})
		}
	}
	return out
}

// TestRoundTrip: the same samples read back the same under every target and codec.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(len(k.name)), 2))
			rows := make([][]Item, k.n)
			for i := range rows {
				rows[i] = k.row(rng, i)
			}
			for _, target := range []int64{4 << 10, 60 << 10, 1 << 20} {
				for _, id := range []codec.ID{codec.None, codec.LZ4, codec.Zstd} {
					spec := k.spec
					spec.Target, spec.BlockCodec = target, blockCodec(t, id)
					w := newWritten(t, spec)
					w.rows(rows)
					w.seal()
					w.check(rows, inOrder)
					w.check(rows, shuffled(rng))
				}
			}
		})
	}
}

// TestAddArray: arrays that come in one piece are stored as the single ones are, however the pieces
// are cut.
func TestAddArray(t *testing.T) {
	t.Parallel()
	for _, shape := range []tensor.Shape{{}, {3}, {5, 7}, {600}, {1023}, {1024}, {2000}, {0}, {70_000}} {
		for _, id := range []codec.ID{codec.None, codec.Zstd} {
			t.Run(fmt.Sprint(shape, id), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(7, uint64(len(shape))))
				n, err := shape.Bytes(tensor.Int32)
				if err != nil {
					t.Fatal(err)
				}
				count := int64(1000)
				if n > 1000 {
					count = 2_000_000 / n
				}
				data := noise(rng, n*count)
				rows := make([][]Item, count)
				for i := range rows {
					rows[i] = []Item{{Data: data[int64(i)*n : int64(i+1)*n], Shape: shape}}
				}
				for _, target := range []int64{4 << 10, 20 << 10, 1 << 20} {
					w := newWritten(t, Spec{DType: tensor.Int32, Target: target, BlockCodec: blockCodec(t, id)})
					for at := int64(0); at < count; {
						if rng.IntN(5) == 0 {
							w.took(w.b.Add(context.Background(), rows[at][0]))
							at++
							continue
						}
						piece := 1 + rng.Int64N(count-at)
						took, s, err := w.b.AddArray(context.Background(), data[at*n:(at+piece)*n], shape, n)
						if took < 1 || took > piece {
							t.Fatalf("took %d rows of %d", took, piece)
						}
						w.took(s, err)
						at += took
					}
					w.seal()
					w.check(rows, inOrder)
				}
			})
		}
	}
}

// TestLayout: where blocks begin, as FORMAT.md tells writers.
func TestLayout(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		bytes  int64
		codec  codec.ID
		n      int
		blocks int
	}{
		{"4 KiB and more: a block each", 4096, codec.None, 10, 10},
		{"less than 4 KiB: blocks of 16 KiB", 4095, codec.None, 10, 2},
		{"1 KiB: sixteen a block", 1024, codec.None, 33, 3},
		{"compressed: 64 KiB a block", 4096, codec.LZ4, 17, 2},
		{"compressed, large: one a block", 300 << 10, codec.Zstd, 3, 3},
	}
	for _, c := range cases {
		rng := rand.New(rand.NewPCG(1, 1))
		w := newWritten(t, Spec{DType: tensor.Uint8, Target: 8 << 20, BlockCodec: blockCodec(t, c.codec)})
		for range c.n {
			w.took(w.b.Add(context.Background(), array(rng, plain, tensor.Uint8, c.bytes)))
		}
		w.seal()
		if chunks := w.chunks(); len(chunks) != 1 || chunks[0].Index.Blocks() != c.blocks {
			t.Errorf("%s: %d chunks, the first of %d blocks, want %d", c.name, len(chunks), chunks[0].Index.Blocks(), c.blocks)
		}
	}
}

// TestIncompressible: a block that does not get smaller is stored unchanged.
func TestIncompressible(t *testing.T) {
	t.Parallel()
	for _, id := range []codec.ID{codec.LZ4, codec.Zstd} {
		for _, fill := range []func(*rand.Rand, int64) []byte{noise, plain} {
			rng := rand.New(rand.NewPCG(1, 1))
			rows := [][]Item{{array(rng, fill, tensor.Uint8, 100_000)}}
			w := newWritten(t, Spec{DType: tensor.Uint8, Target: 8 << 20, BlockCodec: blockCodec(t, id)})
			w.rows(rows)
			w.seal()
			w.check(rows, inOrder)
			_, stored, raw := w.chunks()[0].Index.BlockRange(0)
			if isNoise := rows[0][0].Data[1] != 0; isNoise != (stored == raw) || stored > raw {
				t.Errorf("codec %d: %d bytes are stored as %d", id, raw, stored)
			}
		}
	}
}

// TestDirectoryMemory: samples of no bytes make no endless chunk.
func TestDirectoryMemory(t *testing.T) {
	t.Parallel()
	w := newWritten(t, Spec{DType: tensor.String, Target: 64 << 10})
	for i := range 100_000 {
		w.took(w.b.Add(context.Background(), Item{Data: make([]byte, i%2)}))
		if cap(w.b.dir.Sizes)*8 > 128<<10 {
			t.Fatalf("the directory of the open chunk has %d sizes", len(w.b.dir.Sizes))
		}
	}
	w.seal()
	if len(w.sealed) < 10 {
		t.Fatalf("%d chunks", len(w.sealed))
	}
	w.chunks()
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	f64 := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	i16 := func(v int16) []byte { return binary.LittleEndian.AppendUint16(nil, uint16(v)) }
	f32 := func(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }
	signed := func(v int64) uint64 { return uint64(v) }
	scalar := tensor.Shape{}
	cases := []struct {
		name  string
		dtype tensor.DType
		items []Item
		want  format.Stats
	}{
		{"int16", tensor.Int16, []Item{{Data: i16(5), Shape: scalar}, {Data: i16(-7), Shape: scalar}, {Data: i16(3), Shape: scalar}},
			format.Stats{HasRange: true, Min: signed(-7), Max: 5, MinShape: scalar, MaxShape: scalar}},
		{"uint8", tensor.Uint8, []Item{{Data: []byte{200}, Shape: scalar}, {Data: []byte{3}, Shape: scalar}}, format.Stats{HasRange: true, Min: 3, Max: 200, MinShape: scalar, MaxShape: scalar}},
		{"bool", tensor.Bool, []Item{{Data: []byte{1}, Shape: scalar}, {Data: []byte{0}, Shape: scalar}}, format.Stats{HasRange: true, Min: 0, Max: 1, MinShape: scalar, MaxShape: scalar}},
		{"float64", tensor.Float64, []Item{{Data: f64(-1.5), Shape: scalar}, {Data: f64(math.Inf(1)), Shape: scalar}},
			format.Stats{HasRange: true, Min: math.Float64bits(-1.5), Max: math.Float64bits(math.Inf(1)), MinShape: scalar, MaxShape: scalar}},
		{"float32 is kept as float64", tensor.Float32, []Item{{Data: f32(0.5), Shape: scalar}}, format.Stats{HasRange: true, Min: math.Float64bits(0.5), Max: math.Float64bits(0.5), MinShape: scalar, MaxShape: scalar}},
		{"NaN", tensor.Float64, []Item{{Data: f64(1), Shape: scalar}, {Data: f64(math.NaN()), Shape: scalar}}, format.Stats{MinShape: scalar, MaxShape: scalar}},
		{"float16", tensor.Float16, []Item{{Data: []byte{0, 1}, Shape: scalar}}, format.Stats{MinShape: scalar, MaxShape: scalar}},
		{"shapes", tensor.Uint8, []Item{{Data: make([]byte, 6), Shape: tensor.Shape{2, 3}}, {Data: make([]byte, 4), Shape: tensor.Shape{4, 1}}},
			format.Stats{MinShape: tensor.Shape{2, 1}, MaxShape: tensor.Shape{4, 3}}},
		{"axes differ", tensor.Uint8, []Item{{Data: make([]byte, 6), Shape: tensor.Shape{2, 3}}, {Data: make([]byte, 4), Shape: tensor.Shape{4}}}, format.Stats{}},
		{"a scalar and a vector", tensor.Uint8, []Item{{Data: []byte{1}, Shape: scalar}, {Data: []byte{2}, Shape: tensor.Shape{1}}}, format.Stats{}},
		{"text", tensor.String, []Item{{Data: []byte("b")}}, format.Stats{}},
	}
	for _, c := range cases {
		w := newWritten(t, Spec{DType: c.dtype, Target: 1 << 20})
		for _, it := range c.items {
			w.took(w.b.Add(context.Background(), it))
		}
		w.seal()
		got := w.sealed[0].Stats
		if got.HasRange != c.want.HasRange || got.Min != c.want.Min || got.Max != c.want.Max || !got.MinShape.Equal(c.want.MinShape) ||
			!got.MaxShape.Equal(c.want.MaxShape) || (got.MaxShape == nil) != (c.want.MaxShape == nil) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestAbort: an aborted chunk leaves no object, and the builder goes on.
func TestAbort(t *testing.T) {
	t.Parallel()
	w := newWritten(t, Spec{DType: tensor.Uint8, Target: 1 << 20})
	rng := rand.New(rand.NewPCG(1, 1))
	w.took(w.b.Add(context.Background(), array(rng, noise, tensor.Uint8, 10_000)))
	w.b.Abort()
	rows := [][]Item{{array(rng, noise, tensor.Uint8, 100)}}
	w.rows(rows)
	w.seal()
	if len(w.sealed) != 1 || w.sealed[0].Rows != 1 {
		t.Fatalf("%+v", w.sealed)
	}
	keys := 0
	if err := w.store.List(context.Background(), "", "", func(storage.Object) bool { keys++; return true }); err != nil || keys != 1 {
		t.Fatalf("%d objects, %v", keys, err)
	}
	if _, err := NewBuilder(w.spec, NewSession(w.store)).Seal(); err != nil {
		t.Fatal(err)
	}
}

// TestDamage flips every byte of a chunk, and cuts it everywhere: reading gives an error or the
// right samples.
func TestDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, id := range []codec.ID{codec.None, codec.LZ4, codec.Zstd} {
		rng := rand.New(rand.NewPCG(4, 4))
		w := newWritten(t, Spec{DType: tensor.Int16, Target: 1 << 20, BlockCodec: blockCodec(t, id)})
		var rows [][]Item
		for i := range 12 {
			rows = append(rows, []Item{array(rng, plain, tensor.Int16, int64(10+i%3), 5)})
		}
		w.rows(rows)
		w.seal()
		s := w.sealed[0]
		key := format.DataKey(s.Session, s.Ordinal)
		good, err := w.store.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		head := format.ChunkHead{Session: s.Session, Ordinal: s.Ordinal, Tensor: w.spec.Tensor}
		for _, other := range []format.ChunkHead{{Session: head.Session, Ordinal: 1 + head.Ordinal, Tensor: head.Tensor}, {Session: head.Tensor, Tensor: head.Tensor}, {Session: head.Session, Tensor: head.Session}} {
			if _, err := ReadDirectory(ctx, w.store, key, s.Bytes, other); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), key) {
				t.Fatalf("read as chunk %+v: %v", other, err)
			}
		}
		// read reads all rows of the object data, with the directory that lies in it or with the
		// one of the side page.
		read := func(data []byte, own bool) error {
			store := memStore(t)
			if err := store.Put(ctx, key, data); err != nil {
				t.Fatal(err)
			}
			dir := s.Dir
			if own {
				if dir, err = ReadDirectory(ctx, store, key, int64(len(data)), head); err != nil {
					return err
				}
			}
			c, err := Open(store, "", key, dir)
			if err != nil {
				return err
			}
			worker := NewWorker(all.All())
			defer worker.Close()
			for i, r := range refs(c) {
				got := make([]byte, r.Size)
				if err := worker.Decode(ctx, &r, got, codec.AsStored); err != nil {
					return err
				}
				if !bytes.Equal(got, rows[i][0].Data) || !r.Shape.Equal(rows[i][0].Shape) {
					t.Fatalf("codec %d: wrong data in row %d", id, i)
				}
			}
			return nil
		}
		noticed := 0
		for at := range good {
			for _, own := range []bool{false, true} {
				data := slices.Clone(good)
				data[at] ^= 1 << rng.IntN(8)
				if err := read(data, own); err != nil {
					noticed++
					if !errs.Is(err, errs.Corrupt) {
						t.Fatalf("codec %d, byte %d: %v", id, at, err)
					}
				}
				if err := read(good[:at], own); own && err == nil || err != nil && !errs.Is(err, errs.Corrupt) {
					t.Fatalf("codec %d, cut at %d: %v", id, at, err)
				}
			}
		}
		if noticed < len(good)/2 {
			t.Fatalf("%d of %d flips are noticed", noticed, 2*len(good))
		}
		if err := w.store.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadDirectory(ctx, w.store, key, s.Bytes, head); !errs.Is(err, errs.Corrupt) {
			t.Fatalf("a missing chunk: %v", err)
		}
	}
}
