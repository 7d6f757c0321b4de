package tests

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	codecs "deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest"
	"deeplake/core/storage"
	"deeplake/core/storage/all"
	"deeplake/go/tests/objectstore"
)

const parquetFiles = "../../core/parquet/testdata/"

// imported runs an import to its end.
func imported(t *testing.T, uri, from string, o ingest.Options) (*ingest.Report, error) {
	t.Helper()
	stores, sources := all.New()
	env := &dataset.Env{Stores: stores, Sources: sources, Codecs: codecs.All(), Writer: "test"}
	j, err := ingest.Start(env, uri, from, o)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	return j.Wait(context.Background())
}

// TestTablesFromStores reads Parquet files from S3 and GCS: a folder, whose format the names of its
// files tell, and one object.
func TestTablesFromStores(t *testing.T) {
	t.Parallel()
	for _, kind := range []objectstore.Kind{objectstore.KindS3, objectstore.KindGCS} {
		server := objectstore.StartFor(t, objectstore.Config{Kind: kind})
		bucket := server.NewBucket(t)
		for key, file := range map[string]string{
			"t/year=1/a.parquet": "plain", "t/year=2/b.parquet": "version2", "t/_SUCCESS": "plain", "t/about.txt": "plain", "u.parquet": "pages",
		} {
			p, err := os.ReadFile(parquetFiles + file + ".parquet")
			if err != nil {
				t.Fatal(err)
			}
			if err := server.PutObject(t.Context(), bucket, key, p); err != nil {
				t.Fatal(err)
			}
		}
		o := storage.Options{Settings: server.Settings(), Environ: map[string]string{}}
		for from, rows := range map[string]int64{server.URI(bucket, "t"): 82, server.URI(bucket, "t") + "/": 82, server.URI(bucket, "u.parquet"): 41} {
			r, err := imported(t, t.TempDir()+"/d", from, ingest.Options{Source: &o, Columns: []string{"int", "text", "struct"}})
			if err != nil || r.Rows != rows || r.Format != "parquet" || r.Skipped != 0 {
				t.Errorf("%s: %v, %v", from, r, err)
			}
		}
		_, err := imported(t, t.TempDir()+"/d", server.URI(bucket, "none.parquet"), ingest.Options{Source: &o, Columns: []string{"int", "text", "struct"}})
		if !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.NotFound) {
			t.Errorf("an object that is not there: %v", err)
		}
	}
}

// TestImagesWithTables: a folder of images with a table about them is a folder of images.
func TestImagesWithTables(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	for name, data := range map[string][]byte{"metadata.jsonl": []byte("{\"file_name\": \"x.jpg\"}\n"), "x.jpg": noisyPicture(t, 1, 500)} {
		if err := os.WriteFile(filepath.Join(from, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := imported(t, t.TempDir()+"/d", from, ingest.Options{})
	if err != nil || r.Format != ingest.Images || r.Rows != 1 {
		t.Error(r, err)
	}
}

// TestTableFromWeb reads a file of a web server by ranges, behind a query, and refuses a server
// that answers without them.
func TestTableFromWeb(t *testing.T) {
	t.Parallel()
	var whole, ranges atomic.Int64
	files := http.FileServer(http.Dir(parquetFiles))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" {
			whole.Add(1)
		} else {
			ranges.Add(1)
		}
		if r.URL.Query().Get("key") != "secret" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	r, err := imported(t, t.TempDir()+"/d", server.URL+"/pages.parquet?key=secret", ingest.Options{Columns: []string{"int", "text"}})
	if err != nil || r.Rows != 41 {
		t.Fatal(r, err)
	}
	if whole.Load() > 0 || ranges.Load() == 0 {
		t.Errorf("%d requests for the whole file, %d for ranges", whole.Load(), ranges.Load())
	}
	_, err = imported(t, t.TempDir()+"/d", server.URL+"/pages.parquet?key=wrong%20secret", ingest.Options{})
	if err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v, want an error without the query", err)
	}
	_, err = imported(t, t.TempDir()+"/d", server.URL+"/none.parquet?key=secret", ingest.Options{Columns: []string{"int", "text"}})
	if !errs.Is(err, errs.NotFound) {
		t.Errorf("%v, want that it is not there", err)
	}
}
