package webp

import (
	"encoding/binary"

	"deeplake/core/codec"
)

const flagExif = 1 << 3 // of the VP8X chunk

// orientation reads the EXIF chunk, which lies behind the pixels. A file has one only if its VP8X
// chunk says so.
func orientation(data []byte) (o codec.Orientation, more bool) {
	if len(data) < firstChunk+chunkHead+1 {
		return codec.AsIs, true
	}
	if string(data[firstChunk:firstChunk+4]) != "VP8X" || data[firstChunk+chunkHead]&flagExif == 0 {
		return codec.AsIs, false
	}
	end := 8 + int64(binary.LittleEndian.Uint32(data[4:]))
	for at := int64(firstChunk); ; {
		if end-at < chunkHead {
			return codec.AsIs, false
		}
		if int64(len(data))-at < chunkHead {
			return codec.AsIs, true
		}
		size := int64(binary.LittleEndian.Uint32(data[at+4:]))
		if string(data[at:at+4]) == "EXIF" {
			if size > int64(len(data))-at-chunkHead {
				return codec.AsIs, true
			}
			return codec.ExifOrientation(data[at+chunkHead : at+chunkHead+size]), false
		}
		at += chunkHead + size + size&1
	}
}
