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
// of If-None-Match, as releases of several servers and gateways do. says are the answers of a
// product.
type bucketServer struct {
	ignores atomic.Bool
	says    answers
	mu      sync.Mutex
	objects map[string][]byte
	puts    int // with a condition
}

// answer is an answer as a server gives it.
type answer struct {
	status int
	kind   string // its Content-Type; "": none
	body   string // %s: the key
}

// answers are those in which S3 servers differ. The zero value of a field is the answer of Amazon.
type answers struct {
	taken       answer // to a conditional write of an existing object
	conditional answer // to every conditional write
	every       answer // to every request
	missing     answer // to a read of a missing object
	kind        string // the Content-Type of an empty answer to a write that was done
	noTags      bool   // writes and reads have no ETag
	busy        answer // to the first conditional writes
	times       int    // of busy
}

func (a answer) give(w http.ResponseWriter, key string) bool {
	if a.status == 0 {
		return false
	}
	if a.kind != "" {
		w.Header().Set("Content-Type", a.kind)
	} else {
		w.Header()["Content-Type"] = nil
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, strings.ReplaceAll(a.body, "%s", key))
	return true
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
	conditional := r.Method == http.MethodPut && r.Header.Get("If-None-Match") == "*"
	if conditional {
		b.puts++
	}
	if b.says.every.give(w, key) || conditional && (b.puts <= b.says.times && b.says.busy.give(w, key) || b.says.conditional.give(w, key)) {
		return
	}
	if !b.says.noTags {
		w.Header().Set("ETag", `"x"`)
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2":
		b.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("start-after"))
	case r.Method == http.MethodGet && !found:
		w.Header().Del("ETag")
		if !b.says.missing.give(w, key) {
			refuse(http.StatusNotFound, "NoSuchKey")
		}
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	case conditional && found && !b.ignores.Load():
		w.Header().Del("ETag")
		if !b.says.taken.give(w, key) {
			refuse(http.StatusPreconditionFailed, "PreconditionFailed")
		}
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		b.objects[key] = body
		if b.says.kind != "" {
			w.Header().Set("Content-Type", b.says.kind)
		}
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

// TestAnswersOfServers: a server is taken or refused for its behaviour, whatever it is called and
// whichever types it gives its answers. The answers have the forms that the products document, or
// that their users have reported.
func TestAnswersOfServers(t *testing.T) {
	t.Parallel()
	const (
		page  = "text/html; charset=utf-8"
		head  = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
		holds = "At least one of the pre-conditions you specified did not hold"
	)
	refused := func(status int, code, more string) answer {
		return answer{status, "application/xml", head + "<Error><Code>" + code + "</Code>" + more + "</Error>"}
	}
	for name, c := range map[string]struct {
		says    answers
		ignores bool
		want    []string // words of the error of create; none: the store is taken
		kind    errs.Kind
	}{
		"Amazon S3": {says: answers{taken: refused(412, "PreconditionFailed",
			"<Message>"+holds+"</Message><Condition>If-None-Match</Condition><RequestId>6QZ0</RequestId><HostId>a/b=</HostId>")}},
		"MinIO": {says: answers{taken: refused(412, "PreconditionFailed",
			"<Message>"+holds+"</Message><Key>%s</Key><BucketName>bucket</BucketName><Resource>/bucket/%s</Resource><RequestId>17F0</RequestId><HostId>dd9</HostId>")}},
		"MinIO of 2023": {says: answers{taken: answer{status: 304}}},
		"Ceph RGW": {says: answers{
			taken:   refused(412, "PreconditionFailed", "<Message></Message><BucketName>bucket</BucketName><RequestId>tx0-default</RequestId><HostId>4-default-default</HostId>"),
			missing: refused(404, "NoSuchKey", "<Message></Message><BucketName>bucket</BucketName><RequestId>tx0-default</RequestId>"),
		}},
		"SeaweedFS 3.97":     {says: answers{taken: refused(412, "PreconditionFailed", "<Message>"+holds+"</Message><Resource>/bucket/%s</Resource><RequestId>1755</RequestId>")}},
		"SeaweedFS 3.96":     {ignores: true, kind: errs.Unsupported, want: []string{"ignores the condition of a put-if-absent", "If-None-Match (S3)", "copy the dataset"}},
		"a region in errors": {says: answers{taken: refused(412, "PreconditionFailed", "<Message>Precondition failed</Message><Resource>/bucket/%s</Resource><Region>garage</Region>")}},
		"Garage": {says: answers{missing: refused(404, "NoSuchKey", "<Message>Key not found</Message><Region>garage</Region>")},
			ignores: true, kind: errs.Unsupported, want: []string{"ignores the condition"}},
		"R2":                 {says: answers{taken: refused(412, "PreconditionFailed", "<Message>"+holds+".</Message>")}},
		"R2, hurried":        {says: answers{busy: refused(429, "TooManyRequests", "<Message>Reduce your concurrent request rate for the same object.</Message>"), times: 2}},
		"versitygw of 2025":  {ignores: true, kind: errs.Unsupported, want: []string{"ignores the condition"}},
		"a race on S3":       {says: answers{busy: refused(409, "ConditionalRequestConflict", "<Message>The conditional request cannot succeed due to a conflicting operation against this resource.</Message>"), times: 2}},
		"busy, in a page":    {says: answers{busy: answer{503, "text/html", "<html><body>503 Service Temporarily Unavailable</body></html>"}, times: 2}},
		"a fault, in a page": {says: answers{busy: answer{500, "text/html", "<html><body>500 Internal Server Error</body></html>"}, times: 1}},
		"S3Proxy": {says: answers{conditional: refused(501, "NotImplemented", "<Message>A header you provided implies functionality that is not implemented.</Message>")},
			kind: errs.Unsupported, want: []string{"takes an object and refuses the same one on the condition", "NotImplemented: A header you provided", "copy the dataset"}},
		"Aliyun OSS": {says: answers{conditional: refused(400, "NotImplemented", "<Message>A header you provided implies functionality that is not implemented.</Message><Header>If-None-Match</Header>")},
			kind: errs.Unsupported, want: []string{"refuses the same one on the condition", "NotImplemented"}},
		"Google's XML interface": {says: answers{conditional: refused(400, "InvalidArgument", "<Message>Invalid argument.</Message><Details>If-None-Match</Details>")},
			kind: errs.Unsupported, want: []string{"refuses the same one on the condition", "InvalidArgument: Invalid argument."}},
		"moto": {says: answers{kind: page, taken: answer{412, page, head + "<Error><Code>PreconditionFailed</Code><Message>" + holds + "</Message><Condition>If-None-Match</Condition></Error>"},
			missing: answer{404, page, head + "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>%s</Key></Error>"}}},
		"moto before conditions": {says: answers{kind: page}, ignores: true, kind: errs.Unsupported, want: []string{"ignores the condition"}},
		"moto 5.2.0": {says: answers{kind: page, taken: answer{500, page, "<!doctype html>\n<html lang=en>\n<title>500 Internal Server Error</title>"}},
			kind: errs.Unsupported, want: []string{"refuses the same one on the condition", "500 Internal Server Error"}},
		"no tags":             {says: answers{noTags: true}},
		"no tags, odd types":  {says: answers{noTags: true, kind: page, missing: answer{404, "text/plain", head + "<Error><Code>NoSuchKey</Code></Error>"}}},
		"no words at all":     {says: answers{taken: answer{status: 412}, missing: answer{status: 404}}},
		"errors as plain XML": {says: answers{taken: answer{412, "text/plain; charset=utf-8", "<Error><Code>PreconditionFailed</Code></Error>"}}},
		"everything not implemented": {says: answers{every: refused(501, "NotImplemented", "")},
			kind: errs.Unsupported, want: []string{"cannot do this (NotImplemented)"}},
		"no bucket": {says: answers{every: refused(404, "NoSuchBucket", "<Message>The specified bucket does not exist</Message>")},
			kind: errs.NotFound, want: []string{`bucket "bucket" does not exist`, "create it"}},
		"no bucket, in a page": {says: answers{every: answer{404, page, head + "<Error><Code>NoSuchBucket</Code></Error>"}},
			kind: errs.NotFound, want: []string{`bucket "bucket" does not exist`}},
		"no S3": {says: answers{every: answer{404, "text/plain", "404 page not found"}}, kind: errs.Storage, want: []string{"does not answer as S3", "check the endpoint"}},
		"a page that is always fine": {says: answers{every: answer{200, page, "<html><body>Please log in</body></html>"}},
			kind: errs.Storage, want: []string{"does not answer as S3"}},
		"an empty page that is always fine": {says: answers{every: answer{200, page, ""}}, kind: errs.Storage, want: []string{"does not answer as S3"}},
		"denied":                            {says: answers{conditional: refused(403, "AccessDenied", "<Message>Access Denied</Message>")}, kind: errs.Denied, want: []string{"AccessDenied"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bucket := &bucketServer{objects: map[string][]byte{}, says: c.says}
			bucket.ignores.Store(c.ignores)
			server := httptest.NewServer(bucket)
			t.Cleanup(server.Close)
			o := storage.Options{Environ: map[string]string{}, Settings: storage.Settings{Endpoint: server.URL, Anonymous: true, RetryTime: 0.5}}
			if c.want == nil {
				o.Settings.RetryTime = 30
				takesCommits(t, o)
				return
			}
			registry, sources := stores.New()
			env := &dataset.Env{Stores: registry, Sources: sources, Codecs: all.All(), Writer: "test"}
			_, err := dataset.Create(t.Context(), env, "s3://bucket/d", dataset.CreateOptions{Storage: o})
			if !errs.Is(err, c.kind) {
				t.Fatalf("create: got %v, a %v; want %v", err, errs.KindOf(err), c.kind)
			}
			for _, words := range c.want {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("create: got %v, want %q in it", err, words)
				}
			}
			if keys := bucket.keys(); len(keys) > 0 {
				t.Errorf("create left %q", keys)
			}
		})
	}
}

// takesCommits has two writers commit to a new dataset, and reads both commits.
func takesCommits(t *testing.T, o storage.Options) {
	t.Helper()
	ctx := t.Context()
	env := func() *dataset.Env {
		registry, sources := stores.New()
		return &dataset.Env{Stores: registry, Sources: sources, Codecs: all.All(), Writer: "test"}
	}
	d, err := dataset.Create(ctx, env(), "s3://bucket/d", dataset.CreateOptions{Storage: o})
	if err != nil {
		t.Fatal(err)
	}
	other, err := dataset.Open(ctx, env(), "s3://bucket/d", dataset.OpenOptions{Storage: o})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range []*dataset.Dataset{d, other} { // the second finds its number taken
		name := string(rune('a' + i))
		if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: name, DType: "int64"}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Commit(ctx, name); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	read, err := dataset.Open(ctx, env(), "s3://bucket/d", dataset.OpenOptions{ReadOnly: true, Storage: o})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Close() }()
	view, err := read.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if !slices.Contains(view.Names(), name) {
			t.Errorf("tensor %s, which was committed, is missing", name)
		}
	}
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
