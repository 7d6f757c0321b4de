package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/s3"
	"deeplake/go/tests/clock"
	"deeplake/go/tests/faultproxy"
	"deeplake/go/tests/objectstore"
)

func source(t *testing.T, rest string, o storage.Options) storage.Source {
	t.Helper()
	s, err := new(s3.Stores).OpenSource(t.Context(), rest, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(data)
	return data
}

// streamed writes data in pieces and finishes.
func streamed(ctx context.Context, p storage.Provider, key string, data []byte) error {
	s, err := storage.Create(ctx, p, key)
	if err != nil {
		return err
	}
	defer s.Abort()
	for piece := range slices.Chunk(data, 3_000_001) {
		if _, err := s.Write(piece); err != nil {
			return err
		}
	}
	return s.Finish(ctx)
}

func leftovers(t *testing.T, p storage.Provider) (n, size int64) {
	t.Helper()
	n, size, err := storage.Innermost(p).(storage.Sweeper).Sweep(t.Context(), time.Now().Add(time.Hour), true)
	if err != nil {
		t.Fatal(err)
	}
	return n, size
}

func TestLargeStream(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	p := open(t, new(s3.Stores), server.NewBucket(t), options(server))
	for _, size := range []int{16<<20 - 1, 16 << 20, 16<<20 + 1, 45_000_000} {
		data := random(size)
		if err := streamed(t.Context(), p, "data/x", data); err != nil {
			t.Fatal(err)
		}
		got, err := p.Get(t.Context(), "data/x")
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("stream of %d bytes: got %d, %v", size, len(got), err)
		}
	}
	if n, size := leftovers(t, p); n != 0 {
		t.Errorf("%d uploads of %d bytes are left", n, size)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	p := open(t, new(s3.Stores), server.NewBucket(t)+"/some", options(server))
	s, err := storage.Create(t.Context(), p, "data/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(random(40_000_000)); err != nil {
		t.Fatal(err)
	}
	if n, _ := leftovers(t, p); n != 1 {
		t.Fatalf("%d uploads are under way, want 1", n)
	}
	s.Abort()
	if n, size := leftovers(t, p); n != 0 {
		t.Errorf("%d uploads of %d bytes are left", n, size)
	}
	if _, err := p.Get(t.Context(), "data/x"); !errs.Is(err, errs.NotFound) {
		t.Errorf("got %v", err)
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	bucket := server.NewBucket(t)
	p := open(t, new(s3.Stores), bucket+"/some", options(server))
	for _, prefix := range []string{"/some", "/other"} {
		killed, err := storage.Create(t.Context(), open(t, new(s3.Stores), bucket+prefix, options(server)), "data/x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := killed.Write(random(17 << 20)); err != nil {
			t.Fatal(err)
		}
		defer killed.Abort()
	}
	sweep := storage.Innermost(p).(storage.Sweeper)
	if n, _, err := sweep.Sweep(t.Context(), time.Now().Add(-time.Hour), false); n != 0 || err != nil {
		t.Errorf("sweep of what is young: %d, %v", n, err)
	}
	if n, _, err := sweep.Sweep(t.Context(), time.Now().Add(time.Hour), false); n != 1 || err != nil {
		t.Errorf("sweep: %d, %v, want 1", n, err)
	}
	// These writers are not dead: the server takes in a part that is still on its way, and has the
	// upload again.
	clock.Await(t, time.Minute, "uploads are left", func() bool {
		n, _ := leftovers(t, p)
		if n == 0 {
			return true
		}
		if _, _, err := sweep.Sweep(t.Context(), time.Now().Add(time.Hour), false); err != nil {
			t.Fatal(err)
		}
		return false
	})
}

// TestLostAnswerOfAnUpload: an upload that no longer exists, because the answer to joining it was
// lost, has made the object.
func TestLostAnswerOfAnUpload(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	proxy := faultproxy.New(t, faultproxy.Config{Upstream: server.Endpoint, Dialect: faultproxy.DialectS3})
	proxy.SetRules(t, faultproxy.Rule{Method: "POST", Path: "uploadId=", Times: 1, Do: faultproxy.LoseAnswer()},
		faultproxy.Rule{Method: "POST", Path: "uploadId=", Do: faultproxy.Answer(404, "NoSuchUpload", 0)},
		faultproxy.Rule{Method: "PUT", Path: "partNumber=2", Times: 1, Do: faultproxy.SlowDown()})
	o := options(server)
	o.Settings.Endpoint = proxy.URL
	p := open(t, new(s3.Stores), server.NewBucket(t), o)
	data := random(40_000_000)
	again := 0
	ctx := storage.WithAttempts(t.Context(), func(ctx context.Context, _, _ string, _ int64, try func(context.Context) error) error {
		for {
			err := try(ctx)
			if f := (*storage.Fault)(nil); !errors.As(err, &f) {
				return err
			}
			again++
		}
	})
	if err := streamed(ctx, p, "data/x", data); err != nil || again != 2 {
		t.Fatalf("got %v after %d repetitions, want 2", err, again)
	}
	if got, err := p.Get(ctx, "data/x"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestCopyWithinTheStore(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	stores := new(s3.Stores)
	from, to := open(t, stores, server.NewBucket(t)+"/from", options(server)), open(t, stores, server.NewBucket(t)+"/to", options(server))
	data := random(100_000)
	if err := from.Put(t.Context(), "a#+b/%41", data); err != nil {
		t.Fatal(err)
	}
	copier := to.(storage.Copier)
	if done, err := copier.CopyFrom(t.Context(), from, "a#+b/%41", "c/d"); err != nil || !done {
		t.Fatal(done, err)
	}
	if got, err := to.Get(t.Context(), "c/d"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if done, err := copier.CopyFrom(t.Context(), from, "missing", "c/e"); done || !errs.Is(err, errs.NotFound) {
		t.Errorf("copy of what is missing: %v, %v", done, err)
	}
	o := options(server)
	o.Settings.Anonymous = true
	stranger := open(t, stores, server.NewBucket(t), o)
	if done, err := copier.CopyFrom(t.Context(), stranger, "a", "c/f"); done || err != nil {
		t.Errorf("copy from other credentials: %v, %v", done, err)
	}
}

// oddNames are names that others may have given, and that an address and a listing have to carry
// unharmed. The server keeps objects as files, so that some that S3 allows are missing.
func oddNames() []string {
	return []string{
		"a b+c", "x%2Fy", "q?x=1&y", "h#1", "Zürich/é.jpg", "tab\there", "semi;colon,comma", "'quote\"", "~!$()*@:=", "<&>", "日本/語",
	}
}

func TestSourceTakesAnyName(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	bucket := server.NewBucket(t)
	names := oddNames()
	slices.Sort(names)
	for _, name := range names {
		server.Put(t, bucket, "in/"+name, []byte(name))
	}
	server.Put(t, bucket, "outside", []byte("x"))
	s := source(t, bucket+"/in/", options(server))
	var seen []string
	err := s.Objects(t.Context(), "", "", func(e storage.Entry) bool {
		seen = append(seen, e.Key)
		if e.Size != int64(len(e.Key)) || e.Tag == "" || e.Modified.IsZero() {
			t.Errorf("%q is listed as %+v", e.Key, e)
		}
		b, err := s.Range(t.Context(), e.Key, 0, -1, e.Tag)
		if err != nil {
			t.Error(err)
			return true
		}
		defer b.Close()
		if got, err := io.ReadAll(b); err != nil || string(got) != e.Key || b.Tag() != e.Tag {
			t.Errorf("%q: got %q with tag %q, %v; want tag %q", e.Key, got, b.Tag(), err, e.Tag)
		}
		return true
	})
	if err != nil || !slices.Equal(seen, names) {
		t.Errorf("listed %q, %v; want %q", seen, err, names)
	}
	seen = nil
	if err := s.Objects(t.Context(), "", names[3], func(e storage.Entry) bool { seen = append(seen, e.Key); return len(seen) < 2 }); err != nil || !slices.Equal(seen, names[4:6]) {
		t.Errorf("two after %q: %q, %v", names[3], seen, err)
	}
}

func TestChangedObjectIsNoticed(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	bucket := server.NewBucket(t)
	server.Put(t, bucket, "x", []byte("before"))
	s := source(t, bucket, options(server))
	b, err := s.Range(t.Context(), "x", 0, 3, "")
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	server.Put(t, bucket, "x", []byte("after!"))
	if _, err := s.Range(t.Context(), "x", 3, 3, b.Tag()); !errs.Is(err, errs.Conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := objectstore.S3TLS(t)
	bucket := server.NewBucket(t)
	for _, checksums := range []string{"", "when_required"} {
		o := options(server)
		o.Settings.Checksums = checksums
		p := open(t, new(s3.Stores), bucket, o)
		data := random(20 << 20)
		if err := streamed(t.Context(), p, "a", data); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Get(t.Context(), "a"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	}
	o := options(server)
	o.Settings.CAFile = ""
	_, err := open(t, new(s3.Stores), bucket, o).Get(t.Context(), "a")
	if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "ca_file") {
		t.Errorf("without the authority: %v", err)
	}
}

// TestPlainChecksums: without checksums, and without TLS, the body is hashed.
func TestPlainWithoutChecksums(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	o := options(server)
	o.Settings.Checksums = "when_required"
	p := open(t, new(s3.Stores), server.NewBucket(t), o)
	data := random(20 << 20)
	if err := errors.Join(streamed(t.Context(), p, "a", data), p.Put(t.Context(), "b", nil), p.Delete(t.Context(), "b", "c")); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Get(t.Context(), "a"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// TestRefusals: each way of being refused by a real server has its kind and its words, on reads,
// writes and listings.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server := objectstore.S3(t)
	bucket := server.NewBucket(t)
	proxy := faultproxy.New(t, faultproxy.Config{Upstream: server.Endpoint, Dialect: faultproxy.DialectS3})
	proxy.SetRules(t, faultproxy.Rule{Do: faultproxy.ExpiredToken()})
	for _, r := range []struct {
		name   string
		bucket string
		change func(s *storage.Settings)
		kind   errs.Kind
		want   string
	}{
		{"missing bucket", "no-such-bucket", func(*storage.Settings) {}, errs.NotFound, `bucket "no-such-bucket" does not exist`},
		{"wrong secret", bucket, func(s *storage.Settings) { s.SecretAccessKey = "hunter2" }, errs.Denied, "secret_access_key"},
		{"unknown key", bucket, func(s *storage.Settings) { s.AccessKeyID = "nobody" }, errs.Denied, "access_key_id"},
		{"anonymous", bucket, func(s *storage.Settings) { s.Anonymous = true }, errs.Denied, "give credentials"},
		{"expired", bucket, func(s *storage.Settings) { s.Endpoint = proxy.URL }, errs.Denied, "expired"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			o := options(server)
			r.change(&o.Settings)
			for op, call := range operations() {
				err := call(t.Context(), open(t, new(s3.Stores), r.bucket+"/x", o))
				if !errs.Is(err, r.kind) || !strings.Contains(fmt.Sprint(err), r.want) || strings.Contains(fmt.Sprint(err), "hunter2") {
					t.Errorf("%s: got %v, want kind %v and %q", op, err, r.kind, r.want)
				}
			}
		})
	}
}

func operations() map[string]func(ctx context.Context, p storage.Provider) error {
	return map[string]func(ctx context.Context, p storage.Provider) error{
		"get":           func(ctx context.Context, p storage.Provider) error { _, err := p.Get(ctx, "a"); return err },
		"read":          func(ctx context.Context, p storage.Provider) error { return p.ReadAt(ctx, "a", make([]byte, 1), 0) },
		"read nothing":  func(ctx context.Context, p storage.Provider) error { return p.ReadAt(ctx, "a", nil, 0) },
		"put":           func(ctx context.Context, p storage.Provider) error { return p.Put(ctx, "a", []byte("x")) },
		"put-if-absent": func(ctx context.Context, p storage.Provider) error { return p.PutIfAbsent(ctx, "a", []byte("x")) },
		"list": func(ctx context.Context, p storage.Provider) error {
			return p.List(ctx, "", "", func(storage.Object) bool { return true })
		},
		"delete one": func(ctx context.Context, p storage.Provider) error { return p.Delete(ctx, "a") },
		"delete two": func(ctx context.Context, p storage.Provider) error { return p.Delete(ctx, "a", "b") },
		"stream": func(ctx context.Context, p storage.Provider) error {
			return streamed(ctx, p, "a", make([]byte, 17<<20))
		},
	}
}
