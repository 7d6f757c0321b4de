package ingest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
)

func testEnv() *dataset.Env {
	space := &mem.Space{}
	return &dataset.Env{Stores: storage.Registry{"mem": space.Open}, Sources: storage.Sources{"file": local.OpenSource}, Codecs: all.All(), Writer: "test"}
}

// picture is a small file whose content depends on seed.
func picture(t *testing.T, seed int, kind string) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 20+seed%5, 16))
	for i := range img.Pix {
		img.Pix[i] = byte(i*7 + seed*31)
	}
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 255
	}
	img.Set(0, 0, color.White)
	var b bytes.Buffer
	var err error
	if kind == "png" {
		err = png.Encode(&b, img)
	} else {
		err = jpeg.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, root string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func run(t *testing.T, env *dataset.Env, uri, source string, o Options) *Report {
	t.Helper()
	j, err := Start(env, uri, source, o)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	r, err := j.Wait(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stored reads the samples of a tensor as they are stored.
func stored(t *testing.T, env *dataset.Env, uri, name string) [][]byte {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, env, uri, dataset.OpenOptions{Storage: sourceLinks()})
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
	w := v.NewWorker()
	defer w.Close()
	var out [][]byte
	for i := range v.Len() {
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{i}, refs); err != nil {
			t.Fatal(err)
		}
		if refs[0].Hole() {
			out = append(out, nil)
			continue
		}
		p := make([]byte, refs[0].Stored)
		if err := col.Stored(ctx, &refs[0], p, w); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestClassFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cat, dog := picture(t, 1, "jpeg"), picture(t, 2, "jpeg")
	deep := picture(t, 3, "jpeg")
	write(t, root, map[string][]byte{
		"dog/1.jpg": dog, "cat/1.JPEG": cat, "cat/more/2.jpg": deep, "cat/notes.txt": []byte("hello"), "cat/empty.jpg": {},
		"dog/cut.jpg": dog[:len(dog)/2], "stray.jpg": cat, "dog/other.png": picture(t, 4, "png"),
	})
	env := testEnv()
	r := run(t, env, "mem://d", root, Options{})
	if r.Rows != 4 || r.Added != 4 || r.Converted != 1 || !r.Complete || fmt.Sprint(r.Classes) != "[cat dog]" {
		t.Fatalf("report = %+v", r)
	}
	var skipped []string
	for _, s := range r.Skips {
		skipped = append(skipped, s.Path)
	}
	if got, want := fmt.Sprint(skipped), "[cat/empty.jpg cat/notes.txt stray.jpg dog/cut.jpg]"; r.Skipped != 4 || len(skipped) != 4 {
		t.Fatalf("skipped %s, want %s", got, want)
	}
	images := stored(t, env, "mem://d", "images")
	for i, want := range [][]byte{cat, deep, dog} {
		if !bytes.Equal(images[i], want) {
			t.Errorf("image %d is not the file, byte for byte", i)
		}
	}
	labels := stored(t, env, "mem://d", "labels")
	for i, want := range []byte{0, 0, 1, 1} {
		if labels[i][0] != want {
			t.Errorf("label %d = %d, want %d", i, labels[i][0], want)
		}
	}
	if r := run(t, env, "mem://d", root, Options{Overwrite: true}); r.Rows != 4 {
		t.Fatalf("overwriting import: %+v", r)
	}
}

// TestLinkedClassFolders: folders behind symbolic links are classes too. One that contains itself
// is left out with a reason, and a source of nothing else is an error. So are links out of the
// source that the caller does not let in.
func TestLinkedClassFolders(t *testing.T) {
	t.Parallel()
	store, root, loop := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, store, map[string][]byte{"x/1.jpg": picture(t, 1, "jpeg"), "y/1.jpg": picture(t, 2, "jpeg")})
	for link, to := range map[string]string{
		filepath.Join(root, "cat"): filepath.Join(store, "x"), filepath.Join(root, "dog"): filepath.Join(store, "y"),
		filepath.Join(store, "y", "again"): root, filepath.Join(loop, "self"): loop,
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	env := testEnv()
	if text := fail(t, env, "mem://d", root, Options{}, errs.Invalid); !strings.Contains(text, "--follow-links") {
		t.Error(text)
	}
	r := run(t, env, "mem://d", root, Options{FollowLinks: true})
	if r.Rows != 2 || fmt.Sprint(r.Classes) != "[cat dog]" || r.Skipped != 1 || r.Skips[0].Path != "dog/again/" || !strings.Contains(r.Skips[0].Reason, "cycle") {
		t.Fatalf("report = %+v", r)
	}
	if text := fail(t, env, "mem://none", loop, Options{FollowLinks: true}, errs.Invalid); !strings.Contains(text, "folders: 1") || !strings.Contains(text, "cycle") {
		t.Error(text)
	}
}

func TestFlatFolderHasNoLabels(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a, b := picture(t, 1, "png"), picture(t, 2, "png")
	write(t, root, map[string][]byte{"a.png": a, "b.png": b})
	env := testEnv()
	r := run(t, env, "mem://flat", root, Options{})
	if r.Rows != 2 || r.Classes != nil {
		t.Fatalf("report = %+v", r)
	}
	if got := stored(t, env, "mem://flat", "images"); !bytes.Equal(got[0], a) || !bytes.Equal(got[1], b) {
		t.Fatal("png files were not stored as they are")
	}
}

func TestBadSources(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.jpg")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, source string
		o            Options
		want         errs.Kind
	}{
		{"missing", filepath.Join(t.TempDir(), "none"), Options{}, errs.NotFound},
		{"file", file, Options{}, errs.Invalid},
		{"codec", t.TempDir(), Options{Compression: "tiff"}, errs.Invalid},
		{"workers", t.TempDir(), Options{Workers: -1}, errs.Invalid},
	} {
		if _, err := Start(testEnv(), "mem://x", c.source, c.o); !errs.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestInterruptedImportGoesOn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := map[string][]byte{}
	for i := range 2000 {
		files[fmt.Sprintf("c%d/%04d.jpg", i%3, i)] = picture(t, i, "jpeg")
	}
	write(t, root, files)
	env := testEnv()
	for range 50 {
		j, err := Start(env, "mem://d", root, Options{Checkpoint: 300})
		if err != nil {
			t.Fatal(err)
		}
		for {
			p, _ := j.Poll(context.Background())
			if p.Done || p.Files > 0 {
				// at a different place each time: windows are of a size, the runs go on from where
				// they are
				j.Cancel()
				break
			}
		}
		r, err := j.Wait(context.Background())
		if err == nil {
			if !r.Complete || r.Rows != 2000 {
				t.Fatalf("report = %+v", r)
			}
			if got := len(stored(t, env, "mem://d", "images")); got != 2000 {
				t.Fatalf("%d images", got)
			}
			return
		}
		if !errs.Is(err, errs.Canceled) {
			t.Fatal(err)
		}
	}
	t.Fatal("the import never came to its end")
}
