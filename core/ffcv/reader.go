package ffcv

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"image"
	"image/png"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

const (
	modeJPEG = 0
	modeRaw  = 1

	// blockBytes are read of records and of the table at once.
	blockBytes = 1 << 20
	// windowBytes of values are read together, with others between them: a request across a network
	// costs more than gapBytes, one on a disk more than gapLocal.
	windowBytes = 16 << 20
	gapBytes    = 64 << 10
	gapLocal    = 4 << 10
	// rangeBytes bound a range, unless a value has more, and requests those at once.
	rangeBytes = 4 << 20
	requests   = 8
)

// Reader reads the samples of a file. One goroutine at a time may use it.
type Reader struct {
	*gather.Reader
	samples *samples
}

// Next returns the next samples, nil behind the last one. Its memory stays valid.
func (r *Reader) Next(ctx context.Context) (*arrow.Batch, error) {
	for {
		more, err := r.samples.load(ctx)
		if err != nil || !more {
			return nil, err
		}
		if b, err := r.Reader.Next(ctx); b != nil || err != nil {
			return b, err
		}
	}
}

// value is where a value of a sample lies.
type value struct {
	at, size      int64 // in the file; size 0: nothing is read
	height, width int64 // of pixels
	isRaw         bool
	data          []byte
}

// sample is the values of a sample by field.
type sample struct {
	values []value
	err    error // of this sample alone
}

// samples is a file as a source of rows. They are read in windows.
type samples struct {
	file     *File
	wanted   []bool // fields
	forms    []form // of fields of images
	most     int64  // bytes of a window
	parallel bool

	n      int64 // the next sample
	first  int64 // of the block of records
	block  []byte
	window []sample // from n on
	now    sample
	taken  int64 // bytes of values so far
}

func (f *File) samples(ctx context.Context, o gather.Options) (*samples, error) {
	s := &samples{file: f, wanted: make([]bool, len(f.fields)), forms: make([]form, len(f.fields)), n: min(o.From, f.rows), most: windowBytes}
	if o.Most > 0 {
		s.most = o.Most
	}
	for i := range f.fields {
		one := &f.fields[i]
		s.wanted[i] = o.Columns == nil || slices.Contains(o.Columns, one.name)
		if s.wanted[i] && one.kind == kindImage {
			var err error
			if s.forms[i], err = f.imageForm(ctx, one); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// load reads the values of the next samples; more is false behind the last one.
func (s *samples) load(ctx context.Context) (more bool, err error) {
	if len(s.window) > 0 || s.n >= s.file.rows {
		return len(s.window) > 0, nil
	}
	total := int64(0)
	for n := s.n; n < s.file.rows && (total < s.most || len(s.window) == 0); n++ {
		record, err := s.recordOf(ctx, n)
		if err != nil {
			return false, err
		}
		if n > s.n && record == nil {
			break // of the next block
		}
		one, err := s.look(ctx, record)
		if err != nil {
			return false, err
		}
		for i := range one.values {
			total += one.values[i].size
		}
		total += s.file.record
		s.window = append(s.window, one)
	}
	if s.taken += total - s.file.record*int64(len(s.window)); s.taken > s.file.table-s.file.data {
		return false, errs.New(errs.Corrupt, "its values have %d bytes so far, and its pages %d: some overlap", s.taken, s.file.table-s.file.data)
	}
	return true, s.fetch(ctx)
}

// recordOf returns the record of a sample; nil: it is of the next block, and samples of the present
// one wait.
func (s *samples) recordOf(ctx context.Context, n int64) ([]byte, error) {
	f := s.file
	in := func() bool { return n >= s.first && (n-s.first+1)*f.record <= int64(len(s.block)) }
	if !in() {
		if len(s.window) > 0 {
			return nil, nil
		}
		s.first, s.block = n, make([]byte, min(max(1, blockBytes/f.record), f.rows-n)*f.record)
		if err := f.from.ReadAt(ctx, s.block, f.records+n*f.record); err != nil {
			return nil, err
		}
	}
	return s.block[(n-s.first)*f.record:][:f.record], nil
}

// look finds the values of a record.
func (s *samples) look(ctx context.Context, record []byte) (sample, error) {
	f, le := s.file, binary.LittleEndian
	out := sample{values: make([]value, len(f.fields))}
	for i := range f.fields {
		if !s.wanted[i] {
			continue
		}
		one, v, p := &f.fields[i], &out.values[i], record[f.fields[i].at:]
		place, size := uint64(0), uint64(0)
		switch one.kind {
		case kindFloat, kindInt:
			v.data = p[:8:8]
			continue
		case kindBytes, kindJSON:
			place, size = le.Uint64(p), le.Uint64(p[8:])
		case kindArray, kindTensor:
			place, size = le.Uint64(p), uint64(one.bytes)
		case kindImage:
			v.width, v.height, place = int64(le.Uint16(p[1:])), int64(le.Uint16(p[3:])), le.Uint64(p[5:])
			switch p[0] {
			case modeRaw:
				v.isRaw, size = true, uint64(v.width*v.height*3)
			case modeJPEG:
				all, err := f.allocated(ctx)
				if err != nil {
					return out, err
				}
				known := int64(-1)
				if place <= uint64(f.table) {
					known = all.size(int64(place))
				}
				if known < 0 {
					out.wrong(errs.New(errs.Corrupt, "has a JPEG file at byte %d, where the table of allocations has none, in field %q", place, one.name))
					continue
				}
				size = uint64(known)
			default:
				out.wrong(errs.New(errs.Unsupported, "has an image of mode %d, want 0 (JPEG) or 1 (pixels), in field %q", p[0], one.name))
				continue
			}
		}
		switch {
		case size == 0: // FFCV gives such a value no place
		case size > uint64(f.page) || size > maxValue:
			out.wrong(errs.New(errs.Corrupt, "has a value of %d bytes, want at most %d, in field %q", size, min(f.page, maxValue), one.name))
		case place < uint64(f.data) || place > uint64(f.table) || size > uint64(f.table)-place:
			out.wrong(errs.New(errs.Corrupt, "has a value of %d bytes at byte %d, and the pages are bytes %d to %d, in field %q", size, place, f.data, f.table, one.name))
		default:
			v.at, v.size = int64(place), int64(size)
		}
	}
	if out.err != nil {
		for i := range out.values {
			out.values[i] = value{}
		}
	}
	return out, nil
}

// wrong keeps the first error of a sample.
func (s *sample) wrong(err error) { s.err = cmp.Or(s.err, err) }

// span is a range of the file with values.
type span struct {
	from, to int64
	wanted   int64 // bytes of values
	values   []*value
}

// fetch reads the values of the window: neighbours by one range.
func (s *samples) fetch(ctx context.Context) error {
	var all, pictures []*value
	for k := range s.window {
		for i := range s.window[k].values {
			v := &s.window[k].values[i]
			if v.size > 0 {
				all = append(all, v)
			}
			if v.size > 0 && v.isRaw && s.forms[i] == formMixed {
				pictures = append(pictures, v)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *value) int { return cmp.Compare(a.at, b.at) })
	limit, gap := 1, int64(gapLocal)
	if s.parallel {
		limit, gap = requests, gapBytes
	}
	var spans []*span
	for _, v := range all {
		last := len(spans) - 1
		if last < 0 || v.at > spans[last].to+gap || max(v.at+v.size, spans[last].to)-spans[last].from > rangeBytes {
			spans = append(spans, &span{from: v.at, to: v.at})
			last++
		}
		to := spans[last]
		to.to, to.wanted = max(to.to, v.at+v.size), to.wanted+v.size
		to.values = append(to.values, v)
	}
	g := task.New(ctx, limit)
	for _, one := range spans {
		g.Go(func(ctx context.Context) error {
			p := make([]byte, one.to-one.from)
			if err := s.file.from.ReadAt(ctx, p, one.from); err != nil {
				return err
			}
			for _, v := range one.values {
				// A window has many ranges: what lies between the values of a sparse one is let go.
				if v.data = p[v.at-one.from:][:v.size:v.size]; one.wanted < int64(len(p))/2 {
					v.data = slices.Clone(v.data)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	g = task.New(ctx, task.Cores())
	for _, v := range pictures {
		g.Go(func(context.Context) (err error) {
			v.data, err = fileOf(v)
			return err
		})
	}
	return g.Wait()
}

// fileOf makes a PNG file of pixels. Files and pixels of one field are so one column of files.
func fileOf(v *value) ([]byte, error) {
	picture := image.NewRGBA(image.Rect(0, 0, int(v.width), int(v.height)))
	for at := 0; 3*at < len(v.data); at++ {
		copy(picture.Pix[4*at:], v.data[3*at:][:3])
		picture.Pix[4*at+3] = 0xff
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, picture); err != nil {
		return nil, errs.New(errs.Internal, "an image cannot be encoded: %w", err)
	}
	return out.Bytes(), nil
}

// Columns are the names of the fields.
func (s *samples) Columns() []string { return s.file.Columns() }

// NewColumn makes the collector of a field.
func (s *samples) NewColumn(i int) (gather.Column, error) { return s.newColumn(i) }

// Position is the number of the next sample.
func (s *samples) Position() int64 { return s.n }

// Skip passes over samples, at most those before the sample from.
func (s *samples) Skip(from int64) (ok bool, err error) {
	if s.n >= s.file.rows {
		return false, nil
	}
	s.n, s.window = min(from, s.file.rows), nil
	return true, nil
}

// Next returns the values of the next sample of the window.
func (s *samples) Next() (row gather.Row, ok bool, err error) {
	if len(s.window) == 0 {
		return row, false, nil
	}
	s.now, s.window = s.window[0], s.window[1:]
	s.n++
	row = gather.Row{At: -1, Bytes: s.file.record}
	if s.now.err != nil {
		return row, true, s.now.err
	}
	for i := range s.now.values {
		v, one := &s.now.values[i], &s.file.fields[i]
		row.Bytes += v.size
		at := v.at
		switch {
		case one.kind == kindJSON && s.wanted[i]:
			plain, _, ended := bytes.Cut(v.data, []byte{0})
			if !ended {
				return row, true, errs.New(errs.Corrupt, "has JSON that does not end by a NUL, in field %q", one.name)
			}
			v.data = plain
		case v.isRaw || v.size == 0:
			at = -1
		case one.swapped:
			v.data = swapped(v.data, one.dtype.Size())
		}
		row.Values, row.Each = append(row.Values, v.data), append(row.Each, at)
	}
	return row, true, nil
}

// swapped returns numbers of a size in the other order of bytes.
func swapped(p []byte, size int) []byte {
	out := slices.Clone(p)
	for at := 0; at < len(out); at += size {
		slices.Reverse(out[at : at+size])
	}
	return out
}

// Words are those of messages.
func (s *samples) Words() (row, column string) { return "sample", "field" }
