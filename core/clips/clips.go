package clips

import (
	"context"
	"math"
	"math/rand/v2"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/video"
)

// The ways to place clips in a video.
const (
	Sliding = "sliding" // a clip begins Step frames behind the one before
	Random  = "random"  // Count clips begin anywhere, as the seed and the epoch draw
)

// The ways to treat a clip that reaches beyond the end of its video.
const (
	Repeat = "repeat" // the last frame is repeated; of clips that begin later, none is made
	Drop   = "drop"   // there are whole clips alone
)

// Options say which frames the clips have.
type Options struct {
	Tensor string `json:"tensor"`
	Length int64  `json:"length"` // frames of a clip
	Stride int64  `json:"stride"` // of a frame, from the one before
	// frames are those shown at so many times a second; 0: all frames
	FPS float64 `json:"fps"`

	Windows string `json:"windows"` // Sliding or Random
	// of Sliding, in frames; 0: a clip begins where the one before ends
	Step  int64  `json:"step"`
	Count int64  `json:"count"` // of Random: clips of each video
	Seed  uint64 `json:"seed"`  // of Random
	Short string `json:"short"` // Repeat or Drop
	// Frames delivers single frames without the axis of a clip. Length must be 1.
	Frames bool `json:"frames"`
}

// maxClips bounds the clips of a view: each takes two numbers of memory.
const maxClips = 1 << 25

// maxFPS bounds the frames a second.
const maxFPS = 1e6

// maxLength bounds the frames of a clip.
const maxLength = 1 << 16

func (o *Options) check() error {
	op := errs.Op("make clips of", o.Tensor)
	switch {
	case o.Length < 1 || o.Length > maxLength:
		return op.New(errs.Invalid, "length is %d frames, want 1 to %d", o.Length, maxLength)
	case o.Stride < 1 || o.Stride > math.MaxInt32:
		return op.New(errs.Invalid, "stride is %d, want 1 to %d", o.Stride, math.MaxInt32)
	case !(o.FPS >= 0 && o.FPS <= maxFPS):
		return op.New(errs.Invalid, "fps is %v, want a number above 0, and at most %v", o.FPS, maxFPS)
	case o.Step < 0 || o.Step > math.MaxInt32:
		return op.New(errs.Invalid, "step is %d, want 1 to %d", o.Step, math.MaxInt32)
	case o.Count < 0 || o.Count > maxClips || o.Count == 0 && o.Windows == Random:
		return op.New(errs.Invalid, "count is %d, want 1 to %d", o.Count, maxClips)
	case o.Frames && o.Length != 1:
		return op.New(errs.Invalid, "single frames have length 1, got %d", o.Length)
	}
	if err := errs.OneOf("windows", o.Windows, Sliding, Random); err != nil {
		return errs.Wrap(errs.Invalid, "make clips of", o.Tensor, err)
	}
	return errs.Wrap(errs.Invalid, "make clips of", o.Tensor, errs.OneOf("short", o.Short, Repeat, Drop))
}

// reach is the frames from the first of a clip to its last.
func (o *Options) reach() int64 { return (o.Length-1)*o.Stride + 1 }

// positions returns how many frames a video has for clips: all, or one for each 1/FPS s in which a
// frame is shown.
func (o *Options) positions(v video.Info) int64 {
	if o.FPS == 0 {
		return int64(v.Frames)
	}
	if v.Frames == 0 {
		return 0
	}
	return max(1, int64(min(math.Ceil((v.Duration-v.Begin)*o.FPS-1e-6), 1<<60)))
}

// last returns the last position at which a clip may begin, of n; -1: there is none.
func (o *Options) last(n int64) int64 {
	last := n - o.reach() // of a whole clip
	if o.Short == Repeat && n > 0 {
		last = max(last, 0)
	}
	return max(last, -1)
}

// mixSeed tells the seed of clips from that of the loader, which users may set to the same number.
const mixSeed = 0x9e3779b97f4a7c15 // the golden ratio of 2^64

// draw returns the first position of random clip i in an epoch, of a video with n positions.
func (o *Options) draw(in epoch, i, n int64) int64 {
	last := o.last(n)
	if last < 0 {
		return 0 // no clip was placed there
	}
	draw := rand.New(rand.NewPCG(o.Seed*mixSeed^in.seed, uint64(i)^uint64(in.number)<<32))
	return draw.Int64N(last + 1)
}

// step returns the distance of sliding clips.
func (o *Options) step() int64 {
	if o.Step == 0 {
		return o.Length * o.Stride
	}
	return o.Step
}

// count returns the number of clips of a video with n positions.
func (o *Options) count(n int64) int64 {
	last := o.last(n)
	switch {
	case last < 0:
		return 0
	case o.Windows == Random:
		return o.Count
	case o.Short == Drop:
		return last/o.step() + 1
	}
	// The last clip is the first one that shows the end, or begins at the last position before it.
	toEnd := max(0, n-o.reach()+o.step()-1) / o.step()
	return min(toEnd, (n-1)/o.step()) + 1
}

// place appends the first positions of the clips of a video with n positions.
func (o *Options) place(row, n int64, to []int64) []int64 {
	draw := rand.New(rand.NewPCG(o.Seed, uint64(row)))
	for i := range o.count(n) {
		at := i * o.step()
		if o.Windows == Random {
			at = draw.Int64N(o.last(n) + 1)
		}
		to = append(to, at)
	}
	return to
}

// Place returns the clips of all rows of a source: of each the row of its video, and its first
// position. Rows without a video have none. It reads the tables of all videos.
func Place(ctx context.Context, src loader.Source, r *video.Reader, o Options) (rows, starts []int64, err error) {
	if err := o.check(); err != nil {
		return nil, nil, err
	}
	if err := KeepTables(ctx, src, r); err != nil {
		return nil, nil, err
	}
	for row := range src.Len() {
		if ctx.Err() != nil {
			return nil, nil, errs.Cause(ctx, "make clips")
		}
		info, err := r.Info(ctx, row)
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		n := o.positions(info)
		if more := o.count(n); more > maxClips-int64(len(starts)) {
			return nil, nil, errs.Op("make clips of", o.Tensor).New(errs.Invalid, "row %d has %d clips, and a view at most %d; leave the row out, or take fewer or a larger step", row, more, maxClips)
		}
		starts = o.place(row, n, starts)
		for len(rows) < len(starts) {
			rows = append(rows, row)
		}
	}
	return rows, starts, nil
}

const (
	tablesAtOnce = 1024 // rows whose tables are read together
	// keptBytes bounds the tables that are kept in memory as they are stored. Beyond, they are read
	// again where clips need them.
	keptBytes = 256 << 20
	header    = 24 // bytes of a slice of a table
)

// KeepTables reads the tables of the first rows of a source, as far as memory allows, and gives
// them to r.
func KeepTables(ctx context.Context, src loader.Source, r *video.Reader) error {
	return keepTables(ctx, src, r, keptBytes)
}

// keepTables reads the tables of the first rows, some at a time and at most so many bytes, and
// gives them to r.
func keepTables(ctx context.Context, src loader.Source, r *video.Reader, most int64) error {
	if r.HasTables() {
		return nil
	}
	reader, err := loader.NewStoredReader(src, r.Tables())
	if err != nil {
		return err
	}
	defer reader.Close()
	var tables [][]byte
	kept := int64(0)
	sizes := make([]int64, tablesAtOnce)
	for from := int64(0); from < src.Len() && kept <= most; from += tablesAtOnce {
		to := min(from+tablesAtOnce, src.Len())
		rows := make([]int64, 0, to-from)
		for row := from; row < to; row++ {
			rows = append(rows, row)
		}
		if err := reader.Sizes(ctx, rows, sizes[:len(rows)]); err != nil {
			return err
		}
		for i := range rows {
			if kept += header + max(0, sizes[i]); kept > most {
				to = from + int64(i)
				break
			}
			if sizes[i] >= 0 {
				tables = append(tables, make([]byte, sizes[i]))
			} else {
				tables = append(tables, nil)
			}
		}
		rows = rows[:to-from]
		if err := reader.Read(ctx, rows, tables[from:to]); err != nil {
			return err
		}
	}
	r.KeepTables(tables)
	return nil
}
