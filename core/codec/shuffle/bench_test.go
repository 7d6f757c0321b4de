package shuffle

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec"
	"deeplake/core/codec/zstd"
)

func numbers(n, size int, f func(i int) uint64) []byte {
	out := make([]byte, 0, n*size)
	for i := range n {
		out = append(out, binary.LittleEndian.AppendUint64(nil, f(i))[:size]...)
	}
	return out
}

func BenchmarkDecode(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const raw = 256 << 10
	cases := []struct {
		name string
		size int
		kind codec.NumberKind
		f    func(i int) uint64
	}{
		{"10 classes", 8, codec.Signed, func(int) uint64 { return uint64(r.IntN(10)) }},
		{"1000 classes", 8, codec.Signed, func(int) uint64 { return uint64(r.IntN(1000)) }},
		{"sorted classes", 8, codec.Signed, func(i int) uint64 { return uint64(i / 1300) }},
		{"row numbers", 8, codec.Signed, func(i int) uint64 { return uint64(1e9 + i) }},
		{"random int32 in int64", 8, codec.Signed, func(int) uint64 { return uint64(r.Uint32()) }},
		{"mask uint32", 4, codec.Unsigned, func(i int) uint64 { return uint64((i % 300 / 60) + i/300/50) }},
		{"mask uint8", 1, codec.Unsigned, func(i int) uint64 { return uint64((i % 300 / 60) + i/300/50) }},
		{"float32", 4, codec.Opaque, func(int) uint64 { return uint64(0x3f000000 + r.IntN(1<<24)) }},
	}
	z := zstd.New()
	for _, c := range cases {
		src := numbers(raw/c.size, c.size, c.f)
		s := New(z)
		packed, err := s.EncodeNumbers(nil, src, c.size, c.kind)
		if err != nil {
			b.Fatal(err)
		}
		plain, _ := z.Encode(nil, src)
		dst := make([]byte, len(src))
		b.Run(fmt.Sprintf("%s shuffle %.4f", c.name, float64(len(packed))/float64(len(src))), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for range b.N {
				if err := s.Decode(dst, packed); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%s zstd %.4f", c.name, float64(len(plain))/float64(len(src))), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for range b.N {
				if err := z.Decode(dst, plain); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
