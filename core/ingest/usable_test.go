package ingest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/v4"
)

// fail runs an import that must fail with an error of the kind, and returns its text.
func fail(t *testing.T, env *dataset.Env, uri, source string, o Options, kind errs.Kind) string {
	t.Helper()
	j, err := Start(env, uri, source, o)
	if err == nil {
		defer j.Close()
		_, err = j.Wait(context.Background())
	}
	if !errs.Is(err, kind) {
		t.Fatalf("import from %q: %v, want %v", source, err, kind)
	}
	return err.Error()
}

// TestNothingIsReplacedByNothing has sources without a usable file: the dataset that is there
// stays, and a new one is not created.
func TestNothingIsReplacedByNothing(t *testing.T) {
	t.Parallel()
	a := picture(t, 1, "jpeg")
	broken := picture(t, 2, "png")
	broken = append(bytes.Clone(broken[:60]), make([]byte, len(broken)-60)...)
	for name, c := range map[string]struct {
		files map[string][]byte
		o     Options
		want  []string
	}{
		"empty":          {nil, Options{}, []string{"it has no files", ".tar.gz shards"}},
		"shards":         {map[string][]byte{"a.tgz": archive(t, tar.FormatUSTAR, entry{"1.jpg", a}), "b.tgz": nil}, Options{Link: true}, []string{"none of its 2 files", ".tgz: 2", "leave out --link"}},
		"no images":      {map[string][]byte{"a.txt": []byte("x"), "b.xml": []byte("x"), "c.xml": nil}, Options{}, []string{".xml: 2, .txt: 1"}},
		"bad class name": {map[string][]byte{"f\xff/a.jpg": a}, Options{}, []string{".jpg: 1", "UTF-8"}},
		"bad content":    {map[string][]byte{"a.png": broken}, Options{Compression: "jpeg"}, []string{".png: 1"}},
		"deep lake 4":    {map[string][]byte{"x/y/abc": []byte("x"), "_deeplake_log/_meta/0000000001c00000000.jsonl": []byte("{}")}, Options{}, []string{"_deeplake_log/_meta/*.jsonl", "deeplake.deeplake4(uri, python=...)"}},
		"empty shard":    {map[string][]byte{"a.tar": archive(t, tar.FormatUSTAR)}, Options{Link: true}, []string{".tar: 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, good, root := testEnv(), t.TempDir(), t.TempDir()
			env.Formats = []dataset.Format{v4.Format{}}
			write(t, good, map[string][]byte{"old.jpg": a})
			write(t, root, c.files)
			run(t, env, "mem://d", good, Options{})
			o := c.o
			o.Overwrite = true
			text := fail(t, env, "mem://d", root, o, errs.Invalid)
			for _, want := range append(c.want, root) {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in %q", want, text)
				}
			}
			if got := stored(t, env, "mem://d", "images"); len(got) != 1 || !bytes.Equal(got[0], a) {
				t.Error("the old dataset is gone")
			}
			fail(t, env, "mem://fresh", root, c.o, errs.Invalid)
			if there, err := dataset.Exists(context.Background(), env, "mem://fresh", storage.Options{}); there || err != nil {
				t.Errorf("a dataset was created: %v", err)
			}
		})
	}
}

// TestSourceGoesEmpty: a repeated import of a source that has lost all files fails and leaves the
// rows.
func TestSourceGoesEmpty(t *testing.T) {
	t.Parallel()
	env, root := testEnv(), t.TempDir()
	write(t, root, map[string][]byte{"a.jpg": picture(t, 1, "jpeg")})
	run(t, env, "mem://d", root, Options{})
	if err := os.Remove(filepath.Join(root, "a.jpg")); err != nil {
		t.Fatal(err)
	}
	fail(t, env, "mem://d", root, Options{}, errs.Invalid)
	if got := stored(t, env, "mem://d", "images"); len(got) != 1 {
		t.Errorf("%d rows, want 1", len(got))
	}
}

// TestSourceIsNotUTF8 refuses a source whose path the dataset cannot store.
func TestSourceIsNotUTF8(t *testing.T) {
	t.Parallel()
	env, root := testEnv(), t.TempDir()
	write(t, root, map[string][]byte{"old/a.jpg": picture(t, 1, "jpeg"), "f\xff/a.jpg": picture(t, 2, "jpeg")})
	run(t, env, "mem://d", filepath.Join(root, "old"), Options{})
	fail(t, env, "mem://d", filepath.Join(root, "f\xff"), Options{Overwrite: true}, errs.Invalid)
	if got := stored(t, env, "mem://d", "images"); len(got) != 1 {
		t.Error("the old dataset is gone")
	}
}

// TestDatasetAndSourceLieApart refuses a source that the import would replace, by every path to
// it, and leaves out the files of a dataset within its source.
func TestDatasetAndSourceLieApart(t *testing.T) {
	t.Parallel()
	env := testEnv()
	env.Stores["file"] = local.Open
	root := t.TempDir()
	files := map[string][]byte{}
	for i := range 3 {
		files[fmt.Sprintf("in/%d.jpg", i)] = picture(t, i, "jpeg")
	}
	write(t, root, files)
	in, place := filepath.Join(root, "in"), filepath.Join(root, "in", "set")
	alias := filepath.Join(root, "alias")
	if err := os.Symlink(place, alias); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := run(t, env, place, in, Options{}); r.Rows != 3 || r.Skipped != 0 {
			t.Fatalf("report: %+v", r)
		}
	}
	for _, source := range []string{place, alias, "file://" + alias} {
		for _, overwrite := range []bool{false, true} {
			if text := fail(t, env, place, source, Options{Overwrite: overwrite}, errs.Invalid); !strings.Contains(text, "same place") {
				t.Error(text)
			}
		}
	}
	if text := fail(t, env, root, in, Options{Overwrite: true}, errs.Invalid); !strings.Contains(text, "inside") {
		t.Error(text)
	}
	if got := stored(t, env, place, "images"); len(got) != 3 {
		t.Errorf("%d rows, want 3", len(got))
	}
}
