package png

import (
	"encoding/binary"

	"deeplake/core/codec"
	"deeplake/core/errs"
)

var _ codec.HeadCodec = (*Codec)(nil)

// Head is Header of a file of which data is the beginning: the chunks before the pixels are enough.
func (*Codec) Head(data []byte, want codec.Channels) (codec.Header, bool, error) {
	var none codec.Header
	n := min(len(data), len(signature))
	if string(data[:n]) != signature[:n] {
		return none, false, errs.Op("read png header", "").New(errs.Corrupt, "not a PNG file (no signature)")
	}
	var p picture
	last := ""
	for at := len(signature); ; {
		if len(data)-at < 8 {
			return none, true, nil
		}
		if last != "" && known(data[at+4:at+8]) == idatName {
			break
		}
		if n := binary.BigEndian.Uint32(data[at:]); int64(n) > int64(len(data)-at-chunkSize) {
			return none, true, nil
		}
		c, err := readChunk(data, at)
		if err == nil && (at == len(signature)) != (c.name == "IHDR") || c.name == "IEND" {
			err = errs.Op("read png header", "").New(errs.Corrupt, "IHDR is not the first chunk, or comes twice, or there are no pixels")
		}
		if err == nil && c.name != "" && c.name != "?" && !c.intact(data, at) {
			err = errs.Op("read png header", "").New(errs.Corrupt, "checksum of the chunk at byte %d does not match", at)
		}
		if err == nil {
			err = p.take(&c, at, last)
		}
		if err != nil {
			return none, false, err
		}
		last, at = "-"+c.name, c.next
	}
	if p.colour == typePalette && p.entries == 0 {
		return none, false, errs.Op("read png header", "").New(errs.Corrupt, "palette is missing")
	}
	h, err := p.header(want)
	return h, false, err
}
