package export

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/matroska"
	"deeplake/core/media/mp4"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
)

// film is a file of the tests of core/media, with a box of some bytes behind it if it is MP4.
func film(t testing.TB, name string, more int) []byte {
	t.Helper()
	data, err := os.ReadFile("../media/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if more > 0 {
		data = append(binary.BigEndian.AppendUint32(data, uint32(more+8)), "free"...)
		data = append(data, bytes.Repeat([]byte{7}, more)...)
	}
	return data
}

// filmWorld is a dataset of videos: small and large ones, a hole, and a linked one. want has their
// files by row.
func filmWorld(t testing.TB) (w *world, lake *storagetest.Lake, want []string) {
	t.Helper()
	w, lake = &world{}, &storagetest.Lake{}
	space := &mem.Space{}
	open := func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		p, err := space.Open(ctx, name, o)
		if err != nil || !strings.HasPrefix(name, "faulty") {
			return p, err
		}
		w.faults = faultstore.New(p, w.plan)
		return w.faults, nil
	}
	w.env = &dataset.Env{
		Stores: storage.Registry{"mem": open}, Sources: storage.Sources{"lake": lake.Open}, Codecs: all.All(), Writer: "test",
		Containers: media.Containers{mp4.File{}, matroska.File{}},
	}
	o := storage.Options{Links: []storage.LinkRule{{Prefix: "lake://b", Settings: &storage.Settings{}}}}
	var err error
	if w.ds, err = dataset.Create(t.Context(), w.env, "mem://data", dataset.CreateOptions{Storage: o, Tensors: []dataset.TensorSpec{
		{Name: "films", HType: "video"}, {Name: "front", HType: "video"}, {Name: "class", HType: "class_label", ClassNames: []string{"a b", "c"}},
	}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ds.Close() })
	columns := []tensor.Rows{{Tensor: "films"}, {Tensor: "front"}, {Tensor: "class"}}
	for i, file := range [][]byte{
		film(t, "mp4/testdata/h264.mp4", 0), film(t, "mp4/testdata/color.mov", apartBytes), film(t, "matroska/testdata/vp9.webm", 0),
		film(t, "mp4/testdata/gop250.mp4", 9<<20), nil, film(t, "matroska/testdata/h264.mkv", 0), film(t, "mp4/testdata/vfr.mp4", 5<<20),
	} {
		s := tensor.Sample{Form: tensor.FormEncoded, Data: file}
		switch {
		case file == nil:
			s = tensor.Sample{Form: tensor.FormHole}
		case i == 6:
			lake.Put("film.mp4", file)
			s = tensor.Sample{Form: tensor.FormLink, Link: &tensor.Link{URL: "lake://b/film.mp4"}}
		}
		want = append(want, string(file))
		columns[0].Samples = append(columns[0].Samples, s)
		columns[1].Samples = append(columns[1].Samples, tensor.Sample{Form: tensor.FormEncoded, Data: film(t, "mp4/testdata/h264.mp4", i)})
		columns[2].Samples = append(columns[2].Samples, array(tensor.Int64, tensor.Shape{}, int64(i%2)))
	}
	if err := w.ds.Append(t.Context(), columns, int64(len(want))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ds.Commit(t.Context(), "rows"); err != nil {
		t.Fatal(err)
	}
	return w, lake, want
}

// names of the files of filmWorld in a folder, by row.
func filmNames() []string {
	return []string{"a b/00000000.mp4", "c/00000001.mov", "a b/00000002.webm", "c/00000003.mp4", "", "c/00000005.mkv", "a b/00000006.mp4"}
}

// TestFolderOfVideos: files are those that were stored or linked, with the extensions of their
// content.
func TestFolderOfVideos(t *testing.T) {
	t.Parallel()
	w, lake, want := filmWorld(t)
	r, err := w.export(t, "mem://out", Options{Format: "folder"})
	if err != nil {
		t.Fatal(err)
	}
	got, sum := w.files(t, "mem://out"), int64(0)
	for row, name := range filmNames() {
		if sum += int64(len(want[row])); name != "" && got[name] != want[row] {
			t.Errorf("%s: %d bytes differ from the %d of row %d", name, len(got[name]), len(want[row]), row)
		}
	}
	if len(got) != len(want)-1 || r.Files != int64(len(got)) || r.Bytes != sum {
		t.Errorf("%q, and the report is %+v", slices.Sorted(maps.Keys(got)), r)
	}
	notes := fmt.Sprint(r.Notes)
	if !strings.Contains(notes, "{front left out: folders have one tensor of images or videos; choose by tensors=}") || !strings.Contains(notes, "{films rows without a video have no file}") {
		t.Errorf("notes: %s", notes)
	}
	if r, err = w.export(t, "mem://other", Options{Format: "folder", Tensors: []string{"front"}}); err != nil || r.Files != 7 {
		t.Errorf("the other tensor: %+v, %v", r, err)
	}
	lake.Put("film.mp4", film(t, "mp4/testdata/h264.mp4", 5<<20))
	if _, err = w.export(t, "mem://changed", Options{Format: "folder"}); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "row 6") || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a linked file that has changed: %v", err)
	}
}

// TestShardsOfVideos: members are the files, those of the first tensor without a name of their own.
func TestShardsOfVideos(t *testing.T) {
	t.Parallel()
	w, _, want := filmWorld(t)
	if _, err := w.export(t, "mem://out", Options{Format: "webdataset", ShardBytes: mostShard}); err != nil {
		t.Fatal(err)
	}
	members := map[string]string{}
	for key, data := range w.files(t, "mem://out") {
		if !strings.HasSuffix(key, ".tar") {
			continue
		}
		for r := tar.NewReader(strings.NewReader(data)); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			members[h.Name] = string(content)
		}
	}
	for row, name := range filmNames() {
		if _, file, _ := strings.Cut(name, "/"); name != "" && members[file] != want[row] {
			t.Errorf("%s: %d bytes, want %d", file, len(members[file]), len(want[row]))
		}
		if front := fmt.Sprintf("%08d.front.mp4", row); members[front] != string(film(t, "mp4/testdata/h264.mp4", row)) {
			t.Errorf("%s: %d bytes", front, len(members[front]))
		}
	}
	if len(members) != 6+7+7 {
		t.Errorf("members: %q", slices.Sorted(maps.Keys(members)))
	}
}

// TestFaultsOfVideos lets calls of the store fail while videos are copied. The same export goes on.
func TestFaultsOfVideos(t *testing.T) {
	t.Parallel()
	w, _, _ := filmWorld(t)
	if _, err := w.export(t, "mem://faulty", Options{Format: "folder"}); err != nil {
		t.Fatal(err)
	}
	calls, want := len(w.faults.Calls()), w.files(t, "mem://faulty")
	for k := 2; k < calls; k += max(1, calls/8) {
		place := fmt.Sprintf("mem://faulty-%d", k)
		w.plan = faultstore.Plan{{Skip: k, Do: faultstore.Crash()}}
		_, err := w.export(t, place, Options{Format: "folder"})
		w.plan = nil
		if err == nil {
			continue
		}
		if _, err := w.export(t, place, Options{Format: "folder"}); err != nil && !errs.Is(err, errs.Exists) {
			t.Fatalf("call %d, and again: %v", k, err)
		}
		if got := w.files(t, place); !maps.Equal(got, want) {
			t.Errorf("call %d: files %q", k, slices.Sorted(maps.Keys(got)))
		}
	}
}
