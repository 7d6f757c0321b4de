package episodes

import (
	"context"
	"math"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/parquet"
	"deeplake/core/tensor"
)

const (
	// tolerance is the most seconds between a time and the one that the number of a frame gives, as
	// in LeRobot.
	tolerance = 1e-4
	// maxEpisodeBytes bounds the values of an episode, without its videos.
	maxEpisodeBytes = 1 << 30
)

// The columns that the rows of frames are held against.
const (
	episodeIndex = "episode_index"
	frameIndex   = "frame_index"
	timestamp    = "timestamp"
	globalIndex  = "index"
	taskIndex    = "task_index"
)

// content is the values of an episode, put together from rows of a data file.
type content struct {
	of     *episode
	frames int64
	parts  []part // by features of reader
	tasks  []int64
	wrong  string // why the episode is left out; "": it is not
	bytes  int64
}

// part is the values of a feature.
type part struct {
	numbers []byte
	items   [][]byte // texts or files
}

// dataFile is a data file, whose rows are read in order.
type dataFile struct {
	set      *set
	features []feature // with values in the file
	hasTask  bool
	key      string
	only     *episode // of version 2, whose file has one episode
	by       *frames  // of version 3
	// wanted are episodes to emit, of which the file may have some. Those of seen were emitted.
	wanted, seen map[*episode]bool
	emit         func(c *content) error

	now   *content
	stray int64 // rows that belong to no episode, or come once more
}

// read reads the file, and emits the wanted episodes of which it has rows. failed says why its rows
// end early.
func (d *dataFile) read(ctx context.Context, f *files) (failed string, bytes int64, err error) {
	if failed, bytes, err = d.rows(ctx, f); err == nil {
		err = d.finish(failed)
	}
	return failed, bytes, err
}

// rows reads the rows. It returns why the file ends early, or an error that is not about the file.
func (d *dataFile) rows(ctx context.Context, f *files) (failed string, bytes int64, err error) {
	table, o, err := openTable(ctx, f, d.key)
	if err != nil {
		if bad(err) {
			return reason(err), 0, nil
		}
		return "", 0, err
	}
	names := []string{episodeIndex, frameIndex, timestamp}
	if d.only == nil {
		names = append(names, globalIndex)
	}
	if d.hasTask {
		names = append(names, taskIndex)
	}
	for _, f := range d.features {
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	for _, f := range d.features {
		if !slices.Contains(table.Columns(), f.name) {
			return errs.New(errs.Invalid, "it has no column %q, which info.json has as a feature; --columns (columns=[...]) with the others leaves it out", short(f.name)).Error(), o.size, nil
		}
	}
	var emitted error
	err = eachBatch(ctx, table, parquet.Options{Columns: names, Ahead: true}, func(b *batch) error {
		r, err := d.checked(b)
		if err == nil {
			emitted = d.take(r)
			err = emitted
		}
		return err
	})
	if err != nil && emitted == nil && ctx.Err() == nil && bad(err) {
		return reason(err), o.size, nil
	}
	return "", o.size, err
}

// checkedRows are the rows of a batch, with the numbers that they are held against.
type checkedRows struct {
	*batch
	episode, frame, index, task []int64
	time                        []float64
}

func (d *dataFile) checked(b *batch) (r *checkedRows, err error) {
	r = &checkedRows{batch: b}
	if r.episode, err = b.ints(episodeIndex); err != nil {
		return nil, err
	}
	if r.frame, err = b.ints(frameIndex); err != nil {
		return nil, err
	}
	if r.time, err = b.floats(timestamp); err != nil {
		return nil, err
	}
	if d.only == nil {
		if r.index, err = b.ints(globalIndex); err != nil {
			return nil, err
		}
	}
	if d.hasTask {
		r.task, err = b.ints(taskIndex)
	}
	return r, err
}

// episodeOf returns the episode of a row; nil: none. LeRobot goes by the numbers of frames too: its
// program that converts version 2 names a wrong file for the first episode of each one.
func (d *dataFile) episodeOf(r *checkedRows, row int64) *episode {
	if d.only != nil {
		return d.only
	}
	if i := d.by.at(r.index[row]); i >= 0 {
		return &d.set.episodes[i]
	}
	return nil
}

// take takes the rows of a batch.
func (d *dataFile) take(r *checkedRows) error {
	for from := int64(0); from < r.rows; {
		e := d.episodeOf(r, from)
		to := from + 1
		for to < r.rows && d.episodeOf(r, to) == e {
			to++
		}
		if d.now != nil && d.now.of != e {
			if err := d.finish(""); err != nil {
				return err
			}
		}
		switch {
		case e == nil || d.seen[e]:
			d.stray += to - from
		case d.now != nil:
			d.add(r, from, to)
		case d.wanted[e]:
			delete(d.wanted, e)
			d.now = &content{of: e, parts: make([]part, len(d.features))}
			d.add(r, from, to)
		}
		from = to
	}
	return nil
}

// finish emits the episode that is put together. failed says why its rows end.
func (d *dataFile) finish(failed string) error {
	c := d.now
	if c == nil {
		return nil
	}
	d.now, d.seen[c.of] = nil, true
	if n := c.of.length(); c.wrong == "" && c.frames != n {
		if c.wrong = failed; failed == "" {
			c.wrong = errs.New(errs.Invalid, "the file has %d rows of it, and the metadata say %d", c.frames, n).Error()
		}
	}
	return d.emit(c)
}

// add adds rows to the present episode, unless one of them shows that it is damaged.
func (d *dataFile) add(r *checkedRows, from, to int64) {
	c := d.now
	if c.wrong != "" {
		return
	}
	if c.wrong = d.damage(r, from, to); c.wrong != "" {
		c.drop()
		return
	}
	for i := range d.features {
		if err := c.parts[i].add(&d.features[i], r.columns[d.features[i].name].Slice(from, to-from), &c.bytes); err != nil {
			c.wrong = err.Error()
			c.drop()
			return
		}
	}
	if r.task != nil {
		for _, task := range r.task[from:to] {
			if len(c.tasks) == 0 || c.tasks[len(c.tasks)-1] != task {
				c.tasks = append(c.tasks, task)
			}
		}
	}
	c.frames += to - from
}

// drop frees the values of an episode that is left out.
func (c *content) drop() { c.parts, c.tasks, c.bytes = nil, nil, 0 }

// damage names the fault of rows of the present episode; "": they have none.
func (d *dataFile) damage(r *checkedRows, from, to int64) string {
	wrong := func(frame int64, format string, args ...any) string {
		args = append([]any{frame}, args...)
		return errs.New(errs.Invalid, "frame %d "+format, args...).Error()
	}
	for row := from; row < to; row++ {
		k := d.now.frames + row - from
		switch e := d.now.of; {
		case k >= e.length():
			return errs.New(errs.Invalid, "the file has more rows of it than the %d of the metadata", e.length()).Error()
		case r.episode[row] != e.index:
			return wrong(k, "has episode_index %d", r.episode[row])
		case r.frame[row] != k:
			return wrong(k, "has frame_index %d", r.frame[row])
		case r.index != nil && r.index[row] != e.from+k:
			return wrong(k, "has index %d, want %d", r.index[row], e.from+k)
		case !near(r.time[row], float64(k)/d.set.fps):
			return wrong(k, "has timestamp %v, want %v at %v frames a second", r.time[row], float64(k)/d.set.fps, d.set.fps)
		}
	}
	return ""
}

// near reports whether a timestamp, which LeRobot stores as float32, is that of a frame.
func near(time, want float64) bool {
	return math.Abs(time-want) <= tolerance+want*0x1p-23
}

// add adds the values of rows.
func (p *part) add(f *feature, c *arrow.Column, bytes *int64) error {
	switch f.kind {
	case numbers:
		data, err := values(c, f.dtype, f.shape)
		if err != nil {
			return err
		}
		p.numbers = append(p.numbers, data...)
		*bytes += int64(len(data))
	case text:
		all, ok := c.Texts()
		if !ok {
			return errs.New(errs.Type, "column %q has type %s, want texts", short(f.name), c.Type())
		}
		rows, err := c.Rows(tensor.Target{HType: tensor.HType{Base: "text"}, DType: tensor.String})
		if err != nil {
			return errs.New(errs.KindOf(err), "column %q: %w", short(f.name), err)
		}
		isHole := func(s tensor.Sample) bool { return s.Form == tensor.FormHole }
		if c.IsNull() || slices.Contains(rows.Missing, true) || slices.ContainsFunc(rows.Samples, isHole) {
			return errs.New(errs.Invalid, "column %q has a row without a value, which is null", short(f.name))
		}
		for _, one := range all {
			p.items = append(p.items, []byte(one))
			*bytes += int64(len(one))
		}
	case picture:
		rows, err := c.Rows(tensor.Target{HType: tensor.HType{Base: "image"}, DType: tensor.Uint8})
		if err != nil {
			return errs.New(errs.KindOf(err), "column %q: %w", short(f.name), err)
		}
		for i := range rows.Samples {
			s := &rows.Samples[i]
			if s.Form != tensor.FormEncoded || len(s.Data) == 0 {
				return errs.New(errs.Invalid, "column %q has a row without the bytes of an image", short(f.name))
			}
			p.items = append(p.items, s.Data)
			*bytes += int64(len(s.Data))
		}
		if int64(len(rows.Samples)) != c.Len() {
			return errs.New(errs.Type, "column %q has type %s, want files of images", short(f.name), c.Type())
		}
	}
	if *bytes > maxEpisodeBytes {
		return errs.New(errs.Invalid, "its values have more than %d bytes; leave features out by --columns (columns=[...])", maxEpisodeBytes)
	}
	return nil
}
