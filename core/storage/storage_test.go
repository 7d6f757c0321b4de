package storage_test

import (
	"context"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, key string
		ok        bool
	}{
		{"plain", "data/0f8e/17", true},
		{"one byte", "a", true},
		{"dots within", "a..b/.c/...", true},
		{"all signs", "!#$%&'()*+,-.:;<=>?@[]^_`{|}~\"", true},
		{"longest", strings.Repeat("a", storage.MaxKeyBytes), true},
		{"too long", strings.Repeat("a", storage.MaxKeyBytes+1), false},
		{"empty", "", false},
		{"absolute", "/a", false},
		{"ends with a slash", "a/", false},
		{"empty part", "a//b", false},
		{"this directory", "a/./b", false},
		{"upwards", "a/../../etc", false},
		{"upwards at the end", "a/..", false},
		{"blank", "golden retriever/a b", true},
		{"letters", "caf\u00e9/\u732b.jpg", true},
		{"line separator", "a\u2028b", false},
		{"not utf-8", "a\xffb", false},
		{"control", "a\x1fb", false},
		{"delete", "a\x7f", false},
		{"zero", "a\x00", false},
		{"backslash", `a\b`, false},
	} {
		if err := storage.CheckKey(c.key); (err == nil) != c.ok || (err != nil && !errs.Is(err, errs.Invalid)) {
			t.Errorf("%s: got %v, want ok to be %v", c.name, err, c.ok)
		}
	}
}

// FuzzCheckKey checks the assumption of a directory: a key that passes stays below the root.
func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"a/b", "../a", "a//b", "", "a\x00", `a\..\b`, "..a"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if storage.CheckKey(key) != nil {
			return
		}
		padded := "/" + key + "/"
		for _, bad := range []string{"//", "/./", "/../", "\x00", "\\", "\n"} {
			if strings.Contains(padded, bad) {
				t.Errorf("key %q passes with %q in it", key, bad)
			}
		}
		if len(key) == 0 || len(key) > storage.MaxKeyBytes {
			t.Errorf("key of %d bytes passes", len(key))
		}
	})
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	var got string
	opener := func(name string) storage.Opener {
		return func(_ context.Context, rest string, o storage.Options) (storage.Provider, error) {
			got = name + " " + rest
			if o.Create {
				got += " create"
			}
			return nil, nil
		}
	}
	r := storage.Registry{"file": opener("file"), "mem": opener("mem")}
	for _, c := range []struct {
		uri    string
		create bool
		want   string
	}{
		{"file:///a/b", false, "file /a/b"},
		{"file://a", true, "file a create"},
		{"a/b", false, "file a/b"},
		{"mem://x://y", false, "mem x://y"},
		{"", false, "file "},
	} {
		if _, err := r.Open(t.Context(), c.uri, storage.Options{Create: c.create}); err != nil || got != c.want {
			t.Errorf("open %q: got %q, %v, want %q", c.uri, got, err, c.want)
		}
	}
	_, err := r.Open(t.Context(), "fil://a", storage.Options{})
	if !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), `did you mean "file"`) {
		t.Errorf("unknown scheme: got %v, want unsupported that names the nearest", err)
	}
}

// TestBufferedStream is about providers that take whole objects only.
func TestBufferedStream(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p, err := new(mem.Space).Open(ctx, "x", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := storage.Create(ctx, p, "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{"one ", "", "two"} {
		if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("write %q: got %d, %v", piece, n, err)
		}
	}
	if err := s.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	s.Abort()
	if got, err := p.Get(ctx, "a"); err != nil || string(got) != "one two" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := s.Write([]byte("x")); !errs.Is(err, errs.Closed) {
		t.Errorf("write after finish: got %v, want closed", err)
	}
	if err := s.Finish(ctx); !errs.Is(err, errs.Closed) {
		t.Errorf("second finish: got %v, want closed", err)
	}
}
