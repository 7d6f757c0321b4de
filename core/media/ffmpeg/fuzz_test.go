//go:build cgo && linux

package ffmpeg

import (
	"encoding/binary"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
)

// cut splits bytes of a fuzzer into packets. Each packet has its length in front, two bytes.
func cut(data []byte) []packet {
	var out []packet
	for len(data) > 2 {
		n := min(int(binary.LittleEndian.Uint16(data)), len(data)-2)
		out = append(out, packet{time: int64(len(out)), data: data[2 : 2+n]})
		data = data[2+n:]
	}
	return out
}

func join(packets []packet) []byte {
	var out []byte
	for _, p := range packets {
		out = binary.LittleEndian.AppendUint16(out, uint16(len(p.data)))
		out = append(out, p.data...)
	}
	return out
}

// FuzzDecode: no bytes of a file do more than make an error, and every byte of a plane is readable.
func FuzzDecode(f *testing.F) {
	l := mediatest.FFmpeg(f, Load)
	codecs := media.Codecs()
	for _, s := range streams(f) {
		f.Add(uint8(slices.Index(codecs, s.Codec)), s.Setup, join(s.Packets))
	}
	f.Fuzz(func(t *testing.T, codec uint8, setup, data []byte) {
		packets := cut(data)
		v := &media.Video{Codec: codecs[int(codec)%len(codecs)], Setup: setup}
		for _, p := range packets {
			v.Packets = append(v.Packets, media.Packet{Time: p.time})
		}
		d, err := l.Open(v, 1)
		if err != nil {
			if !errs.OfSample(err) {
				t.Fatal(err)
			}
			return
		}
		defer d.Close()
		for range 2 {
			for _, p := range packets {
				err := d.Send(p.data, p.time)
				if err == nil {
					_, err = receive(d, nil)
				}
				if err != nil && !errs.OfSample(err) {
					t.Fatal(err)
				}
			}
			_ = d.Drain()
			_, _ = receive(d, nil)
			if err := d.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
