package table

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
)

// rowsOf are the rows of a file of core/parquet/testdata.
const rowsOf = 41

// world is a dataset's store with faults, and a lake of files.
type world struct {
	env   *dataset.Env
	lake  *storagetest.Lake
	store *faultstore.Store
	plan  faultstore.Plan
}

func newWorld(t testing.TB, names ...string) *world {
	t.Helper()
	w := &world{lake: &storagetest.Lake{}}
	space := &mem.Space{}
	open := func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		inner, err := space.Open(ctx, rest, o)
		if err != nil {
			return nil, err
		}
		w.store = faultstore.New(inner, w.plan)
		return w.store, nil
	}
	w.env = &dataset.Env{Stores: storage.Registry{"mem": open}, Sources: storage.Sources{"lake": w.lake.Open}, Codecs: all.All(), Writer: "test"}
	for _, name := range names {
		w.put(t, name)
	}
	return w
}

// put stores a file whose format of pages is the last part of its name.
func (w *world) put(t testing.TB, name string) {
	t.Helper()
	kind := name[strings.LastIndex(name, "-")+1:]
	p, err := os.ReadFile("../../parquet/testdata/" + kind)
	if err != nil {
		t.Fatal(err)
	}
	w.lake.Put(name, p)
}

func (w *world) run(ctx context.Context, o Options) (*Report, error) {
	return Run(ctx, w.env, "mem://d", "lake://b", o, func(Progress) {})
}

// ints reads a tensor of int64.
func (w *world) ints(t testing.TB, name string) (out []int64) {
	t.Helper()
	w.each(t, name, func(p []byte) { out = append(out, int64(binary.LittleEndian.Uint64(p))) })
	return out
}

// texts reads a tensor of text.
func (w *world) texts(t testing.TB, name string) (out []string) {
	t.Helper()
	w.each(t, name, func(p []byte) { out = append(out, string(p)) })
	return out
}

// each reads the samples of a tensor.
func (w *world) each(t testing.TB, name string, take func(p []byte)) {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, w.env, "mem://d", dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	col, err := v.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	worker := v.NewWorker()
	defer worker.Close()
	for i := range v.Len() {
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{i}, refs); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, refs[0].Size)
		if err := col.Decode(ctx, &refs[0], p, worker); err != nil {
			t.Fatal(err)
		}
		take(p)
	}
}

// want are the values of the column "int" of some files.
func want(files int) (out []int64) {
	for range files {
		for row := range int64(rowsOf) {
			out = append(out, row*row-50)
		}
	}
	return out
}

func (w *world) check(t testing.TB, files int) {
	t.Helper()
	if got := w.ints(t, "int"); !slices.Equal(got, want(files)) {
		t.Fatalf("%d rows, want %d, or others: %v", len(got), files*rowsOf, got)
	}
}

// interrupted runs an import, a request of whose source fails, and another one that goes on. It
// checks the rows of some files, and reports whether the first run failed.
func (w *world) interrupted(t testing.TB, o Options, request int64, files int) bool {
	t.Helper()
	var requests atomic.Int64
	w.lake.Fail = func(string, int64, int64) error {
		if requests.Add(1) == request+1 {
			return errs.New(errs.Storage, "the network is gone")
		}
		return nil
	}
	_, failed := w.run(t.Context(), o)
	if failed != nil && !errs.Is(failed, errs.Storage) {
		t.Fatal(failed)
	}
	w.lake.Fail = nil
	r, err := w.run(t.Context(), o)
	if err != nil || r.Rows != int64(files*rowsOf) {
		t.Fatal(request, r, err)
	}
	w.check(t, files)
	return failed != nil
}

// some are the columns of most tests.
func some() Options { return Options{Columns: []string{"int", "text", "list"}} }

// TestLake takes files in, then new ones, and reports changed and missing files.
func TestLake(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a-plain.parquet", "b/c-dictionary.parquet", "b/note.txt-plain.parquet")
	w.lake.Put("b/readme.txt", []byte("no table"))
	w.lake.Put("_notes/1-plain.parquet", []byte("a note of a program"))
	r, err := w.run(t.Context(), some())
	if err != nil || r.Added != 3*rowsOf || r.Rows != 3*rowsOf || !r.Complete || r.Version != 1 {
		t.Fatal(r, err)
	}
	w.check(t, 3)
	w.put(t, "z-pages.parquet")
	w.put(t, "a-plain.parquet") // under another tag
	w.lake.Remove("b/c-dictionary.parquet")
	r, err = w.run(t.Context(), some())
	if err != nil || r.Added != rowsOf || r.Unchanged != 1 || r.Skipped != 1 || r.Skips[0].Path != "a-plain.parquet" || !slices.Equal(r.GoneNames, []string{"b/c-dictionary.parquet"}) {
		t.Fatal(r, err)
	}
	w.check(t, 4)
	if r, err = w.run(t.Context(), some()); err != nil || r.Added != 0 || r.Version != 2 {
		t.Fatal(r, err)
	}
	for name, o := range map[string]Options{
		"columns=all":            {},
		"columns=[int list]":     {Columns: []string{"int", "list"}},
		"a dataset exists there": {Once: true},
	} {
		if _, err := w.run(t.Context(), o); !errs.Is(err, errs.Exists) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSourceFails: a request of the source fails, whichever it is. Another run goes on, and each
// row comes once.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	failures := 0
	for skip := range int64(40) {
		w := newWorld(t, "a-plain.parquet", "b-pages.parquet", "c-version2.parquet")
		o := some()
		o.Checkpoint = 10
		if w.interrupted(t, o, skip, 3) {
			failures++
		}
	}
	if failures < 5 {
		t.Errorf("%d requests failed", failures)
	}
}

// TestStoreFails: a write of the dataset's store fails. Another run goes on, and each row comes
// once.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	failures := 0
	for _, op := range faultstore.Writing() {
		for skip := range 14 {
			for _, once := range []bool{false, true} {
				w := newWorld(t, "a-plain.parquet", "b-pages.parquet")
				w.plan = faultstore.Plan{{Ops: []faultstore.Op{op}, Skip: skip, Times: 1, Do: faultstore.Fail(errs.Storage)}}
				o := some()
				o.Checkpoint, o.Once = 10, once
				if _, err := w.run(t.Context(), o); err != nil {
					failures++
					w.plan = nil
					if _, err := w.run(t.Context(), o); err != nil {
						t.Fatalf("%s %d: after it, %v", op, skip, err)
					}
				}
				w.plan = nil
				w.check(t, 2)
			}
		}
	}
	if failures < 10 {
		t.Errorf("%d writes failed", failures)
	}
}

// TestCancel: an import that is canceled after some batches commits them, and the next run goes on
// behind them. With Once it leaves no dataset.
func TestCancel(t *testing.T) {
	t.Parallel()
	for after := range 6 {
		for _, once := range []bool{false, true} {
			w := newWorld(t, "a-plain.parquet", "b-pages.parquet", "c-brotli.parquet")
			ctx, cancel := context.WithCancel(t.Context())
			calls := 0
			o := some()
			o.Once = once
			r, err := Run(ctx, w.env, "mem://d", "lake://b", o, func(Progress) {
				if calls++; calls > after {
					cancel()
				}
			})
			cancel()
			if !errs.Is(err, errs.Canceled) {
				t.Fatal(after, r, err)
			}
			d, open := dataset.Open(t.Context(), w.env, "mem://d", dataset.OpenOptions{})
			if open == nil {
				_ = d.Close()
			}
			if isThere := r != nil && r.Rows > 0; isThere != (open == nil) || once && isThere {
				t.Fatalf("once %v: report %v, dataset %v", once, r, open)
			}
			if r, err = w.run(t.Context(), o); err != nil || r.Rows != 3*rowsOf {
				t.Fatal(after, r, err)
			}
			w.check(t, 3)
		}
	}
}

// TestPartialFiles: the file that was half read must be there, and be the same.
func TestPartialFiles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"has changed since": func(w *world) { w.put(t, "a-plain.parquet") },
		"is gone":           func(w *world) { w.lake.Remove("a-plain.parquet") },
	} {
		w := newWorld(t, "a-plain.parquet", "b-pages.parquet")
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		_, err := Run(ctx, w.env, "mem://d", "lake://b", some(), func(Progress) {
			if calls++; calls == 2 { // the first batch
				cancel()
			}
		})
		cancel()
		if !errs.Is(err, errs.Canceled) {
			t.Fatal(err)
		}
		change(w)
		if _, err := w.run(t.Context(), some()); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "41 rows") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLeaveOut: files that cannot be read are reported, and others are taken in.
func TestLeaveOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a-plain.parquet", "c-brotli.parquet")
	w.lake.Put("b.parquet", []byte("no file of the format"))
	if _, err := w.run(t.Context(), some()); !errs.Is(err, errs.Corrupt) || !strings.Contains(fmt.Sprint(err), "b.parquet") {
		t.Fatal(err)
	}
	if _, err := dataset.Open(t.Context(), w.env, "mem://d", dataset.OpenOptions{}); !errs.Is(err, errs.NotFound) {
		t.Fatal(err)
	}
	o := some()
	o.LeaveOut = true
	r, err := w.run(t.Context(), o)
	if err != nil || r.Added != 2*rowsOf || r.Skipped != 1 || r.Skips[0].Path != "b.parquet" {
		t.Fatal(r, err)
	}
	w.check(t, 2)
}

// linesOf are JSON lines with the column "int" of the other files, whose second one has a fault.
func linesOf(t testing.TB, packing string, broken bool) []byte {
	t.Helper()
	var b bytes.Buffer
	for row := range int64(rowsOf) {
		fmt.Fprintf(&b, "{\"int\": %d, \"text\": \"row %d\", \"list\": [%d]}\n\n", row*row-50, row, row)
		if row == 20 && broken {
			b.WriteString("{\"int\": 7, \n")
		}
	}
	return compressed(t, packing, b.String())
}

// compressed compresses a file.
func compressed(t testing.TB, packing, file string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch packing {
	case "gz":
		w = gzip.NewWriter(&out)
	case "zst":
		w, _ = zstd.NewWriter(&out)
	case "lz4":
		w = lz4.NewWriter(&out)
	default:
		return []byte(file)
	}
	if _, err := io.WriteString(w, file); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestLines takes in JSON lines, plain and compressed, whichever request fails. Each row comes
// once, and a line that is no JSON is left out where that is wanted.
func TestLines(t *testing.T) {
	t.Parallel()
	failures := 0
	for skip := range int64(12) {
		for _, broken := range []bool{false, true} {
			w := newWorld(t)
			w.lake.Put("a.jsonl", linesOf(t, "", broken))
			w.lake.Put("b.ndjson.gz", linesOf(t, "gz", broken))
			w.lake.Put("c.jsonl.zst", linesOf(t, "zst", broken))
			o := some()
			o.Checkpoint, o.LeaveOut = 10, broken
			if w.interrupted(t, o, skip, 3) {
				failures++
			}
		}
	}
	if failures < 6 {
		t.Errorf("%d requests failed", failures)
	}
	w := newWorld(t)
	w.lake.Put("a.jsonl", linesOf(t, "", true))
	o := some()
	if _, err := w.run(t.Context(), o); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "a.jsonl") || !strings.Contains(err.Error(), "line 43 ") {
		t.Fatal(err)
	}
	o.LeaveOut = true
	r, err := w.run(t.Context(), o)
	if err != nil || r.Added != rowsOf || r.Skipped != 1 || !strings.Contains(r.Skips[0].Reason, "line 43 ") {
		t.Fatal(r, err)
	}
	for name, p := range map[string][]byte{"cut.jsonl.gz": linesOf(t, "gz", false)[:60], "cut.jsonl.zst": linesOf(t, "zst", false)[:60]} {
		w := newWorld(t)
		w.lake.Put(name, p)
		if _, err := w.run(t.Context(), some()); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "damaged or cut") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Columns = []string{"int", "none"}
	if _, err := w.run(t.Context(), Options{Columns: o.Columns, Overwrite: true, LeaveOut: true}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "no row has a column \"none\"") {
		t.Fatal(err)
	}
}

// TestLogsOfLakes: the files of a table with a log are not its rows.
func TestLogsOfLakes(t *testing.T) {
	t.Parallel()
	for key, name := range map[string]string{
		"t/_delta_log/00000000000000000000.json": "deltalake", "t/metadata/00001-ab.metadata.json": "pyiceberg", "_delta_log/1.json": "deltalake", ".hoodie/x": "hudi",
	} {
		w := newWorld(t, "t/a-plain.parquet")
		w.lake.Put(key, []byte("{}"))
		if _, err := w.run(t.Context(), some()); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestSeveralFormats: a folder of two formats needs the name of one.
func TestSeveralFormats(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "b-plain.parquet")
	w.lake.Put("a.jsonl", linesOf(t, "", false))
	if _, err := w.run(t.Context(), some()); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "b-plain.parquet has another format than a.jsonl; give the format, json or parquet") {
		t.Fatal(err)
	}
	for _, format := range []string{"parquet", "json"} {
		o := some()
		o.Format, o.Overwrite = format, true
		if r, err := w.run(t.Context(), o); err != nil || r.Rows != rowsOf || r.Format != format {
			t.Fatal(r, err)
		}
	}
}

// TestNoTable: a source without tables makes no dataset.
func TestNoTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lake.Put("x.txt", nil)
	_, err := w.run(t.Context(), Options{})
	if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "no file there has a table") {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), w.env, "mem://d", "lake://b", Options{Format: "excel"}, func(Progress) {}); !errs.Is(err, errs.Invalid) {
		t.Fatal(err)
	}
}

// brokenBody is an answer that breaks off, or that is shorter than the request.
type brokenBody struct {
	storage.Body
	length int64
	err    error
}

// Range gives the body.
func (b brokenBody) Range(context.Context, string, int64, int64, string) (storage.Body, error) {
	return b, nil
}

// Len is the announced length.
func (b brokenBody) Len() int64 { return b.length }

// Read fails.
func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

// Close does nothing.
func (b brokenBody) Close() error { return nil }

// TestBodiesThatBreak: a connection that breaks is a fault of the store, which no import leaves
// out. An answer that is too short is a fault of the file.
func TestBodiesThatBreak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body brokenBody
		want errs.Kind
	}{
		{brokenBody{length: 10, err: errors.New("connection reset")}, errs.Storage},
		{brokenBody{length: 10, err: errs.New(errs.Denied, "expired")}, errs.Denied},
		{brokenBody{length: 9}, errs.Corrupt},
	} {
		err := opened{&source{Ranger: c.body}, &file{size: 10}}.ReadAt(t.Context(), make([]byte, 10), 0)
		if !errs.Is(err, c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestEmptyDatasetsStay: a failed import leaves an empty dataset that was there.
func TestEmptyDatasetsStay(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		w := newWorld(t)
		w.lake.Put("a.parquet", []byte("no file of the format"))
		d, err := dataset.Create(t.Context(), w.env, "mem://d", dataset.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_ = d.Close()
		if _, err := w.run(t.Context(), Options{Once: once}); !errs.Is(err, errs.Corrupt) {
			t.Fatal(err)
		}
		if d, err = dataset.Open(t.Context(), w.env, "mem://d", dataset.OpenOptions{}); err != nil {
			t.Fatal(err)
		}
		_ = d.Close()
	}
}
