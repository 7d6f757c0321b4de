package v3

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage/faultstore"
)

// TestLargeRecords reads a commit of very many chunks, tensors and changes: its parts are pages.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	const chunks, tensors = 2500, 300
	meta := func(rows int) []byte {
		return fmt.Appendf(nil, `{"htype":"generic","dtype":"uint8","length":%d,"min_shape":[1],"max_shape":[1]}`, rows)
	}
	f := files{}
	names := []string{`"x"`}
	index := ver("3.9.52") + "\x08"
	for i := range uint64(chunks) {
		index += le64(i+1, i)
		f[fmt.Sprintf("x/chunks/%x", i+1)] = []byte(ver("3.9.52") + le(1, 2, 1, 0, 1, 1, 0, 0) + "v")
	}
	long := strings.Repeat("é", 1000)
	for i := range tensors {
		name := fmt.Sprintf("t%d", i)
		names = append(names, `"`+name+`"`)
		f[name+"/tensor_meta.json"] = meta(0)
		f[name+"/tensor_info.json"] = []byte(`{"note":"` + long + `"}`)
	}
	var updated []uint64
	for i := range uint64(chunks / 2) {
		updated = append(updated, 2*i)
	}
	diff := "\x00\x00\x00" + be64(0, 0, uint64(len(updated))) + be64(updated...) + "\x00"
	list := []byte(`{"tensors":[` + strings.Join(names, ",") + `]}`)
	f[metaFile], f["x/tensor_meta.json"], f["x/chunks_index/unsharded"] = list, meta(chunks), []byte(index)
	f[versionFile] = []byte(`{"commits":{"` + rootCommit + `":{"branch":"main","commit_time":1},"a":{"branch":"main","parent":"` + rootCommit + `"}},"branches":{"main":"a"}}`)
	for key, data := range f {
		if !strings.Contains(key, "/chunks/") && key != versionFile {
			f["versions/a/"+key] = data
		}
	}
	f["versions/a/x/commit_diff"] = []byte(diff)
	s, err := presented(context.Background(), disk{f})
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(context.Background(), s)
	if len(got.failed) > 0 || len(got.records) != 3 {
		t.Fatal(len(got.records), got.failed)
	}
	head := got.records[format.RecordKey(s.tsf.Main, 2)]
	if head.SchemaPage == nil || head.ColumnsPage == nil || head.Txn == nil {
		t.Errorf("parts of the record are no pages: %v %v %v", head.SchemaPage, head.ColumnsPage, head.Txn)
	}
	c := head.Columns[idOf("tensor", "x")]
	if c.Root.Height != 1 || c.Chunks != chunks || len(got.chunks) != chunks {
		t.Errorf("%+v, of %d chunks", c, len(got.chunks))
	}
	if rows := got.values[format.RecordKey(s.tsf.Main, 2)][idOf("tensor", "x")]; len(rows) != chunks {
		t.Errorf("%d rows", len(rows))
	}
}

// longHeader makes a chunk of texts whose tables exceed the first read.
func longHeader(n int) ([]byte, []string) {
	shapes, places, payload := "", "", ""
	var want []string
	for i := range n {
		text := strings.Repeat("x", i%7)
		shapes += le(1, uint32(i))
		places += le(uint32(len(text)), uint32(len(payload)), uint32(i))
		payload += text
		want = append(want, text)
	}
	return []byte(ver("3.9.52") + le(uint32(n), 2) + shapes + le(uint32(n)) + places + payload), want
}

// TestLongHeaders reads headers in several requests, from stores with ranges and without.
func TestLongHeaders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, n := range []int{1, 5000, 20_000} {
		data, want := longHeader(n)
		f := files{"c": data, "cut": data[:len(data)/2], "empty": nil, "short": data[:9]}
		for _, p := range []*object{{store: disk{f}}, {store: ranged{disk{f}}}, {store: inMemory(t, f)}} {
			o, err := openObject(ctx, p.store, "c")
			if err != nil || o.size != int64(len(data)) || o.header.items() != int64(n) {
				t.Fatal(o, err)
			}
			k := &kind{base: "text"}
			read := &opening{object: o, kind: k}
			if read.items, err = o.segments(int64(n), k); err != nil {
				t.Fatal(err)
			}
			_, values, err := read.values(ctx)
			if err != nil || len(values) != n {
				t.Fatal(len(values), err)
			}
			for i, v := range values {
				if string(v) != want[i] {
					t.Fatalf("text %d is %q, want %q", i, v, want[i])
				}
			}
			for _, key := range []string{"cut", "empty", "short", "none"} {
				if _, err := openObject(ctx, p.store, key); n > 1 && !errs.Is(err, errs.Corrupt) {
					t.Errorf("%s of %d: %v", key, n, err)
				}
			}
		}
	}
}

// TestFaults fails each call of a store once: the error is of the store, and the same call succeeds
// later.
func TestFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	f := fixture(t, "unequal")
	s, err := presented(ctx, disk{f})
	if err != nil {
		t.Fatal(err)
	}
	want := readAll(ctx, s)
	counting := faultstore.New(inMemory(t, f), nil)
	if s, err = presented(ctx, counting); err != nil {
		t.Fatal(err)
	}
	readAll(ctx, s)
	for n := range len(counting.Calls()) {
		p := faultstore.New(inMemory(t, f), faultstore.Plan{{Skip: n, Do: faultstore.Fail(errs.Storage)}})
		s, err := presented(ctx, p)
		if err != nil {
			if !errs.Is(err, errs.Storage) {
				t.Errorf("call %d: %v", n, err)
			}
			continue
		}
		for _, err := range readAll(ctx, s).failed {
			if !errs.Is(err, errs.Storage) {
				t.Errorf("call %d: %v", n, err)
			}
		}
		got := readAll(ctx, s)
		if len(got.failed) > 0 || len(got.records) != len(want.records) {
			t.Errorf("behind the fault of call %d: %d records, %v", n, len(got.records), got.failed)
		}
		for key, columns := range want.values {
			for id, rows := range columns {
				if len(got.values[key][id]) != len(rows) {
					t.Errorf("behind the fault of call %d: %d rows of %s, want %d", n, len(got.values[key][id]), id, len(rows))
				}
			}
		}
	}
}

// TestLinksUnseen opens links without a way to look at them: rows lead to no image.
func TestLinksUnseen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	data := []byte(ver("3.9.52") + le(1, 2, 1, 2, 3, 8, 0, 0, 0, 8, 1, 4, 8, 2) + "http://a" + "/b/c")
	f := files{
		metaFile:                   []byte(`{"tensors":["x"]}`),
		"x/tensor_meta.json":       []byte(`{"htype":"image","dtype":"uint8","length":3,"is_link":true,"sample_compression":"jpeg"}`),
		"x/chunks_index/unsharded": []byte(ver("3.9.52") + "\x08" + le64(1, 2)),
		"x/chunks/1":               data,
	}
	s, err := presented(ctx, disk{f})
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(ctx, s); len(got.failed) > 0 {
		t.Fatal(got.failed)
	}
	c, err := s.OpenChunk(ctx, idOf("chunks", "x"), 0, nil)
	if err != nil || !c.Index.Linked() || c.Index.Rows() != 3 {
		t.Fatal(err)
	}
	for row := range int64(3) {
		if !absent(c, row) {
			t.Errorf("row %d: %+v", row, c.Index.Link(row))
		}
	}
	f["x/chunks/1"] = bytes.Replace(data, []byte(le(8, 0, 0)), []byte(le(9, 0, 0)), 1)
	if _, err := s.OpenChunk(ctx, idOf("chunks", "x"), 0, nil); !errs.Is(err, errs.Corrupt) {
		t.Error(err)
	}
	var finder chunk.LinkFinder
	if got := (&kind{image: true}).look(ctx, finder, strings.Repeat("http://x", 1<<20)); len(got.object.URL) > format.MaxURLBytes {
		t.Errorf("a link of %d bytes", len(got.object.URL))
	}
	for path, want := range map[string]string{"gcs://a/b": "gs://a/b", "/a": "file:///a", "s3://a": "s3://a", "a/b": "a/b"} {
		if got := address(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
