package viz

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/read"
	"deeplake/core/tensor"
)

// Bounds of one request.
const (
	mostRows    = 1 << 13
	mostColumns = 1 << 10
	mostSamples = 1 << 18
	mostBytes   = 256 << 20 // of one sample
	mostText    = 64 << 10  // of one text
	largeBytes  = 32 << 20  // one sample of this size is in memory at a time
)

// wanted is a column of a request.
type wanted struct {
	Name   string    `json:"name"`
	Pixels int       `json:"pixels"`
	Items  *[2]int64 `json:"items"`
	Region []int64   `json:"region"` // top, left, bottom, right; nil: all
}

// sample is one record to be made.
type sample struct {
	row    int64 // of the view
	index  int64 // the row of the dataset; -1: none
	column *wantedColumn
	ref    chunk.Ref
	item   int64 // of a list
	items  int64 // of the list; -1: the sample is none
	failed error // it was not found
	// ref is of a level, whose sides are those of full divided by factor; nil: ref is the sample
	full   tensor.Shape
	factor int64
}

type wantedColumn struct {
	read.Column
	want  *wanted
	htype string
	list  bool // the htype is a list by nature
	video Videos
}

func (s *Service) samples(ctx context.Context, body []byte, to Answer) error {
	var in struct {
		ofView
		Rows    []int64  `json:"rows"`
		Columns []wanted `json:"columns"`
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return err
	}
	defer done()
	if len(in.Rows) > mostRows || len(in.Columns) > mostColumns {
		return errs.New(errs.Invalid, "read %d columns of %d rows, want at most %d of %d", len(in.Columns), len(in.Rows), mostColumns, mostRows)
	}
	for i := range in.Columns {
		if err := in.Columns[i].checkRegion(); err != nil {
			return err
		}
	}
	for _, row := range in.Rows {
		if row < 0 || row >= v.Len() {
			return errs.New(errs.Range, "read row %d, want 0 to %d", row, v.Len()-1)
		}
	}
	var all []sample
	for i := range in.Columns {
		if all, err = find(ctx, v, in.Rows, &in.Columns[i], all); err != nil {
			return err
		}
	}
	out := newRecords(to)
	if s.send(ctx, v, all, out) == nil {
		_ = out.end() // the client may be gone
	}
	return nil // the answer has begun: without its end, the page knows
}

// find appends the samples of a column.
func find(ctx context.Context, v *openView, rows []int64, want *wanted, all []sample) ([]sample, error) {
	col, err := v.Column(want.Name)
	if err != nil {
		return nil, err
	}
	c := &wantedColumn{Column: col, want: want, htype: col.Access().HType, video: v.videos}
	if h, err := tensor.ParseHType(c.htype); err == nil {
		c.htype, c.list = h.Base, h.List() && !h.Sequence
	}
	refs := make([]chunk.Ref, len(rows))
	var failed []error
	if col.Resolve(ctx, rows, refs) != nil {
		failed = make([]error, len(rows)) // row by row, so that others are shown
		for i := range rows {
			refs[i] = chunk.Ref{}
			failed[i] = col.Resolve(ctx, rows[i:i+1], refs[i:i+1])
		}
		if ctx.Err() != nil {
			return nil, errs.Cause(ctx, "read samples")
		}
	}
	levels := c.levels(v)
	for i, row := range rows {
		one := sample{row: row, index: v.Row(row), column: c, ref: refs[i], items: -1}
		if failed != nil {
			one.failed = failed[i]
		}
		if one.failed == nil {
			c.level(ctx, levels, &one)
		}
		if one.failed == nil && col.Sequence() && !one.ref.Hole() {
			if all, err = one.expand(ctx, all); err != nil {
				return nil, err
			}
		} else {
			all = append(all, one)
		}
		if len(all) > mostSamples {
			return nil, errs.New(errs.Invalid, "read more than %d samples at once; ask for fewer rows or items", mostSamples)
		}
	}
	return all, nil
}

// expand appends the wanted items of a list.
func (one sample) expand(ctx context.Context, all []sample) ([]sample, error) {
	one.items = one.ref.Items
	from, to := int64(0), min(one.items, 1)
	if w := one.column.want.Items; w != nil {
		from, to = max(w[0], 0), min(w[1], one.items)
	} else if one.column.list {
		to = one.items
	}
	if one.items > mostSamples {
		one.failed = errs.New(errs.Invalid, "the list has %d items, want at most %d", one.items, mostSamples)
		return append(all, one), nil
	}
	if one.items == 0 || from >= to {
		one.item = -1
		return append(all, one), nil
	}
	items := make([]chunk.Ref, one.items)
	if err := one.column.Items(ctx, &one.ref, items); err != nil {
		one.failed = err
		return append(all, one), nil
	}
	for i := from; i < to; i++ {
		one.item, one.ref = i, items[i]
		all = append(all, one)
	}
	return all, nil
}

// samplesPerJob is the number of neighbours that one thread reads in turn: they may share a block.
// Pictures are decoded, so that each is a job.
func samplesPerJob(c *wantedColumn) int {
	if c.Encoded() || isPicture(c.htype) || c.htype == video {
		return 1
	}
	return 16
}

// send reads samples and writes their records.
func (s *Service) send(ctx context.Context, v *openView, all []sample, out *records) error {
	var ends []int // of jobs
	for at := 0; at < len(all); {
		end := at + 1
		for n := samplesPerJob(all[at].column); end < len(all) && end-at < n && all[end].column == all[at].column; {
			end++
		}
		ends = append(ends, end)
		at = end
	}
	begin := func(k int) int {
		if k == 0 {
			return 0
		}
		return ends[k-1]
	}
	j := read.Jobs{Count: len(ends), Threads: task.Cores(), Run: func(ctx context.Context, k int, w *chunk.Worker) error {
		for i := begin(k); i < ends[k]; i++ {
			if err := s.record(ctx, &all[i], w, out); err != nil {
				return err
			}
		}
		return out.flush()
	}}
	if v.Remote() {
		j.Spans = func(k int, spans []chunk.Span) []chunk.Span {
			for i := begin(k); i < ends[k]; i++ {
				if one := &all[i]; one.failed == nil && one.readable() && one.column.want.Region == nil && !one.poster() {
					spans = one.ref.Spans(spans)
				}
			}
			return spans
		}
	}
	err := j.Do(ctx, &v.workers)
	if err == nil && ctx.Err() != nil {
		err = errs.Cause(ctx, "read samples")
	}
	return err
}

// readable reports whether the sample is there and small enough to be read.
func (one *sample) readable() bool {
	return !one.ref.Hole() && one.item >= 0 && max(one.ref.Size, one.ref.Stored) <= mostBytes
}

// poster reports whether a picture of a video is wanted, not its file.
func (one *sample) poster() bool { return one.column.htype == video && one.column.want.Pixels > 0 }

// record reads a sample and writes its record. Only errors of the connection end the others.
func (s *Service) record(ctx context.Context, one *sample, w *chunk.Worker, out *records) error {
	h := &header{Row: one.row, Index: one.index, Column: one.column.want.Name}
	if one.items >= 0 {
		h.Items = &one.items
		if one.item >= 0 {
			h.Item = &one.item
		}
	}
	var body []byte
	err := one.failed
	if err == nil {
		err = task.Call(func() (err error) {
			body, err = s.body(ctx, one, w, h)
			return err
		})
	}
	if err != nil {
		if ctx.Err() != nil {
			return errs.Cause(ctx, "read samples")
		}
		*h = header{Row: h.Row, Index: h.Index, Column: h.Column, Item: h.Item, Items: h.Items, Kind: kindError, Message: err.Error(), Reason: reasonOf(err)}
		body = nil
	}
	return out.write(h, body)
}

// body fills in the header and returns the body.
func (s *Service) body(ctx context.Context, one *sample, w *chunk.Worker, h *header) ([]byte, error) {
	ref := &one.ref
	if ref.Hole() {
		h.Kind = kindMissing
		return nil, nil
	}
	if one.item < 0 { // an empty list, or none of its items is wanted
		h.Kind = kindArray
		return nil, nil
	}
	if one.column.want.Region != nil {
		return s.regionBody(ctx, one, w, h)
	}
	size := max(ref.Size, ref.Stored)
	if one.poster() && one.column.video != nil {
		return one.posterBody(ctx, h)
	}
	if size > mostBytes || one.poster() {
		return nil, one.large(h, size)
	}
	leave, err := hold(ctx, s.large, ref.Size)
	if err != nil {
		return nil, err
	}
	defer leave()
	d := one.column.DType()
	switch {
	case isPicture(one.column.htype) && len(ref.Shape) >= 2:
		return s.pictureBody(ctx, one, w, h)
	case one.column.htype == video:
		h.Kind = kindFile
		data := make([]byte, ref.Size)
		return data, one.column.Decode(ctx, ref, data, w)
	case d == tensor.String || d == tensor.JSON || d == tensor.Bytes:
		return textBody(ctx, one, w, h)
	}
	data := make([]byte, ref.Size)
	if err := one.column.Decode(ctx, ref, data, w); err != nil {
		return nil, err
	}
	shape := ref.Shape
	if isMask(one.column.htype) && one.column.want.Pixels > 0 {
		h.Height, h.Width = shape[0], shape[1]
		data, shape = thin(data, shape, d.Size(), one.column.want.Pixels)
	}
	return h.array(d, shape, data), nil
}

// posterBody sends the facts of a video, and a picture of it if there is one.
func (one *sample) posterBody(ctx context.Context, h *header) ([]byte, error) {
	want := one.column.want
	p, err := one.column.video.Poster(ctx, want.Name, one.row, &one.ref, want.Pixels)
	h.Kind, h.Size, h.Height, h.Width = kindVideo, p.Bytes, p.Height, p.Width
	h.Codec, h.Frames, h.Seconds, h.Message, h.Media = p.Codec, p.Frames, p.Seconds, p.Reason, p.Media
	return p.File, err
}

// hold waits until no other large sample is in memory. The caller leaves when it is done.
func hold(ctx context.Context, large chan struct{}, size int64) (leave func(), err error) {
	if size <= largeBytes {
		return func() {}, nil
	}
	select {
	case large <- struct{}{}:
		return func() { <-large }, nil
	case <-ctx.Done():
		return nil, errs.Cause(ctx, "read sample")
	}
}

// large describes a sample that is not sent.
func (one *sample) large(h *header, size int64) error {
	h.Kind, h.Size = kindLarge, size
	if s := one.whole(); len(s) >= 2 && (isPicture(one.column.htype) || isMask(one.column.htype)) {
		h.Height, h.Width = s[0], s[1]
	}
	return nil
}

// textBody reads text, JSON or bytes, and cuts it.
func textBody(ctx context.Context, one *sample, w *chunk.Worker, h *header) ([]byte, error) {
	data := make([]byte, one.ref.Size)
	if err := one.column.Decode(ctx, &one.ref, data, w); err != nil {
		return nil, err
	}
	if one.column.want.Name == origin.Tensor {
		from, err := origin.Decode(data)
		h.Kind = kindText
		return []byte(from.String()), err
	}
	if len(data) > mostText {
		h.Size = int64(len(data))
		data = data[:mostText]
	}
	switch one.column.DType() {
	case tensor.String:
		h.Kind = kindText
	case tensor.JSON:
		h.Kind = kindJSON
	default:
		return h.array(tensor.Uint8, tensor.Shape{int64(len(data))}, data), nil
	}
	return data, nil
}

// video is the htype of files of video, the way in which they are drawn, and the kind of a record.
const video = "video"

func isPicture(htype string) bool { return tensor.HType{Base: htype}.IsImage() }

func isMask(htype string) bool {
	return htype == "binary_mask" || htype == "segment_mask" || htype == "instance_label"
}
