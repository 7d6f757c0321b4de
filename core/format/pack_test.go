package format

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"deeplake/core/codec/zstd"
)

// TestLevelOfPages holds that payloads are compressed quickly where the dense level gains nothing.
func TestLevelOfPages(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	entropy := make([]byte, 200_000)
	for i := range entropy {
		entropy[i] = byte(20 + r.IntN(25))
	}
	words := [][]byte{}
	for range 30 {
		word := make([]byte, 4+r.IntN(20))
		for i := range word {
			word[i] = byte('a' + r.IntN(26))
		}
		words = append(words, word)
	}
	var names []byte
	for len(names) < 200_000 {
		names = append(append(names, words[r.IntN(len(words))]...), ',')
	}
	for _, c := range []struct {
		name string
		raw  []byte
	}{{"sizes", entropy}, {"few sizes", entropy[:packSample]}, {"names", names}} {
		quick := must(quickEncoder.Encode(nil, c.raw))
		dense := must(denseEncoder.Encode(nil, c.raw))
		isQuick := encoderFor(c.raw) == quickEncoder
		if isQuick && len(c.raw) < 4*packSample {
			t.Errorf("%s: a small payload is compressed quickly", c.name)
		}
		if len(c.raw) > 4*packSample && len(quick) <= len(dense) && !isQuick || isQuick && len(quick) > len(dense)+len(dense)/20 {
			t.Errorf("%s: %d bytes quickly, %d densely: the level is the other one", c.name, len(quick), len(dense))
		}
		codec, stored := pack(c.raw)
		back := make([]byte, len(c.raw))
		if codec != packZstd {
			t.Fatalf("%s: codec %d", c.name, codec)
		}
		if err := zstd.New().Decode(back, stored); err != nil || !bytes.Equal(back, c.raw) {
			t.Errorf("%s: not the same after decoding: %v", c.name, err)
		}
	}
}
