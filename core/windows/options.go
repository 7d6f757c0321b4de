package windows

import (
	"math"
	"slices"

	"deeplake/core/errs"
)

// Options say which windows there are.
type Options struct {
	FPS  float64 `json:"fps"`  // frames a second of all episodes
	Step int64   `json:"step"` // frames from one window to the next
	// the most seconds between a time and that of its frame
	Tolerance float64  `json:"tolerance"`
	Tensors   []Tensor `json:"tensors"` // those with an entry for each frame
}

// Tensor is a tensor with an entry for each frame of an episode.
type Tensor struct {
	Name string `json:"name"`
	// Times are those of the entries, in seconds from the frame of the window.
	Times []float64 `json:"times"`
	// Single delivers the entry of one time without an axis, and no padding.
	Single bool `json:"single"`
}

const (
	maxFPS     = 1e6
	maxEntries = 1 << 16 // of a tensor in a window
	maxAway    = 1 << 40 // frames of an entry from that of its window
	maxWindows = 1 << 25 // of a view: each takes three numbers of memory
)

// PadOf returns the name of the tensor that says which entries of a tensor are padding.
func PadOf(name string) string { return name + "_is_pad" }

// check refuses options that no windows of a source with some tensors can have.
func (o *Options) check(stored []string) error {
	op := errs.Op("make windows", "")
	switch {
	case !(o.FPS > 0 && o.FPS <= maxFPS):
		return op.New(errs.Invalid, "fps is %v, want a number above 0, and at most %v", o.FPS, maxFPS)
	case o.Step < 1 || o.Step > math.MaxInt32:
		return op.New(errs.Invalid, "step is %d, want 1 to %d", o.Step, math.MaxInt32)
	case !(o.Tolerance >= 0 && o.Tolerance < 1/o.FPS/2):
		return op.New(errs.Invalid, "tolerance is %v s, want less than half of a frame, %v s", o.Tolerance, 1/o.FPS/2)
	case len(o.Tensors) == 0:
		return op.New(errs.Invalid, "no tensor is named, want times of one at least")
	}
	seen := map[string]bool{}
	for _, t := range o.Tensors {
		if seen[t.Name] {
			return op.New(errs.Invalid, "tensor %q is named twice", t.Name)
		}
		seen[t.Name] = true
		switch op := errs.Op("make windows of", t.Name); {
		case !slices.Contains(stored, t.Name):
			return op.New(errs.NotFound, "there is no tensor of this name")
		case !t.Single && slices.Contains(stored, PadOf(t.Name)):
			return op.New(errs.Exists, "the dataset has a tensor %q, which is to say what is padding; rename it", PadOf(t.Name))
		}
		if _, err := o.away(t); err != nil {
			return err
		}
	}
	return nil
}

// away returns the frames of the entries of a tensor from that of the window.
func (o *Options) away(t Tensor) ([]int64, error) {
	op := errs.Op("make windows of", t.Name)
	if n := len(t.Times); n < 1 || n > maxEntries || t.Single && n != 1 {
		return nil, op.New(errs.Invalid, "there are %d times, want 1 to %d", n, maxEntries)
	}
	out := make([]int64, len(t.Times))
	for i, seconds := range t.Times {
		frames := math.Round(seconds * o.FPS)
		if !(math.Abs(frames) <= maxAway) {
			return nil, op.New(errs.Invalid, "time %v s is too far from the frame", seconds)
		}
		if off := math.Abs(seconds - frames/o.FPS); off > o.Tolerance {
			return nil, op.New(errs.Invalid, "time %v s is %.6f s from that of a frame at %v frames a second; take multiples of 1/%v s, or a larger tolerance than %v s",
				seconds, off, o.FPS, o.FPS, o.Tolerance)
		}
		out[i] = int64(frames)
	}
	return out, nil
}

// within returns the entry at frame, that many frames away, of an episode with n: the first or last
// one beyond the ends, which is padding.
func within(frame, away, n int64) (entry int64, pad bool) {
	at := frame + away
	return min(max(at, 0), n-1), at < 0 || at >= n
}
