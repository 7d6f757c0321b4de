package gcs_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/gcs"
	"deeplake/core/storage/storagetest"
	"deeplake/go/tests/objectstore"
)

// options are those of a user in front of an emulator.
func options(s *objectstore.Server) storage.Options {
	return storage.Options{Create: true, Environ: map[string]string{"STORAGE_EMULATOR_HOST": s.Endpoint}}
}

func open(t *testing.T, rest string, o storage.Options) storage.Provider {
	t.Helper()
	p, err := gcs.Open(t.Context(), rest, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestConformance(t *testing.T) {
	t.Parallel()
	server := objectstore.GCS(t)
	storagetest.Run(t, func(t *testing.T) (storage.Provider, func() storage.Provider) {
		rest := server.NewBucket(t) + "/a/prefix"
		reopen := func() storage.Provider { return open(t, rest, options(server)) }
		return reopen(), reopen
	})
}

func source(t *testing.T, rest string, o storage.Options) storage.Source {
	t.Helper()
	s, err := gcs.OpenSource(t.Context(), rest, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// oddNames are names that others may have given, and that an address has to carry unharmed.
func oddNames() []string {
	return []string{
		"a b+c", "x%2Fy", "q?x=1&y", "h#1", "a//b", "../up", "Zürich/é.jpg", "tab\there", "semi;colon,comma", "'quote\"", "~!$()*@:=", "dir/",
	}
}

func TestSourceTakesAnyName(t *testing.T) {
	t.Parallel()
	server := objectstore.GCS(t)
	bucket := server.NewBucket(t)
	for _, name := range oddNames() {
		server.Put(t, bucket, "in/"+name, []byte(name))
	}
	server.Put(t, bucket, "outside", []byte("x"))
	s := source(t, bucket+"/in", options(server))
	found := map[string]string{}
	last := ""
	err := s.Objects(t.Context(), "", "", func(e storage.Entry) bool {
		if e.Key <= last || e.Tag == "" || e.Modified.IsZero() || e.Size != int64(len(e.Key)) {
			t.Errorf("entry %+v after %q", e, last)
		}
		last = e.Key
		b, err := s.Range(t.Context(), e.Key, 0, -1, e.Tag)
		if err != nil {
			t.Errorf("read %q: %v", e.Key, err)
			return true
		}
		defer b.Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(b); err != nil || b.Tag() != e.Tag || b.Size() != e.Size {
			t.Errorf("read %q: tag %q of %d bytes, want %q of %d: %v", e.Key, b.Tag(), b.Size(), e.Tag, e.Size, err)
		}
		found[e.Key] = text.String()
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range oddNames() {
		if found[name] != name {
			t.Errorf("%q: got %q", name, found[name])
		}
	}
	if len(found) != len(oddNames()) {
		t.Errorf("found %d objects, want %d: %q", len(found), len(oddNames()), found)
	}
}

func TestRangeIsPinnedToTheGeneration(t *testing.T) {
	t.Parallel()
	server := objectstore.GCS(t)
	bucket := server.NewBucket(t)
	server.Put(t, bucket, "a", []byte("0123456789"))
	s := source(t, bucket, options(server))
	for _, n := range []int64{0, 3, -1} {
		b, err := s.Range(t.Context(), "a", 4, n, "")
		if err != nil {
			t.Fatal(err)
		}
		tag := b.Tag()
		b.Close()
		server.Put(t, bucket, "a", []byte("abcdefghij"+strconv.FormatInt(n, 10)))
		if b, err = s.Range(t.Context(), "a", 4, n, tag); !errs.Is(err, errs.Conflict) {
			t.Errorf("range of %d bytes of an object that has changed: %v, want a conflict", n, err)
		}
		if err == nil {
			b.Close()
		}
	}
}

func TestLargeStream(t *testing.T) {
	t.Parallel()
	server := objectstore.GCS(t)
	p := open(t, server.NewBucket(t), options(server))
	for name, size := range map[string]int{"one byte less": 16<<20 - 1, "whole": 16 << 20, "parts": 16<<20 + 1, "many parts": 40 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := make([]byte, size)
			fill := rand.NewChaCha8([32]byte{byte(size)})
			if _, err := fill.Read(data); err != nil {
				t.Fatal(err)
			}
			key := "data/" + strconv.Itoa(size)
			stream, err := storage.Create(t.Context(), p, key)
			if err != nil {
				t.Fatal(err)
			}
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 3<<20+7)
				if _, err := stream.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if _, err := p.Get(t.Context(), key); !errs.Is(err, errs.NotFound) {
				t.Errorf("before Finish: %v, want not found", err)
			}
			if err := stream.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, err := p.Get(t.Context(), key); err != nil || !bytes.Equal(got, data) {
				t.Errorf("read back %d bytes of %d: %v", len(got), size, err)
			}
		})
	}
}

func TestAbortOfALargeStream(t *testing.T) {
	t.Parallel()
	server := objectstore.GCS(t)
	p := open(t, server.NewBucket(t), options(server))
	stream, err := storage.Create(t.Context(), p, "data/a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Write(make([]byte, 30<<20)); err != nil {
		t.Fatal(err)
	}
	stream.Abort()
	if _, err := p.Get(t.Context(), "data/a"); !errs.Is(err, errs.NotFound) {
		t.Errorf("after Abort: %v, want not found", err)
	}
	if _, err := stream.Write([]byte("x")); !errs.Is(err, errs.Closed) {
		t.Errorf("write after Abort: %v", err)
	}
}

func TestCopyWithinTheStore(t *testing.T) {
	t.Parallel()
	server := objectstore.GCS(t)
	from := open(t, server.NewBucket(t)+"/x", options(server))
	to := open(t, server.NewBucket(t), options(server))
	copier := to.(storage.Copier)
	if err := from.Put(t.Context(), "a/b", []byte("content")); err != nil {
		t.Fatal(err)
	}
	if done, err := copier.CopyFrom(t.Context(), wrapped{from}, "a/b", "c/d"); err != nil || !done {
		t.Fatalf("copy: %v, %v", done, err)
	}
	if got, err := to.Get(t.Context(), "c/d"); err != nil || string(got) != "content" {
		t.Errorf("copied %q: %v", got, err)
	}
	if done, err := copier.CopyFrom(t.Context(), from, "missing", "c/e"); done || !errs.Is(err, errs.NotFound) {
		t.Errorf("copy of a missing object: %v, %v", done, err)
	}
	if done, err := copier.CopyFrom(t.Context(), struct{ storage.Provider }{from}, "a/b", "c/f"); done || err != nil {
		t.Errorf("copy from another kind of provider: %v, %v, want false, nil", done, err)
	}
}

// wrapped is a decorator.
type wrapped struct{ storage.Provider }

func (w wrapped) Unwrap() storage.Provider { return w.Provider }

func TestMissingBucket(t *testing.T) {
	t.Parallel()
	server := objectstore.GCS(t)
	ctx := t.Context()
	for name, try := range map[string]func(p storage.Provider) error{
		"get":    func(p storage.Provider) error { _, err := p.Get(ctx, "k"); return err },
		"read":   func(p storage.Provider) error { return p.ReadAt(ctx, "k", make([]byte, 1), 0) },
		"put":    func(p storage.Provider) error { return p.Put(ctx, "k", nil) },
		"once":   func(p storage.Provider) error { return p.PutIfAbsent(ctx, "k", []byte("x")) },
		"list":   func(p storage.Provider) error { return p.List(ctx, "", "", func(storage.Object) bool { return true }) },
		"stream": func(p storage.Provider) error { return streamed(ctx, p, 20<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := try(open(t, "no-such-bucket/x", options(server)))
			if want := `there is no bucket "no-such-bucket"`; !errs.Is(err, errs.NotFound) || !bytes.Contains([]byte(err.Error()), []byte(want)) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func streamed(ctx context.Context, p storage.Provider, size int) error {
	s, err := storage.Create(ctx, p, "k")
	if err != nil {
		return err
	}
	defer s.Abort()
	if _, err := s.Write(make([]byte, size)); err != nil {
		return err
	}
	return s.Finish(ctx)
}
