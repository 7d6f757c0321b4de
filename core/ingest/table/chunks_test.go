package table

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"deeplake/core/errs"
)

// putSet puts a set of core/litdata/testdata into a folder of the lake.
func (w *world) putSet(t *testing.T, name, folder string) {
	t.Helper()
	files, err := filepath.Glob("../../litdata/testdata/" + name + "/*")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		p, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w.lake.Put(folder+filepath.Base(file), p)
	}
}

// TestChunks takes in sets of LitData of each layout, whichever request fails. Each row comes once.
func TestChunks(t *testing.T) {
	t.Parallel()
	const rows = 11
	for _, name := range []string{"frames", "items", "whole", "plain", "text"} {
		failures := 0
		for skip := range int64(14) {
			w := newWorld(t)
			w.putSet(t, name, "a/")
			var requests atomic.Int64
			w.lake.Fail = func(string, int64, int64) error {
				if requests.Add(1) == skip+1 {
					return errs.New(errs.Storage, "the network is gone")
				}
				return nil
			}
			o := Options{Checkpoint: 2}
			r, err := w.run(t.Context(), o)
			if err != nil {
				if failures++; !errs.Is(err, errs.Storage) {
					t.Fatal(name, skip, err)
				}
				w.lake.Fail = nil
				r, err = w.run(t.Context(), o)
			}
			if err != nil || r.Rows != rows || !r.Complete {
				t.Fatal(name, skip, r, err)
			}
			column, of := "text", "café %d"
			switch name {
			case "text":
				column, of = "value", "text of %d"
			case "plain":
			default:
				continue
			}
			for i, text := range w.texts(t, column) {
				if want := fmt.Sprintf(of, i); text != want {
					t.Fatalf("%s: row %d has %q, want %q", name, i, text, want)
				}
			}
		}
		if failures < 5 {
			t.Errorf("%s: %d requests failed", name, failures)
		}
	}
}

// TestIndexes: an index counts for its folder and its format only.
func TestIndexes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.putSet(t, "text", "train/")
	w.putSet(t, "text", "test/")
	w.lake.Put("train/0.index.json", []byte("a leftover"))
	if r, err := w.run(t.Context(), Options{}); err != nil || r.Rows != 22 || len(r.Parts) != 2 {
		t.Fatal(r, err)
	}
	for name, c := range map[string]struct{ index, want string }{
		"none":    {"", "no index.json that names them"},
		"no JSON": {"{", "a/index.json is no index of chunks"},
		"of MDS":  {`{"version":2,"shards":[]}`, "no index.json that names them"},
		"twice":   {`{"chunks":[{"filename":"chunk-0-0.bin","chunk_size":4},{"filename":"chunk-0-0.bin"}],"config":{}}`, "names the chunk a/chunk-0-0.bin twice"},
		"above":   {`{"chunks":[{"filename":"../../x.bin"}],"config":{}}`, "names the chunk ../../x.bin, and there is no such file"},
		"items":   {`{"chunks":[{"filename":"chunk-0-0.bin","chunk_size":5}],"config":{"data_format":["str"]}}`, "a/chunk-0-0.bin: it states 4 items, and index.json 5"},
		"parquet": {`{"chunks":[],"config":{"item_loader":"ParquetLoader"}}`, `read the folder with the format "parquet"`},
	} {
		w := newWorld(t)
		w.putSet(t, "text", "a/")
		w.lake.Put("a/index.json", []byte(c.index))
		if c.index == "" {
			w.lake.Remove("a/index.json")
		}
		if _, err := w.run(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), c.want) || errs.KindOf(err) == errs.Internal {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
