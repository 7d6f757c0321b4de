//go:build cgo

package shuffle

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestJoinNative holds the loops in C against those in Go, at every length around a vector.
func TestJoinNative(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, 2*400)
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	for _, size := range []int{4, 8} {
		for planes := 1; planes <= 2; planes++ {
			for n := leastNative; n < 400; n++ {
				for _, base := range []uint64{0, 7, 1<<32 - 3, 1<<64 - 5, 1 << 40} {
					want, got, plain := make([]byte, n*size+8), make([]byte, n*size+8), make([]byte, n*size+8)
					if size == 4 {
						joinWords(view[uint32](want[:n*size]), body, planes, uint32(base))
					} else {
						joinWords(view[uint64](want[:n*size]), body, planes, base)
					}
					if !joinNative(got[:n*size], body, size, planes, base) {
						t.Fatalf("%d elements of %d bytes in %d planes are left to Go", n, size, planes)
					}
					joinPlain(plain[:n*size], body, size, planes, base)
					if !bytes.Equal(want, got) || !bytes.Equal(want, plain) {
						t.Fatalf("%d elements of %d bytes in %d planes, base %d: got %x and %x, want %x", n, size, planes, base, got, plain, want)
					}
				}
			}
		}
	}
	if joinNative(make([]byte, 800), body, 2, 1, 0) || joinNative(make([]byte, 800), body, 8, 3, 0) || joinNative(make([]byte, 8), body, 8, 1, 0) {
		t.Error("the loops in C take what they do not know")
	}
}
