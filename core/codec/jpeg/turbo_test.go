//go:build cgo && !nolibjpeg

package jpeg

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

const pureGo = false

// TestCopiedFiles: small files are decoded from a copy, large ones where they lie; both give the same pixels, and neither a
// file that is cut anywhere.
func TestCopiedFiles(t *testing.T) {
	t.Parallel()
	comment := append([]byte{0xff, 0xfe}, binary.BigEndian.AppendUint16(nil, 0xfff0)...)
	comment = append(comment, make([]byte, 0xfff0-2)...)
	rng := rand.New(rand.NewPCG(5, 6))
	d := New().NewDecoder()
	defer d.Close()
	for name, small := range partFiles(t) {
		if len(small) > 64<<10 {
			t.Fatalf("%s has %d bytes, which is no small file", name, len(small))
		}
		large := splice(small, 2, 0, string(comment))
		h, err := New().Header(small, codec.AsStored)
		if err != nil {
			t.Fatal(err)
		}
		size := int(h.Shape[0] * h.Shape[1] * h.Shape[2])
		want, got := make([]byte, size), make([]byte, size)
		if err := d.Decode(want, small, codec.AsStored); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(got, large, codec.AsStored); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s: other pixels where the file is large (%v)", name, err)
		}
		for k := range 300 {
			cut := 1 + k
			if k >= 100 {
				cut = 1 + rng.IntN(len(small)-1)
			}
			for _, file := range [][]byte{small[:len(small)-cut], large[:len(large)-cut]} {
				if err := d.Decode(got, file, codec.AsStored); !errs.Is(err, errs.Corrupt) {
					t.Fatalf("%s of %d bytes without the last %d: %v, want %v", name, len(file)+cut, cut, err, errs.Corrupt)
				}
			}
		}
	}
}
