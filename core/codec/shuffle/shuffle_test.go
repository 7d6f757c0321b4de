package shuffle

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/zstd"
	"deeplake/core/errs"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := New(zstd.New())
	r := rand.New(rand.NewPCG(3, 4))
	values := map[string]func(i int) uint64{
		"zeros": func(int) uint64 { return 0 }, "constant": func(int) uint64 { return 1 << 40 }, "small": func(int) uint64 { return r.Uint64N(7) },
		"negative": func(i int) uint64 { return uint64(-i) }, "both signs": func(i int) uint64 { return uint64(i - 50) },
		"far": func(i int) uint64 { return 1<<63 - 1 - uint64(i) }, "random": func(int) uint64 { return r.Uint64() },
		"three bytes": func(int) uint64 { return 1<<33 + r.Uint64N(1<<24) }, "five bytes": func(int) uint64 { return r.Uint64N(1 << 39) },
		"ends": func(i int) uint64 { return uint64(i%2) * (1<<64 - 1) },
		"bits": func(int) uint64 { return r.Uint64N(2) }, "bits on a base": func(int) uint64 { return 1<<50 + r.Uint64N(2) },
	}
	for name, f := range values {
		for _, size := range []int{1, 2, 4, 8} {
			for _, kind := range []codec.NumberKind{codec.Opaque, codec.Unsigned, codec.Signed} {
				for _, n := range []int{0, 1, 2, 3, 100, 5000} {
					src := numbers(n, size, f)
					packed, err := c.EncodeNumbers([]byte("x"), src, size, kind)
					if err != nil || packed[0] != 'x' {
						t.Fatal(err)
					}
					for shift := range 2 { // memory at any address
						dst := make([]byte, shift+len(src))[shift:]
						if err := c.Decode(dst, packed[1:]); err != nil || !bytes.Equal(dst, src) {
							t.Fatalf("%s of %d bytes, kind %d, %d elements: %v", name, size, kind, n, err)
						}
					}
				}
			}
		}
	}
}

// TestGolden fixes the bytes of blocks.
func TestGolden(t *testing.T) {
	t.Parallel()
	c := New(zstd.New())
	for _, g := range []struct {
		size int
		kind codec.NumberKind
		src  []byte
		want string
	}{
		// 3, 1, 2 of 8 bytes: one plane
		{8, codec.Signed, numbers(3, 8, func(i int) uint64 { return []uint64{3, 1, 2}[i] }), "08 01 00 0000000000000000 030102"},
		// -1, 300: the base is -1, the distances need two planes
		{4, codec.Signed, numbers(2, 4, func(i int) uint64 { return []uint64{1<<64 - 1, 300}[i] }), "04 02 00 ffffffffffffffff 002d 0001"},
		// 70000 twice: no planes
		{4, codec.Unsigned, numbers(2, 4, func(int) uint64 { return 70000 }), "04 00 00 7011010000000000"},
		// floats keep all planes
		{4, codec.Opaque, numbers(2, 4, func(i int) uint64 { return 0x04030201 + uint64(i)*0x10101010 }), "04 04 00 0000000000000000 0111 0212 0313 0414"},
		// bools: bits, the first one lowest
		{1, codec.Unsigned, []byte{1, 1, 0, 1, 0, 0, 0, 1, 0, 1}, "01 01 02 0000000000000000 8b 02"},
		// 1000 and 1001: bits on a base
		{2, codec.Unsigned, numbers(3, 2, func(i int) uint64 { return 1000 + uint64(i%2) }), "02 01 02 e803000000000000 02"},
		{2, codec.Unsigned, nil, "02 00 00 0000000000000000"},
	} {
		got, err := c.EncodeNumbers(nil, g.src, g.size, g.kind)
		want, _ := hex.DecodeString(string(bytes.ReplaceAll([]byte(g.want), []byte(" "), nil)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("% x becomes % x, %v, want % x", g.src, got, err, want)
		}
		back := make([]byte, len(g.src))
		if err := c.Decode(back, want); err != nil || !bytes.Equal(back, g.src) {
			t.Errorf("% x is read as % x, %v", want, back, err)
		}
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	c := New(zstd.New())
	src := numbers(4000, 8, func(i int) uint64 { return uint64(i % 50) })
	packed, err := c.EncodeNumbers(nil, src, 8, codec.Signed)
	if err != nil {
		t.Fatal(err)
	}
	bad := map[string][]byte{"empty": nil, "head alone": packed[:headBytes], "cut": packed[:len(packed)-1], "more": append(bytes.Clone(packed), 0)}
	for at, v := range map[int]byte{0: 3, 1: 9, 2: 2} {
		b := bytes.Clone(packed)
		b[at] = v
		bad[fmt.Sprintf("byte %d is %d", at, v)] = b
	}
	r := rand.New(rand.NewPCG(5, 6))
	bools, err := c.EncodeNumbers(nil, numbers(4000, 8, func(int) uint64 { return r.Uint64N(2) }), 8, codec.Signed)
	if err != nil || bools[2]&ofBits == 0 {
		t.Fatalf("bools have flags %#x, %v", bools[2], err)
	}
	bad["bits cut"], bad["bits of two planes"] = bools[:len(bools)-1], append([]byte{8, 2}, bools[2:]...)
	for name, b := range bad {
		if err := c.Decode(make([]byte, len(src)), b); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int{0, len(src) - 8, len(src) + 8, len(src) - 1} {
		if err := c.Decode(make([]byte, n), packed); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes for %d: %v", n, len(src), err)
		}
	}
	if _, err := c.EncodeNumbers(nil, make([]byte, 5), 4, codec.Signed); err == nil {
		t.Error("a part of a number is encoded")
	}
}

func FuzzDecode(f *testing.F) {
	c := New(zstd.New())
	for _, size := range []int{1, 2, 4, 8} {
		packed, err := c.EncodeNumbers(nil, numbers(300, size, func(i int) uint64 { return uint64(i) }), size, codec.Unsigned)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed, 300*size)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if n < 0 || n > 1<<20 {
			return
		}
		dst := make([]byte, n)
		if err := c.Decode(dst, data); err == nil {
			again := make([]byte, n)
			if err := c.Decode(again, data); err != nil || !bytes.Equal(dst, again) {
				t.Fatalf("the second time: %v", err)
			}
		} else if !errs.Is(err, errs.Corrupt) {
			t.Fatalf("%v is %s", err, errs.KindOf(err))
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	c := New(zstd.New())
	f.Add([]byte("12345678"), uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, src []byte, power, kind uint8) {
		size := 1 << (power % 4)
		src = src[:len(src)/size*size]
		packed, err := c.EncodeNumbers(nil, src, size, codec.NumberKind(kind%3))
		if err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, len(src))
		if err := c.Decode(dst, packed); err != nil || !bytes.Equal(dst, src) {
			t.Fatalf("%v: % x, want % x", err, dst, src)
		}
	})
}
