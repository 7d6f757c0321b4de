package v3

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// archive returns the files of all fixtures: datasets of the published package, by their folders.
var archive = sync.OnceValues(func() (map[string]files, error) {
	out := map[string]files{}
	for _, name := range []string{"testdata/deeplake3.tar.gz", "testdata/rest.tar.gz"} {
		if err := unpack(name, out); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// unpack adds the files of an archive.
func unpack(name string, out map[string]files) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		p, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		name, key, _ := strings.Cut(strings.TrimPrefix(h.Name, "./"), "/")
		if out[name] == nil {
			out[name] = files{}
		}
		out[name][key] = p
	}
}

// files is a dataset in memory, by key.
type files map[string][]byte

// fixture returns the files of a dataset, which must not be changed.
func fixture(t testing.TB, name string) files {
	t.Helper()
	all, err := archive()
	if err != nil || all[name] == nil {
		t.Fatalf("the fixture %q has %d files, %v", name, len(all[name]), err)
	}
	return all[name]
}

// datasets are the names of the fixtures that are datasets.
func datasets(t testing.TB) []string {
	t.Helper()
	all, err := archive()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for name, f := range all {
		if f[metaFile] != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// disk presents files as a store without ranges. It refuses writes.
type disk struct{ files files }

func (d disk) Get(_ context.Context, key string) ([]byte, error) {
	if p, ok := d.files[key]; ok {
		return slices.Clone(p), nil
	}
	return nil, errs.Op("get", key).New(errs.NotFound, "no such object")
}

func (d disk) ReadAt(_ context.Context, key string, dst []byte, off int64) error {
	p, ok := d.files[key]
	if !ok {
		return errs.Op("read", key).New(errs.NotFound, "no such object")
	}
	if off < 0 || off+int64(len(dst)) > int64(len(p)) {
		return errs.Op("read", key).New(errs.Corrupt, "it has %d bytes, want %d from %d on", len(p), len(dst), off)
	}
	copy(dst, p[off:])
	return nil
}

func (d disk) Put(context.Context, string, []byte) error { return errs.New(errs.ReadOnly, "a disk") }

func (d disk) PutIfAbsent(context.Context, string, []byte) error {
	return errs.New(errs.ReadOnly, "a disk")
}

func (d disk) List(_ context.Context, prefix, after string, fn func(storage.Object) bool) error {
	for _, key := range slices.Sorted(maps.Keys(d.files)) {
		if strings.HasPrefix(key, prefix) && key > after && !fn(storage.Object{Key: key, Size: int64(len(d.files[key]))}) {
			return nil
		}
	}
	return nil
}

func (d disk) Delete(context.Context, ...string) error { return errs.New(errs.ReadOnly, "a disk") }
func (d disk) URI() string                             { return "disk://x" }
func (d disk) Close() error                            { return nil }

// presented opens a dataset. It is nil if there is none.
func presented(ctx context.Context, p storage.Provider) (*Store, error) {
	opened, err := Format{}.Open(ctx, p, all.All())
	s, _ := opened.(*Store)
	return s, err
}

// content is what a walk has read: values of rows by record and tensor, or errors in their place.
type content struct {
	records map[string]*format.Record // by key
	failed  []error
	values  map[string]map[format.UUID]map[int64]value
	chunks  map[chunkName]*opened
	pages   int
}

// value is the sample of a row.
type value struct {
	bytes  [sha256.Size]byte // of all items as they are stored
	shapes string            // of all items
	err    error
}

// opened is an open chunk, and the rows of it that were read.
type opened struct {
	chunk *chunk.Chunk
	err   error
	rows  map[int64]value
}

// walker reads all of a dataset as its format demands.
type walker struct {
	*content
	store  *Store
	worker *chunk.Worker
}

// mostRows bounds the rows of a commit whose samples are read: a damaged one may state more.
const mostRows = 1 << 14

// readAll reads each record of each branch, each page and each item of a dataset. Only columns of
// the tensors in want are read; none: all.
func readAll(ctx context.Context, s *Store, want ...string) *content {
	w := &walker{
		content: &content{records: map[string]*format.Record{}, values: map[string]map[format.UUID]map[int64]value{}, chunks: map[chunkName]*opened{}},
		store:   s, worker: chunk.NewWorker(s.codecs),
	}
	defer w.worker.Close()
	ids := map[format.UUID]bool{}
	for _, key := range want {
		ids[idOf("tensor", key)] = true
	}
	var keys []string
	err := s.List(ctx, format.RecordsPrefix(), "", func(o storage.Object) bool {
		keys = append(keys, o.Key)
		return true
	})
	if err != nil {
		w.failed = append(w.failed, err)
		return w.content
	}
	for _, key := range keys {
		if err := w.record(ctx, key, ids); err != nil {
			w.failed = append(w.failed, errs.Wrap(errs.Internal, "read", key, err))
			delete(w.records, key)
		}
	}
	return w.content
}

// page reads an object that is named by its content.
func (w *walker) page(ctx context.Context, key string, name format.UUID) ([]byte, error) {
	data, err := w.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	w.pages++
	if err := format.CheckObject(name, data); err != nil {
		return nil, errs.New(errs.Internal, "the page %q: %w", key, err)
	}
	return data, nil
}

func (w *walker) record(ctx context.Context, key string, ids map[format.UUID]bool) error {
	data, err := w.store.Get(ctx, key)
	if err != nil {
		return err
	}
	internal := func(err error) error { // the store made what it gives
		if err != nil {
			return errs.New(errs.Internal, "it is not of this format: %w", err)
		}
		return nil
	}
	rec, err := format.DecodeRecord(data)
	if err != nil {
		return internal(err)
	}
	w.records[key] = rec
	if rec.SchemaPage != nil {
		data, err := w.page(ctx, format.MapKey(*rec.SchemaPage), *rec.SchemaPage)
		if err == nil {
			rec.Schema, err = format.DecodeSchema(data)
		}
		if err != nil {
			return internal(err)
		}
	}
	if rec.ColumnsPage != nil {
		data, err := w.page(ctx, format.MapKey(*rec.ColumnsPage), *rec.ColumnsPage)
		if err == nil {
			rec.Columns, err = format.DecodeColumns(data)
		}
		if err != nil {
			return internal(err)
		}
	}
	if rec.Txn != nil {
		data, err := w.page(ctx, format.TxnKey(*rec.Txn), *rec.Txn)
		if err == nil {
			_, err = format.DecodeOps(data)
		}
		if err != nil {
			return internal(err)
		}
	}
	if rec.Deleted != nil {
		data, err := w.page(ctx, format.MapKey(*rec.Deleted), *rec.Deleted)
		if err != nil {
			return internal(err)
		}
		gone, err := format.DecodeBitmap(data)
		if err != nil || int64(gone.GetCardinality()) != rec.DeletedRows {
			return errs.New(errs.Internal, "the bitmap does not have %d rows, %v", rec.DeletedRows, err)
		}
	}
	live, next := int64(0), int64(0)
	err = w.tree(ctx, rec.RowIDs, func(e *format.Entry) {
		if e.Row != next {
			live = -1 << 60
		}
		next, live = e.Row+e.Rows, live+e.Rows
	})
	if err != nil || live != rec.Rows {
		return errs.New(errs.Internal, "%d rows have ids, want %d: %v", live, rec.Rows, err)
	}
	if err := format.CheckColumns(rec.Columns, rec.Schema); err != nil {
		return internal(err)
	}
	w.values[key] = map[format.UUID]map[int64]value{}
	for id, c := range rec.Columns {
		if len(ids) > 0 && !ids[id] {
			continue
		}
		rows, next, chunks := map[int64]value{}, int64(0), int64(0)
		err := w.tree(ctx, c.Root, func(e *format.Entry) {
			if e.Row < next || e.Row+e.Rows > rec.Rows {
				next = 1 << 60
				return
			}
			next = e.Row + e.Rows
			if chunks++; rec.Rows < mostRows {
				w.entry(ctx, e, rows)
			}
		})
		if err != nil || next == 1<<60 || chunks != c.Chunks {
			return errs.New(errs.Internal, "%d chunks of a tensor end at row %d of %d, want %d chunks: %v", chunks, next, rec.Rows, c.Chunks, err)
		}
		w.values[key][id] = rows
	}
	return nil
}

// tree calls fn for each entry below a root.
func (w *walker) tree(ctx context.Context, root *format.Root, fn func(*format.Entry)) error {
	if root == nil {
		return nil
	}
	data, err := w.page(ctx, format.MapKey(root.Page), root.Page)
	if err != nil {
		return err
	}
	if root.Height == 0 {
		leaf, err := format.DecodeLeaf(data)
		for i := range leaf.Entries {
			fn(&leaf.Entries[i])
		}
		return err
	}
	inner, err := format.DecodeInner(data)
	for _, c := range inner.Children {
		if err == nil {
			err = w.tree(ctx, &format.Root{Page: c.Page, Height: root.Height - 1}, fn)
		}
	}
	return err
}

// entry reads the rows of an entry.
func (w *walker) entry(ctx context.Context, e *format.Entry, rows map[int64]value) {
	if e.Tiles > 0 {
		v := value{}
		h := sha256.New()
		for k := range e.Tiles {
			one := w.row(ctx, chunkName{e.Session, e.Ordinal + k}, 0)
			if one.err != nil {
				v.err = one.err
			}
			h.Write(one.bytes[:])
			v.shapes += one.shapes
		}
		v.bytes = [sha256.Size]byte(h.Sum(nil))
		rows[e.Row] = v
		return
	}
	for i := range e.Rows {
		rows[e.Row+i] = w.row(ctx, chunkName{e.Session, e.Ordinal}, e.First+i)
	}
}

// row reads a row of a chunk.
func (w *walker) row(ctx context.Context, name chunkName, row int64) value {
	o := w.chunks[name]
	if o == nil {
		o = &opened{rows: map[int64]value{}}
		o.chunk, o.err = w.store.OpenChunk(ctx, name.session, name.ordinal, nil)
		w.chunks[name] = o
		if o.err != nil {
			w.failed = append(w.failed, o.err)
		}
	}
	if o.err != nil {
		return value{err: o.err}
	}
	v, known := o.rows[row]
	if !known {
		if v = w.read(ctx, o.chunk, &w.store.table.refs[name.session][name.ordinal].tensor.kind, row); v.err != nil {
			w.failed = append(w.failed, v.err)
		}
		o.rows[row] = v
	}
	return v
}

// read reads the items of a row as they are stored. Files are looked at: one of another shape than
// the directory says is an error, as it is for whoever decodes it.
func (w *walker) read(ctx context.Context, c *chunk.Chunk, k *kind, row int64) value {
	x := c.Index
	if row >= x.Rows() {
		return value{err: errs.New(errs.Internal, "the entry has row %d of %d", row, x.Rows())}
	}
	first, n := x.RowItemsRange(row)
	if err := c.Undecoded(first, n); err != nil {
		return value{err: err}
	}
	ref := chunk.Ref{Chunk: c, Item: first, Items: n}
	v := value{shapes: fmt.Sprint(n)}
	for item := first; item < first+n; item++ {
		ref.Stored += x.ItemBytes(item)
		v.shapes += fmt.Sprint(" ", x.Shape(item))
	}
	if x.Linked() {
		v.bytes = sha256.Sum256([]byte(x.Link(first).URL))
		return v
	}
	data := make([]byte, ref.Stored)
	if v.err = w.worker.Stored(ctx, &ref, data); v.err != nil {
		return v
	}
	v.bytes = sha256.Sum256(data)
	sc, err := w.store.codecs.Sample(x.SampleCodec())
	if err != nil { // its items are no files
		return v
	}
	for item := first; item < first+n; item++ {
		file := data[:x.ItemBytes(item)]
		if data = data[len(file):]; len(file) == 0 {
			continue
		}
		h, err := w.store.codecs.Header(sc, file, k.channels())
		if err == nil && !h.Agrees(x.DType(), x.Shape(item)) {
			err = errs.New(errs.Corrupt, "item %d of shape %s is a file of shape %s", item, x.Shape(item), h.Shape)
		}
		if err != nil {
			v.err = err
		}
	}
	return v
}
