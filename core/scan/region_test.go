package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

func number(n int64) *int64 { return &n }

// sliced is data[spans] for an array of shape s, the way one would do it by hand; ok is false where
// an index is out of bounds.
func sliced(data []byte, s tensor.Shape, spans []query.Span, size int) (out []byte, shape tensor.Shape, ok bool) {
	var full []query.Span
	named := 0
	for _, sp := range spans {
		if !sp.Ellipsis {
			named++
		}
	}
	for _, sp := range spans {
		if !sp.Ellipsis {
			full = append(full, sp)
			continue
		}
		for range len(s) - named {
			full = append(full, query.Span{})
		}
	}
	for len(full) < len(s) {
		full = append(full, query.Span{})
	}
	if len(full) > len(s) {
		return nil, nil, false
	}
	places := []int64{0}
	shape = tensor.Shape{}
	for axis, sp := range full {
		n := s[axis]
		var at []int64
		switch {
		case sp.At != nil:
			i := *sp.At
			if i < 0 {
				i += n
			}
			if i < 0 || i >= n {
				return nil, nil, false
			}
			at = []int64{i}
		default:
			step := int64(1)
			if sp.Step != nil {
				step = *sp.Step
			}
			low, high := int64(0), n
			if step < 0 {
				low, high = n-1, -1
			}
			bound := func(p *int64, missing int64) int64 {
				if p == nil {
					return missing
				}
				i := *p
				if i < 0 {
					i += n
				}
				if step < 0 {
					return min(max(i, -1), n-1)
				}
				return min(max(i, 0), n)
			}
			low, high = bound(sp.Low, low), bound(sp.High, high)
			for i := low; step > 0 && i < high || step < 0 && i > high; i += step {
				at = append(at, i)
			}
			shape = append(shape, int64(len(at)))
		}
		var next []int64
		for _, p := range places {
			for _, i := range at {
				next = append(next, p*n+i)
			}
		}
		places = next
	}
	for _, p := range places {
		out = append(out, data[int(p)*size:int(p+1)*size]...)
	}
	return out, shape, true
}

// someSpans draws text for between brackets.
func someSpans(r *rand.Rand, axes int, size int64) []query.Span {
	var out []query.Span
	ellipsis := r.IntN(4) == 0
	for range 1 + r.IntN(axes) {
		if ellipsis && r.IntN(2) == 0 {
			out, ellipsis = append(out, query.Span{Ellipsis: true}), false
			continue
		}
		var sp query.Span
		if r.IntN(3) == 0 {
			sp.At = number(r.Int64N(2*size) - size)
			out = append(out, sp)
			continue
		}
		if r.IntN(4) > 0 {
			sp.Low = number(r.Int64N(3*size) - size)
		}
		if r.IntN(4) > 0 {
			sp.High = number(r.Int64N(3*size) - size)
		}
		switch r.IntN(5) {
		case 0:
			sp.Step = number(1)
		case 1:
			sp.Step = number(-1 - r.Int64N(3))
		case 2:
			sp.Step = number(2 + r.Int64N(3))
		}
		out = append(out, sp)
	}
	return out
}

func showSpans(spans []query.Span) string {
	show := func(p *int64) string {
		if p == nil {
			return ""
		}
		return fmt.Sprint(*p)
	}
	var parts []string
	for _, s := range spans {
		switch {
		case s.Ellipsis:
			parts = append(parts, "...")
		case s.At != nil:
			parts = append(parts, show(s.At))
		default:
			parts = append(parts, show(s.Low)+":"+show(s.High)+":"+show(s.Step))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func TestRegion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(11, 2))
	d := testDataset(t, "mem://d", 11)
	v := must[*dataset.View](t)(d.View(ctx))
	table := Of(v)
	reader := table.Reader()
	defer reader.Close()
	axes := map[string]int{"half": 1, "vector": 1, "ragged": 2, "boxes": 2, "image": 3, "large": 2}
	reached := map[bool]int{}
	for column, f := range table.Columns() {
		if axes[f.Name] == 0 {
			continue
		}
		want := oracle(t, v, f.Name)
		for range 60 {
			spans := someSpans(r, axes[f.Name], []int64{4, 12, 350}[r.IntN(3)])
			rows := query.Rows{List: make([]int64, 1+r.IntN(4))}
			for i := range rows.List {
				rows.List[i] = r.Int64N(v.Len())
			}
			rows.N = int64(len(rows.List))
			all := true
			cells := make([]cell, rows.N)
			for i := range cells {
				c := want[rows.List[i]]
				data := c.data[0]
				if f.Name == "half" {
					data = widened(data)
				}
				size := f.Type.DType.Size()
				out, shape, ok := sliced(data, c.shapes[0], spans, size)
				all = all && ok
				cells[i] = cell{data: [][]byte{out}, shapes: []tensor.Shape{shape}}
			}
			reached[all]++
			c, err := reader.Read(ctx, column, rows, query.Values, spans)
			if (err == nil) != all {
				t.Fatalf("%s%s of rows %v: %v, want an error: %v", f.Name, showSpans(spans), rows.List, err, !all)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "row ") {
					t.Errorf("%s%s: %v names no row", f.Name, showSpans(spans), err)
				}
				continue
			}
			t.Run(f.Name+showSpans(spans), func(t *testing.T) {
				for i := range cells {
					sameCell(t, c, i, cells[i], false)
				}
			})
		}
	}
	if reached[true] < 50 || reached[false] < 50 {
		t.Errorf("%d reads of parts and %d errors are too few", reached[true], reached[false])
	}
}

// TestRegionReadsLess holds that a part of a tiled array takes the tiles that have some of it.
func TestRegionReadsLess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 1))
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, testEnv(), "mem://d", dataset.CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "large", DType: "uint8", ChunkBytes: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "large", Samples: []tensor.Sample{arrayOf(tensor.Uint8, tensor.Shape{2000, 2000}, r)}}}, 1); err != nil {
		t.Fatal(err)
	}
	reader := Of(must[*dataset.View](t)(d.View(ctx))).Reader()
	defer reader.Close()
	ten := []query.Span{{Low: number(0), High: number(10)}, {Low: number(0), High: number(10)}}
	_ = must[*array.Column](t)(reader.Read(ctx, 0, query.Rows{N: 1}, query.Values, ten))
	part, decoded := reader.Bytes()
	_ = must[*array.Column](t)(reader.Read(ctx, 0, query.Rows{N: 1}, query.Values, nil))
	all, _ := reader.Bytes()
	if part == 0 || part > 300<<10 || all-part < 4_000_000 || decoded != 100 {
		t.Errorf("%d bytes read for a part, %d decoded, %d for all", part, decoded, all-part)
	}
}
