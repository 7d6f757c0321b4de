package v3

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// laidOut makes the entries of a tensor at the first commit, of chunks named 1, 2 and so on, the
// last items of which are given.
func laidOut(k kind, length int64, tiles map[int64]tiling, sequences []sequenceRun, last ...int64) (*layout, []format.Entry, []*ref, error) {
	ts := &tensorState{key: "x", name: "x", kind: k, meta: tensorMeta{Length: length}, tiles: tiles, sequences: sequences, size: 1000}
	for i, n := range last {
		ts.chunks = append(ts.chunks, chunkRow{uint64(i + 1), n})
	}
	s := &state{id: rootCommit, by: map[string]*tensorState{"x": ts}, axis: axisOf(1<<40, format.UUID{1})}
	l := &loader{tree: &tree{nodes: map[string]*node{rootCommit: {}}}, states: map[string]*state{rootCommit: s}}
	table := table{refs: map[format.UUID][]*ref{}, known: map[string]int64{}}
	entries, err := l.entries(s, ts, &table)
	return &layout{l: l, t: ts}, entries, table.refs[ts.session()], err
}

// drawn shows entries and their chunks: rows, then objects with parts of their items, then items of
// rows.
func drawn(entries []format.Entry, refs []*ref) string {
	var out []string
	for _, e := range entries {
		text := fmt.Sprintf("%d+%d", e.Row, e.Rows)
		if e.First > 0 {
			text += fmt.Sprintf(" from %d", e.First)
		}
		for i := range max(1, e.Tiles) {
			r := refs[e.Ordinal+i]
			for _, p := range r.pieces {
				text += " " + strings.TrimPrefix(p.key, "x/chunks/")
				if p.from > 0 || p.n < p.items {
					text += fmt.Sprintf("[%d:%d]", p.from, p.from+p.n)
				}
			}
			if r.rows != nil {
				text += fmt.Sprint(r.rowItems())
			}
			for _, p := range r.pieces {
				if p.tiled() && r.tile == nil && r.refused == "" {
					text += fmt.Sprintf("+%d tiles", len(p.inner))
				}
			}
			if r.tile != nil {
				text += fmt.Sprintf("@%d", r.tile.Index)
			}
			if r.refused != "" {
				text += " refused"
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// TestLayout makes entries of chunks, tiles and sequences.
func TestLayout(t *testing.T) {
	plain := kind{base: "generic", dtype: tensor.Uint8}
	seq := plain
	seq.sequence = true
	image := kind{base: "image", dtype: tensor.Uint8, image: true}
	link := kind{base: "link", dtype: tensor.String}
	linked := kind{base: "link", dtype: tensor.Uint8, image: true}
	albums := linked
	albums.sequence = true
	nested := kind{base: "polygon", dtype: tensor.JSON, points: tensor.Float32, sequence: true}
	all := func(items, rows int) string { return fmt.Sprint(slices.Repeat([]int{items}, rows)) }
	canvas := kind{base: "image", dtype: tensor.Uint8, image: true, chunk: "png"}
	four := map[int64]tiling{2: {tensor.Shape{4, 4}, tensor.Shape{2, 2}}}
	for name, c := range map[string]struct {
		k         kind
		length    int64
		tiles     map[int64]tiling
		sequences []sequenceRun
		last      []int64
		want      string // or the error
	}{
		"nothing":              {k: plain, want: ""},
		"no dtype":             {k: kind{base: "generic"}, length: 5, want: ""},
		"chunks":               {k: plain, length: 10, last: []int64{3, 9}, want: "0+4 1, 4+6 2"},
		"a chunk of no item":   {k: plain, length: 10, last: []int64{3, 3, 9, 9}, want: "0+4 1, 4+6 3"},
		"fewer items":          {k: plain, length: 11, last: []int64{3, 9}, want: "its chunks have 10 samples, tensor_meta.json says 11"},
		"more items":           {k: plain, length: 9, last: []int64{3, 9}, want: "its chunks have 10 samples"},
		"no chunks":            {k: plain, length: 9, want: "its chunks have 0 samples"},
		"tiles":                {k: plain, length: 5, tiles: four, last: []int64{1, 2, 2, 2, 2, 4}, want: "0+2 1, 2+1 2@0 3@1 4@2 5@3, 3+2 6"},
		"tiles of an image":    {k: image, length: 3, tiles: four, last: []int64{1, 2, 2, 2, 2}, want: "0+2 1, 2+1 2@0 3@1 4@2 5@3"},
		"a tile too few":       {k: plain, length: 5, tiles: four, last: []int64{1, 2, 2, 2, 4}, want: "sample 2 of shape (4, 4) has 3 tiles of shape (2, 2), want 4"},
		"a tile too many":      {k: plain, length: 5, tiles: four, last: []int64{1, 2, 2, 2, 2, 2, 4}, want: "has 5 tiles"},
		"very many tiles":      {k: plain, length: 3, tiles: map[int64]tiling{2: {tensor.Shape{1 << 39}, tensor.Shape{1}}}, last: []int64{1, 2}, want: "has 1 tiles of shape (1,), want 0"},
		"tiles, not listed":    {k: canvas, length: 5, last: []int64{1, 2, 2, 2, 2, 4}, want: "chunk 3 has no sample: sample 2 has tiles that tiles_index lacks"},
		"links":                {k: link, length: 300, last: []int64{299}, want: "0+300 1"},
		"linked images":        {k: linked, length: 300, last: []int64{299}, want: "0+128 1[0:128], 128+128 1[128:256], 256+44 1[256:300]"},
		"tiles of links":       {k: link, length: 3, tiles: four, last: []int64{2}, want: "0+3 1 refused"},
		"a grid of images":     {k: linked, length: 1, tiles: map[int64]tiling{0: four[2]}, last: []int64{0}, want: "0+1 1@0 1@1 1@2 1@3"},
		"a grid, not alone":    {k: linked, length: 3, tiles: four, last: []int64{2}, want: "0+3 1 refused"},
		"a huge grid":          {k: linked, length: 1, tiles: map[int64]tiling{0: {tensor.Shape{1 << 39}, tensor.Shape{1}}}, last: []int64{0}, want: "0+1 1 refused"},
		"albums":               {k: albums, length: 300, sequences: []sequenceRun{{2, 0, 99}, {100, 200, 100}}, last: []int64{299}, want: "0+64 1[0:128]" + all(2, 64) + ", 64+36 1[128:200]" + all(2, 36) + ", 100+1 1[200:300][100]"},
		"albums across":        {k: albums, length: 4, sequences: []sequenceRun{{3, 0, 0}, {1, 3, 1}}, last: []int64{1, 3}, want: "0+1 1 2[0:1][3], 1+1 2[1:2][1]"},
		"albums with grids":    {k: albums, length: 3, tiles: four, sequences: []sequenceRun{{3, 0, 0}}, last: []int64{2}, want: "0+1 1[3] refused"},
		"polygons":             {k: nested, length: 6, sequences: []sequenceRun{{3, 0, 1}}, last: []int64{1, 5}, want: "0+1 1 2[0:1][3], 1+1 2[1:4][3]"},
		"huge tiles of links":  {k: link, length: 3, tiles: map[int64]tiling{2: {tensor.Shape{1 << 39}, tensor.Shape{1}}}, last: []int64{2}, want: "0+3 1 refused"},
		"sequences":            {k: seq, length: 6, sequences: []sequenceRun{{2, 0, 2}}, last: []int64{5}, want: "0+3 1[2 2 2]"},
		"ragged":               {k: seq, length: 5, sequences: []sequenceRun{{2, 0, 0}, {0, 0, 2}, {1, 2, 5}}, last: []int64{4}, want: "0+6 1[2 0 0 1 1 1]"},
		"empty ones":           {k: seq, sequences: []sequenceRun{{0, 0, 2}}, want: "0+3[0 0 0]"},
		"empty in front":       {k: seq, length: 4, sequences: []sequenceRun{{0, 0, 1}, {2, 0, 3}}, last: []int64{3}, want: "0+4 1[0 0 2 2]"},
		"empty, anywhere":      {k: seq, length: 2, sequences: []sequenceRun{{0, 77, 1}, {2, 0, 2}, {0, 5, 3}}, last: []int64{1}, want: "0+4 1[0 0 2 0]"},
		"across":               {k: seq, length: 6, sequences: []sequenceRun{{3, 0, 1}}, last: []int64{1, 5}, want: "0+1 1 2[0:1][3], 1+1 from 1 2[1 3]"},
		"across, then a lead":  {k: seq, length: 8, sequences: []sequenceRun{{3, 0, 0}, {1, 3, 5}}, last: []int64{1, 7}, want: "0+1 1 2[0:1][3], 1+5 from 1 2[1 1 1 1 1 1]"},
		"a tail, then across":  {k: seq, length: 8, sequences: []sequenceRun{{2, 0, 0}, {4, 2, 1}, {2, 6, 2}}, last: []int64{3, 7}, want: "0+1 1[2 2], 1+1 1[2:4] 2[0:2][4], 2+1 from 1 2[2 2]"},
		"across three":         {k: seq, length: 5, sequences: []sequenceRun{{5, 0, 0}}, last: []int64{0, 3, 4}, want: "0+1 1 2 3[5]"},
		"chunk by chunk":       {k: seq, length: 4, sequences: []sequenceRun{{1, 0, 3}}, last: []int64{1, 3}, want: "0+2 1[1 1], 2+2 2[1 1]"},
		"an item in tiles":     {k: seq, length: 2, tiles: map[int64]tiling{1: four[2]}, sequences: []sequenceRun{{1, 0, 1}}, last: []int64{0, 1, 1, 1, 1}, want: "0+1 1[1], 1+1 2[1]+3 tiles"},
		"across tiles":         {k: seq, length: 2, tiles: map[int64]tiling{1: four[2]}, sequences: []sequenceRun{{2, 0, 0}}, last: []int64{0, 1, 1, 1, 1}, want: "0+1 1 2[2]+3 tiles"},
		"a gap":                {k: seq, length: 6, sequences: []sequenceRun{{2, 0, 0}, {2, 3, 1}}, last: []int64{5}, want: "sequence 1 does not follow the one before"},
		"not from 0":           {k: seq, length: 6, sequences: []sequenceRun{{2, 1, 0}}, last: []int64{5}, want: "sequence 0 does not follow"},
		"items too many":       {k: seq, length: 6, sequences: []sequenceRun{{2, 0, 3}}, last: []int64{5}, want: "sequence 3 ends at item 8 of 6"},
		"items too few":        {k: seq, length: 6, sequences: []sequenceRun{{2, 0, 1}}, last: []int64{5}, want: "its sequences have 4 items, tensor_meta.json says 6"},
		"no sequences":         {k: seq, length: 6, last: []int64{5}, want: "its sequences have 0 items"},
		"a huge sequence":      {k: seq, length: 6, sequences: []sequenceRun{{1<<32 - 1, 0, 1<<32 - 1}}, last: []int64{5}, want: "sequence 0 ends at item 4294967295 of 6"},
		"many of no real item": {k: seq, length: 1 << 32, sequences: []sequenceRun{{1, 0, 1<<32 - 1}}, last: []int64{1<<32 - 1}, want: ""},
	} {
		_, entries, refs, err := laidOut(c.k, c.length, c.tiles, c.sequences, c.last...)
		switch {
		case name == "many of no real item": // which is known when the chunk is opened
			if err != nil || len(entries) != 1 || entries[0].Rows != 1<<32 {
				t.Errorf("%s: %v, %v", name, entries, err)
			}
		case err != nil:
			if !errs.Is(err, errs.Corrupt) || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		default:
			if got := drawn(entries, refs); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
	}
}

// TestManyEmpty divides very many empty sequences, without memory for each.
func TestManyEmpty(t *testing.T) {
	k := kind{base: "generic", dtype: tensor.Uint8, sequence: true}
	_, entries, refs, err := laidOut(k, 0, nil, []sequenceRun{{0, 0, 1<<32 - 1}})
	if err != nil || len(entries) != 1<<32/maxSpread {
		t.Fatal(len(entries), err)
	}
	next := int64(0)
	for i, e := range entries {
		if e.Row != next || len(refs[e.Ordinal].rows) != 1 {
			t.Fatalf("entry %d: %+v", i, e)
		}
		next += e.Rows
	}
	if next != 1<<32 {
		t.Error(next)
	}
}

// TestLocate finds the object of a chunk: the nearest commit that owns it wins.
func TestLocate(t *testing.T) {
	commit := func(id string, set map[string]owner) *state {
		return &state{id: id, by: map[string]*tensorState{"x": {key: "x", set: set}}}
	}
	l := &loader{
		tree: &tree{nodes: map[string]*node{rootCommit: {}, "a": {Parent: rootCommit}, "b": {Parent: "a"}, "c": {Parent: "b"}}},
		states: map[string]*state{
			"a": commit("a", map[string]owner{"1": {}, "2": {}}),
			"b": commit("b", map[string]owner{"1": {}, "3": {commit: "other"}, "4": {commit: "other", key: "g/y"}, "5": {commit: rootCommit, key: "y"}, "6": {commit: ".."}, "7": {key: "../y"}}),
			"c": {id: "c", by: map[string]*tensorState{}},
		},
	}
	for name, want := range map[string]string{
		"0": "x/chunks/0",
		"1": "versions/b/x/chunks/1",
		"2": "versions/a/x/chunks/2",
		"3": "versions/other/x/chunks/3",
		"4": "versions/other/g/y/chunks/4",
		"5": "y/chunks/5",
	} {
		if got, err := l.locate("c", "x", name); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	for _, name := range []string{"6", "7"} {
		if got, err := l.locate("c", "x", name); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestShared numbers chunks: commits that share an object share its number.
func TestShared(t *testing.T) {
	ts := &tensorState{key: "x"}
	table := table{refs: map[format.UUID][]*ref{}, known: map[string]int64{}}
	one := func(p piece) *ref { return &ref{tensor: ts, pieces: []piece{p}} }
	a := piece{key: "x/chunks/1", items: 5, n: 5}
	changing := a
	changing.mutable = true
	part := a
	part.n = 3
	got := []int64{
		table.add(one(a)), table.add(one(a)), table.add(one(changing)), table.add(one(part)), table.add(one(a)),
		table.add(&ref{tensor: ts, pieces: []piece{a}, rows: []rowRun{{1, 5}}}), table.add(&ref{tensor: ts, pieces: []piece{a}, rows: []rowRun{{1, 5}}}),
	}
	if want := []int64{0, 0, 1, 2, 0, 3, 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSettle counts the rows that a branch ever had.
func TestSettle(t *testing.T) {
	commit := func(id string, rows int64, c changes) *state {
		ts := &tensorState{key: "x", meta: tensorMeta{Length: rows, DType: "uint8"}, changed: &c}
		return &state{id: id, tensors: []*tensorState{ts}}
	}
	var before *state
	for i, c := range []struct {
		s    *state
		want string // base, physical, from
	}{
		{commit("a", 4, changes{}), "0 4 0"},
		{commit("b", 6, changes{}), "0 6 4"},
		{commit("c", 6, changes{updated: []int64{1}}), "0 6 6"},
		{commit("d", 5, changes{deleted: 1}), "6 11 6"},
		{commit("e", 7, changes{}), "6 13 11"},
		{commit("f", 7, changes{cleared: true}), "13 20 13"},
		{commit("g", 2, changes{}), "20 22 20"}, // a merge that lost rows
		{commit("h", 2, changes{}), "20 22 22"},
	} {
		if err := c.s.measure(); err != nil {
			t.Fatal(err)
		}
		if err := c.s.settle(before, nil); err != nil {
			t.Fatal(err)
		}
		a := c.s.axis
		if got := fmt.Sprint(a.live[0].Start, a.physical, a.from); got != c.want {
			t.Errorf("commit %d: %s, want %s", i, got, c.want)
		}
		live := int64(0)
		for _, e := range a.ids {
			if e.Row != live {
				t.Errorf("commit %d: ids of row %d, want %d", i, e.Row, live)
			}
			live += e.Rows
		}
		if live != a.physical {
			t.Errorf("commit %d: ids of %d rows", i, live)
		}
		before = c.s
	}
	for _, rows := range []int64{-1, maxRows + 1, 1 << 62} {
		if err := commit("z", rows, changes{}).measure(); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
	many := commit("y", maxRows, changes{})
	next := commit("z", 1, changes{})
	if many.measure() != nil || next.measure() != nil || many.settle(nil, nil) != nil {
		t.Fatal("the commits are damaged")
	}
	if err := next.settle(many, nil); !errs.Is(err, errs.Unsupported) {
		t.Error(err)
	}
}
