package zstd

import (
	"bytes"
	"math/rand/v2"
	"runtime"
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

// TestMemory gives frames that promise gigabytes: neither the promise nor the window may be
// allocated.
func TestMemory(t *testing.T) {
	c := New()
	dst := make([]byte, 100)
	for name, frame := range map[string][]byte{
		// magic, descriptor, (window), content size, one block of 2 bytes repeated 2^21 - 1 times
		"content size 1 TiB":   {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0xfb, 0xff, 0xff, 7},
		"window of 512 MiB":    {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x98, 0x02, 0x00, 0x00, 7},
		"repeated to 128 KiB":  {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38, 0x03, 0x00, 0x10, 7},
		"content size too big": {0x28, 0xb5, 0x2f, 0xfd, 0x60, 0xff, 0xff, 0x03, 0x00, 0x10, 7},
	} {
		if err := c.Decode(dst, frame); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: got %v, want corrupt", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			_ = c.Decode(dst, frame)
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / 10; n > 1<<20 {
			t.Errorf("%s: a decode allocates %d bytes", name, n)
		}
	}
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
