package v3

import (
	"context"
	"encoding/binary"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version/rowset"
)

// idsInFlight is the number of tensors whose ids are in memory at once.
const idsInFlight = 16

// removed returns the rows of before that s, the last commit of chain, does not have. The hidden
// tensors of ids tell it: each sample has a random number. It returns nil where tensors have no
// ids, or where tensors have lost different rows: rows have no identity then.
func (l *loader) removed(ctx context.Context, chain []string, before, s *state) (rowset.Set, error) {
	longest := -1
	gone := make([]rowset.Set, len(s.tensors)) // nil: not known
	keys := make([]string, len(s.tensors))
	for i, t := range s.tensors {
		old := before.by[t.key]
		if old == nil {
			continue
		}
		if keys[i] = t.meta.idTensor(); longest < 0 || old.rows() > before.by[s.tensors[longest].key].rows() {
			longest = i
		}
	}
	if longest < 0 {
		return nil, nil
	}
	if err := l.idFiles(ctx, chain, keys, before, s); err != nil {
		return nil, err
	}
	g := task.New(ctx, idsInFlight)
	for i, t := range s.tensors {
		if keys[i] == "" {
			continue
		}
		g.Go(func(ctx context.Context) error {
			var was, is []uint64
			both := task.New(ctx, 2)
			both.Go(func(ctx context.Context) (err error) {
				was, err = l.idsOf(ctx, before, keys[i], before.by[t.key].rows())
				return err
			})
			both.Go(func(ctx context.Context) (err error) {
				is, err = l.idsOf(ctx, s, keys[i], t.rows())
				return err
			})
			err := both.Wait()
			if err == nil && was != nil && is != nil {
				gone[i] = lost(was, is)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil || gone[longest] == nil {
		return nil, err
	}
	out, most := gone[longest], before.by[s.tensors[longest].key].rows()
	if most < before.rows { // of a tensor that was deleted
		out = out.Or(rowset.Set{{Start: most, Count: before.rows - most}})
	}
	for i, t := range s.tensors {
		old := before.by[t.key]
		if old == nil {
			continue
		}
		want := out.And(rowset.Set{{Count: old.rows()}})
		if gone[i] == nil && len(want) == 0 && t.changed.deleted == 0 && !t.changed.cleared && t.rows() >= old.rows() {
			continue
		}
		if gone[i] == nil || want.Minus(gone[i]).Count() > 0 || gone[i].Minus(want).Count() > 0 {
			return nil, nil
		}
	}
	if s.rows < before.rows-out.Count() {
		return nil, nil
	}
	return out, nil
}

// lost returns the places of old ids that are not among the new ones, which have the others in the
// same order.
func lost(old, now []uint64) rowset.Set {
	out := rowset.Set{}
	next := 0
	for i, id := range old {
		if next < len(now) && now[next] == id {
			next++
			continue
		}
		if n := len(out); n > 0 && out[n-1].Start+out[n-1].Count == int64(i) {
			out[n-1].Count++
			continue
		}
		out = append(out, format.RowRange{Start: int64(i), Count: 1})
	}
	return out
}

// idTensor is the key of the hidden tensor with the ids of samples; "": there is none.
func (m *tensorMeta) idTensor() string {
	links, _ := m.Links.(map[string]any)
	for key, link := range links {
		functions, _ := link.(map[string]any)
		for _, name := range []string{"extend", "append"} {
			if f, _ := functions[name].(string); strings.HasSuffix(f, "_id") && storage.CheckKey(key+"/x") == nil {
				return key
			}
		}
	}
	return ""
}

// idFiles reads the small files of tensors of ids: where their chunks lie, for all commits of a
// chain, and the rest for two of them.
func (l *loader) idFiles(ctx context.Context, chain, keys []string, of ...*state) error {
	f := fetch{store: l.store}
	for _, id := range chain {
		s := l.states[id]
		if s.ids == nil {
			s.ids = map[string]*tensorState{}
		}
		for _, key := range keys {
			if key == "" || s.ids[key] != nil {
				continue
			}
			t := &tensorState{key: key, name: key, set: map[string]owner{}}
			if s.ids[key] = t; id != rootCommit {
				f.optional(folder(id)+key+"/chunk_set", keep(&t.set, decodeChunkSet))
			}
		}
	}
	for _, s := range of {
		for _, key := range keys {
			if t := s.ids[key]; t != nil && t.changed == nil {
				t.changed = &changes{} // they were read
				f.optional(folder(s.id)+key+"/tensor_meta.json", into(&t.meta))
				f.optional(folder(s.id)+key+"/chunks_index/unsharded", keep(&t.chunks, decodeChunkIndex))
			}
		}
	}
	err := f.run(ctx)
	if err != nil { // half of them were read
		for _, id := range chain {
			l.states[id].ids = nil
		}
	}
	return err
}

// idsOf reads the ids of n rows in a commit. It returns nil if they are damaged.
func (l *loader) idsOf(ctx context.Context, s *state, key string, n int64) ([]uint64, error) {
	t := s.ids[key]
	t.kind = t.meta.kindOf()
	if t.kind.dtype != tensor.Uint64 || t.kind.sequence || t.kind.sample != "" || t.kind.chunk != "" || t.meta.Length != n {
		return nil, nil
	}
	out, err := l.numbers(ctx, s, t)
	if errs.Is(err, errs.Corrupt) {
		return nil, nil
	}
	return out, err
}

// numbers reads all of a tensor of uint64.
func (l *loader) numbers(ctx context.Context, s *state, t *tensorState) ([]uint64, error) {
	y := &layout{l: l, commit: s.id, t: t}
	if err := y.index(); err != nil {
		return nil, err
	}
	out := []uint64{}
	for _, c := range y.chunks {
		o, err := openObject(ctx, l.store, c.key)
		if err != nil {
			return nil, err
		}
		items, err := o.segments(c.n, &t.kind)
		if err == nil {
			err = inOrder(items, o.payload())
		}
		if err == nil && o.payload() != 8*c.n {
			err = errs.New(errs.Corrupt, "%d numbers have %d bytes", c.n, o.payload())
		}
		if err != nil {
			return nil, errs.Wrap(errs.Corrupt, "read chunk", c.key, err)
		}
		data, err := o.all(ctx)
		if err != nil {
			return nil, err
		}
		for ; len(data) > 0; data = data[8:] {
			out = append(out, binary.LittleEndian.Uint64(data))
		}
	}
	return out, nil
}

// Bounds of the rows that are compared to find which of them a commit changed.
const (
	maxCompared      = 4096
	maxComparedBytes = 64 << 20
)

// altered returns the rows of a tensor that a commit changed, of those that stood before, as they
// lie on the axis. If rows were removed in the commit, the numbers of changed rows may be those
// from before, those of now or between them: rows that may be meant are compared. Those that are
// too many or too large for that count as changed.
func (s *maker) altered(ctx context.Context, before, at *state, t *tensorState) (rowset.Set, error) {
	rows := t.updates(at)
	old := before.by[t.key]
	if len(at.removed) == 0 || len(rows) == 0 || rows.Count() > maxCompared || t.kind.linked() || old == nil {
		return rows, nil
	}
	if _, err := s.loader.load(ctx, before.id, true); err != nil {
		return nil, err
	}
	before = s.loader.states[before.id]
	c := &comparing{Store: s.Store, worker: chunk.NewWorker(s.codecs)}
	defer c.worker.Close()
	var err error
	if c.before, err = s.loader.entries(before, before.by[t.key], &s.table); err == nil {
		c.now, err = s.loader.entries(at, t, &s.table)
	}
	if err != nil { // damage, which a reader of the tensor is told
		return rows, ctx.Err()
	}
	var out []format.RowRange
	for _, r := range rows {
		for row := r.Start; row < r.Start+r.Count; row++ {
			same, err := c.same(ctx, row)
			if ctx.Err() != nil {
				return nil, errs.Cause(ctx, "compare rows")
			}
			if err != nil || !same {
				out = append(out, format.RowRange{Start: row, Count: 1})
			}
		}
	}
	return rowset.Of(out), nil
}

// comparing compares rows of a tensor in two commits.
type comparing struct {
	*Store
	worker      *chunk.Worker
	before, now []format.Entry
	open        map[chunkName]*chunk.Chunk
	bytes       int64
}

// same reports whether a row of the axis has the same sample in both.
func (c *comparing) same(ctx context.Context, row int64) (bool, error) {
	a, b := entryOf(c.before, row), entryOf(c.now, row)
	switch {
	case a == nil || b == nil:
		return a == b, nil
	case a.Ordinal == b.Ordinal && a.First-a.Row == b.First-b.Row:
		return true, nil
	case a.Tiles > 0 || b.Tiles > 0:
		return false, nil
	}
	was, err := c.row(ctx, a, row)
	if err != nil {
		return false, err
	}
	is, err := c.row(ctx, b, row)
	return err == nil && was == is, err
}

// entryOf is the entry that has a row; nil: none.
func entryOf(entries []format.Entry, row int64) *format.Entry {
	lo, hi := 0, len(entries)
	for lo < hi {
		if mid := (lo + hi) / 2; entries[mid].Row+entries[mid].Rows <= row {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(entries) || entries[lo].Row > row {
		return nil
	}
	return &entries[lo]
}

// row returns the shapes and the stored bytes of the items of a row.
func (c *comparing) row(ctx context.Context, e *format.Entry, row int64) (string, error) {
	name := chunkName{e.Session, e.Ordinal}
	ch := c.open[name]
	if ch == nil {
		var err error
		if ch, err = c.openRef(ctx, c.table.refs[e.Session][e.Ordinal], nil); err != nil {
			return "", err
		}
		c.open = map[chunkName]*chunk.Chunk{name: ch} // rows rise: one is enough
	}
	x := ch.Index
	at := e.First + row - e.Row
	if at >= x.Rows() {
		return "", errs.New(errs.Corrupt, "it has no row %d", at)
	}
	first, n := x.RowItemsRange(at)
	if c.bytes += x.ItemsBytes(first, n); c.bytes > maxComparedBytes || ch.Undecoded(first, n) != nil {
		return "", errs.New(errs.Unsupported, "the samples are too large to be compared")
	}
	var out strings.Builder
	for item := first; item < first+n; item++ {
		out.WriteString(x.Shape(item).String())
	}
	data := make([]byte, x.ItemsBytes(first, n))
	err := c.worker.Stored(ctx, &chunk.Ref{Chunk: ch, Item: first, Items: n, Stored: int64(len(data))}, data)
	out.Write(data)
	return out.String(), err
}
