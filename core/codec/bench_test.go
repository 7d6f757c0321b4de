package codec_test

import (
	"fmt"
	"testing"

	"deeplake/core/codec"
)

func BenchmarkTurn(b *testing.B) {
	const height, width = 300, 400
	src, dst := make([]byte, height*width*3), make([]byte, height*width*3)
	for _, o := range []codec.Orientation{codec.MirroredX, codec.Rotated180, codec.MirroredY, codec.Rotated90, codec.Transposed} {
		b.Run(fmt.Sprint(o), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				o.Turn(dst, src, height, width, 3, width*3)
			}
		})
	}
}
