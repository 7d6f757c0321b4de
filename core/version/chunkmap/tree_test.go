package chunkmap

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
)

// cell is a row of the oracle: item First of chunk Ordinal of session Session, or a hole.
type cell struct {
	session byte // 0: a hole
	ordinal int64
	item    int64
}

func newStore(t *testing.T) storage.Provider {
	t.Helper()
	space := &mem.Space{}
	p, err := space.Open(context.Background(), "v", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// uuid is a uuid that is easy to recognise.
func uuid(n byte) format.UUID { return format.UUID{0: n, 15: 1} }

// treeModel is a tree beside its oracle.
type treeModel struct {
	t     *testing.T
	rng   *rand.Rand
	pages *Store
	tree  Tree
	cells []cell

	chunks int64 // of each session
}

func newTreeModel(t *testing.T, seed uint64, lines int) *treeModel {
	m := &treeModel{t: t, rng: rand.New(rand.NewPCG(seed, 1)), pages: NewStore(newStore(t)), chunks: []int64{50, 2}[seed%2]}
	m.pages.MaxEntries, m.pages.MaxPieces = lines, 5*lines
	m.tree = Tree{pages: m.pages}
	return m
}

// edits makes some edits and does them to the oracle.
func (m *treeModel) edits(rows int64) []Edit {
	var out []Edit
	at := m.rng.Int64N(rows)
	if m.rng.IntN(3) == 0 {
		at = int64(len(m.cells)) // an append
	}
	for range 1 + m.rng.IntN(3) {
		to := at + 1 + m.rng.Int64N(40)
		if to > rows {
			break
		}
		ed := Edit{From: at, To: to}
		for int64(len(m.cells)) < to {
			m.cells = append(m.cells, cell{})
		}
		for row := at; row < to; row++ {
			m.cells[row] = cell{}
		}
		for row := at + m.rng.Int64N(3); row < to; {
			n := min(1+m.rng.Int64N(12), to-row)
			e := format.Entry{Row: row, Rows: n, First: m.rng.Int64N(100), Session: uuid(1 + byte(m.rng.IntN(3))), Ordinal: m.rng.Int64N(m.chunks), Bytes: 1}
			for i := range n {
				m.cells[row+i] = cell{e.Session[0], e.Ordinal, e.First + i}
			}
			ed.Entries = append(ed.Entries, e)
			row += n + m.rng.Int64N(4)
		}
		out = append(out, ed)
		at = to + m.rng.Int64N(30)
	}
	return out
}

func (m *treeModel) apply(edits []Edit) Pending {
	m.t.Helper()
	made := Pending{}
	next, err := m.tree.Apply(context.Background(), edits, nil, made)
	if err != nil {
		m.t.Fatal(err)
	}
	m.tree = next
	return made
}

// store makes the held pages stored ones, read from bytes from then on.
func (m *treeModel) store(made Pending) {
	m.t.Helper()
	x, err := m.pages.Seal(context.Background(), made)
	if err == nil {
		err = m.pages.Upload(context.Background(), x, nil)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	fresh := NewStore(m.pages.store)
	fresh.MaxEntries, fresh.MaxPieces = m.pages.MaxEntries, m.pages.MaxPieces
	m.pages = fresh
	m.tree = Tree{pages: fresh, root: *x.Root(&m.tree.root)}
}

// keep makes the held pages ones of the cache, without the cost of bytes.
func (m *treeModel) keep(made Pending) {
	for id, v := range made {
		m.pages.cache.Put(id, v.(Page), 1)
	}
	m.tree = Tree{pages: m.pages, root: m.tree.root}
}

// checkTree compares a tree with the oracle's state at its creation.
func checkTree(t *testing.T, tree Tree, cells []cell, rng *rand.Rand) {
	t.Helper()
	ctx := context.Background()
	walker := NewWalker(tree)
	for row := range int64(len(cells)) + 5 {
		want := cell{}
		if row < int64(len(cells)) {
			want = cells[row]
		}
		e, ok, err := tree.Find(ctx, row)
		got := cell{}
		if ok {
			got = cell{e.Session[0], e.Ordinal, e.First + row - e.Row}
		}
		if err != nil || got != want {
			t.Fatalf("row %d: %+v, %v, want %+v", row, got, err, want)
		}
		// in order, and from leaf to leaf
		for _, row := range []int64{row, rng.Int64N(int64(len(cells)) + 5)} {
			e, ok, _ := tree.Find(ctx, row)
			x, at, end, _, err := walker.Seek(ctx, row)
			got, want := cell{}, cell{}
			if ok {
				want = cell{e.Session[0], e.Ordinal, e.First + row - e.Row}
			}
			if err == nil && at >= 0 && x.Refs[at] != NoSample {
				e := &x.Chunks[x.Refs[at]]
				got = cell{e.Session[0], e.Ordinal, x.Items[at] + row - x.Rows[at]}
			}
			if err != nil || end <= row || got != want {
				t.Fatalf("row %d: the walker finds %+v up to %d, %v; want %+v", row, got, end, err, want)
			}
		}
	}
	for range 10 {
		from := rng.Int64N(int64(len(cells)) + 1)
		to := from + rng.Int64N(int64(len(cells))-from+5)
		got := make([]cell, len(cells))
		last := int64(-1)
		if err := tree.Scan(ctx, from, to, func(e format.Entry) bool {
			if e.Row < last || e.Row >= to || e.Row+e.Rows <= from {
				t.Fatalf("scan of [%d, %d) gives rows [%d, +%d) after row %d", from, to, e.Row, e.Rows, last)
			}
			last = e.Row + e.Rows
			for i := range e.Rows {
				if row := e.Row + i; row >= from && row < to {
					got[row] = cell{e.Session[0], e.Ordinal, e.First + i}
				}
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if end := min(to, int64(len(cells))); !slices.Equal(got[from:end], cells[from:end]) {
			t.Fatalf("scan of [%d, %d) differs from the oracle", from, to)
		}
	}
}

// checkPages walks all pages and checks their sizes, their order, and the counts in inner pages.
func checkPages(t *testing.T, tree Tree, at format.Root) (entries, pages, leaves int64, firstRow int64) {
	t.Helper()
	if at.Page.IsZero() {
		return 0, 0, 0, 0
	}
	p, err := tree.pages.Load(context.Background(), tree.pending, at)
	if err != nil {
		t.Fatal(err)
	}
	if p.Leaf != nil {
		if n, k := len(p.Leaf.Chunks), len(p.Leaf.Refs); n < 1 || n > tree.pages.MaxEntries || k > tree.pages.MaxPieces {
			t.Fatalf("a leaf has %d chunks in %d places, want 1 to %d in at most %d", n, k, tree.pages.MaxEntries, tree.pages.MaxPieces)
		}
		if _, err := p.Leaf.encode(); err != nil {
			t.Fatal(err)
		}
		return int64(p.Leaf.Len()), 1, 1, p.Leaf.First()
	}
	if n := len(p.Inner.Children); n < 1 || n > tree.pages.MaxEntries {
		t.Fatalf("an inner page has %d children, want 1 to %d", n, tree.pages.MaxEntries)
	}
	if _, err := format.EncodeInner(*p.Inner); err != nil {
		t.Fatal(err)
	}
	pages = 1
	for i, c := range p.Inner.Children {
		n, k, l, first := checkPages(t, tree, format.Root{Page: c.Page, Height: at.Height - 1})
		if n != c.Entries {
			t.Fatalf("an inner page says %d entries, there are %d", c.Entries, n)
		}
		if first < c.First && i > 0 {
			t.Fatalf("a child begins at row %d, its page at %d", c.First, first)
		}
		entries, pages, leaves = entries+n, pages+k, leaves+l
	}
	return entries, pages, leaves, p.Inner.Children[0].First
}

func TestTreeAgainstOracle(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := newTreeModel(t, seed, 3+int(seed%6))
			type old struct {
				tree  Tree
				cells []cell
			}
			var olds []old
			for step := range 80 {
				made := m.apply(m.edits(1500))
				m.store(made) // stored pages must not depend on pending ones
				checkPages(t, m.tree, m.tree.root)
				if step%10 == 0 {
					checkTree(t, m.tree, m.cells, m.rng)
					olds = append(olds, old{m.tree, slices.Clone(m.cells)})
				}
			}
			for _, o := range olds {
				checkTree(t, o.tree, o.cells, m.rng)
			}
		})
	}
}

// TestTreeHeld reads a tree whose pages are not stored, as a preview is.
func TestTreeHeld(t *testing.T) {
	t.Parallel()
	m := newTreeModel(t, 7, 4)
	m.store(m.apply(m.edits(800)))
	for range 30 {
		before, cells := m.tree, slices.Clone(m.cells)
		made := m.apply(m.edits(800))
		checkTree(t, m.tree, m.cells, m.rng)
		checkTree(t, before, cells, m.rng)
		m.store(made)
	}
}

// TestTreeStaysFilled: appends leave full pages behind, and edits in the middle leave no trail of
// tiny pages.
func TestTreeStaysFilled(t *testing.T) {
	t.Parallel()
	const n, lines = 4000, 8
	m := newTreeModel(t, 1, lines)
	one := func(row int64) Edit {
		return Edit{From: row, To: row + 1, Entries: []format.Entry{{Row: row, Rows: 1, Session: uuid(1), Ordinal: row, Bytes: 1}}}
	}
	for row := range int64(n) {
		m.keep(m.apply([]Edit{one(2 * row)}))
	}
	entries, pages, leaves, _ := checkPages(t, m.tree, m.tree.root)
	if entries != n || leaves != n/lines || pages > leaves*lines/(lines-1)+8 {
		t.Fatalf("%d appended entries lie in %d leaves of %d pages, want %d leaves", entries, leaves, pages, n/lines)
	}
	for _, i := range m.rng.Perm(n) {
		m.keep(m.apply([]Edit{one(int64(2*i + 1))}))
	}
	entries, pages, leaves, _ = checkPages(t, m.tree, m.tree.root)
	if entries != 2*n || leaves > 2*2*n/lines || pages-leaves > 2*leaves/(lines/2) {
		t.Fatalf("%d entries lie in %d leaves and %d inner pages", entries, leaves, pages-leaves)
	}
	if m.tree.root.Height > 6 {
		t.Fatalf("%d entries make a tree of height %d", entries, m.tree.root.Height)
	}
}

// TestLeafBytes: pieces of one chunk fill one leaf, and pieces of many chunks leaves of a bounded
// size.
func TestLeafBytes(t *testing.T) {
	t.Parallel()
	const rows = 200_000
	for name, c := range map[string]struct {
		chunks int // of updates
		leaves int64
	}{
		"every second row updated": {1, 1},
		"updates of 200 commits":   {200, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newTreeModel(t, 1, format.MaxPageEntries)
			m.pages.MaxPieces = format.MaxPieces
			m.store(m.apply([]Edit{{To: rows, Entries: []format.Entry{{Rows: rows, Session: uuid(1), Bytes: 1}}}}))
			var edits []Edit
			next := make([]int64, c.chunks)
			for row := int64(0); row < rows; row += 2 + m.rng.Int64N(2*int64(min(c.chunks-1, 1))+1) {
				k := m.rng.IntN(c.chunks)
				edits = append(edits, Edit{From: row, To: row + 1, Entries: []format.Entry{{Row: row, Rows: 1, First: next[k], Session: uuid(2), Ordinal: int64(k), Bytes: 1}}})
				next[k]++
			}
			m.store(m.apply(edits))
			for range 20 { // commits of few rows
				row := m.rng.Int64N(rows)
				m.store(m.apply([]Edit{{From: row, To: row + 1, Entries: []format.Entry{{Row: row, Rows: 1, Session: uuid(3), Bytes: 1}}}}))
			}
			if err := m.pages.store.List(t.Context(), "map/", "", func(o storage.Object) bool {
				if o.Size > leafBytes {
					t.Errorf("page %s has %d bytes", o.Key, o.Size)
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			if _, _, leaves, _ := checkPages(t, m.tree, m.tree.root); leaves > c.leaves {
				t.Errorf("%d leaves, want %d", leaves, c.leaves)
			}
		})
	}
}

// TestApplyCost: an append writes one leaf and the path to it, whatever the size of the tree.
func TestApplyCost(t *testing.T) {
	t.Parallel()
	m := newTreeModel(t, 1, 16)
	var all []format.Entry
	for row := range int64(20000) {
		all = append(all, format.Entry{Row: row, Rows: 1, Session: uuid(1), Ordinal: 2 * row, Bytes: 1})
	}
	m.store(m.apply([]Edit{{From: 0, To: 20000, Entries: all}}))
	for row := int64(20000); row < 20040; row++ {
		made := m.apply([]Edit{{From: row, To: row + 1, Entries: []format.Entry{{Row: row, Rows: 1, Session: uuid(1), Bytes: 1}}}})
		if most := 2 * (m.tree.root.Height + 1); len(made) > most {
			t.Fatalf("an append writes %d pages, want at most %d", len(made), most)
		}
		m.store(made)
	}
}

func TestTreeOfDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	leaf, err := format.EncodeLeaf(format.Leaf{Entries: []format.Entry{{Row: 0, Rows: 5, Session: uuid(1), Bytes: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	self := uuid(9)
	loop, err := format.EncodeInner(format.Inner{Height: 1, Children: []format.Child{{First: 0, Page: self, Entries: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(leaf)
	flipped[len(flipped)-1] ^= 4
	cases := []struct {
		name string
		data []byte
		root format.Root
		kind errs.Kind
	}{
		{"missing", nil, format.Root{Page: self}, errs.Corrupt},
		{"truncated", leaf[:len(leaf)-3], format.Root{Page: self}, errs.Corrupt},
		{"bit flipped", flipped, format.Root{Page: self}, errs.Corrupt},
		{"a leaf where an inner page should be", leaf, format.Root{Page: self, Height: 1}, errs.Corrupt},
		{"an inner page where a leaf should be", loop, format.Root{Page: self}, errs.Corrupt},
		{"an inner page of another height", loop, format.Root{Page: self, Height: 2}, errs.Corrupt},
		{"a page that is its own child", loop, format.Root{Page: self, Height: 1}, errs.Corrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			if c.data != nil {
				if err := store.Put(ctx, format.MapKey(self), c.data); err != nil {
					t.Fatal(err)
				}
			}
			tree := Tree{pages: NewStore(store), root: c.root}
			for range 2 { // the second time from the cache
				_, _, err := tree.Find(ctx, 3)
				if !errs.Is(err, c.kind) || !strings.Contains(err.Error(), self.String()) {
					t.Fatalf("Find = %v", err)
				}
				if err := tree.Scan(ctx, 0, 9, func(format.Entry) bool { return true }); !errs.Is(err, c.kind) {
					t.Fatalf("Scan = %v", err)
				}
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	space := &mem.Space{}
	store, err := space.Open(context.Background(), "b", storage.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	pages := NewStore(store)
	var all []format.Entry
	for i := range int64(100_000) {
		all = append(all, format.Entry{Row: i * 100, Rows: 100, Session: uuid(1), Ordinal: i, Bytes: 1})
	}
	made := Pending{}
	tree, err := (Tree{pages: pages}).Apply(context.Background(), []Edit{{From: 0, To: 10_000_000, Entries: all}}, nil, made)
	if err != nil {
		b.Fatal(err)
	}
	x, err := pages.Seal(context.Background(), made)
	if err == nil {
		err = pages.Upload(context.Background(), x, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		if _, ok, err := tree.Find(context.Background(), rng.Int64N(10_000_000)); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}

// TestRandomFinds: rows of a large map, as scattered updates leave it, are found in any order
// without reading a page twice.
func TestRandomFinds(t *testing.T) {
	t.Parallel()
	const rows = 600_000
	m := newTreeModel(t, 1, format.MaxPageEntries)
	entries := make([]format.Entry, rows)
	for i := range entries {
		row := int64(i)
		entries[i] = format.Entry{Row: row, Rows: 1, First: row % 3 * row, Session: uuid(1), Ordinal: row, Bytes: 4096 + m.rng.Int64N(1<<20)}
	}
	m.store(m.apply([]Edit{{To: rows, Entries: entries}}))
	reads := &countingStore{Provider: m.pages.store}
	root := m.tree.Root()
	found := NewTree(NewStore(reads), nil, &root, uuid(2))
	_, pages, _, _ := checkPages(t, m.tree, root)
	for range 20_000 {
		row := m.rng.Int64N(rows)
		if e, ok, err := found.Find(t.Context(), row); err != nil || !ok || e.Ordinal != row {
			t.Fatalf("row %d is at %+v, %v, %v", row, e, ok, err)
		}
	}
	if reads.gets > pages {
		t.Errorf("%d reads of %d pages", reads.gets, pages)
	}
}

// countingStore counts the objects that are read.
type countingStore struct {
	storage.Provider
	gets int64
}

func (s *countingStore) Get(ctx context.Context, key string) ([]byte, error) {
	s.gets++
	return s.Provider.Get(ctx, key)
}
