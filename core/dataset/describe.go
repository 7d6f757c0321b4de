package dataset

import (
	"context"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// Description describes a dataset or a view. It is made without I/O.
type Description struct {
	URI      string              `json:"uri"`
	ReadOnly bool                `json:"read_only"`
	Past     bool                `json:"past,omitempty"` // at a version that commits do not go to
	Dirty    bool                `json:"dirty"`
	Rows     int64               `json:"rows"`
	Branch   string              `json:"branch"`
	Head     version.Committed   `json:"head"`
	Tensors  []TensorDescription `json:"tensors"`
	Info     map[string]any      `json:"info"`
	// Named lists the targets of links added by this handle that readers reach only with
	// link_storage.
	Named []string `json:"named,omitempty"`
}

// TensorDescription describes a tensor. The counters belong to the commit. They omit uncommitted
// rows that are still being packed.
type TensorDescription struct {
	Name        string       `json:"name"`
	HType       string       `json:"htype"`
	DType       *string      `json:"dtype"`          // null: the first sample decides
	Time        string       `json:"time,omitempty"` // a tensor.Time; "": numbers count no time
	Shape       tensor.Shape `json:"shape"`          // as declared, -1: an axis varies; null: any
	Compression string       `json:"compression"`
	// settings of the encoder; zero values are its defaults
	Quality     int      `json:"quality,omitempty"`
	Subsampling string   `json:"subsampling,omitempty"`
	Sequence    bool     `json:"sequence"`
	ClassNames  []string `json:"class_names"`
	ChunkBytes  int64    `json:"chunk_bytes"`
	Chunks      int64    `json:"chunks"`
	Bytes       int64    `json:"bytes"`
	// bounds over all samples ever written; null: unknown
	MinShape tensor.Shape   `json:"min_shape"`
	MaxShape tensor.Shape   `json:"max_shape"`
	Info     map[string]any `json:"info"`
	Closed   bool           `json:"closed_classes,omitempty"` // labels by other names are refused
	Upright  bool           `json:"apply_exif_orientation,omitempty"`
	// hidden tensors with its pictures made smaller
	Levels []LevelDescription `json:"levels,omitempty"`
}

// LevelDescription describes a level of a pyramid.
type LevelDescription struct {
	Name   string `json:"name"`
	Factor int64  `json:"factor"`
	Chunks int64  `json:"chunks"`
	Bytes  int64  `json:"bytes"`
}

// Describe describes the dataset, with its uncommitted changes.
func (d *Dataset) Describe() (Description, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.open(); err != nil {
		return Description{}, err
	}
	if d.w == nil {
		return describe(d, d.head, false, d.head.Rows()), nil
	}
	_, rows := d.w.txn.Live()
	out := describe(d, d.head, !d.w.empty(), rows)
	out.Tensors = describeTensors(d.w.txn.Schema(), d.head.Record.Columns)
	out.Info = d.w.txn.Schema().Info
	return out, nil
}

func describe(d *Dataset, s *version.Snapshot, dirty bool, rows int64) Description {
	return Description{
		URI: d.URI(), ReadOnly: d.ro.Load(), Past: d.past.Load(), Dirty: dirty, Rows: rows, Branch: d.Branch(), Head: version.Describe(s.Record),
		Tensors: describeTensors(s.Schema, s.Record.Columns), Info: s.Schema.Info,
		Named: d.links.names(),
	}
}

func describeTensors(schema *format.Schema, columns map[format.UUID]format.Column) []TensorDescription {
	out := make([]TensorDescription, 0, len(schema.Tensors))
	for i := range schema.Tensors {
		ts := &schema.Tensors[i]
		if hidden(ts.Name) {
			continue
		}
		col := columns[ts.ID]
		t := TensorDescription{
			Name: ts.Name, HType: ts.HType, Time: ts.Time, Shape: ts.Shape, Compression: ts.Compression, ClassNames: ts.ClassNames,
			ChunkBytes: ts.ChunkBytes, Chunks: col.Chunks, Bytes: col.Bytes, MinShape: col.MinShape, MaxShape: col.MaxShape, Info: ts.Info,
			Closed: ts.Closed, Upright: ts.Upright, Quality: ts.Quality, Subsampling: ts.Subsampling,
		}
		if ts.DType != "" {
			t.DType = &ts.DType
		}
		if h, err := tensor.ParseHType(ts.HType); err == nil {
			t.Sequence = h.List()
		}
		for _, l := range levelsOf(schema, ts) {
			level := columns[schema.Find(l.Name).ID]
			t.Levels = append(t.Levels, LevelDescription{Name: l.Name, Factor: l.Factor, Chunks: level.Chunks, Bytes: level.Bytes})
		}
		out = append(out, t)
	}
	return out
}

// List gives the names of the datasets directly below uri, in byte order. It asks the store for the
// first object behind each name, and reads no more of it.
func List(ctx context.Context, env *Env, uri string, o storage.Options) ([]string, error) {
	const op = "list datasets of"
	store, err := env.Stores.Open(ctx, uri, o)
	if err != nil {
		return nil, err
	}
	defer func() { _ = store.Close() }()
	names := []string{}
	for after := ""; ; {
		name := ""
		err := store.List(ctx, "", after, func(o storage.Object) bool {
			first, _, below := strings.Cut(o.Key, "/")
			if below { // else it is an object beside the datasets
				name = first
			}
			return !below
		})
		if err != nil {
			return nil, errs.Wrap(errs.Storage, op, uri, err)
		}
		if name == "" {
			return names, nil
		}
		at := inside{store, name + "/"}
		found, err := version.Exists(ctx, at)
		if err == nil && !found {
			if err = vacant(ctx, env, at); errs.Is(err, errs.Exists) {
				found, err = true, nil
			}
		}
		if err != nil {
			return nil, errs.Wrap(errs.Storage, op, uri, err)
		}
		if found {
			names = append(names, name)
		}
		after = name + "0" // "0" follows "/", so that all below the name is behind us
	}
}

// inside is the part of a store below a prefix, for reading.
type inside struct {
	storage.Provider
	prefix string
}

// Get returns the object below the prefix.
func (p inside) Get(ctx context.Context, key string) ([]byte, error) {
	return p.Provider.Get(ctx, p.prefix+key)
}
