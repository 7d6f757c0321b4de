package png

import (
	"encoding/binary"

	"deeplake/core/codec"
)

// orientation reads the eXIf chunk before the pixels. One behind them is not read, so that the head
// of a linked file is enough.
func orientation(data []byte) (o codec.Orientation, more bool) {
	for at := len(signature); ; {
		if len(data)-at < 8 {
			return codec.AsIs, true
		}
		n := int64(binary.BigEndian.Uint32(data[at:]))
		switch string(data[at+4 : at+8]) {
		case idatName, "IEND":
			return codec.AsIs, false
		case "eXIf":
			if n > int64(len(data)-at-8) {
				return codec.AsIs, true
			}
			return codec.ExifOrientation(data[at+8 : at+8+int(n)]), false
		}
		if n > int64(len(data)-at-chunkSize) {
			return codec.AsIs, true
		}
		at += chunkSize + int(n)
	}
}
