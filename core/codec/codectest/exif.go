// Package codectest makes image files for tests of the codecs and of their readers. Programs must
// not import it.
package codectest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"deeplake/core/codec"
)

// Exif returns Exif data with the tag of an orientation alone.
func Exif(o codec.Orientation) []byte {
	return append([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), byte(o), 0, 0)
}

// WithExif adds Exif data to a file that an encoder has made without any. A WebP file has 30 x 20
// pixels.
func WithExif(t testing.TB, id codec.ID, file, data []byte) []byte {
	t.Helper()
	switch id {
	case codec.JPEG:
		segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(data)+8))
		return bytes.Join([][]byte{file[:2], segment, []byte("Exif\x00\x00"), data, file[2:]}, nil)
	case codec.PNG:
		const head = 8 + 25    // signature and IHDR
		sum := make([]byte, 4) // readers skip it
		size := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
		return bytes.Join([][]byte{file[:head], size, []byte("eXIf"), data, sum, file[head:]}, nil)
	case codec.WebP:
		// of 30 x 20 pixels
		extended := []byte("VP8X\x0a\x00\x00\x00\x08\x00\x00\x00\x1d\x00\x00\x13\x00\x00")
		size := binary.LittleEndian.AppendUint32(nil, uint32(len(data)))
		body := bytes.Join([][]byte{[]byte("WEBP"), extended, file[12:], []byte("EXIF"), size, data}, nil)
		return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
	}
	t.Fatalf("no Exif data in %s", id.Name())
	return nil
}
