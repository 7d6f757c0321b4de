package mp4

import (
	"slices"

	"deeplake/core/media"
)

// entry describes packets: one of the boxes within stsd.
type entry struct {
	kind string
	body []byte
	// equal: it was compared with the entry of the first packets. A file may name one at each
	// chunk.
	equal bool
}

// maxEntries bounds those of a track.
const maxEntries = 1 << 10

// content is a decoded entry.
type content struct {
	codec         string
	setup         []byte
	width, height int
	color         media.Color
}

// newEntries splits the box stsd.
func newEntries(stbl []byte) ([]entry, error) {
	stsd, err := need("stbl", stbl, 8, "stsd")
	if err != nil {
		return nil, err
	}
	var out []entry
	err = each("stsd", stsd[8:], func(kind string, body []byte) error {
		if len(out) == maxEntries {
			return invalid(`box "stsd" has more than %d descriptions`, maxEntries)
		}
		out = append(out, entry{kind: kind, body: body})
		return nil
	})
	return out, err
}

// setups are the codecs of kinds of entries, each with the box of its parameters.
var setups = map[string]struct{ codec, box string }{
	"avc1": {"h264", "avcC"},
	"avc3": {"h264", "avcC"},
	"hvc1": {"hevc", "hvcC"},
	"hev1": {"hevc", "hvcC"},
	"av01": {"av1", "av1C"},
	"vp08": {"vp8", ""},
	"vp09": {"vp9", ""},
	"mp4v": {"mpeg4", "esds"},
	"jpeg": {"mjpeg", ""},
	"mjpg": {"mjpeg", ""},
}

// entryBytes are those of an entry before the boxes within it.
const entryBytes = 78

// read decodes the entry.
func (e entry) read(refs []byte) (content, error) {
	known, ok := setups[e.kind]
	if e.kind == "encv" {
		return content{}, encrypted()
	}
	if !ok {
		return content{}, unsupported("its track of pictures has the codec %q", e.kind)
	}
	if err := atLeast(e.kind, e.body, entryBytes); err != nil {
		return content{}, err
	}
	if err := checkRef(refs, int(be16(e.body[6:]))); err != nil {
		return content{}, err
	}
	c := content{codec: known.codec, width: int(be16(e.body[24:])), height: int(be16(e.body[26:]))}
	colored := false
	err := each(e.kind, e.body[entryBytes:], func(kind string, body []byte) error {
		switch {
		case kind == "sinf":
			return encrypted()
		case kind == "colr" && !colored:
			c.color, colored = newColor(body, c.color)
		case kind == "vpcC" && !colored && len(body) >= 12:
			c.color = media.Color{Primaries: stated(body[7]), Transfer: stated(body[8]), Matrix: stated(body[9]), Full: body[6]&1 != 0}
		case kind == "esds" && known.box == kind && c.setup == nil:
			return c.descriptors(body)
		case kind == known.box && c.setup == nil:
			c.setup = slices.Clone(body)
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	return c, c.check(e.kind, known.box)
}

// check holds the content against the limits of a Video.
func (c content) check(kind, box string) error {
	switch {
	case c.width < 1 || c.height < 1 || c.width > media.MaxSide || c.height > media.MaxSide:
		return invalid("its pictures are %d x %d, want sides of 1 to %d", c.width, c.height, media.MaxSide)
	case len(c.setup) > media.MaxSetupBytes:
		return invalid("box %q has %d bytes, want at most %d", box, len(c.setup), media.MaxSetupBytes)
	case len(c.setup) < 4 && (box == "avcC" || box == "hvcC"):
		return invalid("box %q has no box %q, without which nothing can be decoded", kind, box)
	}
	return nil
}

func encrypted() error {
	return unsupported("its track of pictures is encrypted; give it decrypted")
}

// checkRef refuses packets that lie in another file: entry number, from 1 on, of the box dref.
func checkRef(refs []byte, number int) error {
	if len(refs) < 8 {
		return nil
	}
	at := 0
	return each("dref", refs[8:], func(kind string, body []byte) error {
		at++
		if at != number || len(body) >= 4 && body[3]&1 != 0 {
			return nil
		}
		// Some writers forget the flag, and name no file.
		for _, c := range body[min(4, len(body)):] {
			if c != 0 {
				return unsupported("its pictures lie in another file, which box %q names; give a file that has them", kind)
			}
		}
		return nil
	})
}

// newColor reads the box colr, if it is of numbers; otherwise it returns the color that is known.
func newColor(p []byte, known media.Color) (media.Color, bool) {
	if len(p) < 10 || string(p[:4]) != "nclx" && string(p[:4]) != "nclc" {
		return known, false
	}
	number := func(i int) uint8 {
		if p[i] != 0 {
			return 0
		}
		return stated(p[i+1])
	}
	c := media.Color{Primaries: number(4), Transfer: number(6), Matrix: number(8)}
	c.Full = string(p[:4]) == "nclx" && len(p) > 10 && p[10]&0x80 != 0
	return c, true
}

// stated returns a number of H.273, 0 for the one that says that nothing is stated.
func stated(n uint8) uint8 {
	if n == 2 {
		return 0
	}
	return n
}

// Tags of the descriptors of MPEG-4 systems.
const (
	tagStream   = 3
	tagDecoder  = 4
	tagSpecific = 5
)

// descriptors reads the box esds: the codec, and the parameters of its decoder.
func (c *content) descriptors(p []byte) error {
	cut := invalid(`box "esds" is damaged`)
	if len(p) < 4 {
		return cut
	}
	p, ok := descriptor(p[4:], tagStream)
	if !ok || len(p) < 3 {
		return cut
	}
	flags, skip := p[2], 3
	if flags&0x80 != 0 {
		skip += 2
	}
	if flags&0x40 != 0 && len(p) > skip {
		skip += 1 + int(p[skip])
	}
	if flags&0x20 != 0 {
		skip += 2
	}
	if p, ok = descriptor(p[min(skip, len(p)):], tagDecoder); !ok || len(p) < 13 {
		return cut
	}
	switch p[0] {
	case 0x20:
	case 0x6c:
		c.codec = "mjpeg"
		return nil
	default:
		return unsupported(`its track of pictures has the codec "mp4v" of object type 0x%02x`, p[0])
	}
	if p, ok = descriptor(p[13:], tagSpecific); ok {
		c.setup = slices.Clone(p)
	}
	return nil
}

// descriptor returns the content of the descriptor that p begins with; false if it has another tag
// or is cut.
func descriptor(p []byte, tag byte) ([]byte, bool) {
	if len(p) < 2 || p[0] != tag {
		return nil, false
	}
	n := 0
	for i := 1; i < min(len(p), 5); i++ {
		n = n<<7 | int(p[i]&0x7f)
		if p[i]&0x80 == 0 {
			p = p[i+1:]
			return p[:min(n, len(p))], n <= len(p)
		}
	}
	return nil, false
}
