package format

import (
	"encoding/binary"
	"errors"
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/media"
)

// VideoTable says where the frames of a video lie in its file. With it, a reader takes the bytes of
// some frames out of a sample, checks and decodes them, and reads nothing else of the file. It is a
// sample of the tensor that a video tensor's rows are described in.
type VideoTable struct {
	Video *media.Video
	Bytes int64 // of the file
	// Parts divide the file, from its first byte to its last. Each has a checksum, so that a range
	// of the file is checked without the rest. The table of a linked file has none: the tag of the
	// link says which bytes these are.
	Parts []VideoPart
}

// VideoPart is neighbouring bytes of a file.
type VideoPart struct {
	Bytes int64 // at least 1
	CRC   uint32
}

// Sizes of the parts of a file.
const (
	leastPart = 16 << 10 // a part ends where a key packet begins, once it has these bytes
	mostPart  = 64 << 10 // and behind any packet, once it has these
	// maxPart bounds a part, which a reader takes into memory: one packet may begin before
	// mostPart.
	maxPart = mostPart + media.MaxPacket
)

// NewVideoTable makes the table of a file that the dataset stores: with parts, such that groups of
// pictures begin with one.
func NewVideoTable(v *media.Video, file []byte) *VideoTable {
	t := &VideoTable{Video: v, Bytes: int64(len(file))}
	from := int64(0)
	cut := func(at int64) {
		t.Parts = append(t.Parts, VideoPart{Bytes: at - from, CRC: CRC(file[from:at])})
		from = at
	}
	for i := range v.Packets {
		p := &v.Packets[i]
		for p.Offset-from > mostPart { // bytes of no packet
			cut(from + mostPart)
		}
		if p.Key && p.Offset-from >= leastPart {
			cut(p.Offset)
		}
		if end := p.Offset + p.Bytes; end-from >= mostPart {
			cut(end)
		}
	}
	for t.Bytes-from > mostPart { // behind the packets, and of a file that has none
		cut(from + mostPart)
	}
	if t.Bytes > from {
		cut(t.Bytes)
	}
	return t
}

// videoKind begins a table of a video. Tables of other media will have other numbers.
const videoKind = 1

// Flags of a packet.
const (
	packetKey    = 1 << 0
	packetHidden = 1 << 1
)

// maxVideoParts bounds the parts of a file of 2^40 bytes: writers make them of 16 KiB or more.
const maxVideoParts = 1 << 26

// EncodeVideo makes the bytes of a table. A table that DecodeVideo would not take is errs.Invalid.
func EncodeVideo(t *VideoTable) ([]byte, error) {
	if t == nil || t.Video == nil {
		return nil, refused("video table", errors.New("it is nil"))
	}
	if err := t.check(); err != nil {
		return nil, refused("video table", err)
	}
	v := t.Video
	b := appendText([]byte{videoKind}, v.Codec)
	b = appendText(b, string(v.Setup))
	b = appendUvarint(appendUvarint(b, int64(v.Width)), int64(v.Height))
	b = append(b, byte(v.Turns), v.Color.Primaries, v.Color.Transfer, v.Color.Matrix, asByte(v.Color.Full))
	b = appendUvarint(appendUvarint(b, v.Ticks), v.End)
	b = appendUvarint(b, int64(len(v.Packets)))
	for i := range v.Packets {
		b = appendUvarint(b, v.Packets[i].Bytes)
	}
	end, time := int64(0), int64(0)
	for i := range v.Packets {
		b = appendSvarint(b, v.Packets[i].Offset-end)
		end = v.Packets[i].Offset + v.Packets[i].Bytes
	}
	for i := range v.Packets {
		b = appendSvarint(b, v.Packets[i].Time-time)
		time = v.Packets[i].Time
	}
	b = appendFlags(b, v.Packets)
	b = appendUvarint(appendUvarint(b, t.Bytes), int64(len(t.Parts)))
	for _, p := range t.Parts {
		b = appendUvarint(b, p.Bytes)
	}
	for _, p := range t.Parts {
		b = binary.LittleEndian.AppendUint32(b, p.CRC)
	}
	return binary.LittleEndian.AppendUint32(b, CRC(b)), nil
}

func asByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func flagsOf(p *media.Packet) byte {
	f := byte(0)
	if p.Key {
		f = packetKey
	}
	if p.Hidden {
		f |= packetHidden
	}
	return f
}

// appendFlags writes flags as runs: most packets have those of their neighbour.
func appendFlags(b []byte, packets []media.Packet) []byte {
	for i := 0; i < len(packets); {
		f, n := flagsOf(&packets[i]), 1
		for i+n < len(packets) && flagsOf(&packets[i+n]) == f {
			n++
		}
		b = appendUvarint(append(b, f), int64(n))
		i += n
	}
	return b
}

// check holds a table against its limits, and its packets against its file.
func (t *VideoTable) check() error {
	if err := t.Video.Check(); err != nil {
		return err
	}
	if t.Bytes < 1 || t.Bytes > MaxObjectBytes || len(t.Parts) > maxVideoParts {
		return fmt.Errorf("a file of %d bytes in %d parts", t.Bytes, len(t.Parts))
	}
	rest := t.Bytes
	for i, p := range t.Parts {
		if p.Bytes < 1 || p.Bytes > min(rest, maxPart) {
			return fmt.Errorf("part %d has %d bytes, %d are left, and a part has at most %d", i, p.Bytes, rest, maxPart)
		}
		rest -= p.Bytes
	}
	if rest > 0 && len(t.Parts) > 0 {
		return fmt.Errorf("%d bytes of the file are in no part", rest)
	}
	for i := range t.Video.Packets {
		if p := &t.Video.Packets[i]; p.Offset > t.Bytes || p.Bytes > t.Bytes-p.Offset {
			return fmt.Errorf("packet %d is %d bytes at %d of a file of %d", i, p.Bytes, p.Offset, t.Bytes)
		}
	}
	return nil
}

// DecodeVideo is the strict inverse of EncodeVideo. Nothing in the result is shared with raw.
func DecodeVideo(raw []byte) (*VideoTable, error) {
	t, err := decodeVideo(raw)
	return t, damaged("video table", err)
}

func decodeVideo(raw []byte) (*VideoTable, error) {
	n := len(raw) - 4
	if n < 0 {
		return nil, fmt.Errorf("it has %d bytes, too few", len(raw))
	}
	if got, want := CRC(raw[:n]), binary.LittleEndian.Uint32(raw[n:]); got != want {
		return nil, fmt.Errorf("checksum is %#08x, want %#08x", got, want)
	}
	r := reader{b: raw[:n]}
	t := r.video()
	if err := r.end(); err != nil {
		return nil, err
	}
	return t, t.check()
}

func (r *reader) video() *VideoTable {
	if kind := r.byte("kind"); r.err == nil && kind != videoKind {
		r.b, r.err = nil, errs.New(errs.Unsupported, "its kind is %d, want %d; a newer version of this library may read it", kind, videoKind)
	}
	v := &media.Video{}
	v.Codec = string(r.bytes(r.count(64, 1, "bytes of a codec"), "codec"))
	v.Setup = append([]byte(nil), r.bytes(r.count(media.MaxSetupBytes, 1, "bytes of a setup"), "setup")...)
	v.Width, v.Height = int(r.uvarint(media.MaxSide, "width")), int(r.uvarint(media.MaxSide, "height"))
	v.Turns = int(r.byte("turns"))
	v.Color.Primaries, v.Color.Transfer, v.Color.Matrix = r.byte("primaries"), r.byte("transfer"), r.byte("matrix")
	full := r.byte("range")
	if v.Color.Full = full == 1; full > 1 {
		r.fail("its range is %d, want 0 or 1", full)
	}
	v.Ticks, v.End = r.uvarint(media.MaxTicks, "ticks"), r.uvarint(media.MaxTime, "end")
	// Of each packet at least a byte of its size, one of its offset and one of its time follow.
	v.Packets = make([]media.Packet, r.count(media.MaxFrames, 3, "packets"))
	for i := range v.Packets {
		v.Packets[i].Bytes = r.uvarint(MaxObjectBytes, "bytes of a packet")
	}
	end, time := int64(0), int64(0)
	for i := range v.Packets {
		p := &v.Packets[i]
		if p.Offset = end + r.svarint("offset of a packet"); p.Offset < 0 || p.Offset > MaxObjectBytes {
			r.fail("packet %d lies at %d", i, p.Offset)
		}
		end = p.Offset + p.Bytes
	}
	for i := range v.Packets {
		if time += r.svarint("time of a packet"); time < -media.MaxTime || time > media.MaxTime {
			r.fail("packet %d is shown at %d", i, time)
		}
		v.Packets[i].Time = time
	}
	r.flags(v.Packets)
	t := &VideoTable{Video: v, Bytes: r.uvarint(MaxObjectBytes, "bytes of the file")}
	if n := r.count(maxVideoParts, 5, "parts"); n > 0 {
		t.Parts = make([]VideoPart, n)
	}
	for i := range t.Parts {
		t.Parts[i].Bytes = r.uvarint(MaxObjectBytes, "bytes of a part")
	}
	for i := range t.Parts {
		if b := r.bytes(4, "checksum of a part"); b != nil {
			t.Parts[i].CRC = binary.LittleEndian.Uint32(b)
		}
	}
	return t
}

// flags takes the runs, each as long as it can be.
func (r *reader) flags(packets []media.Packet) {
	last := byte(0xff)
	for i := 0; i < len(packets) && r.err == nil; {
		f := r.byte("flags")
		n := r.uvarint(int64(len(packets)-i), "packets of the same flags")
		if r.err == nil && (f > packetKey|packetHidden || f == last || n == 0) {
			r.fail("a run of %d packets has flags %d behind %d", n, f, last)
		}
		for k := range packets[i : i+int(n)] {
			p := &packets[i+k]
			p.Key, p.Hidden = f&packetKey != 0, f&packetHidden != 0
		}
		i, last = i+int(n), f
	}
}
