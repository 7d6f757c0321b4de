package format

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
)

// goldenVideo is a group of pictures whose third frame is shown before the second, a frame that the
// edit list cuts away, and a gap of sound between two packets.
func goldenVideo() *VideoTable {
	return &VideoTable{
		Video: &media.Video{
			Codec: "h264", Setup: []byte("avcC"), Width: 640, Height: 360, Turns: 1, Color: media.Color{Primaries: 1, Transfer: 1, Matrix: 1},
			Ticks: 15360, End: 1536,
			Packets: []media.Packet{
				{Offset: 48, Bytes: 9000, Time: -512, Key: true, Hidden: true},
				{Offset: 9048, Bytes: 700, Time: 1024},
				{Offset: 9748, Bytes: 300, Time: 512},
				{Offset: 10560, Bytes: 8000, Time: 0, Key: true},
			},
		},
		Bytes: 18560, Parts: []VideoPart{{10560, 0x01020304}, {8000, 0x0a0b0c0d}},
	}
}

// video prints a table.
func (d *dumper) video() {
	d.field(1, "kind")
	d.text(d.uvarint("bytes of the codec"), "codec")
	d.text(d.uvarint("bytes of the setup"), "setup")
	d.uvarint("width")
	d.uvarint("height")
	d.fixed(1, "quarter turns")
	for _, name := range []string{"primaries", "transfer", "matrix", "full range"} {
		d.fixed(1, name)
	}
	d.uvarint("ticks a second")
	d.uvarint("end")
	n := d.uvarint("packets")
	for range n {
		d.uvarint("bytes of a packet")
	}
	for range n {
		d.svarint("offset behind the packet before")
	}
	for range n {
		d.svarint("time after the packet before")
	}
	for n > 0 {
		d.fixed(1, "flags")
		n -= d.uvarint("packets with these flags")
	}
	d.uvarint("bytes of the file")
	parts := d.uvarint("parts")
	for range parts {
		d.uvarint("bytes of a part")
	}
	for range parts {
		d.fixed(4, "checksum of a part")
	}
	d.crc("CRC of the table", d.data[:d.at])
}

// TestVideoTablesThatAreRefused gives tables that describe no file, and bytes that are none.
func TestVideoTablesThatAreRefused(t *testing.T) {
	t.Parallel()
	changed := func(change func(v *VideoTable)) error {
		v := goldenVideo()
		change(v)
		_, err := EncodeVideo(v)
		return err
	}
	for name, err := range map[string]error{
		"no video":          changed(func(v *VideoTable) { v.Video = nil }),
		"a codec":           changed(func(v *VideoTable) { v.Video.Codec = "theora" }),
		"no width":          changed(func(v *VideoTable) { v.Video.Width = 0 }),
		"height":            changed(func(v *VideoTable) { v.Video.Height = media.MaxSide + 1 }),
		"turns":             changed(func(v *VideoTable) { v.Video.Turns = 4 }),
		"ticks":             changed(func(v *VideoTable) { v.Video.Ticks = 0 }),
		"end":               changed(func(v *VideoTable) { v.Video.End = -1 }),
		"setup":             changed(func(v *VideoTable) { v.Video.Setup = make([]byte, media.MaxSetupBytes+1) }),
		"an empty packet":   changed(func(v *VideoTable) { v.Video.Packets[1].Bytes = 0 }),
		"a packet behind":   changed(func(v *VideoTable) { v.Video.Packets[3].Bytes++ }),
		"a packet before":   changed(func(v *VideoTable) { v.Video.Packets[0].Offset = -1 }),
		"a time":            changed(func(v *VideoTable) { v.Video.Packets[0].Time = media.MaxTime + 1 }),
		"an empty part":     changed(func(v *VideoTable) { v.Parts[1].Bytes = 0 }),
		"parts beyond 2^40": changed(func(v *VideoTable) { v.Parts[0].Bytes = MaxObjectBytes }),
		"a part is missing": changed(func(v *VideoTable) { v.Parts = v.Parts[:1] }),
		"an empty file":     changed(func(v *VideoTable) { v.Bytes, v.Parts = 0, nil }),
		"a file of 2^40":    changed(func(v *VideoTable) { v.Bytes, v.Parts = MaxObjectBytes+1, nil }),
	} {
		if !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.Unsupported) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	link := goldenVideo()
	link.Parts = nil
	if got, err := DecodeVideo(must(EncodeVideo(link))); err != nil || !reflect.DeepEqual(got, link) {
		t.Errorf("a table without parts comes back as %+v, %v", got, err)
	}
	good := must(EncodeVideo(goldenVideo()))
	for n := range good {
		if _, err := DecodeVideo(good[:n]); !refusedRight(err) {
			t.Fatalf("%d of %d bytes: got %v", n, len(good), err)
		}
	}
	if _, err := DecodeVideo(append(good[:len(good):len(good)], 0)); !errs.Is(err, errs.Corrupt) {
		t.Errorf("a byte behind it: got %v", err)
	}
}

// TestVideosAreAFeature holds that a schema with tables of videos comes back, that its record says
// so, and that one which describes no tables is refused.
func TestVideosAreAFeature(t *testing.T) {
	t.Parallel()
	with := func(change func(ts, of *TensorSchema)) (*Record, error) {
		s := one(func(ts *TensorSchema) { ts.HType, ts.DType = "video", "bytes" })
		s.Tensors = append(s.Tensors, TensorSchema{ID: id(2), Name: "_x_frames", HType: "generic", DType: "bytes", Compression: "zstd", ChunkBytes: 1 << 20, FramesOf: id(1)})
		change(&s.Tensors[1], &s.Tensors[0])
		r := goldenRecord()
		r.Schema, r.Columns, r.Ops, r.Features = s, nil, nil, s.Features()
		data, err := EncodeRecord(r)
		if err != nil {
			return nil, err
		}
		return DecodeRecord(data)
	}
	got, err := with(func(_, _ *TensorSchema) {})
	if err != nil || !reflect.DeepEqual(got.Features, []string{FeatureVideos}) || got.Schema.Tensors[1].FramesOf != id(1) {
		t.Errorf("it comes back as %+v, %v", got, err)
	}
	for name, change := range map[string]func(ts, of *TensorSchema){
		"of itself":       func(ts, _ *TensorSchema) { ts.FramesOf = ts.ID },
		"of numbers":      func(ts, _ *TensorSchema) { ts.DType = "uint8" },
		"not hidden":      func(ts, _ *TensorSchema) { ts.Name = "frames" },
		"of no videos":    func(_, of *TensorSchema) { of.HType, of.DType = "generic", "int64" },
		"of each other":   func(ts, of *TensorSchema) { ts.HType, of.Name, of.FramesOf = "video", "_x", ts.ID },
		"a level as well": func(ts, _ *TensorSchema) { ts.Reduces = &Reduction{Tensor: id(1), Factor: 2} },
	} {
		if _, err := with(change); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func FuzzDecodeVideo(f *testing.F) {
	f.Add(must(EncodeVideo(goldenVideo())))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(data) - 4; n >= 0 { // make the checksum right
			data = binary.LittleEndian.AppendUint32(bytes.Clone(data[:n]), CRC(data[:n]))
		}
		stable(t, data, DecodeVideo, EncodeVideo)
	})
}

// TestPartsOfGaps: bytes of no packet are cut into parts, too, which a reader has in memory.
func TestPartsOfGaps(t *testing.T) {
	t.Parallel()
	v := *goldenVideo().Video
	const gap = 5<<20 + 3
	v.Packets = []media.Packet{
		{Offset: 48, Bytes: 9000, Key: true},
		{Offset: 48 + 9000 + gap, Bytes: 100_000, Time: 512},
		{Offset: 48 + 9000 + gap + 100_000 + gap, Bytes: 1, Time: 1024},
	}
	file := make([]byte, v.Packets[2].Offset+1+gap)
	table := NewVideoTable(&v, file)
	var sum int64
	for _, p := range table.Parts {
		if p.Bytes < 1 || p.Bytes > mostPart+100_000 {
			t.Errorf("a part has %d bytes", p.Bytes)
		}
		sum += p.Bytes
	}
	if sum != int64(len(file)) {
		t.Errorf("the parts have %d bytes, the file has %d", sum, len(file))
	}
}
