package matroska

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
)

// container is the one that is tested.
var container File

func index(p []byte) (*media.Video, error) {
	return container.Index(context.Background(), media.Bytes(p), int64(len(p)))
}

// TestAgainstFFmpeg compares every file with FFmpeg's description of it: every packet, and the
// times at which frames are shown.
func TestAgainstFFmpeg(t *testing.T) {
	t.Parallel()
	mediatest.Described(t, 25, container, func(t *testing.T, _ []byte, v *media.Video, want *mediatest.Description) {
		for i, p := range v.Packets {
			w := want.Packets[i]
			if p.Offset != w[0] || p.Bytes != w[1] || p.Key != (w[2] == 1) || p.Time != w[3] {
				t.Errorf("packet %d = %+v, want %v", i, p, w)
			}
		}
		var times []int64
		if err := json.Unmarshal(want.Shown, &times); err != nil {
			t.Fatal(err)
		}
		if got := mediatest.ShownAt(v); !slices.Equal(got, times) {
			t.Errorf("frames are shown at %v, want %v", got, times)
		}
		if last := times[len(times)-1]; v.End <= last || v.End > last+v.Ticks {
			t.Errorf("the end is %d, the last frame is shown at %d", v.End, last)
		}
	})
}

// TestFixtures holds that each file of the tests has the feature in its name.
func TestFixtures(t *testing.T) {
	t.Parallel()
	if _, v := mediatest.Read(t, container, "testdata/vp8.webm"); len(v.Shown()) == len(v.Packets) {
		t.Error("vp8.webm has no hidden packets")
	}
	for _, c := range []struct {
		name    string
		element []byte
	}{
		{"live.webm", []byte("\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff")},
		{"groups.mkv", []byte("\x1f\x43\xb6\x75\xff")},
		{"alpha.webm", []byte("\x75\xa1")},
		{"turned.mkv", []byte("\x76\x75")},
	} {
		if p, _ := mediatest.Read(t, container, "testdata/"+c.name); !strings.Contains(string(p), string(c.element)) {
			t.Errorf("%s has no % x", c.name, c.element)
		}
	}
}

// TestRefused: what cannot be presented says so.
func TestRefused(t *testing.T) {
	t.Parallel()
	mediatest.Refused(t, container, "sound.mka", errs.Invalid, "no track of pictures (tracks of other kinds: 1)")
	mediatest.Refused(t, container, "prores.mkv", errs.Unsupported, `codec "V_PRORES"`)
}

// TestCut cuts files at every byte. The error names the element that is cut. Live files give the
// frames before the cut.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"h264.mkv", "live.mkv", "live.webm", "groups.mkv", "audio.mkv"} {
		p, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		parts := 0
		for n := range len(p) {
			switch _, err := index(p[:n]); {
			case err == nil && (strings.HasPrefix(name, "live") || name == "groups.mkv"):
				parts++
			case errs.Is(err, errs.Invalid) && (strings.Contains(err.Error(), "the file ends at byte") || strings.Contains(err.Error(), "has no frames")):
			default:
				t.Fatalf("%s: the first %d bytes of %d: %v", name, n, len(p), err)
			}
		}
		if parts == 0 && name[0] == 'l' {
			t.Errorf("%s: no part of it can be read", name)
		}
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	names, _ := filepath.Glob("testdata/*.[mw][ek][bva]*")
	if len(names) < 27 {
		t.Fatal(names)
	}
	for _, name := range names {
		p, err := os.ReadFile(name)
		if want := !strings.HasSuffix(name, ".json"); err != nil || container.Is(p[:64]) != want || container.Is(p[:4]) != want || container.Is(p[:3]) {
			t.Error(name, err)
		}
	}
	for _, text := range []string{"", "\x1a", "\x00\x00\x00\x18ftypqt  \x00", "RIFF\x00\x00\x00\x00AVI "} {
		if container.Is([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
}

// reel is a file of clusters of blocks, of which only the heads are made.
type reel struct {
	head, cluster   []byte // cluster: up to the data of its block
	each            int64  // bytes of a cluster
	requests, bytes *int64
}

func newReel(each int64) reel {
	head := slices.Concat(header(), open("18538067"), tracks(entry()))
	n := each - int64(len(cluster(0, nil))) - 8
	r := reel{head: head, each: each, requests: new(int64), bytes: new(int64)}
	whole := el("1f43b675", el("e7", 5), el("a3", "\x81\x00\x00\x80", make([]byte, n)))
	r.each, r.cluster = int64(len(whole)), whole[:64]
	return r
}

func (r reel) ReadAt(_ context.Context, p []byte, off int64) error {
	*r.requests++
	*r.bytes += int64(len(p))
	for i := range p {
		p[i] = r.at(off + int64(i))
	}
	return nil
}

func (r reel) at(off int64) byte {
	if off < int64(len(r.head)) {
		return r.head[off]
	}
	if off = (off - int64(len(r.head))) % r.each; off < int64(len(r.cluster)) {
		return r.cluster[off]
	}
	return 0
}

// TestRequests bounds the requests for a file of 100 MiB, by the bytes of its frames.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ each, requests, bytes int64 }{
		{20_000, 110, 101 << 20},
		{200_000, 110, 101 << 20},
		{700_000, 160, 12 << 20}, // one for each, and windows of 1 MiB before the mean is known
		{8 << 20, 20, 5 << 20},
	} {
		r := newReel(c.each)
		n := 100 << 20 / r.each
		size := int64(len(r.head)) + n*r.each
		v, err := container.Index(t.Context(), r, size)
		if err != nil || int64(len(v.Packets)) != n {
			t.Fatal(c.each, err)
		}
		t.Logf("frames of %d bytes: %d requests, %d bytes", c.each, *r.requests, *r.bytes)
		if *r.requests > c.requests || *r.bytes > c.bytes {
			t.Errorf("frames of %d bytes: %d requests of %d bytes, want at most %d and %d", c.each, *r.requests, *r.bytes, c.requests, c.bytes)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := container.Index(ctx, newReel(100), 1<<20); !errs.Is(err, errs.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// failing is a file of which one read fails.
type failing struct {
	media.Bytes
	left *int // reads that succeed
}

func (f failing) ReadAt(ctx context.Context, p []byte, off int64) error {
	if *f.left--; *f.left < 0 {
		return errs.New(errs.Storage, "the store is away")
	}
	return f.Bytes.ReadAt(ctx, p, off)
}

// TestReadsThatFail: the error of a store is the error of the index.
func TestReadsThatFail(t *testing.T) {
	t.Parallel()
	large := el("ec", make([]byte, 2<<20))
	s := valid()
	s.clusters = slices.Concat(s.clusters, large, s.clusters, el("1f43b675", large, el("e7", 0), el("a0", large, grouped(0), large, el("9b", 5), large)))
	p := s.file()
	const reads = 6
	for n := range reads + 1 {
		left := n
		_, err := media.Containers{container}.Index(t.Context(), failing{p, &left}, int64(len(p)))
		if n < reads && !errs.Is(err, errs.Storage) || n == reads && err != nil {
			t.Errorf("%d reads succeed: %v", n, err)
		}
	}
}

// BenchmarkIndex: 20 minutes of video of 30 frames a second, 5 KB each.
func BenchmarkIndex(b *testing.B) {
	const frames, each = 36_000, 5_000
	r := newReel(each)
	p := make([]byte, int64(len(r.head))+frames*r.each)
	if err := r.ReadAt(b.Context(), p, 0); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		if _, err := index(p); err != nil {
			b.Fatal(err)
		}
	}
}
