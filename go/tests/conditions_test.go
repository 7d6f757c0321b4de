package tests

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	stores "deeplake/core/storage/all"
)

// bucketServer speaks as much of S3 as a dataset needs. While ignores is set it overwrites in spite
// of If-None-Match, as releases of several servers and gateways do.
type bucketServer struct {
	ignores atomic.Bool
	mu      sync.Mutex
	objects map[string][]byte
}

func (b *bucketServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code></Error>")
	}
	key := strings.TrimPrefix(r.URL.Path, "/bucket/")
	data, found := b.objects[key]
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2":
		b.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("start-after"))
	case r.Method == http.MethodGet && !found:
		refuse(http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodGet:
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	case r.Method == http.MethodPut && found && r.Header.Get("If-None-Match") == "*" && !b.ignores.Load():
		refuse(http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		b.objects[key] = body
		w.Header().Set("ETag", `"x"`)
	case r.Method == http.MethodDelete:
		delete(b.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(http.StatusNotImplemented, "NotImplemented")
	}
}

func (b *bucketServer) list(w http.ResponseWriter, prefix, after string) {
	type object struct {
		Key  string
		Size int
	}
	page := struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		KeyCount    int
		IsTruncated bool
		Contents    []object
	}{}
	for _, key := range b.keys() {
		if strings.HasPrefix(key, prefix) && key > after {
			page.Contents = append(page.Contents, object{key, len(b.objects[key])})
		}
	}
	page.KeyCount = len(page.Contents)
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(page)
}

func (b *bucketServer) keys() []string {
	var keys []string
	for key := range b.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// TestStoreWithoutConditions: a server that ignores If-None-Match is refused by create and by a
// writer. Of two writers none is told that it made a commit that no longer exists.
func TestStoreWithoutConditions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	bucket := &bucketServer{objects: map[string][]byte{}}
	server := httptest.NewServer(bucket)
	t.Cleanup(server.Close)
	o := storage.Options{Environ: map[string]string{}, Settings: storage.Settings{Endpoint: server.URL, Anonymous: true, Checksums: "when_required"}}
	process := func() *dataset.Env {
		registry, sources := stores.New()
		return &dataset.Env{Stores: registry, Sources: sources, Codecs: all.All(), Writer: "test"}
	}
	bucket.ignores.Store(true)
	if _, err := dataset.Create(ctx, process(), "s3://bucket/d", dataset.CreateOptions{Storage: o}); !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), server.URL+"/bucket") {
		t.Errorf("create: got %v, want unsupported and the store", err)
	}
	if keys := bucket.keys(); len(keys) > 0 {
		t.Errorf("create left %q", keys)
	}
	bucket.ignores.Store(false)
	d, err := dataset.Create(ctx, process(), "s3://bucket/d", dataset.CreateOptions{Storage: o})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	bucket.ignores.Store(true)
	var writers []*dataset.Dataset
	for range 2 {
		d, err := dataset.Open(ctx, process(), "s3://bucket/d", dataset.OpenOptions{Storage: o})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		writers = append(writers, d)
	}
	acknowledged := map[string]bool{}
	for i, d := range writers {
		name := string(rune('a' + i))
		if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: name, DType: "int64"}); err != nil {
			t.Fatal(err)
		}
		_, err := d.Commit(ctx, name)
		acknowledged[name] = err == nil
		if !errs.Is(err, errs.Unsupported) {
			t.Errorf("writer %s: got %v, want unsupported", name, err)
		}
	}
	d, err = dataset.Open(ctx, process(), "s3://bucket/d", dataset.OpenOptions{ReadOnly: true, Storage: o})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	view, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, told := range acknowledged {
		if found := slices.Contains(view.Names(), name); found != told {
			t.Errorf("tensor %s: found %v, its writer was told %v", name, found, told)
		}
	}

	bucket.ignores.Store(false) // the store was mended: the same handles go on
	for _, d := range writers {
		if _, err := d.Commit(ctx, "again"); err != nil {
			t.Errorf("on the mended store: %v", err)
		}
	}
}
