package format

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/tensor"
)

// photoEntries are n chunks of photographs as an ingest writes them: 8 MB give or take 20 KB, 200
// to 800 rows, one session that other tensors share, a side page for about every 200.
func photoEntries(n int) Leaf {
	g := &gen{rand.New(rand.NewPCG(7, 7))}
	session, row, ordinal := g.uuid(), int64(0), int64(0)
	var l Leaf
	var side UUID
	for i := range n {
		if i%200 == 0 {
			side = g.uuid()
		}
		lo := tensor.Shape{100 + g.Int64N(150), 100 + g.Int64N(150), 3}
		e := Entry{Row: row, Rows: 200 + g.Int64N(601), Session: session, Ordinal: ordinal, Bytes: DefaultChunk + g.Int64N(40_000) - 20_000, Side: side, Slot: int64(i % 200)}
		e.Stats = Stats{MinShape: lo, MaxShape: tensor.Shape{500 + g.Int64N(140), 500 + g.Int64N(140), 3}}
		l.Entries = append(l.Entries, e)
		row += e.Rows
		ordinal++
		if g.IntN(50) == 0 {
			ordinal++ // a chunk of another tensor
		}
	}
	return l
}

// jpegEntries are n chunks as an ingest of photographs makes them: sizes of files are log-normal
// around 110 KB, and a chunk is full when it has 8 MiB.
func jpegEntries(n int) Leaf {
	g := &gen{rand.New(rand.NewPCG(9, 9))}
	l := photoEntries(n)
	row, ordinal, side, before := int64(0), int64(0), UUID{}, Stats{}
	for i := range l.Entries {
		e := &l.Entries[i]
		e.Row, e.Rows, e.Bytes = row, 0, 0
		lo, hi := tensor.Shape{1 << 20, 1 << 20, 3}, tensor.Shape{0, 0, 3}
		for e.Bytes < DefaultChunk {
			e.Rows++
			e.Bytes += int64(95_000 * math.Exp(0.55*g.NormFloat64()))
			for axis, mean := range []float64{400, 470} {
				d := int64(mean * math.Exp(0.25*g.NormFloat64()))
				lo[axis], hi[axis] = min(lo[axis], d), max(hi[axis], d)
			}
		}
		e.Bytes += 20*e.Rows + 200 // the directory
		e.Stats = Stats{MinShape: lo, MaxShape: hi}
		e.Stats = e.Stats.Coarse(before)
		before = e.Stats
		if i%570 == 0 {
			side = g.uuid()
		}
		e.Side, e.Slot = side, int64(i%570)
		if e.Ordinal = ordinal; g.IntN(500) == 0 {
			ordinal++ // a chunk of another tensor
		}
		row += e.Rows
		ordinal++
	}
	return l
}

// photoDirectory is the directory of such a chunk.
func photoDirectory(n int64, shapes int64) *Directory {
	g := &gen{rand.New(rand.NewPCG(8, 8))}
	d := &Directory{DType: tensor.Uint8, SampleCodec: codec.JPEG, FixedSize: -1, Items: n, PerBlock: 1}
	for i := range n {
		d.Sizes = append(d.Sizes, 5000+g.Int64N(20_000))
		d.BlockCRC = append(d.BlockCRC, g.Uint32())
		if s := (tensor.Shape{200 + i%shapes, 300, 3}); len(d.Shapes) > 0 && d.Shapes[len(d.Shapes)-1].Shape.Equal(s) {
			d.Shapes[len(d.Shapes)-1].Count++
		} else {
			d.Shapes = append(d.Shapes, ShapeRun{1, s})
		}
	}
	return d
}

// BenchmarkMapBytes reports the stored bytes of the chunk map for each chunk: with and without
// bounds of shapes.
func BenchmarkMapBytes(b *testing.B) {
	for _, stats := range []bool{false, true} {
		b.Run(fmt.Sprintf("jpeg,stats=%t", stats), func(b *testing.B) {
			l := jpegEntries(MaxPageEntries)
			for i := range l.Entries {
				if !stats {
					l.Entries[i].Stats = Stats{}
				}
			}
			size := 0
			for b.Loop() {
				size = len(must(EncodeLeaf(l)))
			}
			b.ReportMetric(float64(size)/MaxPageEntries, "bytes/entry")
		})
		b.Run(fmt.Sprintf("stats=%t", stats), func(b *testing.B) {
			l := photoEntries(MaxPageEntries)
			for i := range l.Entries {
				if !stats {
					l.Entries[i].Stats = Stats{}
				}
			}
			size := 0
			for b.Loop() {
				size = len(must(EncodeLeaf(l)))
			}
			b.ReportMetric(float64(size)/MaxPageEntries, "bytes/entry")
		})
	}
	for _, shapes := range []int64{1, 300} {
		b.Run(fmt.Sprintf("side,shapes=%d", shapes), func(b *testing.B) {
			raw := must(EncodeDirectory(photoDirectory(500, shapes)))
			dirs := make([][]byte, 50)
			for i := range dirs {
				dirs[i] = raw
			}
			size := 0
			for b.Loop() {
				size = len(must(EncodeChunkTail(8<<20, raw)))
			}
			b.ReportMetric(float64(size), "bytes/chunk")
		})
	}
}

func BenchmarkDecodeLeaf(b *testing.B) {
	for _, n := range []int{1, 512} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			data := must(EncodeLeaf(photoEntries(n)))
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				must(DecodeLeaf(data))
			}
		})
	}
}

func BenchmarkEncodeLeaf(b *testing.B) {
	l := photoEntries(512)
	b.ReportAllocs()
	for b.Loop() {
		must(EncodeLeaf(l))
	}
}

func BenchmarkDecodeDirectory(b *testing.B) {
	for _, shapes := range []int64{1, 300} {
		b.Run(fmt.Sprintf("items=800,shapes=%d", shapes), func(b *testing.B) {
			raw := must(EncodeDirectory(photoDirectory(800, shapes)))
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				must(DecodeDirectory(raw))
			}
			x := must(DecodeDirectory(raw)).Index()
			b.ReportMetric(float64(x.MemoryBytes())/800, "index-B/item")
		})
	}
}

// BenchmarkRecord is a record of a dataset with 20 tensors.
func BenchmarkRecord(b *testing.B) {
	r := goldenRecord()
	for i := range 20 {
		t := r.Schema.Tensors[0]
		t.ID, t.Name = id(byte(0x80+i)), fmt.Sprintf("t%d", i)
		r.Schema.Tensors = append(r.Schema.Tensors, t)
		r.Columns[t.ID] = r.Columns[id(0x31)]
	}
	data := must(EncodeRecord(r))
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(EncodeRecord(r))
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			must(DecodeRecord(data))
		}
	})
}

func BenchmarkIndex(b *testing.B) {
	photos := photoDirectory(800, 300).Index()
	small := &Directory{DType: tensor.Int64, FixedSize: -1, Items: 1 << 20, Shapes: []ShapeRun{{1 << 20, tensor.Shape{}}}, PerBlock: 2048, BlockCRC: make([]uint32, 512)}
	uneven := photoDirectory(800, 1)
	uneven.PerBlock, uneven.BlockItems, uneven.BlockCRC = 0, nil, nil
	for left := int64(800); left > 0; {
		n := min(left, 1+left%3)
		uneven.BlockItems = append(uneven.BlockItems, n)
		uneven.BlockCRC = append(uneven.BlockCRC, 0)
		left -= n
	}
	for _, c := range []struct {
		name string
		x    *Index
	}{{"photos", photos}, {"scalars", small.Index()}, {"uneven", uneven.Index()}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			i, sum := int64(0), int64(0)
			for b.Loop() {
				i = (i*5 + 7) % c.x.Items()
				block, _ := c.x.BlockOf(i)
				at, _, _ := c.x.BlockRange(block)
				off, n := c.x.ItemInBlock(i)
				sum += at + off + n + int64(len(c.x.Shape(i)))
			}
			if sum == 0 {
				b.Fatal("nothing was looked up")
			}
		})
	}
}

func BenchmarkCRC(b *testing.B) {
	data := make([]byte, 16<<10)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		CRC(data)
	}
}
