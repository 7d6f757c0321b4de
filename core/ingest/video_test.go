package ingest

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/matroska"
	"deeplake/core/media/mp4"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// withVideos returns an environment that takes videos.
func withVideos(env *dataset.Env) *dataset.Env {
	env.Containers = media.Containers{mp4.File{}, matroska.File{}}
	return env
}

// film is a file of the tests of core/media, with a box or an element of some bytes behind it.
func film(t testing.TB, name string, more int) []byte {
	t.Helper()
	kind := "mp4"
	if ext := filepath.Ext(name); ext == ".mkv" || ext == ".webm" {
		kind = "matroska"
	}
	data, err := os.ReadFile(filepath.Join("../media", kind, "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if more == 0 {
		return data
	}
	if kind == "mp4" {
		data = append(binary.BigEndian.AppendUint32(data, uint32(more+8)), "free"...)
	} else {
		data = append(binary.BigEndian.AppendUint64(append(data, 0xec), uint64(more)|1<<56), nil...)
	}
	return append(data, bytes.Repeat([]byte{byte(more)}, more)...)
}

// TestFoldersOfVideos: files are stored byte for byte, or linked, and what is no video is reported.
func TestFoldersOfVideos(t *testing.T) {
	t.Parallel()
	whole := film(t, "h264.mp4", 0)
	files := map[string][]byte{
		"jump/a.mp4": whole, "jump/B.MOV": film(t, "color.mov", 0), "jump/ü é #?.MP4": film(t, "h264.mp4", 3),
		"run/deep/c.mkv": film(t, "h264.mkv", 0), "run/d.webm": film(t, "vp9.webm", 5), "run/e.M4V": film(t, "vfr.mp4", 9<<20),
		"run/no ending": film(t, "gop2.mp4", 0), "run/film.dat": film(t, "av1.webm", 0),
	}
	bad := map[string]struct {
		data   []byte
		reason string
	}{
		"jump/empty.mp4": {nil, "the file is empty"}, "jump/text.mp4": {[]byte("hello, I am text"), "not a video of MP4 or Matroska"},
		"jump/cut.mp4": {whole[:len(whole)/2], "ends at byte"}, "run/cut.webm": {film(t, "vp9.webm", 0)[:600], "ends at byte"},
		"run/notes.txt": {[]byte("x"), "not a video"}, "stray.mp4": {film(t, "h264.mp4", 1), "lies outside the class folders"},
		"run/sound.mp4": {film(t, "sound.mp4", 0), "no track of pictures"}, "run/encrypted.mp4": {film(t, "encrypted.mp4", 0), "encrypted"},
		"labels.csv": {[]byte("a,b\n1,2\n"), "not a video"},
	}
	root := t.TempDir()
	write(t, root, files)
	for name, b := range bad {
		write(t, root, map[string][]byte{name: b.data})
	}
	for _, link := range []bool{false, true} {
		t.Run(fmt.Sprintf("link=%v", link), func(t *testing.T) {
			t.Parallel()
			env := withVideos(testEnv())
			r := run(t, env, "mem://d", root, Options{Link: link})
			if r.Format != Videos || r.Codec != "" || r.Rows != int64(len(files)) || r.Skipped != int64(len(bad)) || fmt.Sprint(r.Classes) != "[jump run]" {
				t.Fatalf("%+v", r)
			}
			for _, s := range r.Skips {
				if b, is := bad[s.Path]; !is || !strings.Contains(s.Reason, b.reason) {
					t.Errorf("%s: %q, want %q", s.Path, s.Reason, b.reason)
				}
			}
			names := slices.Sorted(maps.Keys(files))
			if got := origins(t, env, "mem://d"); !slices.Equal(got, names) {
				t.Fatalf("rows came from %q, want %q", got, names)
			}
			got := stored(t, env, "mem://d", videoTensor)
			for i, name := range names {
				if !bytes.Equal(got[i], files[name]) {
					t.Errorf("%s: %d bytes differ from its %d", name, len(got[i]), len(files[name]))
				}
			}
			if s := schema(t, env, "mem://d"); s[videoTensor] == "" || s[imageTensor] != "" {
				t.Errorf("tensors: %v", s)
			}
			if again := run(t, env, "mem://d", root, Options{Link: link}); again.Added+again.Updated != 0 || again.Unchanged != r.Rows || again.Version != r.Version {
				t.Errorf("again: %+v", again)
			}
			text := fail(t, env, "mem://raised", root, Options{Link: link, OnError: Raise, Once: true}, errs.Invalid)
			if !strings.Contains(text, "jump/cut.mp4: ") {
				t.Errorf("with on_error raise: %s", text)
			}
		})
	}
}

// TestImagesAndVideos: a source with both is refused, and what an import of one leaves out is
// reported.
func TestImagesAndVideos(t *testing.T) {
	t.Parallel()
	env, root := withVideos(testEnv()), t.TempDir()
	write(t, root, map[string][]byte{"a/cover.jpg": picture(t, 1, "jpeg"), "b/film.mp4": film(t, "h264.mp4", 0), "b/shot": picture(t, 2, "png")})
	text := fail(t, env, "mem://d", root, Options{}, errs.Invalid)
	for _, part := range []string{`"a/cover.jpg"`, `"b/film.mp4"`, `format="images" or format="videos"`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s: want %s", text, part)
		}
	}
	if _, err := dataset.Open(t.Context(), env, "mem://d", dataset.OpenOptions{}); !errs.Is(err, errs.NotFound) {
		t.Errorf("the dataset of it: %v", err)
	}
	for _, c := range []struct {
		format, classes, left string
		rows                  int64
	}{
		{Images, "[a b]", `b/film.mp4: a video, and this is an import of images; format="videos"`, 2},
		{Videos, "[b]", `b/shot: an image, and this is an import of videos; format="images"`, 1},
	} {
		r := run(t, env, "mem://"+c.format, root, Options{Format: c.format})
		if r.Format != c.format || r.Rows != c.rows || r.Skipped != 3-r.Rows || fmt.Sprint(r.Classes) != c.classes || !strings.Contains(reasons(r), c.left) {
			t.Errorf("%s: %+v\n%s", c.format, r, reasons(r))
		}
		// Without a format, a later run goes on with that of the first.
		if again := run(t, env, "mem://"+c.format, root, Options{}); again.Format != c.format || again.Unchanged != r.Rows || again.Added != 0 {
			t.Errorf("%s again: %+v", c.format, again)
		}
		other := map[string]string{Images: Videos, Videos: Images}[c.format]
		if text := fail(t, env, "mem://"+c.format, root, Options{Format: other}, errs.Exists); !strings.Contains(text, "format="+c.format) {
			t.Errorf("%s: %s", other, text)
		}
	}
}

// TestVideosOfSplits: folders of splits become views, and one folder of a plain name is no class.
func TestVideosOfSplits(t *testing.T) {
	t.Parallel()
	a, b := film(t, "h264.mp4", 0), film(t, "h264.mp4", 2)
	for name, c := range map[string]struct {
		files           map[string][]byte
		o               Options
		classes, splits string
	}{
		"splits":      {map[string][]byte{"train/x/1.mp4": a, "val/y/1.mp4": b}, Options{}, "[x y]", "[{train 1} {val 1}]"},
		"none":        {map[string][]byte{"train/x/1.mp4": a, "val/y/1.mp4": b}, Options{Splits: "none"}, "[train val]", "[]"},
		"plain":       {map[string][]byte{"Videos/1.mp4": a, "Videos/2.mp4": b}, Options{}, "[]", "[]"},
		"no labels":   {map[string][]byte{"x/1.mp4": a, "2.mp4": b}, Options{Labels: "none"}, "[]", "[]"},
		"given":       {map[string][]byte{"x/1.mp4": a, "y/2.mp4": b}, Options{Classes: []string{"y", "x"}}, "[y x]", "[]"},
		"by content":  {map[string][]byte{"1": a, "2": b}, Options{}, "[]", "[]"},
		"with a list": {map[string][]byte{"1.mp4": a, "2.mov": b, "about.csv": []byte("a,b\n"), "more.json": []byte("{}")}, Options{}, "[]", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, root := withVideos(testEnv()), t.TempDir()
			write(t, root, c.files)
			r := run(t, env, "mem://d", root, c.o)
			if r.Rows != 2 || r.Format != Videos || fmt.Sprint(r.Classes) != c.classes || fmt.Sprint(r.Splits) != c.splits {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestLargeVideos: large files, whose memory is used again, keep their bytes. The first one is not
// copied when the dataset is tried.
func TestLargeVideos(t *testing.T) {
	t.Parallel()
	env, root := withVideos(testEnv()), t.TempDir()
	want := [][]byte{film(t, "h264.mp4", heldBytes+9), film(t, "gop2.mp4", heldBytes+5), film(t, "h264.mp4", windowBytes)}
	write(t, root, map[string][]byte{"0.mp4": want[0], "1.mp4": want[1], "2.mp4": want[2]})
	if r := run(t, env, "mem://d", root, Options{}); r.Rows != 3 || r.Skipped != 0 {
		t.Fatalf("%+v\n%s", r, reasons(r))
	}
	for i, got := range stored(t, env, "mem://d", videoTensor) {
		if !bytes.Equal(got, want[i]) {
			t.Errorf("row %d: %d bytes differ from the %d of its file", i, len(got), len(want[i]))
		}
	}
}

// listOf returns the lake of listEnv.
func listOf(t *testing.T, env *dataset.Env) *storagetest.Lake {
	t.Helper()
	s, err := env.Sources["http"](t.Context(), "", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s.(lines).Lake
}

// TestLargeVideosOfAList: a listing without sizes does not let many large files into memory, and
// they do not wait for each other.
func TestLargeVideosOfAList(t *testing.T) {
	t.Parallel()
	names := []string{"x/0.mp4", "x/1.mp4", "x/2.mp4", "x/3.mp4", "x/4.mp4", "x/5.mp4?from=here"}
	env := withVideos(listEnv(t, names...))
	lake := listOf(t, env)
	var want [][]byte
	for i, name := range names {
		want = append(want, film(t, "h264.mp4", (i%2+1)*(unknownVideo-100_000)))
		lake.Put(name, want[i])
	}
	r := run(t, env, "mem://d", "http://h/list.txt", Options{Workers: 6})
	if r.Rows != 6 || r.Format != Videos || fmt.Sprint(r.Classes) != "[x]" {
		t.Fatalf("%+v\n%s", r, reasons(r))
	}
	for i, got := range stored(t, env, "mem://d", videoTensor) {
		if !bytes.Equal(got, want[i]) {
			t.Errorf("row %d: %d bytes differ from the %d of its file", i, len(got), len(want[i]))
		}
	}
}

// TestCheckpoints: large files are committed before there are many rows.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o           Options
		rows, bytes int64
		want        bool
	}{
		{Options{}, defaultCheckpoint - 1, checkpointBytes - 1, false}, {Options{}, defaultCheckpoint, 0, true}, {Options{}, 1, checkpointBytes, true},
		{Options{Checkpoint: 10}, 9, checkpointBytes, false}, {Options{Checkpoint: 10}, 10, 0, true},
	} {
		if got := c.o.isDue(c.rows, c.bytes); got != c.want {
			t.Errorf("%d rows and %d bytes, with checkpoint=%d: %v", c.rows, c.bytes, c.o.Checkpoint, got)
		}
	}
}

// TestOptionsOfVideos: options of images are refused, with the way out.
func TestOptionsOfVideos(t *testing.T) {
	t.Parallel()
	env, root := withVideos(testEnv()), t.TempDir()
	write(t, root, map[string][]byte{"a.mp4": film(t, "h264.mp4", 0)})
	for name, o := range map[string]Options{
		"size": {Size: 8}, "compression": {Compression: "none"}, "apply_exif_orientation": {Upright: true}, "masks": {Masks: true},
		"annotations": {Annotations: "a.json"}, `on_error="accept"`: {OnError: Accept},
	} {
		if text := fail(t, env, "mem://d", root, o, errs.Invalid); !strings.Contains(text, name+" is for images") || !strings.Contains(text, "leave it out") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestVideosOfALake: an outage stops the import, which goes on behind it, and changed objects are
// taken again. Of linked videos, their tables are read.
func TestVideosOfALake(t *testing.T) {
	t.Parallel()
	for _, link := range []bool{false, true} {
		t.Run(fmt.Sprintf("link=%v", link), func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			withVideos(env)
			files := map[string][]byte{}
			for i := range 12 {
				key := fmt.Sprintf("c%d/%02d.mkv", i/6, i)
				files[key] = film(t, "h264.mkv", 1+i)
				lake.Put(key, files[key])
			}
			outage := true
			lake.Fail = func(key string, _, _ int64) error {
				if outage && key >= "c1/07.mkv" && key != "meta/info.json" {
					return errs.Op("read", key).New(errs.Storage, "the network is gone")
				}
				return nil
			}
			o := Options{Link: link, Checkpoint: 4, Workers: 1}
			j, err := Start(env, "mem://d", "lake://b", o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := j.Wait(context.Background()); !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "the network is gone") {
				t.Fatalf("an outage: %v", err)
			}
			j.Close()
			outage = false
			r := run(t, env, "mem://d", "lake://b", o)
			if r.Resumed != 4 || r.Added != 8 || r.Rows != 12 || !r.Complete || fmt.Sprint(r.Classes) != "[c0 c1]" {
				t.Fatalf("%+v", r)
			}
			files["c0/03.mkv"], files["c2/00.webm"] = film(t, "vp8.webm", 7), film(t, "vp9.webm", 8)
			lake.Put("c0/03.mkv", files["c0/03.mkv"])
			lake.Put("c2/00.webm", files["c2/00.webm"])
			lake.Put("c2/01.jpg", picture(t, 1, "jpeg"))
			if r = run(t, env, "mem://d", "lake://b", o); r.Added != 1 || r.Updated != 1 || r.Unchanged != 11 || r.Skipped != 1 {
				t.Fatalf("changed: %+v", r)
			}
			got := stored(t, env, "mem://d", videoTensor)
			for i, key := range origins(t, env, "mem://d") {
				if !bytes.Equal(got[i], files[key]) {
					t.Errorf("row %d: %d bytes, want the %d of %s", i, len(got[i]), len(files[key]), key)
				}
			}
		})
	}
}

// TestVideosOfShards: members are stored byte for byte or linked, beside others and of several
// cameras. Damaged ones cost themselves, and large ones do not wait for each other.
func TestVideosOfShards(t *testing.T) {
	t.Parallel()
	a, b, large := film(t, "h264.mp4", 0), film(t, "vp9.webm", 0), film(t, "h264.mp4", 13<<20)
	first := archive(t, tar.FormatPAX,
		entry{"0.mp4", a}, entry{"0.cls", []byte("2")}, entry{"0.left.webm", b}, entry{"1.MKV", film(t, "h264.mkv", 0)}, entry{"1.txt", []byte("hello")},
		entry{"2.mp4", a[:len(a)/2]}, entry{"2.txt", []byte("cut")}, entry{"3.mp4", nil}, entry{"3.txt", []byte("empty")},
		entry{"4.mp4", []byte("text")}, entry{"4.txt", []byte("no film")}, entry{"5.txt", []byte("alone")})
	second := archive(t, tar.FormatUSTAR, entry{"6.mov", large}, entry{"6.txt", []byte("large")}, entry{"7.mp4", large})
	for name, c := range map[string]struct {
		ending string
		link   bool
	}{"copied": {".tar", false}, "compressed": {".tar.gz", false}, "linked": {".tar", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, root := withVideos(testEnv()), t.TempDir()
			files := map[string][]byte{"a": first, "b": second, "c": second}
			for stem, data := range files {
				if c.ending == ".tar.gz" {
					data = gzipped(t, data)
				}
				write(t, root, map[string][]byte{stem + c.ending: data})
			}
			r := run(t, env, "mem://d", root, Options{Link: c.link})
			if r.Rows != 10 || r.Skipped != 3 {
				t.Fatalf("%+v\n%s", r, reasons(r))
			}
			for _, part := range []string{": 2.mp4: ", ": 3.mp4: the file is empty", ": 4.mp4: not a video of MP4 or Matroska"} {
				if !strings.Contains(reasons(r), part) {
					t.Errorf("%s\nwant %q", reasons(r), part)
				}
			}
			want := [][]byte{a, film(t, "h264.mkv", 0), nil, nil, nil, nil, large, large, large, large}
			for i, got := range stored(t, env, "mem://d", videoTensor) {
				if !bytes.Equal(got, want[i]) {
					t.Errorf("row %d: %d bytes, want %d", i, len(got), len(want[i]))
				}
			}
			if left := stored(t, env, "mem://d", "left"); !bytes.Equal(left[0], b) || left[1] != nil {
				t.Error("the other camera differs")
			}
			s := schema(t, env, "mem://d")
			if _, has := s[imageTensor]; has || !strings.HasPrefix(s["left"], "video") {
				t.Errorf("tensors: %v", s)
			}
			// Images that come later get their tensor then.
			write(t, root, map[string][]byte{"d" + c.ending: nil})
			late := archive(t, tar.FormatPAX, entry{"8.jpg", picture(t, 1, "jpeg")}, entry{"8.mp4", a})
			if c.ending == ".tar.gz" {
				late = gzipped(t, late)
			}
			write(t, root, map[string][]byte{"d" + c.ending: late})
			r = run(t, env, "mem://d", root, Options{Link: c.link})
			if r.Rows != 11 || r.Added != 1 {
				t.Fatalf("%+v\n%s", r, reasons(r))
			}
			if got := stored(t, env, "mem://d", imageTensor); got[0] != nil || !bytes.Equal(got[10], picture(t, 1, "jpeg")) {
				t.Error("the image of a later shard differs")
			}
			if again := run(t, env, "mem://d", root, Options{Link: c.link}); again.Added != 0 || again.Rows != 11 {
				t.Errorf("again: %+v", again)
			}
		})
	}
}
