package jpeg

import (
	"bytes"

	"deeplake/core/codec"
)

const mAPP1 = 0xe1

// exifName begins the APP1 segment that has Exif data.
const exifName = "Exif\x00\x00"

// orientation reads the first segment of Exif data before the pixels.
func orientation(data []byte) (o codec.Orientation, more bool) {
	o = codec.AsIs
	more = eachSegment(data, func(marker byte, body []byte) bool {
		if marker != mAPP1 || !bytes.HasPrefix(body, []byte(exifName)) {
			return true
		}
		o = codec.ExifOrientation(body)
		return false
	})
	return o, more
}
