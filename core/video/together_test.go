package video

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
)

// batch is clips of several videos, in any order, and the ways to decode them at once.
type batch struct {
	rows  []int64
	lists [][]int64
	refs  []*chunk.Ref
	got   [][]byte
	errs  []error
}

// batchOf plans n random clips of up to 12 frames of rows.
func batchOf(t *testing.T, r *Reader, random *rand.Rand, n int, lengths []int) *batch {
	t.Helper()
	b := &batch{}
	for range n {
		row := random.IntN(len(lengths))
		list := upTo(1 + random.IntN(12))
		first, stride := random.Int64N(int64(lengths[row])-24), 1+random.Int64N(2)
		for i := range list {
			list[i] = first + list[i]*stride
		}
		ref := &chunk.Ref{}
		if err := r.Clip(t.Context(), int64(row), list, ref); err != nil {
			t.Fatal(err)
		}
		b.rows, b.lists, b.refs = append(b.rows, int64(row)), append(b.lists, list), append(b.refs, ref)
	}
	return b
}

// waysTogether decode the clips of a batch.
func waysTogether() map[string]func(ctx context.Context, r *Reader, b *batch, w *chunk.Worker) {
	ready := func(b *batch) {
		b.got, b.errs = make([][]byte, len(b.refs)), make([]error, len(b.refs))
		for i, ref := range b.refs {
			b.got[i] = make([]byte, ref.Size)
		}
	}
	return map[string]func(ctx context.Context, r *Reader, b *batch, w *chunk.Worker){
		"DecodeClips": func(ctx context.Context, r *Reader, b *batch, w *chunk.Worker) {
			ready(b)
			r.DecodeClips(ctx, b.refs, b.got, w, func(i int, err error) { b.errs[i] = err })
		},
		"DecodeFrames": func(ctx context.Context, r *Reader, b *batch, w *chunk.Worker) {
			ready(b)
			r.DecodeFrames(ctx, b.refs, w, func(i, frame int, pix []byte, _ int) error {
				copy(b.got[i][frame*len(pix):], pix)
				return nil
			}, func(i int, err error) { b.errs[i] = err })
		},
		"one by one": func(ctx context.Context, r *Reader, b *batch, w *chunk.Worker) {
			ready(b)
			for i, ref := range b.refs {
				b.errs[i] = r.DecodeClip(ctx, ref, b.got[i], w)
			}
		},
	}
}

// TestGroupsAreSharedByClips: clips that need frames of one group decode it once, in whatever order
// they come, and have the frames of the whole track.
func TestGroupsAreSharedByClips(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(21, 4))
	var files [][]byte
	var want [][][]byte
	lengths := make([]int, 3)
	for i, f := range []film{
		{fixture: "gop250.mp4", packets: 240, copies: 1, pad: 9_000},
		{fixture: "gop250.mp4", packets: 60, copies: 4, pad: 9_000},
		{fixture: "gop250.mp4", packets: 10, copies: 12, pad: 9_000, mixed: true},
	} {
		file, v := f.make(t, random)
		files, want = append(files, file), append(want, frames(t, v, file))
		lengths[i] = len(want[i])
	}
	s := newSet(t, files...)
	for name, decode := range waysTogether() {
		r := s.open(t, "mem")
		w := r.source.NewWorker()
		defer w.Close()
		all := int64(0)
		for row := range files {
			all += find(t, r, int64(row)).table.Bytes
		}
		for range 4 {
			b := batchOf(t, r, random, 40, lengths)
			s.store.reset(nil, nil)
			decode(t.Context(), r, b, w)
			read := int64(0)
			for _, p := range s.store.seen() {
				read += p.to - p.from
			}
			// parts of a file that two groups share are read for both
			if together := name != "one by one"; together && read > 2*all || !together && read < 5*all/2 {
				t.Errorf("%s: %d bytes are read, the files have %d", name, read, all)
			}
			for i, list := range b.lists {
				if b.errs[i] != nil {
					t.Fatalf("%s: %v of row %d: %v", name, list, b.rows[i], b.errs[i])
				}
				for k, f := range list {
					one := want[b.rows[i]][f]
					if !bytes.Equal(b.got[i][k*len(one):][:len(one)], one) {
						t.Fatalf("%s: frame %d of %v of row %d differs", name, k, list, b.rows[i])
					}
				}
			}
		}
	}
}

// TestDamageCostsItsOwnClips: of clips that share a group, those that need no damaged part come.
func TestDamageCostsItsOwnClips(t *testing.T) {
	t.Parallel()
	// decoders keep no place in groups of 30, so that a clip reads all parts that it needs
	s, want, random := filmed(t, 22, film{fixture: "gop250.mp4", packets: 30, copies: 6, pad: 9_000})
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		of := find(t, r, 0)
		w := r.source.NewWorker()
		defer w.Close()
		for name, decode := range waysTogether() {
			for range 6 {
				part := random.IntN(len(of.ends))
				bad := partPlace(t, of, part)
				b := batchOf(t, r, random, 20, []int{len(want)})
				s.store.reset(nil, flip(bad.key, bad.from))
				decode(t.Context(), r, b, w)
				for i, list := range b.lists {
					parts, _ := needed(t, of, list)
					switch {
					case parts[part] && !errs.Is(b.errs[i], errs.Corrupt):
						t.Fatalf("%s, %s of %v: %v, and part %d is damaged", scheme, name, list, b.errs[i], part)
					case !parts[part] && b.errs[i] != nil:
						t.Fatalf("%s, %s of %v: %v, and only part %d is damaged", scheme, name, list, b.errs[i], part)
					case b.errs[i] == nil && !bytes.Equal(b.got[i][:len(want[0])], want[list[0]]):
						t.Fatalf("%s, %s of %v: the frames differ", scheme, name, list)
					}
				}
			}
		}
	}
}

// TestRefusalsCostTheirOwnClips: a caller that refuses the frames of a clip gets those of others.
func TestRefusalsCostTheirOwnClips(t *testing.T) {
	t.Parallel()
	s, want, random := filmed(t, 23, film{fixture: "gop250.mp4", packets: 120, copies: 2, pad: 100})
	r := s.open(t, "mem")
	w := r.source.NewWorker()
	defer w.Close()
	b := batchOf(t, r, random, 12, []int{len(want)})
	refused := errs.New(errs.Type, "not these")
	b.errs = make([]error, 12)
	came := make([]map[int]bool, 12)
	r.DecodeFrames(t.Context(), b.refs, w, func(i, frame int, pix []byte, _ int) error {
		if i%3 == 0 {
			return refused
		}
		if !bytes.Equal(pix, want[b.lists[i][frame]]) {
			t.Errorf("frame %d of %v differs", frame, b.lists[i])
		}
		if came[i] == nil {
			came[i] = map[int]bool{}
		}
		came[i][frame] = true
		return nil
	}, func(i int, err error) { b.errs[i] = err })
	for i, err := range b.errs {
		if i%3 == 0 != errs.Is(err, errs.Type) || i%3 != 0 && len(came[i]) != len(b.lists[i]) {
			t.Errorf("clip %d: %d of %d frames, %v", i, len(came[i]), len(b.lists[i]), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed := 0
	r.DecodeClips(ctx, b.refs, b.buffers(), w, func(_ int, err error) {
		if errs.Is(err, errs.Canceled) {
			failed++
		}
	})
	if failed != len(b.refs) {
		t.Errorf("%d of %d clips are canceled", failed, len(b.refs))
	}
}

func (b *batch) buffers() [][]byte {
	out := make([][]byte, len(b.refs))
	for i, ref := range b.refs {
		out[i] = make([]byte, ref.Size)
	}
	return out
}

// TestRegionsOfSharedGroups: single frames of one group are cut as their whole pictures are.
func TestRegionsOfSharedGroups(t *testing.T) {
	t.Parallel()
	s, want, random := filmed(t, 24, film{fixture: "gop250.mp4", packets: 120, copies: 1, pad: 100})
	r := s.open(t, "mem")
	w := r.source.NewWorker()
	defer w.Close()
	refs, rois := make([]*chunk.Ref, 30), make([]codec.ROI, 30)
	cuts := make([]*cutting, 30)
	for i := range refs {
		refs[i], cuts[i] = &chunk.Ref{}, &cutting{frame: random.IntN(len(want))}
		if err := r.Clip(t.Context(), 0, []int64{int64(cuts[i].frame)}, refs[i]); err != nil {
			t.Fatal(err)
		}
		refs[i].Shape = refs[i].Shape[1:]
		height, width := int(refs[i].Shape[0]), int(refs[i].Shape[1])
		region := codec.Region{X: random.IntN(width / 2), Y: random.IntN(height / 2), Width: 1 + random.IntN(width/2), Height: 1 + random.IntN(height/2)}
		rois[i] = codec.ROI{Region: region, To: cuts[i]}
	}
	r.DecodeROIs(t.Context(), refs, rois, w, func(i int, err error) { t.Errorf("frame %d: %v", cuts[i].frame, err) })
	for i, c := range cuts {
		whole, width := want[c.frame], int(refs[i].Shape[1])
		for y := range rois[i].Height {
			from := ((rois[i].Y+y)*width + rois[i].X) * 3
			if !bytes.Equal(c.pix[y*c.stride:][:3*rois[i].Width], whole[from:][:3*rois[i].Width]) {
				t.Fatalf("frame %d: row %d of region %+v differs", c.frame, y, rois[i].Region)
			}
		}
	}
}

// cutting keeps the pixels of a region.
type cutting struct {
	frame  int
	pix    []byte
	stride int
}

func (c *cutting) Native() (call, arg unsafe.Pointer) { return nil, nil }

func (c *cutting) Deliver(pix []byte, stride int) error {
	c.pix, c.stride = bytes.Clone(pix), stride
	return nil
}
