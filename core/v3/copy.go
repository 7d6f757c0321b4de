package v3

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/maintain"
)

// Convert implements dataset.Converter. It writes encoded samples byte for byte, links as links,
// and the object that makes a dataset exist last. A copy that was cut short leaves no dataset, and
// another one takes the chunks that it finds. Samples that cannot be read here are missing in the
// copy: "left_out" in the info of the dataset, under "deeplake3", says which.
func (s *Store) Convert(ctx context.Context, dst storage.Provider, at *format.Record, links chunk.LinkFinder, o maintain.CopyOptions) (maintain.CopyReport, error) {
	c := &copying{Store: s, dst: dst, o: o, at: at, links: links, found: map[string]int64{}, done: map[chunkName]*copied{}, left: map[string]string{}}
	err := dst.List(ctx, "data/", "", func(at storage.Object) bool {
		c.found[at.Key] = at.Size
		return true
	})
	if err != nil && !errs.Is(err, errs.Unsupported) {
		return c.report, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = c.run(ctx)
	return c.report, err
}

// chunkName is a chunk as Store numbers them.
type chunkName struct {
	session format.UUID
	ordinal int64
}

// copied is a chunk in the copy: pieces of chunks of this format. Rows between them have no
// sample.
type copied struct {
	parts []part
	dirs  [][]byte // of tiles
}

// part is rows of a chunk of the copy.
type part struct {
	from int64 // row of the chunk that was copied
	e    format.Entry
	dir  []byte
}

// copying is one run of Convert. The caller holds the lock of Store.
type copying struct {
	*Store
	dst    storage.Provider
	at     *format.Record // the one commit of a copy without history
	links  chunk.LinkFinder
	o      maintain.CopyOptions
	report maintain.CopyReport
	found  map[string]int64 // chunks at dst, by key

	mu   sync.Mutex // of those below
	done map[chunkName]*copied
	left map[string]string // why samples of a tensor are missing
}

func (c *copying) run(ctx context.Context) error {
	var versions []version
	t := c.loader.tree
	for i := range t.branches {
		last, err := c.last(ctx, i)
		if err != nil {
			return err
		}
		for n := range last + 1 {
			v := version{i, int(n) - 1}
			if c.o.History || c.at.Branch == t.branches[i].id && c.at.Version == n {
				versions = append(versions, v)
			}
		}
	}
	for _, v := range versions {
		if err := c.chunks(ctx, t.commit(v)); err != nil {
			return err
		}
	}
	tsf := format.TSF{UUID: format.NewUUID(), Main: t.branches[0].id}
	m := &maker{Store: c.Store, dataset: tsf.UUID, entries: c.entries, notes: c.notes()}
	objects := pages{}
	for _, v := range versions {
		data, pages, err := c.record(ctx, m, v)
		if err != nil {
			return err
		}
		if err := c.put(ctx, pages); err != nil {
			return err
		}
		key := format.RecordKey(t.branches[v.branch].id, v.number())
		if !c.o.History {
			key = format.RecordKey(tsf.Main, 0)
		}
		objects[key] = data
		c.report.Commits++
	}
	if c.o.History {
		if err := c.names(ctx, tsf.UUID, objects); err != nil {
			return err
		}
	}
	if err := c.put(ctx, objects); err != nil {
		return err
	}
	data, err := format.EncodeTSF(tsf)
	if err != nil {
		return err
	}
	c.report.Objects++
	return c.dst.PutIfAbsent(ctx, format.TSFKey(), data)
}

// record makes the record of a version of the copy.
func (c *copying) record(ctx context.Context, m *maker, v version) ([]byte, pages, error) {
	if c.o.History {
		return m.record(ctx, v)
	}
	rec := *c.at
	rec.Dataset, rec.UUID, rec.Branch, rec.Version = m.dataset, format.NewUUID(), c.loader.tree.branches[0].id, 0
	rec.Parent, rec.Base, rec.Deleted, rec.SchemaPage, rec.ColumnsPage, rec.Txn, rec.Ops = nil, nil, nil, nil, nil, nil, nil
	rec.Author, rec.Columns, rec.Schema = c.o.Author, map[format.UUID]format.Column{}, &format.Schema{}
	if rec.Message = c.o.Message; rec.Message == "" {
		rec.Message = "copy of " + c.URI()
	}
	out := pages{}
	if id := c.loader.tree.commit(v); id != "" {
		at := *c.loader.states[id]
		at.axis = axisOf(at.rows, format.NewUUID())
		if err := m.fill(ctx, &rec, &at, out); err != nil {
			return nil, nil, err
		}
	}
	for i := range rec.Schema.Tensors {
		rec.Ops = append(rec.Ops, format.Op{Op: format.OpAddTensor, Tensor: rec.Schema.Tensors[i].ID})
	}
	rec.Features = rec.Schema.Features()
	if err := outline(&rec, out); err != nil {
		return nil, nil, err
	}
	data, err := format.EncodeRecord(&rec)
	return data, out, err
}

// names adds the branches and the saved views.
func (c *copying) names(ctx context.Context, dataset format.UUID, objects pages) error {
	for i := range c.loader.tree.branches[1:] {
		b := &c.loader.tree.branches[1+i]
		key := format.HeadKey(b.name, 0)
		objects[key] = format.EncodeHead(format.Head{Branch: b.id}, format.Binding{Dataset: dataset, Key: key})
	}
	if err := c.loadViews(ctx); err != nil {
		return err
	}
	for name, v := range c.views {
		view, err := c.viewOf(ctx, v, name)
		if err != nil {
			return err
		}
		key := format.ViewKey(name, 0)
		if objects[key], err = format.EncodeView(view, format.Binding{Dataset: dataset, Key: key}); err != nil {
			return err
		}
	}
	return nil
}

// put writes objects at once. None of them counts before the one that makes the dataset exist.
func (c *copying) put(ctx context.Context, objects pages) error {
	g := task.New(ctx, inFlight)
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		c.report.Objects++
		c.report.Bytes += int64(len(objects[key]))
		g.Go(func(ctx context.Context) error { return c.dst.Put(ctx, key, objects[key]) })
	}
	return g.Wait()
}

// notes returns the part of the copy's info that names missing samples; nil: none are missing.
func (c *copying) notes() map[string]any {
	if len(c.left) == 0 {
		return nil
	}
	left := map[string]any{}
	for name, why := range c.left {
		left[name] = why
	}
	return map[string]any{"left_out": left}
}

// chunks copies the chunks of a commit that were not copied yet.
func (c *copying) chunks(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	at, err := c.loader.load(ctx, id, true)
	if err != nil {
		return err
	}
	g := task.New(ctx, task.Cores())
	for _, t := range at.tensors {
		entries, err := c.loader.entries(at, t, &c.table)
		if err != nil {
			_ = g.Wait()
			return err
		}
		for i := range entries {
			e := entries[i]
			name := chunkName{e.Session, e.Ordinal}
			c.mu.Lock()
			_, known := c.done[name]
			if !known {
				c.done[name] = nil
			}
			c.mu.Unlock()
			if known {
				continue
			}
			refs := c.table.refs[e.Session][e.Ordinal : e.Ordinal+max(1, e.Tiles)]
			g.Go(func(ctx context.Context) error {
				became, err := c.chunk(ctx, t, refs)
				if errs.Is(err, errs.Unsupported) {
					became = &copied{}
					why := refs[0].refused
					if why == "" {
						why = text(err.Error())
					}
					c.leave(t, why)
					err = nil
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				c.done[name] = became
				return err
			})
		}
	}
	return g.Wait()
}

// leave notes why samples of a tensor are missing in the copy.
func (c *copying) leave(t *tensorState, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left[t.name] = why
}

// chunk copies a chunk, or the tiles of a sample.
func (c *copying) chunk(ctx context.Context, t *tensorState, refs []*ref) (*copied, error) {
	if refs[0].tile != nil && t.kind.linked() {
		return nil, errs.Op("copy tensor", t.name).New(errs.Unsupported, "a sample is a grid of links")
	}
	var open []*chunk.Chunk
	h := sha256.New()
	for _, r := range refs {
		ch, err := c.openRef(ctx, r, c.links)
		if err != nil {
			return nil, err
		}
		open = append(open, ch)
		h.Write(ch.ID[:])
	}
	spec := &chunk.Spec{Tensor: t.id, DType: t.kind.dtype, Sequence: t.kind.htype.List(), Target: format.DefaultChunk}
	if id := t.kind.codec(); id != codec.None && !id.PerSample() {
		bc, err := c.codecs.Bytes(id)
		if err != nil {
			return nil, err
		}
		spec.BlockCodec = bc
	}
	w := &writing{copying: c, spec: spec, session: chunk.NewSession(c.dst), worker: chunk.NewWorker(c.codecs), out: &copied{}}
	w.session.ID = format.UUID(h.Sum(nil)[:16])
	defer w.worker.Close()
	if len(refs) > 1 || refs[0].tile != nil {
		return w.out, w.tiles(ctx, open)
	}
	for row := range open[0].Index.Rows() {
		if dead(open[0].Index, row) {
			c.leave(t, "some links lead to no image of the declared kind, or to none that may be read")
			break
		}
		if err := undecoded(open[0], row); err != nil {
			c.leave(t, "some files are not decoded here: "+err.Error())
			break
		}
	}
	if again, err := w.again(ctx, open[0]); again || err != nil {
		return w.out, err
	}
	return w.out, w.rows(ctx, open[0])
}

// entries returns where the rows of a tensor lie in the copy, and makes its side pages.
func (c *copying) entries(_ context.Context, at *state, t *tensorState, out pages) ([]format.Entry, error) {
	from, err := c.loader.entries(at, t, &c.table)
	if err != nil {
		return nil, err
	}
	var entries []format.Entry
	side := &sides{out: out}
	for i := range from {
		e := &from[i]
		became := c.done[chunkName{e.Session, e.Ordinal}]
		for _, p := range became.parts {
			start, end := max(p.from, e.First), min(p.from+p.e.Rows, e.First+e.Rows)
			if e.Tiles > 0 {
				start, end = e.First, e.First+e.Rows
			}
			if start >= end {
				continue
			}
			n := p.e
			n.Row, n.Rows = e.Row+start-e.First, end-start
			if e.Tiles == 0 {
				n.First += start - p.from
			}
			dirs := became.dirs
			if dirs == nil {
				dirs = [][]byte{p.dir}
			}
			if err := side.add(&entries, n, dirs); err != nil {
				return nil, err
			}
		}
	}
	return entries, side.end(entries)
}

// sides fills side pages with directories.
type sides struct {
	out   pages
	dirs  [][]byte
	bytes int
	first int // the first entry of the page
	begun bool
	salt  format.UUID
	known map[chunkName]int64 // slots in the page
}

// add appends an entry, with the directories of its chunk.
func (s *sides) add(entries *[]format.Entry, e format.Entry, dirs [][]byte) error {
	size := 0
	for _, d := range dirs {
		size += len(d)
	}
	if s.begun && s.bytes+size > format.SideTarget {
		if err := s.end(*entries); err != nil {
			return err
		}
	}
	if !s.begun {
		s.begun, s.first, s.salt = true, len(*entries), format.SideSalt(e.Session, e.Ordinal)
		s.dirs, s.bytes, s.known = nil, 0, map[chunkName]int64{}
	}
	name := chunkName{e.Session, e.Ordinal}
	slot, known := s.known[name]
	if !known {
		slot = int64(len(s.dirs))
		s.known[name] = slot
		s.dirs, s.bytes = append(s.dirs, dirs...), s.bytes+size
	}
	e.Slot = slot
	*entries = append(*entries, e)
	return nil
}

// end makes the page of the entries since its first one.
func (s *sides) end(entries []format.Entry) error {
	if !s.begun {
		return nil
	}
	s.begun = false
	page, err := format.EncodeSide(s.dirs)
	if err != nil {
		return err
	}
	format.SetSalt(page, s.salt)
	name, err := s.out.put(page, nil)
	for i := s.first; i < len(entries); i++ {
		entries[i].Side = name
	}
	return err
}
