package mp4

import (
	"encoding/binary"
	"math"
	"slices"

	"deeplake/core/media"
)

const (
	// maxPart bounds the bytes of the other file: the box of the data has 64 bits of size.
	maxPart = media.MaxFile
	// maxPartFrames bounds the frames of a part, so that its head is small: 4.8 hours at 30 a
	// second.
	maxPartFrames = 1 << 19
)

// boxes are those of codecs: of the description of the packets, and of the parameters within it.
var boxes = map[string][2]string{"h264": {"avc1", "avcC"}, "hevc": {"hvc1", "hvcC"}, "av1": {"av01", "av1C"}}

var _ media.Parter = File{}

// Part makes an MP4 file of one track. Codecs other than H.264, H.265 and AV1 are errs.Unsupported,
// and so is a hidden frame among those that are shown.
func (File) Part(v *media.Video) (*media.Part, error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	w := &writer{v: v}
	if err := w.plan(); err != nil {
		return nil, err
	}
	from, to := v.Span()
	part := &media.Part{Offset: from, Bytes: to - from}
	if part.Bytes > maxPart {
		return nil, unsupported("its frames lie within %d bytes, want at most %d", part.Bytes, int64(maxPart))
	}
	// The size of the head does not depend on the offsets within it.
	part.Head = w.head(part.Bytes, 0)
	part.Head = w.head(part.Bytes, int64(len(part.Head))-from)
	placed := *v
	placed.Packets = slices.Clone(v.Packets)
	for i := range placed.Packets {
		placed.Packets[i].Offset += int64(len(part.Head)) - from
	}
	part.Tables = &placed
	return part, placed.Check()
}

// writer makes the boxes of a file.
type writer struct {
	v     *media.Video
	begin int64 // of the first shown frame
	// Times of decoding are the times of showing in order, so each is at most delay behind the time
	// at which its frame is shown.
	decoding []int64
	delay    int64
}

func (w *writer) plan() error {
	v := w.v
	if _, ok := boxes[v.Codec]; !ok {
		return unsupported("it is of codec %s, and parts are made of h264, hevc and av1; give the whole file", v.Codec)
	}
	if len(v.Setup) == 0 {
		return unsupported("it has no parameters of the decoder of %s; give the whole file", v.Codec)
	}
	if len(v.Packets) > maxPartFrames {
		return unsupported("it has %d frames, and a part has at most %d; give the whole file", len(v.Packets), maxPartFrames)
	}
	if v.Ticks > math.MaxUint32 || v.Width > math.MaxUint16 || v.Height > math.MaxUint16 {
		return unsupported("a video of %d x %d pixels and %d ticks a second, which no MP4 file has", v.Width, v.Height, v.Ticks)
	}
	shown := v.Shown()
	if len(shown) == 0 {
		return invalid("it shows no frame")
	}
	w.begin = v.Packets[shown[0]].Time
	for i := range v.Packets {
		if p := &v.Packets[i]; p.Hidden && p.Time >= w.begin && p.Time < v.End {
			return unsupported("frame %d is hidden among those that are shown; give the whole file", i)
		}
		w.decoding = append(w.decoding, v.Packets[i].Time)
	}
	slices.Sort(w.decoding)
	for i, at := range w.decoding {
		w.delay = max(w.delay, at-v.Packets[i].Time)
	}
	apart := max(v.End-w.decoding[len(w.decoding)-1], 1)
	for i := range w.decoding {
		apart = max(apart, v.Packets[i].Time-w.decoding[i]+w.delay, w.decoding[i]-w.decoding[max(i-1, 0)])
	}
	if apart > math.MaxInt32 {
		return unsupported("frames are %d ticks apart, which no MP4 file has", apart)
	}
	return nil
}

// head makes the file up to its data, of data bytes. Packets lie at their offset plus shift.
func (w *writer) head(data, shift int64) []byte {
	v := w.v
	ticks, end := uint32(v.Ticks), u64(v.End)
	const version = 1 << 24 // 1: durations have 64 bits
	b := newBox("ftyp", []byte("isom"), u32(512), []byte("isomiso6mp41"))
	mvhd := newBox("mvhd", u32(version, 0, 0, 0, 0, ticks), end, u32(1<<16), u16(1<<8), make([]byte, 10), matrix(0), make([]byte, 24), u32(2))
	tkhd := newBox("tkhd", u32(version|3, 0, 0, 0, 0, 1, 0), end, make([]byte, 16), matrix(v.Turns), u32(uint32(v.Width)<<16, uint32(v.Height)<<16))
	mdhd := newBox("mdhd", u32(version, 0, 0, 0, 0, ticks), u64(w.length()), u16(0x55c4, 0))
	hdlr := newBox("hdlr", u32(0, 0), []byte("vide"), make([]byte, 13))
	dinf := newBox("dinf", newBox("dref", u32(0, 1), newBox("url ", u32(1))))
	stbl := newBox("stbl", w.description(), w.durations(), w.offsets(), w.keys(), w.sizes(), w.chunks(shift))
	minf := newBox("minf", newBox("vmhd", u32(1, 0, 0)), dinf, stbl)
	b = append(b, newBox("moov", mvhd, newBox("trak", tkhd, newBox("edts", w.edits()), newBox("mdia", mdhd, hdlr, minf)))...)
	// A box of 64 bits of size, so that its head has one size.
	b = append(append(b, u32(1)...), "mdat"...)
	return append(b, u64(data+16)...)
}

// length is the duration of all packets.
func (w *writer) length() int64 {
	return w.decoding[len(w.decoding)-1] - w.decoding[0] + w.last()
}

// last is the duration of the last packet.
func (w *writer) last() int64 { return max(w.v.End-w.decoding[len(w.decoding)-1], 1) }

// edits shows the frames from the first shown one on, after a pause if that begins later than 0.
func (w *writer) edits() []byte {
	shown := slices.Concat(u64(w.v.End-w.begin), u64(w.begin-w.decoding[0]+w.delay), u32(1<<16))
	if w.begin <= 0 {
		return newBox("elst", u32(1<<24, 1), shown)
	}
	return newBox("elst", u32(1<<24, 2), u64(w.begin), u64(-1), u32(1<<16), shown)
}

// description is the box of the codec.
func (w *writer) description() []byte {
	v := w.v
	kinds := boxes[v.Codec]
	entry := append(make([]byte, 6), u16(1)...)
	entry = append(entry, make([]byte, 16)...)
	entry = append(entry, u16(uint16(v.Width), uint16(v.Height))...)
	entry = append(entry, u32(0x00480000, 0x00480000, 0)...) // 72 dots an inch
	entry = append(entry, u16(1)...)                         // frame a packet
	entry = append(entry, make([]byte, 32)...)               // no name
	entry = append(entry, u16(24, 0xffff)...)                // bits a pixel, no palette
	entry = append(entry, newBox(kinds[1], v.Setup)...)
	if c := v.Color; c != (media.Color{}) {
		full := byte(0)
		if c.Full {
			full = 0x80
		}
		entry = append(entry, newBox("colr", []byte("nclx"), u16(named(c.Primaries), named(c.Transfer), named(c.Matrix)), []byte{full})...)
	}
	return newBox("stsd", u32(0, 1), newBox(kinds[0], entry))
}

// named returns a number of H.273, of which 2 states nothing.
func named(n uint8) uint16 {
	if n == 0 {
		return 2
	}
	return uint16(n)
}

// durations is the time from the decoding of each packet to that of the next.
func (w *writer) durations() []byte {
	return counted("stts", len(w.decoding), func(i int) uint32 {
		if i+1 == len(w.decoding) {
			return uint32(w.last())
		}
		return uint32(w.decoding[i+1] - w.decoding[i])
	})
}

// offsets is the time from the decoding of each packet to the showing of its frame; empty where it
// is 0 for all.
func (w *writer) offsets() []byte {
	some := false
	offset := func(i int) uint32 { return uint32(w.v.Packets[i].Time - w.decoding[i] + w.delay) }
	for i := range w.decoding {
		some = some || offset(i) > 0
	}
	if !some {
		return nil
	}
	return counted("ctts", len(w.decoding), offset)
}

// keys lists the packets at which decoding begins; empty where it is all of them.
func (w *writer) keys() []byte {
	var list []uint32
	for i := range w.v.Packets {
		if w.v.Packets[i].Key {
			list = append(list, uint32(i+1))
		}
	}
	if len(list) == len(w.v.Packets) {
		return nil
	}
	return newBox("stss", u32(0, uint32(len(list))), u32(list...))
}

func (w *writer) sizes() []byte {
	list := make([]uint32, len(w.v.Packets))
	for i := range list {
		list[i] = uint32(w.v.Packets[i].Bytes)
	}
	return newBox("stsz", u32(0, 0, uint32(len(list))), u32(list...))
}

// chunks are runs of packets that follow each other in the file.
func (w *writer) chunks(shift int64) []byte {
	var first []uint32 // of each chunk: the number of its packets
	var places []byte
	end := int64(-1)
	for i := range w.v.Packets {
		p := &w.v.Packets[i]
		if p.Offset != end {
			first = append(first, 0)
			places = binary.BigEndian.AppendUint64(places, uint64(p.Offset+shift))
		}
		first[len(first)-1]++
		end = p.Offset + p.Bytes
	}
	var stsc []uint32
	for i, n := range first {
		if i == 0 || n != first[i-1] {
			stsc = append(stsc, uint32(i+1), n, 1)
		}
	}
	return append(newBox("stsc", u32(0, uint32(len(stsc)/3)), u32(stsc...)), newBox("co64", u32(0, uint32(len(first))), places)...)
}

// counted makes a box of the values of all packets, each with the number of packets in a row that
// have it.
func counted(kind string, n int, value func(i int) uint32) []byte {
	var list []uint32
	for i := range n {
		v := value(i)
		if k := len(list); k > 0 && list[k-1] == v {
			list[k-2]++
			continue
		}
		list = append(list, 1, v)
	}
	return newBox(kind, u32(0, uint32(len(list)/2)), u32(list...))
}

// matrix turns pictures clockwise.
func matrix(turns int) []byte {
	const one, minus = 1 << 16, 1<<32 - 1<<16
	m := [4][4]uint32{{one, 0, 0, one}, {0, one, minus, 0}, {minus, 0, 0, minus}, {0, minus, one, 0}}[turns]
	return u32(m[0], m[1], 0, m[2], m[3], 0, 0, 0, 1<<30)
}

func newBox(kind string, content ...[]byte) []byte {
	b := append(make([]byte, 4), kind...)
	for _, c := range content {
		b = append(b, c...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

func u32(values ...uint32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func u64(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func u16(values ...uint16) []byte {
	b := make([]byte, 0, 2*len(values))
	for _, v := range values {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return b
}
