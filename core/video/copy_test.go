package video

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// TestCopiesOfFiles: the pieces of a file are all of it, of bounded size, and checked before they
// are passed on.
func TestCopiesOfFiles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	files := [][]byte{nil}
	for _, f := range []film{
		{fixture: "gop250.mp4", packets: 30, copies: 1},
		{fixture: "gop250.mp4", packets: 30, copies: 4, pad: 90_000, gap: 100_000},
		// A packet is larger than a piece.
		{fixture: "h264_open.mp4", packets: 3, copies: 1, pad: copyBytes + 70_000},
	} {
		file, _ := f.make(t, random)
		files = append(files, file)
	}
	s := newSet(t, files...)
	for _, scheme := range []string{"mem", "far"} {
		r := s.open(t, scheme)
		for row := 1; row < len(files); row++ {
			var got []byte
			largest := 0
			if err := r.Copy(t.Context(), int64(row), func(piece []byte) error {
				got, largest = append(got, piece...), max(largest, len(piece))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, files[row]) || largest > 2*copyBytes || row < 3 && largest > copyBytes {
				t.Errorf("%s, row %d: %d bytes of %d, pieces of up to %d", scheme, row, len(got), len(files[row]), largest)
			}
		}
		of := find(t, r, 2)
		bad := partPlace(t, of, len(of.ends)-1)
		s.store.reset(nil, flip(bad.key, bad.from))
		passed := 0
		err := r.Copy(t.Context(), 2, func(piece []byte) error { passed += len(piece); return nil })
		if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "row 2: ") || passed == 0 || passed > len(files[2])-1 {
			t.Errorf("%s: %v behind %d bytes", scheme, err, passed)
		}
		s.store.reset(nil, nil)
		full := errors.New("the disk is full")
		if err := r.Copy(t.Context(), 2, func([]byte) error { return full }); !errors.Is(err, full) {
			t.Errorf("%s: %v, want the error of the caller", scheme, err)
		}
		if err := r.Copy(t.Context(), 0, nil); !errs.Is(err, errs.NotFound) {
			t.Errorf("%s: a row without a video: %v", scheme, err)
		}
	}
}
