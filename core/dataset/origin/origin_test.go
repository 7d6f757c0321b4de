package origin

import (
	"bytes"
	"math"
	"testing"

	"deeplake/core/errs"
)

func TestOriginBytes(t *testing.T) {
	for _, c := range []struct {
		o    Origin
		text string
		same []byte
	}{
		{Origin{Size: -1}, "", []byte{0, 0}},
		{Origin{Path: "a/b.jpg", Tag: `"x"`, Size: 7}, "a/b.jpg", []byte("\x03\"x\"\x08a/b.jpg")},
		{Origin{Path: "a.tar", Member: "cat/1", Size: -1}, "a.tar/cat/1",
			[]byte("\x00\x80\x80\x80\x80\x80\x80\x80\x80\x40\x05a.tarcat/1")},
		{Origin{Path: "\xff.jpg", Size: 1<<62 - 2}, "\uFFFD.jpg", nil},
		{Origin{Path: "", Member: "m", Size: 0}, "/m", nil},
	} {
		b := c.o.Encode()
		if c.same != nil && !bytes.Equal(b, c.same) {
			t.Errorf("%+v is encoded as %q, want %q", c.o, b, c.same)
		}
		if got, err := Decode(b); err != nil || got != c.o || got.String() != c.text {
			t.Errorf("%+v comes back as %+v, %q: %v", c.o, got, got.String(), err)
		}
	}
}

func TestOriginDamage(t *testing.T) {
	whole := Origin{Path: "a.tar", Member: "cat/1", Tag: "t", Size: 5}.Encode()
	for n := range len(whole) - len("cat/1") + 1 {
		if _, err := Decode(whole[:n]); !errs.Is(err, errs.Corrupt) {
			t.Errorf("the first %d bytes: %v, want a corrupt error", n, err)
		}
	}
	most := append([]byte{0}, bytes.Repeat([]byte{0xff}, 9)...)
	if _, err := Decode(append(most, 1)); !errs.Is(err, errs.Corrupt) {
		t.Errorf("a size of %d: %v, want a corrupt error", uint64(math.MaxUint64), err)
	}
}

func FuzzOrigin(f *testing.F) {
	f.Add(Origin{Path: "a/b.jpg", Tag: `"x"`, Size: 7}.Encode())
	f.Add(Origin{Path: "a.tar", Member: "b", Size: -1}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := Decode(b)
		if err != nil {
			return
		}
		if again, err := Decode(o.Encode()); err != nil || again != o {
			t.Fatalf("%+v comes back as %+v: %v", o, again, err)
		}
	})
}
