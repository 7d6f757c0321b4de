package format

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"deeplake/core/codec"
	"deeplake/core/tensor"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// seeds runs f with many seeded generators and names the seed that failed.
func seeds(t *testing.T, n int, f func(t *testing.T, g *gen)) {
	t.Helper()
	for seed := range uint64(n) {
		g := &gen{rand.New(rand.NewPCG(seed, 1))}
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { f(t, g) }) {
			return
		}
	}
}

// gen makes random valid values.
type gen struct{ *rand.Rand }

func (g *gen) uuid() (u UUID) {
	for i := range u {
		u[i] = byte(g.Uint32())
	}
	u[0] |= 1
	return u
}

// id is a uuid that a reader recognises: its digits repeat c.
func id(c byte) (u UUID) {
	for i := range u {
		u[i] = c
	}
	return u
}

func (g *gen) size(limit int64) int64 { return g.Int64N(1 << g.IntN(bitLen(limit))) }

func bitLen(n int64) int {
	b := 0
	for ; n > 0; n >>= 1 {
		b++
	}
	return b
}

func (g *gen) shape() tensor.Shape {
	s := tensor.Shape{}
	for range g.IntN(4) {
		s = append(s, g.Int64N(9))
	}
	return s
}

func (g *gen) stats() Stats {
	var s Stats
	if g.IntN(2) == 0 {
		s.HasRange, s.Min, s.Max = true, g.Uint64(), g.Uint64()
	}
	if g.IntN(2) == 0 {
		s.MinShape = g.shape()
		s.MaxShape = s.MinShape.Clone()
		if s.MaxShape == nil {
			s.MaxShape = tensor.Shape{}
		}
		for i := range s.MaxShape {
			s.MaxShape[i] += g.Int64N(300)
		}
	}
	return s
}

func (g *gen) leaf() Leaf {
	sessions := []UUID{g.uuid(), g.uuid(), g.uuid()}
	sides := []UUID{{}, g.uuid(), g.uuid()}
	var l Leaf
	row := g.size(1 << 40)
	for range 1 + g.IntN(40) {
		e := Entry{Row: row, Rows: 1 + g.size(1<<20), First: g.size(1 << 20), Session: sessions[g.IntN(3)], Ordinal: g.size(1 << 40), Bytes: g.size(1 << 39), Side: sides[g.IntN(3)]}
		if g.IntN(4) == 0 {
			e.Rows, e.First, e.Tiles = 1, 0, 1+g.Int64N(50)
		}
		if !e.Side.IsZero() {
			e.Slot = g.Int64N(1000)
		}
		if g.IntN(2) == 0 {
			e.Stats = g.stats()
		}
		l.Entries = append(l.Entries, e)
		row += e.Rows + g.Int64N(2)*g.size(1<<20)
	}
	return l
}

// pieces are rows of few chunks, in turn.
func (g *gen) pieces() Pieces {
	l := g.leaf()
	p := Pieces{Chunks: l.Entries}
	row := g.size(1 << 40)
	add := func(rows, item int64, ref uint16) {
		p.Rows, p.Items, p.Refs = append(p.Rows, row), append(p.Items, item), append(p.Refs, ref)
		row += rows
	}
	for i := range p.Chunks {
		e := &p.Chunks[i]
		e.Row = row
		add(e.Rows, e.First, uint16(i))
		for range g.IntN(20) {
			if k := g.IntN(i + 1); p.Chunks[k].Tiles == 0 {
				add(1+g.size(1<<12), g.size(1<<20), uint16(k))
			} else if n := len(p.Refs); p.Refs[n-1] != NoSample {
				add(1+g.size(1<<12), 0, NoSample)
			}
		}
	}
	if n := len(p.Refs); p.Refs[n-1] == NoSample {
		row = p.Rows[n-1]
		p.Rows, p.Items, p.Refs = p.Rows[:n-1], p.Items[:n-1], p.Refs[:n-1]
	}
	p.Rows = append(p.Rows, row)
	return p
}

func (g *gen) inner() Inner {
	n := Inner{Height: 1 + g.IntN(MaxHeight)}
	row := g.size(1 << 20)
	for range 1 + g.IntN(60) {
		n.Children = append(n.Children, Child{First: row, Page: g.uuid(), Entries: 1 + g.size(1<<20)})
		row += 1 + g.size(1<<30)
	}
	return n
}

func (g *gen) side() [][]byte {
	var dirs [][]byte
	for range 1 + g.IntN(20) {
		d := make([]byte, 1+g.IntN(200))
		for i := range d {
			d[i] = byte(g.IntN(4))
		}
		dirs = append(dirs, d)
	}
	return dirs
}

func (g *gen) bitmap() *roaring64.Bitmap {
	b := roaring64.New()
	for range g.IntN(6) {
		base := uint64(g.size(1<<50)) &^ 0xffff
		switch g.IntN(3) {
		case 0:
			b.AddRange(base+uint64(g.IntN(100)), base+uint64(g.IntN(200_000)))
		case 1:
			for range g.IntN(3000) {
				b.Add(base + uint64(g.IntN(1<<20)))
			}
		case 2:
			for range 9000 {
				b.Add(base + uint64(g.IntN(1<<16)))
			}
		}
	}
	return b
}

// directory makes a valid directory in the form that DecodeDirectory returns.
func (g *gen) directory() *Directory {
	dtypes := tensor.DTypes()
	d := &Directory{DType: dtypes[g.IntN(len(dtypes))], FixedSize: -1, Items: g.size(64)}
	if d.DType.Fixed() && g.IntN(3) == 0 {
		d.SampleCodec = []codec.ID{codec.JPEG, codec.PNG}[g.IntN(2)]
	}
	d.BlockCodec = []codec.ID{codec.None, codec.LZ4, codec.Zstd}[g.IntN(3)]
	if d.DType.Fixed() {
		for left := d.Items; left > 0; {
			n := 1 + g.Int64N(left)
			d.Shapes = append(d.Shapes, ShapeRun{n, g.shape()})
			left -= n
		}
	}
	linked := g.IntN(4) == 0 && !d.plain()
	if linked {
		d.BlockCodec, d.Links = codec.None, g.links(d.Items)
	} else if !d.plain() {
		if g.IntN(2) == 0 {
			d.FixedSize = g.size(1 << 20)
		} else {
			d.Sizes = make([]int64, d.Items)
			for i := range d.Sizes {
				d.Sizes[i] = g.size(1 << 20)
			}
			if n := d.evenSize(); n >= 0 {
				d.FixedSize, d.Sizes = n, nil
			}
		}
	}
	if !linked {
		g.blocks(d)
	}
	if g.IntN(3) == 0 {
		d.RowItems = []int64{}
		for left := d.Items; left > 0 || g.IntN(2) == 0; {
			n := g.Int64N(left + 1)
			d.RowItems = append(d.RowItems, n)
			left -= n
		}
	} else if d.Items == 1 && len(d.Shapes) == 1 && len(d.Shapes[0].Shape) > 0 && d.plain() {
		g.tile(d)
	}
	return d
}

func (g *gen) links(items int64) *Links {
	l := &Links{Objects: []LinkObject{}, Ranges: make([]LinkRange, items)}
	for i := range 1 + g.IntN(5) {
		l.Objects = append(l.Objects, LinkObject{
			URL: fmt.Sprintf("s3://lake/%s%d", []string{"", "shards/"}[g.IntN(2)], g.IntN(10*(i+1))), Tag: g.text(),
			Size: []int64{-1, MaxObjectBytes}[g.IntN(2)],
		})
	}
	var heads []int64 // items with one
	for i := range l.Ranges {
		l.Ranges[i] = LinkRange{Object: int64(g.IntN(len(l.Objects))), Offset: g.size(1 << 39), Length: 1 + g.size(1<<38)}
		if i > 0 && g.IntN(2) == 0 {
			l.Ranges[i].Object = l.Ranges[i-1].Object
		}
		if g.IntN(3) > 0 {
			continue
		}
		heads = append(heads, int64(i))
	}
	for _, i := range heads {
		l.Heads.Add(i, []byte(g.text()+"h"))
	}
	if len(heads) > 0 {
		for i := int64(len(l.Heads.Ends)); i < items; i++ {
			l.Heads.Add(i, nil)
		}
	}
	return l
}

// tile makes the one array of d the first tile of a sample.
func (g *gen) tile(d *Directory) {
	s := d.Shapes[0].Shape
	for _, n := range s {
		if n == 0 {
			return
		}
	}
	d.Tile = &TileRef{Sample: s.Clone(), Tile: s.Clone()}
	for i := range s {
		d.Tile.Sample[i] *= 1 + g.Int64N(3)
	}
}

func (g *gen) blocks(d *Directory) {
	if g.IntN(2) == 0 {
		d.PerBlock = 1 + g.Int64N(10)
	} else {
		d.BlockItems = []int64{}
		for left := d.Items; left > 0; {
			n := 1 + g.Int64N(min(left, 9))
			d.BlockItems = append(d.BlockItems, n)
			left -= n
		}
		if k := d.evenBlocks(); k > 0 {
			d.PerBlock, d.BlockItems = k, nil
		}
	}
	plan := naiveBlocks(d)
	d.BlockCRC = make([]uint32, len(plan))
	for i := range d.BlockCRC {
		d.BlockCRC[i] = g.Uint32()
	}
	if d.BlockCodec != codec.None {
		d.BlockBytes = make([]int64, len(plan))
		for i, items := range plan {
			raw := int64(0)
			for _, n := range items {
				raw += n
			}
			if d.BlockBytes[i] = raw; raw > 1 && g.IntN(2) == 0 {
				d.BlockBytes[i] = 1 + g.Int64N(raw)
			}
		}
	}
}

// naiveBlocks lists the item sizes of each block the slow way, as the oracle of Index.
func naiveBlocks(d *Directory) [][]int64 {
	var sizes []int64
	switch {
	case d.plain():
		for _, run := range d.Shapes {
			for range run.Count {
				n := int64(d.DType.Size())
				for _, axis := range run.Shape {
					n *= axis
				}
				sizes = append(sizes, n)
			}
		}
	case d.Sizes != nil:
		sizes = d.Sizes
	default:
		for range d.Items {
			sizes = append(sizes, d.FixedSize)
		}
	}
	blocks := [][]int64{}
	for i := 0; len(sizes) > 0; i++ {
		k := d.PerBlock
		if k == 0 {
			k = d.BlockItems[i]
		}
		k = min(k, int64(len(sizes)))
		blocks = append(blocks, sizes[:k])
		sizes = sizes[k:]
	}
	return blocks
}

func (g *gen) text() string {
	return []string{"", "images", "Zürich \"quoted\" <b>&amp;</b>", "a\nb\u2028c\x00"}[g.IntN(4)]
}

func (g *gen) info() map[string]any {
	info := map[string]any{}
	for i := range g.IntN(4) {
		info[fmt.Sprintf("k%d", i)] = []any{nil, true, json.Number("12345678901234567890"), json.Number("1.5e-7"), g.text(),
			[]any{json.Number("1"), map[string]any{"deep": "x"}}}[g.IntN(6)]
	}
	return info
}

func (g *gen) schema() *Schema {
	s := &Schema{Tensors: []TensorSchema{}, Info: g.info()}
	dtypes := tensor.DTypes()
	for i := range g.IntN(6) {
		t := TensorSchema{
			ID: g.uuid(), Name: fmt.Sprintf("group/t%d%s", i, g.text()), HType: "generic", DType: dtypes[g.IntN(len(dtypes))].String(),
			Compression: []string{"none", "lz4", "zstd", "jpeg", "png"}[g.IntN(5)], Quality: g.IntN(101),
			Subsampling: []string{"", "4:2:0"}[g.IntN(2)], ChunkBytes: MinChunkBytes + g.size(MaxChunkBytes-MinChunkBytes), Info: g.info(),
		}
		if g.IntN(2) == 0 {
			t.Shape = append(g.shape(), -1)
		}
		if g.IntN(2) == 0 {
			t.ClassNames = []string{}
			for range g.IntN(3) {
				t.ClassNames = append(t.ClassNames, g.text())
			}
		}
		switch g.IntN(4) {
		case 0:
			t.Open = true
			t.Upright = g.IntN(2) == 0
		case 1:
			t.DType, t.Time = "int64", []string{"date", "timestamp[ns]", "timestamp[us, Europe/Berlin]", "interval[s]"}[g.IntN(4)]
		}
		t.Files = []Files{"", "", FilesOpen, FilesOwn}[g.IntN(4)]
		s.Tensors = append(s.Tensors, t)
		if g.IntN(4) == 0 {
			t.ID, t.Name, t.Reduces = g.uuid(), "_"+t.Name, &Reduction{Tensor: t.ID, Factor: MinFactor + g.Int64N(MaxFactor-MinFactor+1)}
			s.Tensors = append(s.Tensors, t)
		}
		if g.IntN(4) == 0 {
			video := &s.Tensors[len(s.Tensors)-1]
			video.HType, video.DType, video.Time = "video", "bytes", ""
			s.Tensors = append(s.Tensors, TensorSchema{ID: g.uuid(), Name: "_frames" + g.uuid().String(), HType: "generic", DType: "bytes", Compression: "zstd",
				ChunkBytes: MinChunkBytes, Info: map[string]any{}, FramesOf: video.ID})
		}
	}
	return s
}

// ops makes operations within the given number of rows, which is at least 1,000.
func (g *gen) ops(rows int64) []Op {
	ops := []Op{}
	ranges := func() (out []RowRange) {
		at := int64(0)
		for range 1 + g.IntN(5) {
			at += g.Int64N(50)
			r := RowRange{at, 1 + g.Int64N(50)}
			out = append(out, r)
			at += r.Count
		}
		return out
	}
	for range g.IntN(6) {
		ops = append(ops, []Op{
			{Op: OpAppend, Append: g.uuid(), Start: g.Int64N(rows / 2), Rows: 1 + g.Int64N(rows/2)},
			{Op: OpAddTensor, Tensor: g.uuid()},
			{Op: OpDropTensor, Tensor: g.uuid()},
			{Op: OpRenameTensor, Tensor: g.uuid()},
			{Op: OpSetInfo},
			{Op: OpClassNames, Tensor: g.uuid(), From: g.Int64N(100)},
			{Op: OpUpdate, Tensor: g.uuid(), Ranges: ranges()},
			{Op: OpDelete, Ranges: ranges()},
			{Op: OpRewrite, Tensor: g.uuid()},
		}[g.IntN(9)])
	}
	return ops
}

func (g *gen) record() *Record {
	pick := func() *UUID {
		u := g.uuid()
		return &u
	}
	r := &Record{
		Dataset: g.uuid(), UUID: g.uuid(), Branch: g.uuid(), Version: uint64(g.size(1 << 62)), Time: time.Unix(g.Int64N(1<<33), g.Int64N(1e9)).UTC(),
		Author: g.text(), Message: g.text(), Writer: g.text(), Rows: 1000 + g.size(1<<50), Columns: map[UUID]Column{},
	}
	if r.Version > 0 {
		r.Parent = pick()
	} else if g.IntN(2) == 0 {
		r.Parent, r.Base = pick(), &BranchPoint{g.uuid(), g.Uint64()}
	}
	if g.IntN(3) == 0 {
		r.Merged = &BranchPoint{g.uuid(), g.Uint64()}
	}
	if g.IntN(3) == 0 {
		r.DeletedRows, r.Deleted = 1+g.Int64N(r.Rows), pick()
	}
	if g.IntN(2) == 0 {
		r.RowIDs = &Root{g.uuid(), g.IntN(3)}
	}
	if g.IntN(3) == 0 {
		r.SchemaPage = pick()
		r.Columns[g.uuid()] = Column{}
	} else {
		r.Schema = g.schema()
		r.Features = r.Schema.Features()
		for _, t := range r.Schema.Tensors {
			s := g.stats()
			c := Column{MinShape: s.MinShape, MaxShape: s.MaxShape}
			if g.IntN(2) == 0 {
				c.Root, c.Chunks, c.Bytes = &Root{g.uuid(), g.IntN(4)}, 1+g.size(1<<30), g.size(1<<50)
			}
			r.Columns[t.ID] = c
		}
	}
	if g.IntN(3) == 0 {
		r.Txn = pick()
	} else {
		r.Ops = g.ops(r.Rows)
	}
	return r
}
