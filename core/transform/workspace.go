package transform

import (
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Workspace is the memory of one goroutine: jobs, their weights, and pixels between two stages. It
// grows to the needs of the largest pictures and is kept from job to job. It must be closed.
type Workspace struct {
	arena   arena
	jobs    []*Job
	used    int
	trace   []step
	found   []stage
	windows []span
	real    []float64
	sample  []byte    // of Bytes
	pixels  [3][]byte // of the Go code: two pictures and one in the middle of being resized
	memory  memory    // of the C code
}

// Job makes the job for one picture of dtype d and shape s, which Pipeline.Check has passed: its
// result goes to dst, of the shape that Pipeline.Shape says. Without dst, Into has to follow before
// Deliver. shrinks: the decoder can shrink.
func (ws *Workspace) Job(p *Pipeline, k Key, s tensor.Shape, shrinks bool, dst []byte) (*Job, error) {
	t, err := p.Trace(k, int(s[0]), int(s[1]), ws.trace)
	if err != nil {
		return nil, err
	}
	ws.trace = t.steps
	channels := 1
	if len(s) == 3 {
		channels = int(s[2])
	}
	j, err := ws.job(p, &t, channels, shrinks)
	if err == nil && dst != nil {
		err = j.Into(dst)
	}
	return j, err
}

// Reset ends the jobs made so far: their memory will be used again.
func (ws *Workspace) Reset() {
	for _, j := range ws.jobs[:ws.used] {
		j.forget()
	}
	ws.used = 0
	ws.arena.reset()
}

// Close frees all memory. The workspace is as new.
func (ws *Workspace) Close() {
	ws.Reset()
	ws.arena.free()
	ws.memory.free()
	*ws = Workspace{}
}

func (ws *Workspace) newJob() *Job {
	if ws.used == len(ws.jobs) {
		ws.jobs = append(ws.jobs, &Job{})
	}
	ws.used++
	return ws.jobs[ws.used-1]
}

// stages copies the stages found, last first, into the order of the work.
func (ws *Workspace) stages(found []stage) []stage {
	out := make([]stage, 0, len(found))
	for i := len(found) - 1; i >= 0; i-- {
		out = append(out, found[i])
	}
	return out
}

// axis is room for one of n samples, each of taps weights, valid until Reset.
func (ws *Workspace) axis(n, taps int) (axis, error) {
	a := axis{taps: taps}
	var err error
	if a.first, err = ws.arena.ints(n); err == nil && taps > 0 {
		a.weights, err = ws.arena.ints(n * taps)
	}
	return a, err
}

func grow(p []byte, n int) []byte {
	if cap(p) < n {
		return make([]byte, n, n+n/4)
	}
	return p[:n]
}

// check refuses pixels that are not those of the region.
func (j *Job) check(pix []byte, stride int) error {
	row := j.region.Width * j.channels
	if stride < row || len(pix) < (j.region.Height-1)*stride+row {
		return errs.New(errs.Internal, "transform %d bytes in rows of %d, want %d rows of %d", len(pix), stride, j.region.Height, row)
	}
	return nil
}

// Bytes is room for the n bytes of one sample, valid until the next call.
func (ws *Workspace) Bytes(n int) []byte {
	ws.sample = grow(ws.sample, n)
	return ws.sample
}
