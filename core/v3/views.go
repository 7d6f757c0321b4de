package v3

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// indexTensor has the rows of a saved view.
const indexTensor = "VDS_INDEX"

// savedView is an entry of queries.json.
type savedView struct {
	ID      string   `json:"id"`
	Version string   `json:"source-dataset-version"`
	Created *float64 `json:"created_at"`
	Path    string   `json:"path"`
}

// loadViews reads the list of saved views, once.
func (s *Store) loadViews(ctx context.Context) error {
	if s.views != nil {
		return nil
	}
	var list []savedView
	f := fetch{store: s.below}
	f.optional(queriesFile, into(&list))
	if err := f.run(ctx); err != nil {
		return err
	}
	s.views = map[string]*savedView{}
	for i := range list {
		v := &list[i]
		name := v.ID[strings.LastIndexByte(v.ID, ']')+1:]
		if format.CheckRefName(name) != nil {
			name = "view-" + idOf("view", v.ID).String()[:8]
		}
		if v.Path == "" {
			v.Path = v.ID
		}
		s.views[name] = v
	}
	return nil
}

// view makes the object of a saved view.
func (s *Store) view(ctx context.Context, name, key string) ([]byte, error) {
	if err := s.loadViews(ctx); err != nil {
		return nil, err
	}
	v := s.views[name]
	if v == nil {
		return nil, missing(key)
	}
	out, err := s.viewOf(ctx, v, name)
	if err != nil {
		return nil, err
	}
	return format.EncodeView(out, format.Binding{Dataset: s.tsf.UUID, Key: key})
}

// viewOf returns the view of an entry.
func (s *Store) viewOf(ctx context.Context, v *savedView, name string) (format.View, error) {
	var none format.View
	at, ok := s.loader.tree.at[v.Version]
	if !ok {
		return none, errs.Op("read view", name).New(errs.Corrupt, "its commit %q is missing", clip(v.Version))
	}
	rows, err := viewRows(ctx, s.below, ".queries/"+v.Path+"/")
	if err != nil {
		return none, errs.Wrap(errs.Corrupt, "read view", name, err)
	}
	of := version(at)
	if last, err := s.last(ctx, of.branch); err != nil {
		return none, err
	} else if of.number() > last { // a head without changes: the commit before it
		of.index--
	}
	state, err := s.loader.load(ctx, s.loader.tree.commit(of), true)
	if err != nil {
		return none, err
	}
	out := format.View{Branch: s.loader.tree.branches[of.branch].id, Version: of.number(), Commit: s.loader.uuid(of), Params: []byte("[]"), Listed: true, Time: time.Unix(0, 0).UTC()}
	if v.Created != nil {
		sec, nsec := seconds(*v.Created)
		out.Time = time.Unix(sec, nsec).UTC()
	}
	for _, ts := range state.schemaOf().Tensors {
		out.Columns = append(out.Columns, format.ViewColumn{Name: ts.Name, Tensor: ts.Name})
	}
	for _, row := range rows {
		if row < 0 || row >= state.rows {
			return none, errs.Op("read view", name).New(errs.Corrupt, "it has row %d of %d", row, state.rows)
		}
		if n := len(out.Rows); n > 0 && out.Rows[n-1].Start+out.Rows[n-1].Count == row {
			out.Rows[n-1].Count++
			continue
		}
		out.Rows = append(out.Rows, format.ViewRun{Start: row, Count: 1})
	}
	return out, nil
}

// viewRows reads the rows of a view, which is a dataset of its own below prefix.
func viewRows(ctx context.Context, p storage.Provider, prefix string) ([]int64, error) {
	if err := storage.CheckKey(prefix + "x"); err != nil {
		return nil, err
	}
	sub := &below{Provider: p, prefix: prefix}
	var info versionInfo
	f := fetch{store: sub}
	f.optional(versionFile, into(&info))
	if err := f.run(ctx); err != nil {
		return nil, err
	}
	t, err := loadTree(ctx, sub, info)
	if err != nil {
		return nil, err
	}
	l := loader{store: sub, tree: t, states: map[string]*state{}}
	main := t.branches[0].commits
	s, err := l.load(ctx, main[len(main)-1], true)
	if err != nil {
		return nil, err
	}
	index := s.by[indexTensor]
	if index == nil || index.kind.dtype != tensor.Uint64 || index.kind.sequence {
		return nil, errs.New(errs.Corrupt, "it has no tensor %s of uint64", indexTensor)
	}
	y := &layout{l: &l, commit: s.id, t: index}
	if err := y.index(); err != nil {
		return nil, err
	}
	var rows []int64
	for _, c := range y.chunks {
		o, err := openObject(ctx, sub, c.key)
		if err != nil {
			return nil, err
		}
		read := &opening{object: o, kind: &index.kind}
		if read.items, err = o.segments(c.n, &index.kind); err != nil {
			return nil, err
		}
		_, values, err := read.values(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			if len(v) != 8 {
				return nil, errs.New(errs.Corrupt, "%s has a number of %d bytes", indexTensor, len(v))
			}
			rows = append(rows, int64(binary.LittleEndian.Uint64(v)))
		}
	}
	return rows, nil
}

// below is the objects of a provider under a prefix, for reading.
type below struct {
	storage.Provider
	prefix string
}

// Get implements storage.Provider.
func (b *below) Get(ctx context.Context, key string) ([]byte, error) {
	return b.Provider.Get(ctx, b.prefix+key)
}

// ReadAt implements storage.Provider.
func (b *below) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	return b.Provider.ReadAt(ctx, b.prefix+key, dst, off)
}
