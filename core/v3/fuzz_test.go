package v3

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/version/rowset"

	"github.com/pierrec/lz4/v4"
)

// classified holds that a decoder's error says whose fault it is.
func classified(t *testing.T, err error) {
	t.Helper()
	if err != nil && errs.KindOf(err) == errs.Internal {
		t.Fatal(err)
	}
}

// seeds adds the files of the fixtures that are of a class, the small ones.
func seeds(f *testing.F, of string) {
	f.Helper()
	all, err := archive()
	if err != nil {
		f.Fatal(err)
	}
	n := 0
	for _, name := range []string{"tiled", "sequences", "history", "labels"} {
		for key, data := range all[name] {
			if class(key) == of && len(data) > 0 && len(data) < 2000 && n < 40 {
				f.Add(data)
				n++
			}
		}
	}
}

// FuzzHeader decodes forged headers of chunks, and makes segments of them.
func FuzzHeader(f *testing.F) {
	seeds(f, "chunk")
	f.Add([]byte(ver("3.9.52") + le(3, 2, 2, 1, 5, 3, 2, 5, 3, 8, 0, 1, 20, 16, 3, 8, 56, 5)))
	f.Fuzz(func(t *testing.T, p []byte) {
		n, err := headerBytes(p)
		classified(t, err)
		h, failed := decodeHeader(p)
		classified(t, failed)
		if failed != nil {
			return
		}
		if err != nil || n != h.bytes || h.bytes > int64(len(p)) {
			t.Fatalf("a header of %d bytes has %d, %v", h.bytes, n, err)
		}
		for _, k := range []kind{{}, {image: true}, {axes: 2}} {
			o := &object{header: h}
			items, err := o.segments(h.items(), &k)
			if classified(t, err); err != nil {
				continue
			}
			total := int64(0)
			for _, s := range items {
				if s.n < 1 || s.size < 0 || s.start < 0 {
					t.Fatalf("%+v", s)
				}
				total += s.n
			}
			if total != h.items() {
				t.Fatalf("segments of %d items, want %d", total, h.items())
			}
			if inOrder(items, int64(len(p))-h.bytes) != nil {
				continue
			}
			each, err := spread(items, int64(len(p)))
			if classified(t, err); err != nil {
				continue
			}
			for _, s := range each { // each lies within the payload
				_ = p[h.bytes:][s.start : s.start+s.size]
			}
		}
	})
}

// FuzzChunkIndex decodes forged indexes of chunks.
func FuzzChunkIndex(f *testing.F) {
	seeds(f, "chunks_index")
	f.Add([]byte(ver("2.0.5") + le(7, 4, 8, 9)))
	f.Fuzz(func(t *testing.T, p []byte) {
		rows, err := decodeChunkIndex(p)
		classified(t, err)
		last := int64(-1)
		for i, r := range rows {
			if r.last < last && i > 0 || r.last >= maxRows || r.last < 0 {
				t.Fatalf("row %d ends at %d, the one before at %d", i, r.last, last)
			}
			last = r.last
		}
	})
}

// FuzzTiles decodes forged indexes of tiles.
func FuzzTiles(f *testing.F) {
	seeds(f, "tiles_index")
	f.Add([]byte(be64(1, 3, 5, 1000, 900, 3, 500, 450, 3)))
	f.Fuzz(func(t *testing.T, p []byte) {
		all, err := decodeTiles(p)
		classified(t, err)
		for item, c := range all {
			if item < 0 || len(c.sample) != len(c.tile) || c.count() < 0 || c.count() > maxItems {
				t.Fatalf("sample %d: %+v of %d tiles", item, c, c.count())
			}
		}
	})
}

// FuzzSequences decodes forged indexes of sequences, and makes entries of them. Every row is in one
// entry.
func FuzzSequences(f *testing.F) {
	all, err := archive()
	if err != nil {
		f.Fatal(err)
	}
	for key, data := range all["sequences"] {
		if class(key) == "sequence_index" {
			f.Add(data, uint16(5), uint16(9))
		}
	}
	f.Add([]byte(ver("")+le(2, 0, 0, 0, 0, 2, 1, 2, 5)), uint16(1), uint16(4))
	f.Add([]byte(ver("")+le(3, 0, 1)), uint16(1), uint16(5))
	f.Fuzz(func(t *testing.T, p []byte, first, last uint16) {
		rows, err := decodeSequences(p)
		if classified(t, err); err != nil {
			return
		}
		k := kind{base: "generic", dtype: tensor.Uint8, sequence: true}
		y, entries, refs, err := laidOut(k, int64(last)+1, nil, rows, int64(first), int64(last))
		if classified(t, err); err != nil {
			return
		}
		next, items := int64(0), int64(0)
		for _, e := range entries {
			if e.Row != next {
				t.Fatalf("an entry begins at row %d, the one before ends at %d", e.Row, next)
			}
			r := refs[e.Ordinal]
			total, have := int64(0), int64(0)
			at := int64(0)
			for _, u := range r.rows {
				if total += u.rows * u.items; u.rows < 1 || u.items < 0 {
					t.Fatalf("%+v", u)
				}
				for lead := max(at, e.First); lead < min(at+u.rows, e.First+e.Rows); lead = at + u.rows {
					items += (min(at+u.rows, e.First+e.Rows) - lead) * u.items
				}
				at += u.rows
			}
			for _, p := range r.pieces {
				have += p.n
			}
			if total != have || e.First+e.Rows > at {
				t.Fatalf("rows of %d items in pieces of %d", total, have)
			}
			next += e.Rows
		}
		if next != y.t.rows() || items != y.t.meta.Length {
			t.Fatalf("entries of %d rows and %d items, want %d and %d", next, items, y.t.rows(), y.t.meta.Length)
		}
	})
}

// FuzzChunkSet decodes forged lists of chunks.
func FuzzChunkSet(f *testing.F) {
	seeds(f, "chunk_set")
	f.Add([]byte("1a:c0,2b,3c:c1:a/b:c"))
	f.Fuzz(func(t *testing.T, p []byte) {
		set, err := decodeChunkSet(p)
		classified(t, err)
		for name := range set {
			if name == "" || strings.Trim(name, "0123456789abcdef") != "" {
				t.Fatalf("%q", name)
			}
		}
	})
}

// FuzzChanges decodes forged changes of a tensor.
func FuzzChanges(f *testing.F) {
	seeds(f, "commit_diff")
	f.Fuzz(func(t *testing.T, p []byte) {
		c, err := decodeChanges(p)
		if classified(t, err); err != nil {
			return
		}
		for _, row := range c.updated {
			if row < 0 || row >= maxRows {
				t.Fatal(row)
			}
		}
		ts := &tensorState{changed: c}
		next := int64(0)
		for _, r := range ts.updates(&state{axis: axis{live: rowset.Set{{Start: 3, Count: 1 << 20}}, from: 3 + 1<<20}}) {
			if r.Start < next || r.Count < 1 || r.Start+r.Count > 3+1<<20 {
				t.Fatalf("%+v behind %d", r, next)
			}
			next = r.Start + r.Count + 1
		}
	})
}

// FuzzJSON makes strict JSON of what Python writes.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":NaN}`, "[Infinity, -Infinity,NaN ]", `["\"NaN",NaN,"\\",NaN,"\u0022NaN"]`, `{"commits":{"x":{"commit_time":1.5}}}`, `"\ud800"`, "[1e5,-0.0]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		strict, err := strictJSON(p)
		if classified(t, err); err != nil {
			return
		}
		if !json.Valid(strict) {
			t.Fatalf("%q became %q", p, strict)
		}
		if again, err := strictJSON(strict); err != nil || !bytes.Equal(again, strict) {
			t.Fatalf("%q became %q, %v", strict, again, err)
		}
		for _, to := range []any{&tensorMeta{}, &datasetMeta{}, &versionInfo{}, &[]savedView{}, &map[string]any{}} {
			classified(t, decodeJSON(p, to))
		}
	})
}

// FuzzPolygons decodes forged polygons: all of the bytes are in one of them.
func FuzzPolygons(f *testing.F) {
	f.Add([]byte("\x02\x00\x01\x00\x02\x00abcdefghijkl"), byte(2), byte(1))
	f.Add([]byte("\x00\x00"), byte(2), byte(4))
	f.Fuzz(func(t *testing.T, p []byte, axis, size byte) {
		d := map[byte]tensor.DType{0: tensor.Uint8, 1: tensor.Int16, 2: tensor.Float32, 3: tensor.Float64}[size%4]
		var out collected
		n, err := addPolygons(&out, p, tensor.Shape{1, 1, int64(axis)}, d)
		if classified(t, err); err != nil {
			return
		}
		if n != int64(len(out.items)) || len(p) > 0 && int64(len(out.data)) != int64(len(p))-2-2*n {
			t.Fatalf("%d polygons of %d bytes in %d", n, len(out.data), len(p))
		}
		if err := checkArrays(out.items, d); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzLZ4 decompresses forged data, in memory that its length bounds.
func FuzzLZ4(f *testing.F) {
	text := bytes.Repeat([]byte("abbccc"), 50)
	block := make([]byte, lz4.CompressBlockBound(len(text)))
	n, err := lz4.CompressBlock(text, block, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte(le(uint32(len(text)))), block[:n]...))
	var frame bytes.Buffer
	w := lz4.NewWriter(&frame)
	_, _ = w.Write(text)
	_ = w.Close()
	f.Add(frame.Bytes())
	f.Add([]byte("\x06\x00\x00\x00\x60abbccc"))
	f.Add([]byte("\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, p []byte) {
		size, err := rawSize(p)
		if classified(t, err); err != nil {
			return
		}
		if size < 0 || size > int64(len(p))*lz4Ratio+64 {
			t.Fatalf("%d bytes have %d", len(p), size)
		}
		out, err := unpackLZ4(p, size)
		if classified(t, err); err == nil && int64(len(out)) != size {
			t.Fatalf("%d bytes, want %d", len(out), size)
		}
	})
}

// FuzzGrid decodes forged grids of links: none takes more memory than its bytes allow.
func FuzzGrid(f *testing.F) {
	f.Add([]byte(ver("3.9.52") + "\x03" + le(1, 2, 1) + "a\x00b/c.jpg\x00"))
	f.Add([]byte(ver("3.9.52") + "\x01" + le(1<<31)))
	f.Add([]byte(ver("") + "\x02" + le(2, 0)))
	f.Fuzz(func(t *testing.T, p []byte) {
		shape, links, err := decodeGrid(p)
		if classified(t, err); err != nil {
			return
		}
		n, total := int64(1), 0
		for _, size := range shape {
			n *= size
		}
		for _, l := range links {
			total += len(l) + 1
		}
		if n != int64(len(links)) || total > len(p) {
			t.Fatalf("%d links of %d bytes in a grid of shape %s", len(links), total, shape)
		}
	})
}

// FuzzPolygonText makes JSON of forged polygons.
func FuzzPolygonText(f *testing.F) {
	f.Add([]byte("\x01\x00\x02\x00"+le(1, 2, 3, 4)), int64(2), byte(tensor.Float32))
	f.Add([]byte("\x02\x00\x01\x00\x00\x00"+le64(1, 2)), int64(2), byte(tensor.Int64))
	f.Fuzz(func(t *testing.T, p []byte, axes int64, d byte) {
		dtype := tensor.DType(d)
		if !dtype.Fixed() || axes > 1<<20 {
			return
		}
		text, err := polygonText(p, tensor.Shape{1, 1, axes}, dtype)
		if classified(t, err); err == nil && !json.Valid(text) {
			t.Fatalf("%q", text)
		}
	})
}
