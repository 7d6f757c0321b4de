package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"deeplake/core/chunk"
	"deeplake/core/dataset/pieces"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/read"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// foldTensors are numbers, text and ragged arrays, all small, with and without a block codec.
var foldTensors = []TensorSpec{
	{Name: "n", DType: "float32", Compression: "none"}, {Name: "id", DType: "int64"}, {Name: "t", HType: "text"}, {Name: "r", DType: "uint8", Shape: tensor.Shape{-1}},
}

// foldModel is a dataset and its expected rows, of which each has the bytes of its samples.
type foldModel struct {
	t    *testing.T
	d    *Dataset
	rng  *rand.Rand
	rows []map[string][]byte
}

// samples makes n samples of a tensor.
func (m *foldModel) samples(name string, n int) (tensor.Rows, [][]byte) {
	rows, all := tensor.Rows{Tensor: name}, make([][]byte, n)
	for i := range all {
		s := tensor.Sample{Form: tensor.FormArray}
		switch name {
		case "n":
			s.DType, s.Shape, s.Data = tensor.Float32, tensor.Shape{}, binary.LittleEndian.AppendUint32(nil, m.rng.Uint32()&0x3fffffff)
		case "id":
			s.DType, s.Shape, s.Data = tensor.Int64, tensor.Shape{}, int64s(m.rng.Int64N(1000))
		case "t":
			s.Form, s.DType, s.Data = tensor.FormText, tensor.String, fmt.Appendf(nil, "word %d", m.rng.IntN(1<<(4*m.rng.IntN(6))))
		case "r":
			s.DType, s.Data = tensor.Uint8, bytes.Repeat([]byte{byte(m.rng.IntN(200))}, m.rng.IntN(9))
			s.Shape = tensor.Shape{int64(len(s.Data))}
		}
		rows.Samples = append(rows.Samples, s)
		all[i] = s.Data
	}
	return rows, all
}

func (m *foldModel) ok(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *foldModel) append(n int) {
	m.t.Helper()
	var cols []tensor.Rows
	from := len(m.rows)
	for range n {
		m.rows = append(m.rows, map[string][]byte{})
	}
	for _, spec := range foldTensors {
		rows, data := m.samples(spec.Name, n)
		if spec.Name == "r" && m.rng.IntN(2) == 0 { // some have none
			for i := range data {
				if m.rng.IntN(50) == 0 {
					rows.Samples[i], data[i] = tensor.Sample{Form: tensor.FormHole}, nil
				}
			}
		}
		cols = append(cols, rows)
		for i := range data {
			m.rows[from+i][spec.Name] = data[i]
		}
	}
	m.ok(m.d.Append(context.Background(), cols, int64(n)))
}

// some returns about one in so many rows.
func (m *foldModel) some(one int) []int64 {
	var out []int64
	for i := range m.rows {
		if m.rng.IntN(one) == 0 {
			out = append(out, int64(i))
		}
	}
	return out
}

func (m *foldModel) update(rows []int64, names ...string) {
	m.t.Helper()
	var cols []tensor.Rows
	for _, name := range names {
		col, data := m.samples(name, len(rows))
		cols = append(cols, col)
		for i, row := range rows {
			m.rows[row][name] = data[i]
		}
	}
	m.ok(m.d.Update(context.Background(), rows, cols))
}

func (m *foldModel) commit() {
	m.t.Helper()
	_, err := m.d.Commit(context.Background(), "")
	m.ok(err)
}

func (m *foldModel) check() {
	m.t.Helper()
	v := must[*View](m.t)(m.d.View(context.Background()))
	for _, spec := range foldTensors {
		got := readAll(m.t, v, spec.Name)
		if len(got) != len(m.rows) {
			m.t.Fatalf("tensor %q has %d rows, want %d", spec.Name, len(got), len(m.rows))
		}
		for i, row := range m.rows {
			if !bytes.Equal(got[i], row[spec.Name]) {
				m.t.Fatalf("tensor %q, row %d: %q, want %q", spec.Name, i, got[i], row[spec.Name])
			}
		}
	}
}

// pieces returns the number of pieces that the rows of a tensor lie in.
func (m *foldModel) pieces(name string) int64 {
	return m.d.head.Record.Columns[m.d.head.Schema.Find(name).ID].Chunks
}

// livePieces is pieces without those of deleted rows, which keep their places.
func (m *foldModel) livePieces(name string) int {
	m.t.Helper()
	ctx := context.Background()
	v := must[*View](m.t)(m.d.View(ctx))
	c := must[*Column](m.t)(v.Column(name))
	return len(must[[]read.Segment](m.t)(c.Segments(ctx, [][2]int64{{0, v.Len()}}, nil)))
}

// TestFold updates, deletes and appends rows in many commits. Every row keeps its value,
// and the pieces that rows lie in do not grow with the number of commits.
func TestFold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env := testEnv()
			m := &foldModel{t: t, rng: rand.New(rand.NewPCG(seed, 5))}
			m.d = must[*Dataset](t)(Create(ctx, env, "mem://fold", CreateOptions{}))
			defer func() { _ = m.d.Close() }()
			for _, spec := range foldTensors {
				m.ok(m.d.CreateTensor(ctx, spec))
			}
			m.append(3000)
			m.commit()
			for range 25 {
				switch m.rng.IntN(8) {
				case 0:
					m.append(m.rng.IntN(500))
				case 1:
					gone := m.some(20 + m.rng.IntN(100))
					m.ok(m.d.DeleteRows(ctx, gone))
					for _, row := range slices.Backward(gone) {
						m.rows = slices.Delete(m.rows, int(row), int(row)+1)
					}
				}
				m.update(m.some(2+m.rng.IntN(30)), "n", "id", "t", "r")
				if m.rng.IntN(3) == 0 {
					m.update(m.some(10), "t")
				}
				m.commit()
				m.check()
			}
			for _, spec := range foldTensors {
				// Two thirds of the rows may lie in pieces of their own, and no more.
				if n := m.livePieces(spec.Name); 10*n > 7*len(m.rows) {
					t.Errorf("the %d rows of tensor %q lie in %d pieces", len(m.rows), spec.Name, n)
				}
			}
			// Another program reads the same.
			m.ok(m.d.Close())
			m.d = must[*Dataset](t)(Open(ctx, env, "mem://fold", OpenOptions{}))
			m.check()
		})
	}
}

// TestFoldBeside holds that a commit which rewrites rows gives way to one that came first.
func TestFoldBeside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	m := &foldModel{t: t, rng: rand.New(rand.NewPCG(9, 5))}
	m.d = must[*Dataset](t)(Create(ctx, env, "mem://fold", CreateOptions{}))
	defer func() { _ = m.d.Close() }()
	for _, spec := range foldTensors {
		m.ok(m.d.CreateTensor(ctx, spec))
	}
	m.append(2000)
	m.commit()
	other := &foldModel{t: t, rng: m.rng, rows: m.rows}
	other.d = must[*Dataset](t)(Open(ctx, env, "mem://fold", OpenOptions{}))
	defer func() { _ = other.d.Close() }()
	var mine, theirs []int64
	for row := range int64(2000) {
		if row%5 < 2 {
			mine = append(mine, row)
		} else if row%5 < 4 {
			theirs = append(theirs, row)
		}
	}
	m.update(mine, "n", "t", "id", "r")
	other.update(theirs, "n", "t", "id", "r")
	other.commit()
	m.commit()
	m.check()
	if n := m.pieces("n"); n > 1400 {
		t.Errorf("2000 rows lie in %d pieces", n)
	}
}

// TestFoldCosts holds that a year of updates writes at most four bytes for a byte changed, and that
// it leaves few pieces.
func TestFoldCosts(t *testing.T) {
	t.Parallel()
	const rows, width, commits = 6000, 32, 365
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://fold", CreateOptions{}))
	defer func() { _ = d.Close() }()
	spec := TensorSpec{Name: "v", DType: "float32", Shape: tensor.Shape{width}, Compression: "none"}
	if err := d.CreateTensor(ctx, spec); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 5))
	vectors := func(n int) []tensor.Rows {
		data := make([]byte, 4*width*n)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		return []tensor.Rows{{Tensor: "v", Array: &tensor.Array{DType: tensor.Float32, Shape: tensor.Shape{width}, Data: data}}}
	}
	if err := d.Append(ctx, vectors(rows), rows); err != nil {
		t.Fatal(err)
	}
	must[any](t)(d.Commit(ctx, ""))
	column := func() format.Column { return d.head.Record.Columns[d.head.Schema.Find("v").ID] }
	before, changed, most := column().Bytes, int64(0), int64(0)
	for range commits {
		var some []int64
		for row := range int64(rows) {
			if rng.IntN(100) == 0 {
				some = append(some, row)
			}
		}
		if err := d.Update(ctx, some, vectors(len(some))); err != nil {
			t.Fatal(err)
		}
		must[any](t)(d.Commit(ctx, ""))
		changed += int64(len(some)) * 4 * width
		most = max(most, column().Chunks)
	}
	if written := column().Bytes - before; written > 4*changed {
		t.Errorf("%d commits wrote %d bytes for %d changed ones, %.1f each", commits, written, changed, float64(written)/float64(changed))
	}
	if 10*most > 7*rows {
		t.Errorf("%d rows lay in %d pieces", rows, most)
	}
}

// foldLeaf is a leaf of a drawing. Each letter is a row of a chunk of that name. Upper-case chunks
// have one item a row from their first row on, lower-case ones one behind the other. A digit is a
// row in the middle of a chunk that has no other row; "." is a row without a sample.
func foldLeaf(rows string) *chunkmap.Leaf {
	session := format.NewUUID()
	var entries []format.Entry
	next, from := map[rune]int64{}, map[rune]int64{}
	for i, c := range rows {
		if c == '.' {
			continue
		}
		e := format.Entry{Row: int64(i), Rows: 1, Session: session, Ordinal: int64(c)}
		switch first, known := from[c]; {
		case c >= 'a':
			e.First = next[c]
			next[c]++
		case c <= '9':
			e.First = 5
		case known:
			e.First = int64(i) - first
		default:
			from[c] = int64(i)
		}
		if n := len(entries) - 1; n >= 0 && chunkmap.Follows(&entries[n], &e) {
			entries[n].Rows++
		} else {
			entries = append(entries, e)
		}
	}
	return chunkmap.NewLeaf(entries)
}

// TestScattered holds which layouts of a leaf are rewritten.
func TestScattered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rows string
		gone       string // "x" where a row is deleted
		updates    [][2]int64
		deletions  [][2]int64
	}{
		{"a chunk", "AAAAAAAAAAAA", "", nil, nil},
		{"chunks one behind the other", "AAABBBCCCDDDEEEFFF", "", nil, nil},
		{"few updates", "AAAAAAAaAAAAAAAAaAAAAAAAA", "", nil, nil},
		{"every third row", "aAAaAAaAAaAAaAA", "", [][2]int64{{0, 15}}, nil},
		{"every second row of one chunk of two", "AAAAAAAAABBBBBCcCcCcCcCcC", "", [][2]int64{{14, 25}}, nil},
		{"all rows, in several commits", "abcabcbacacbabcab", "", [][2]int64{{0, 17}}, nil},
		{"left of many commits", "AAAAAAAAA1234567", "", [][2]int64{{9, 16}}, nil},
		{"with holes", "aAAaAAaA..AAAAAAAAAAAAAAAAAA", "", [][2]int64{{0, 8}}, nil},
		{"few deleted rows", "AAAAAAAAAAAAAAAAAAAAAAAA", "    x       x    x     x", nil, nil},
		{"every third row deleted", "AAAAAAAAAAAAAAAAAA", "  x  x  x  x  x  x", nil, [][2]int64{{0, 12}}},
		{"half of the rows deleted", "AAAAAAAAAAAAAAAAAA", "x x x x x x x x x x", nil, [][2]int64{{0, 9}}},
		{"rewritten without deleted rows", "aaBaaBaaBaaBaaBaaB", "  x  x  x  x  x  x", nil, nil},
		{"and some more deleted", "aaBaaBaaBaaBaaBaaBaaaaaaaaaaaaaaaaaa", "  x  x  xx x  x  x     x      x", nil, nil},
		{"and updated", "aaBacBaaBacBaaBacB", "  x  x  x  x  x  x", [][2]int64{{0, 12}}, nil},
	} {
		gone := roaring64.New()
		for i := range c.gone {
			if c.gone[i] == 'x' {
				gone.Add(uint64(i))
			}
		}
		live := version.NewRowMap(gone)
		x := foldLeaf(c.rows)
		s := pieces.Segments(x, &live)
		if got := scattered(x, s, 4); !reflect.DeepEqual(got, c.updates) {
			t.Errorf("%s: %v is scattered, want %v", c.name, got, c.updates)
		}
		if got := holed(x, s, 4); !reflect.DeepEqual(got, c.deletions) {
			t.Errorf("%s: %v is holed, want %v", c.name, got, c.deletions)
		}
	}
}

// TestFoldDeletions deletes rows in many commits. The bytes that are read for a row stay in
// bounds, and so do those that are written for a deleted one.
func TestFoldDeletions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	m := &foldModel{t: t, rng: rand.New(rand.NewPCG(7, 5))}
	m.d = must[*Dataset](t)(Create(ctx, env, "mem://fold", CreateOptions{}))
	defer func() { _ = m.d.Close() }()
	for _, spec := range foldTensors {
		m.ok(m.d.CreateTensor(ctx, spec))
	}
	m.append(6000)
	m.commit()
	column := func() format.Column { return m.d.head.Record.Columns[m.d.head.Schema.Find("n").ID] }
	before, changed := column().Bytes, 0
	for i := range 60 {
		gone := m.some(20)
		m.ok(m.d.DeleteRows(ctx, gone))
		for _, row := range slices.Backward(gone) {
			m.rows = slices.Delete(m.rows, int(row), int(row)+1)
		}
		changed += len(gone)
		if i%10 == 9 {
			some := m.some(50)
			m.update(some, "n")
			changed += len(some)
		}
		m.commit()
		m.check()
		v := must[*View](t)(m.d.View(ctx))
		c := must[*Column](t)(v.Column("n"))
		items := map[*chunk.Chunk][2]int64{} // from the first to the last that is read
		for _, s := range must[[]read.Segment](t)(c.Segments(ctx, [][2]int64{{0, v.Len()}}, nil)) {
			low, high := s.First, s.First+s.Rows
			if got, ok := items[s.Chunk]; ok {
				low, high = min(low, got[0]), max(high, got[1])
			}
			items[s.Chunk] = [2]int64{low, high}
		}
		n := int64(0)
		for _, r := range items {
			n += r[1] - r[0]
		}
		if 10*n > 18*v.Len() {
			t.Errorf("commit %d: %d items are read for %d rows", i, n, v.Len())
		}
	}
	if written := column().Bytes - before; written > 4*4*int64(changed)+64*100 {
		t.Errorf("%d bytes were written for %d changed rows of 4", written, changed)
	}
}

// TestFoldBound holds that a commit rewrites a bounded number of bytes because of deletions, and
// that the next one goes on.
func TestFoldBound(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	env.foldBytes = 30_000
	m := &foldModel{t: t, rng: rand.New(rand.NewPCG(1, 5))}
	m.d = must[*Dataset](t)(Create(ctx, env, "mem://fold", CreateOptions{}))
	defer func() { _ = m.d.Close() }()
	for _, spec := range foldTensors {
		m.ok(m.d.CreateTensor(ctx, spec))
	}
	m.append(60_000)
	m.commit()
	remove := func(one int) {
		gone := m.some(one)
		m.ok(m.d.DeleteRows(ctx, gone))
		for _, row := range slices.Backward(gone) {
			m.rows = slices.Delete(m.rows, int(row), int(row)+1)
		}
		m.commit()
	}
	column := func() format.Column { return m.d.head.Record.Columns[m.d.head.Schema.Find("n").ID] }
	written := column().Bytes
	remove(2)
	first := column().Bytes - written
	remove(1000)
	second := column().Bytes - written - first
	const most = 30_000 + 4*foldBatch/2 + 2000 // and a batch
	if first < 30_000 || first > most || second < 30_000 || second > most {
		t.Errorf("two commits wrote %d and %d bytes of 120,000", first, second)
	}
	m.check()
}

// TestFoldAgain commits once more after a commit that failed while rows were rewritten.
func TestFoldAgain(t *testing.T) {
	t.Parallel()
	for skip := 8; skip < 30; skip++ {
		t.Run(fmt.Sprint(skip), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			env, store := faulty(t, (&mem.Space{}).Open)
			m := &foldModel{t: t, rng: rand.New(rand.NewPCG(9, 5))}
			m.d = must[*Dataset](t)(Create(ctx, env, "x://fold", CreateOptions{}))
			defer func() { _ = m.d.Close() }()
			for _, spec := range foldTensors {
				m.ok(m.d.CreateTensor(ctx, spec))
			}
			m.append(3000)
			m.commit()
			m.update(m.some(2), "n", "t", "id", "r")
			store().SetPlan(faultstore.Plan{{Ops: faultstore.Writing(), Skip: skip, Times: faultstore.Always, Do: faultstore.Fail(errs.Storage)}})
			_, err := m.d.Commit(ctx, "")
			store().SetPlan(nil)
			if err == nil || m.d.w.broken != nil {
				return
			}
			m.check() // of a view with the changes
			m.update(m.some(3), "n", "t", "id", "r")
			m.check()
			m.commit()
			m.check()
		})
	}
}

// numbersAt returns numbers of tensor "b": of each row, the row and an offset.
func numbersAt(rows []int64, offset int64) []tensor.Rows {
	a := &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}}
	for _, row := range rows {
		a.Data = append(a.Data, int64s(row+offset)...)
	}
	return []tensor.Rows{{Tensor: "b", Array: a}}
}

// everySecond returns rows first, first+2, ... below 1000.
func everySecond(first int64) (rows []int64) {
	for row := first; row < 1000; row += 2 {
		rows = append(rows, row)
	}
	return rows
}

// TestFoldKeepsDeletedRows deletes a row in a commit that rewrites the rows around it. A merge that
// restores the row finds its sample.
func TestFoldKeepsDeletedRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m := &foldModel{t: t, rng: rand.New(rand.NewPCG(9, 5))}
	m.d = must[*Dataset](t)(Create(ctx, testEnv(), "mem://fold", CreateOptions{}))
	defer func() { _ = m.d.Close() }()
	for _, spec := range foldTensors {
		m.ok(m.d.CreateTensor(ctx, spec))
	}
	m.append(1000)
	m.commit()
	m.ok(m.d.Checkout(ctx, "other", true))
	m.update([]int64{101}, "n")
	m.commit()
	m.ok(m.d.Checkout(ctx, "main", false))
	m.ok(m.d.CreateTensor(ctx, TensorSpec{Name: "b", DType: "int64", Compression: "none"}))
	all := slices.Sorted(slices.Values(append(everySecond(0), everySecond(1)...)))
	m.ok(m.d.Update(ctx, all, numbersAt(all, 0)))
	m.commit()
	m.ok(m.d.Update(ctx, everySecond(0), numbersAt(everySecond(0), 5000)))
	m.ok(m.d.DeleteRows(ctx, []int64{101}))
	m.commit()
	if n := m.pieces("b"); n > 10 {
		t.Errorf("1000 rows lie in %d pieces: the commit has rewritten none", n)
	}
	if _, _, err := m.d.Merge(ctx, "other", version.OnConflictTheirs, ""); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, must[*View](t)(m.d.View(ctx)), "b")
	if len(got) != 1000 || !bytes.Equal(got[101], int64s(101)) || !bytes.Equal(got[100], int64s(5100)) {
		t.Errorf("%d rows, row 101 is %v", len(got), got[101])
	}
}

// TestFoldLeavesDeletedSamples holds that a commit writes nothing of a deleted row again.
func TestFoldLeavesDeletedSamples(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://fold", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "b", DType: "int64", Compression: "none"}); err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(append(everySecond(0), everySecond(1)...)))
	gone := []int64{0, 1, 500, 999}
	if err := d.Append(ctx, numbersAt(all, 7_000_000), 1000); err != nil {
		t.Fatal(err)
	}
	must[any](t)(d.Commit(ctx, ""))
	if err := d.Update(ctx, everySecond(1), numbersAt(everySecond(1), 5000)); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteRows(ctx, gone); err != nil {
		t.Fatal(err)
	}
	must[any](t)(d.Commit(ctx, ""))
	e, _, err := d.head.Tree(d.head.Schema.Tensors[0].ID).Find(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	raw := must[[]byte](t)(d.store.Get(ctx, format.DataKey(e.Session, e.Ordinal)))
	if !bytes.Contains(raw, int64s(7_000_002)) {
		t.Fatal("row 2 was not rewritten")
	}
	for _, row := range gone {
		if bytes.Contains(raw, int64s(row+7_000_000)) {
			t.Errorf("the sample of deleted row %d was written again", row)
		}
	}
}

// TestRechunkBesideRestore rewrites rows without the sample of a deleted one, while a merge
// restores it. The later commit keeps the sample.
func TestRechunkBesideRestore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	m := &foldModel{t: t, rng: rand.New(rand.NewPCG(9, 5))}
	m.d = must[*Dataset](t)(Create(ctx, env, "mem://fold", CreateOptions{}))
	defer func() { _ = m.d.Close() }()
	for _, spec := range foldTensors {
		m.ok(m.d.CreateTensor(ctx, spec))
	}
	m.append(1000)
	m.commit()
	m.ok(m.d.Checkout(ctx, "other", true))
	m.update([]int64{101}, "n")
	m.commit()
	m.ok(m.d.Checkout(ctx, "main", false))
	// a tensor that the other branch lacks
	m.ok(m.d.CreateTensor(ctx, TensorSpec{Name: "b", DType: "int64"}))
	all := slices.Sorted(slices.Values(append(everySecond(0), everySecond(1)...)))
	m.ok(m.d.Update(ctx, all, numbersAt(all, 0)))
	m.commit()
	m.ok(m.d.DeleteRows(ctx, []int64{101}))
	m.commit()
	beside := must[*Dataset](t)(Open(ctx, env, "mem://fold", OpenOptions{}))
	defer func() { _ = beside.Close() }()
	if _, _, err := m.d.Merge(ctx, "other", version.OnConflictTheirs, ""); err != nil {
		t.Fatal(err)
	}
	m.check()
	if report := must[RechunkReport](t)(beside.Rechunk(ctx, RechunkOptions{All: true})); report.Commit == nil {
		t.Fatal("nothing was rewritten")
	}
	m.ok(m.d.Refresh(ctx))
	m.check()
	if got := readAll(t, must[*View](t)(m.d.View(ctx)), "b"); !bytes.Equal(got[101], int64s(101)) {
		t.Errorf("row 101 of the tensor that one branch has is %v", got[101])
	}
}
