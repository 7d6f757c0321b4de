package video

import (
	"context"
	"encoding/binary"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/media/mediatest"
)

// FuzzTable reads frames through a table that a fuzzer made, beside a real file: frames or an error
// come of it.
func FuzzTable(f *testing.F) {
	l := mediatest.FFmpeg(f, ffmpeg.Load)
	names := []string{"h264.mp4", "h264_open.mp4", "hevc_open.mp4", "vp9.mp4", "av1.mp4", "mpeg4.mp4", "mjpeg.mov", "turned.mp4", "gop250.mp4"}
	var files [][]byte
	for i, name := range names {
		file, v := fixture(f, name)
		files = append(files, file)
		raw, err := format.EncodeVideo(format.NewVideoTable(v, file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), uint16(5), raw[:len(raw)-4])
	}
	src := newSet(f, files...).open(f, "mem").source
	f.Fuzz(func(t *testing.T, which uint8, at uint16, raw []byte) {
		row := int64(which) % int64(len(files))
		r, err := Open(src, "x", func() (*ffmpeg.Library, error) { return l, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		tables := make([][]byte, len(files))
		tables[row] = binary.LittleEndian.AppendUint32(raw, format.CRC(raw))
		r.KeepTables(tables)
		sound := func(err error) bool {
			if err != nil && !errs.Is(err, errs.Corrupt) && !errs.Is(err, errs.Unsupported) && !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.Range) {
				t.Fatal(err)
			}
			return err == nil
		}
		ctx := context.Background()
		info, err := r.Info(ctx, row)
		if !sound(err) || info.Frames == 0 || info.Frames > 1<<16 || info.Width*info.Height > 1<<18 {
			return
		}
		sound(r.Times(ctx, row, make([]float64, info.Frames)))
		sound(r.At(ctx, row, []float64{0, float64(at) / 30}, make([]int64, 2)))
		last := int64(info.Frames) - 1
		list := []int64{last, int64(at) % (last + 1), 0}
		sound(r.Frames(ctx, row, list, make([]byte, 3*3*info.Width*info.Height)))
		var ref chunk.Ref
		if sound(r.Clip(ctx, row, list, &ref)) {
			w := src.NewWorker()
			defer w.Close()
			sound(r.DecodeClip(ctx, &ref, make([]byte, ref.Size), w))
		}
	})
}
