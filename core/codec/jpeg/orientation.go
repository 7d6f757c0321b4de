package jpeg

import (
	"bytes"
	"encoding/binary"

	"deeplake/core/codec"
)

const mAPP1 = 0xe1

// exifName begins the APP1 segment that has Exif data.
const exifName = "Exif\x00\x00"

// orientation reads the first segment of Exif data before the pixels.
func orientation(data []byte) (o codec.Orientation, more bool) {
	for pos := 2; pos <= len(data); {
		marker, at := nextMarker(data, pos)
		if marker == 0 {
			break
		}
		pos = at + 2
		if marker == mTEM || marker >= mRST0 && marker <= mRST7 {
			continue
		}
		if marker == mSOS || marker == mSOI || marker == mEOI {
			return codec.AsIs, false
		}
		if len(data)-pos < 2 {
			break
		}
		n := int(binary.BigEndian.Uint16(data[pos:]))
		if n < 2 {
			return codec.AsIs, false
		}
		if len(data)-pos < n {
			break
		}
		if body := data[pos+2 : pos+n]; marker == mAPP1 && bytes.HasPrefix(body, []byte(exifName)) {
			return codec.ExifOrientation(body), false
		}
		pos += n
	}
	return codec.AsIs, true
}
