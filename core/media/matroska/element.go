package matroska

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// id is the kind of an element, with the bits that tell its length.
type id uint32

// The elements that are visited.
const (
	idHeader         id = 0x1a45dfa3
	idMaxIDLength    id = 0x42f2
	idMaxSizeLength  id = 0x42f3
	idDocType        id = 0x4282
	idDocReadVersion id = 0x4285

	idSegment     id = 0x18538067
	idSeekHead    id = 0x114d9b74
	idInfo        id = 0x1549a966
	idTracks      id = 0x1654ae6b
	idCluster     id = 0x1f43b675
	idCues        id = 0x1c53bb6b
	idTags        id = 0x1254c367
	idAttachments id = 0x1941a469
	idChapters    id = 0x1043a770

	idSeek         id = 0x4dbb
	idSeekID       id = 0x53ab
	idSeekPosition id = 0x53ac

	idTimestampScale id = 0x2ad7b1
	idDuration       id = 0x4489

	idTrackEntry      id = 0xae
	idTrackNumber     id = 0xd7
	idTrackType       id = 0x83
	idFlagEnabled     id = 0xb9
	idFlagDefault     id = 0x88
	idDefaultDuration id = 0x23e383
	idTrackScale      id = 0x23314f
	idCodecID         id = 0x86
	idCodecPrivate    id = 0x63a2
	idTrackOperation  id = 0xe2

	idEncodings  id = 0x6d80
	idEncoding   id = 0x6240
	idType       id = 0x5033
	idCompress   id = 0x5034
	idAlgorithm  id = 0x4254
	idSettings   id = 0x4255
	idEncryption id = 0x5035

	idVideo          id = 0xe0
	idPixelWidth     id = 0xb0
	idPixelHeight    id = 0xba
	idColour         id = 0x55b0
	idMatrix         id = 0x55b1
	idRange          id = 0x55b9
	idTransfer       id = 0x55ba
	idPrimaries      id = 0x55bb
	idProjection     id = 0x7670
	idProjectionType id = 0x7671
	idYaw            id = 0x7673
	idPitch          id = 0x7674
	idRoll           id = 0x7675

	idTimestamp      id = 0xe7
	idSimpleBlock    id = 0xa3
	idBlockGroup     id = 0xa0
	idBlock          id = 0xa1
	idBlockDuration  id = 0x9b
	idReferenceBlock id = 0xfb
	idEncryptedBlock id = 0xaf
)

// names are those that errors have.
var names = map[id]string{
	idHeader: "EBML", idMaxIDLength: "EBMLMaxIDLength", idMaxSizeLength: "EBMLMaxSizeLength", idDocType: "DocType",
	idDocReadVersion: "DocTypeReadVersion", idSegment: "Segment", idSeekHead: "SeekHead", idInfo: "Info",
	idTracks: "Tracks", idCluster: "Cluster", idCues: "Cues", idTags: "Tags", idAttachments: "Attachments",
	idChapters: "Chapters", idSeek: "Seek", idSeekID: "SeekID", idSeekPosition: "SeekPosition",
	idTimestampScale: "TimestampScale", idDuration: "Duration", idTrackEntry: "TrackEntry",
	idTrackNumber: "TrackNumber", idTrackType: "TrackType", idFlagEnabled: "FlagEnabled",
	idFlagDefault: "FlagDefault", idDefaultDuration: "DefaultDuration", idTrackScale: "TrackTimestampScale",
	idCodecID: "CodecID", idCodecPrivate: "CodecPrivate", idTrackOperation: "TrackOperation",
	idEncodings: "ContentEncodings", idEncoding: "ContentEncoding", idType: "ContentEncodingType",
	idCompress: "ContentCompression", idAlgorithm: "ContentCompAlgo", idSettings: "ContentCompSettings",
	idEncryption: "ContentEncryption", idVideo: "Video", idPixelWidth: "PixelWidth", idPixelHeight: "PixelHeight",
	idColour: "Colour", idMatrix: "MatrixCoefficients", idRange: "Range", idTransfer: "TransferCharacteristics",
	idPrimaries: "Primaries", idProjection: "Projection", idProjectionType: "ProjectionType",
	idYaw: "ProjectionPoseYaw", idPitch: "ProjectionPosePitch", idRoll: "ProjectionPoseRoll",
	idTimestamp: "Timestamp", idSimpleBlock: "SimpleBlock", idBlockGroup: "BlockGroup", idBlock: "Block",
	idBlockDuration: "BlockDuration", idReferenceBlock: "ReferenceBlock", idEncryptedBlock: "EncryptedBlock",
}

// String is the name of a kind that is visited, else its number.
func (k id) String() string {
	if name := names[k]; name != "" {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("0x%X", uint32(k))
}

// top reports whether elements of the kind lie in a segment or beside it. A cluster that states no
// size ends where one of them begins.
func (k id) top() bool {
	switch k {
	case idHeader, idSegment, idSeekHead, idInfo, idTracks, idCluster, idCues, idTags, idAttachments, idChapters:
		return true
	}
	return false
}

// headBytes are the most of the head of an element.
const headBytes = 4 + 8

// newID reads the id that p begins with, and returns its bytes: 0 if there is none.
func newID(p []byte) (k id, n int) {
	if len(p) == 0 {
		return 0, 0
	}
	n = bits.LeadingZeros8(p[0]) + 1
	if n > 4 || n > len(p) {
		return 0, 0
	}
	for _, c := range p[:n] {
		k = k<<8 | id(c)
	}
	return k, n
}

// unknown is the size of an element that states none.
const unknown = -1

// newSize reads the number of variable length that p begins with, and returns its bytes: 0 if there
// is none.
func newSize(p []byte) (size int64, n int) {
	if len(p) == 0 {
		return 0, 0
	}
	n = bits.LeadingZeros8(p[0]) + 1
	if n > 8 || n > len(p) {
		return 0, 0
	}
	v := uint64(p[0]) & (1<<(8-n) - 1)
	for _, c := range p[1:n] {
		v = v<<8 | uint64(c)
	}
	if v == 1<<(7*n)-1 {
		return unknown, n
	}
	return int64(v), n
}

// element is one of a file.
type element struct {
	id        id
	off       int64
	body, end int64 // of its content
	open      bool  // states no size: end is that of its parent
}

// parse reads the head of the element at off, which p begins with; false if there is none. An
// element without a size has open and no end.
func parse(p []byte, off int64) (element, bool) {
	k, n := newID(p)
	size, m := newSize(p[n:])
	if n == 0 || m == 0 {
		return element{off: off}, false
	}
	body := off + int64(n+m)
	return element{id: k, off: off, body: body, end: body + max(size, 0), open: size == unknown}, true
}

// each calls f with the elements of p, the content of parent.
func (parent element) each(p []byte, f func(e element, body []byte) error) error {
	for off := parent.body; len(p) > 0; {
		e, ok := parse(p, off)
		switch left := off + int64(len(p)); {
		case !ok:
			return invalid("element %v has no element at byte %d, where one must begin", parent.id, off)
		case e.open:
			return invalid("element %v at byte %d states no size", e.id, off)
		case e.end > left:
			return invalid("element %v at byte %d has %d bytes, and element %v ends at byte %d", e.id, off, e.end-e.body, parent.id, left)
		}
		if err := f(e, p[e.body-off:e.end-off]); err != nil {
			return err
		}
		p, off = p[e.end-off:], e.end
	}
	return nil
}

// number takes an integer without sign.
func (e element) number(p []byte, to *uint64) error {
	if len(p) > 8 {
		return invalid("element %v at byte %d has %d bytes, want a number", e.id, e.off, len(p))
	}
	*to = 0
	for _, c := range p {
		*to = *to<<8 | uint64(c)
	}
	return nil
}

// flag takes an integer as a truth.
func (e element) flag(p []byte, to *bool) error {
	var n uint64
	err := e.number(p, &n)
	*to = n != 0
	return err
}

// float takes a number.
func (e element) float(p []byte, to *float64) error {
	switch len(p) {
	case 0:
		*to = 0
	case 4:
		*to = float64(math.Float32frombits(binary.BigEndian.Uint32(p)))
	case 8:
		*to = math.Float64frombits(binary.BigEndian.Uint64(p))
	default:
		return invalid("element %v at byte %d has %d bytes, want a number of 4 or 8", e.id, e.off, len(p))
	}
	return nil
}

// text returns a text, which zero bytes may fill up.
func text(p []byte) string {
	s, _, _ := strings.Cut(string(p), "\x00")
	return s
}
