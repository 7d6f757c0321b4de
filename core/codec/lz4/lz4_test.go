package lz4

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"deeplake/core/errs"
)

func samples() map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 100_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	return map[string][]byte{
		"empty":  {},
		"one":    {7},
		"short":  []byte("abcabcabc"),
		"zeros":  make([]byte, 300_000),
		"text":   bytes.Repeat([]byte("rows of words, "), 5000),
		"noise":  noise,
		"mixed":  append(bytes.Repeat([]byte{1, 2, 3, 4}, 5000), noise[:3000]...),
		"window": append(append([]byte{}, noise[:70_000]...), noise[:70_000]...),
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := New()
	for name, src := range samples() {
		packed, err := c.Encode([]byte("head"), src)
		if err != nil || !bytes.HasPrefix(packed, []byte("head")) {
			t.Fatalf("%s: Encode: %v", name, err)
		}
		got := bytes.Repeat([]byte{0xa5}, len(src)+16)
		if err := c.Decode(got[:len(src)], packed[4:]); err != nil {
			t.Fatalf("%s: Decode: %v", name, err)
		}
		if !bytes.Equal(got[:len(src)], src) || !bytes.Equal(got[len(src):], bytes.Repeat([]byte{0xa5}, 16)) {
			t.Errorf("%s: other bytes came back, or bytes behind the output changed", name)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	c := New()
	src := samples()["mixed"]
	packed, err := c.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		size   int
		packed []byte
	}{
		{"one byte less wanted", len(src) - 1, packed},
		{"one byte more wanted", len(src) + 1, packed},
		{"nothing wanted", 0, packed},
		{"cut", len(src), packed[:len(packed)-1]},
		{"cut in half", len(src), packed[:len(packed)/2]},
		{"empty", len(src), nil},
		{"offset before the start", 64, []byte{0x0f, 0xff, 0xff, 0x20, 0x50, 1, 2, 3, 4, 5}},
	} {
		if err := c.Decode(make([]byte, test.size), test.packed); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: got %v, want corrupt", test.name, err)
		}
	}
}

func TestParallel(t *testing.T) {
	t.Parallel()
	c := New()
	src := samples()["text"]
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				packed, err := c.Encode(nil, src)
				got := make([]byte, len(src))
				if err == nil {
					err = c.Decode(got, packed)
				}
				if err != nil || !bytes.Equal(got, src) {
					t.Errorf("other bytes came back (%v)", err)
				}
			}
		})
	}
	all.Wait()
}

func FuzzDecode(f *testing.F) {
	c := New()
	for _, src := range samples() {
		packed, err := c.Encode(nil, src[:min(len(src), 500)])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed, uint16(min(len(src), 500)))
	}
	f.Fuzz(func(t *testing.T, packed []byte, size uint16) {
		dst := bytes.Repeat([]byte{0xa5}, int(size)+64)
		err := c.Decode(dst[:size], packed)
		if !bytes.Equal(dst[size:], bytes.Repeat([]byte{0xa5}, 64)) {
			t.Fatal("bytes behind the output changed")
		}
		if err != nil {
			if !errs.Is(err, errs.Corrupt) {
				t.Fatalf("got %v, want corrupt", err)
			}
			return
		}
		again, err := c.Encode(nil, dst[:size])
		if err != nil {
			t.Fatal(err)
		}
		back := make([]byte, size)
		if err := c.Decode(back, again); err != nil || !bytes.Equal(back, dst[:size]) {
			t.Fatalf("other bytes came back (%v)", err)
		}
	})
}
