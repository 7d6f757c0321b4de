package video

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
)

// TestLinkedVideos: frames of linked files are read by the bytes of their packets, and files that
// have changed are damage.
func TestLinkedVideos(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 7))
	space, lake := &mem.Space{}, &storagetest.Lake{}
	s := &set{env: &dataset.Env{
		Codecs: all.All(), Writer: "test", Containers: media.Containers{mediatest.Reel{}},
		Stores: storage.Registry{"mem": space.Open}, Sources: storage.Sources{"lake": lake.Open},
	}}
	o := storage.Options{Links: []storage.LinkRule{{Prefix: "lake://test", Settings: &storage.Settings{}}}}
	d, err := dataset.Create(t.Context(), s.env, "mem://set", dataset.CreateOptions{Storage: o, Tensors: []dataset.TensorSpec{{Name: "x", HType: "video"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	var want [][][]byte
	var files [][]byte
	links := tensor.Rows{Tensor: "x"}
	for i, f := range []film{
		{fixture: "gop250.mp4", packets: 30, copies: 20, pad: 9_000},
		{fixture: "h264_open.mp4", copies: 2, pad: 20_000, gap: 150_000, mixed: true},
	} {
		file, v := f.make(t, random)
		name := fmt.Sprintf("%d.reel", i)
		lake.Put(name, append([]byte("head"), file...))
		files, want = append(files, file), append(want, frames(t, v, file))
		link := tensor.Link{URL: "lake://test/" + name, Offset: 4, Length: int64(len(file))}
		links.Samples = append(links.Samples, tensor.Sample{Form: tensor.FormLink, Link: &link})
	}
	if err := d.Append(t.Context(), []tensor.Rows{links}, int64(len(files))); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	view, err := d.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := s.over(t, loader.SourceOf(view))
	for row := range files {
		of := find(t, r, int64(row))
		for _, list := range lists(random, len(want[row]), 12) {
			check(t, r, int64(row), list, want[row])
			if row > 0 {
				continue
			}
			w, err := of.plan(list)
			if err != nil {
				t.Fatal(err)
			}
			bytes := int64(0)
			for _, g := range w.groups {
				for _, p := range of.table.Video.Packets[g.First : g.Last+1] {
					bytes += p.Bytes
				}
			}
			for name, read := range ways() {
				before := lake.Bytes.Load()
				if _, err := read(t.Context(), r, 0, list); err != nil {
					t.Fatal(err)
				}
				if got := lake.Bytes.Load() - before; got != bytes {
					t.Errorf("%s of %v: %d bytes are read, the packets have %d", name, list, got, bytes)
				}
			}
		}
	}
	checkLinkedClips(t, r, random, want[1])
	lake.Put("0.reel", append([]byte("head"), files[0]...))
	for name, read := range ways() {
		if _, err := read(context.Background(), r, 0, []int64{3}); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s of a file that has changed: %v", name, err)
		}
	}
}

// checkLinkedClips reads windows of packets of which some were fetched ahead.
func checkLinkedClips(t *testing.T, r *Reader, random *rand.Rand, want [][]byte) {
	t.Helper()
	of := find(t, r, 1)
	whole := make([]byte, of.ref.Stored)
	if err := of.readAt(t.Context(), &run{to: of.ref.Stored, data: whole}, 0, of.ref.Stored); err != nil {
		t.Fatal(err)
	}
	for _, list := range lists(random, len(want), 20) {
		w, err := of.plan(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range w.groups {
			for _, window := range of.windows(g) {
				f, err := of.fetch(t.Context(), window, func(_ context.Context, s chunk.Span, dst []byte) (bool, error) {
					if random.IntN(2) == 0 {
						return false, nil
					}
					copy(dst, whole[s.Offset-4:])
					return true, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				for i := window.First; i <= window.Last; i++ {
					p := &of.table.Video.Packets[i]
					if string(f.packet(p)) != string(whole[p.Offset:][:p.Bytes]) {
						t.Fatalf("packet %d differs", i)
					}
				}
			}
		}
	}
}
