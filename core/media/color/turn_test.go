package color

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"deeplake/core/errs"
)

// TestTurn compares with pixels that are moved one by one.
func TestTurn(t *testing.T) {
	t.Parallel()
	const seed = 3
	r := rand.New(rand.NewPCG(seed, seed))
	for range 200 {
		width, height, turns := 1+r.IntN(80), 1+r.IntN(80), r.IntN(9)-4
		srcStride := 3*width + r.IntN(5)
		src := make([]byte, (height-1)*srcStride+3*width)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		wide, high := width, height
		if turns%2 != 0 {
			wide, high = height, width
		}
		stride := 3*wide + r.IntN(5)
		want := bytes.Repeat([]byte{0xa5}, (high-1)*stride+3*wide)
		got := bytes.Clone(want)
		for y := range height {
			for x := range width {
				tx, ty, w, h := x, y, width, height
				for range (turns + 4) % 4 {
					tx, ty, w, h = h-1-ty, tx, h, w
				}
				copy(want[ty*stride+3*tx:], src[y*srcStride+3*x:][:3])
			}
		}
		if err := Turn(got, stride, src, srcStride, width, height, turns); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %d turns of %d x %d pixels differ", seed, turns, width, height)
		}
	}
	for _, err := range []error{
		Turn(make([]byte, 18), 9, make([]byte, 18), 6, 2, 3, 0),
		Turn(make([]byte, 17), 9, make([]byte, 18), 6, 2, 3, 1),
		Turn(make([]byte, 18), 9, make([]byte, 17), 6, 2, 3, 1),
		Turn(nil, 9, nil, 6, 0, 3, 1),
	} {
		if !errs.Is(err, errs.Invalid) {
			t.Errorf("error %v, want errs.Invalid", err)
		}
	}
}

func BenchmarkTurn(b *testing.B) {
	const width, height = 1280, 720
	src, dst := make([]byte, 3*width*height), make([]byte, 3*width*height)
	for turns, name := range []string{"none", "quarter", "half", "three quarters"} {
		b.Run(name, func(b *testing.B) {
			stride := 3 * width
			if turns%2 == 1 {
				stride = 3 * height
			}
			b.SetBytes(width * height) // so that MB are megapixels
			for b.Loop() {
				if err := Turn(dst, stride, src, 3*width, width, height, turns); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
