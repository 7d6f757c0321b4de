//go:build cgo

package transform

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestNoMemory: what cannot be had is an error, and the arena goes on unchanged.
func TestNoMemory(t *testing.T) {
	t.Parallel()
	var a arena
	defer a.free()
	if _, err := a.ints(1 << 60); !errs.Is(err, errs.Internal) || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("%v, want out of memory", err)
	}
	if b, err := a.ints(3); err != nil || len(b) != 3 || len(a.blocks) != 1 {
		t.Errorf("afterwards: %d numbers, %v, %d blocks", len(b), err, len(a.blocks))
	}
}

// TestWeightsOfBothCodes: the vector code gives the weights of the plain one, bit by bit, where
// there is any.
func TestWeightsOfBothCodes(t *testing.T) {
	t.Parallel()
	var ws Workspace
	defer ws.Close()
	random := rand.New(rand.NewPCG(3, 4))
	laid := 0
	for round := range 2000 {
		size := 1 + random.IntN(400)
		g := grid{n: 1 + random.IntN(300), lo: random.Float64() * float64(size-1), clip: span{0, size}}
		g.hi = g.lo + random.Float64()*(float64(size)-g.lo)
		if round%3 == 0 { // whole numbers, as crops have them
			g.lo, g.hi = float64(int(g.lo)), float64(int(g.hi))+1
		}
		need := span{0, g.n}
		if round%2 == 0 {
			need.from = random.IntN(g.n)
			need.to = need.from + 1 + random.IntN(g.n-need.from)
		}
		ws.Reset()
		a, all, err := ws.weighed(bilinear, need, g, round%5 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if a.same {
			continue
		}
		begin, step := need.from, 1
		if round%5 == 0 {
			begin, step = g.n-1-need.from, -1
		}
		r := g.reach(bilinear)
		both := [2]axis{}
		for i := range both {
			both[i] = axis{first: make([]int32, need.size()), weights: make([]int32, need.size()*a.taps), taps: a.taps}
		}
		both[0].lay(&r, ws.windows, begin, step, all, ws.real)
		if both[1].layFast(&r, ws.windows, begin, step, all) {
			laid++
			if !slices.Equal(both[0].first, both[1].first) || !slices.Equal(both[0].weights, both[1].weights) {
				t.Fatalf("grid %+v, positions %+v: the codes do not agree", g, need)
			}
		}
		if !slices.Equal(both[0].first, a.first) || !slices.Equal(both[0].weights, a.weights) {
			t.Fatalf("grid %+v, positions %+v: other weights than the plain code's", g, need)
		}
	}
	if cpu.X86.HasAVX2 && laid == 0 {
		t.Error("none were made by vector code")
	}
}

// TestUnfitPixels holds that the C code checks the pixels and the stages that it is given before it
// reads.
func TestUnfitPixels(t *testing.T) {
	t.Parallel()
	var ws Workspace
	defer ws.Close()
	shape := tensor.Shape{20, 30, 3}
	specs := []string{
		`[{"op":"Resize","size":[9,11]}]`, `[{"op":"Resize","size":[9,11],"interpolation":"nearest"}]`, `[{"op":"CenterCrop","size":[9,11]},{"op":"HorizontalFlip","p":1}]`,
		`[{"op":"Resize","size":[31,11]},{"op":"ColorJitter","contrast":0.5},{"op":"Normalize","mean":[0.4],"std":[0.2]},{"op":"CHW"}]`,
	}
	for _, spec := range specs {
		for name, spoil := range map[string]func(j *Job){
			"nothing":              func(*Job) {},
			"wider region":         func(j *Job) { j.native.job.in_w++ },
			"lower region":         func(j *Job) { j.native.job.in_h-- },
			"fewer channels":       func(j *Job) { j.native.job.channels = 1 },
			"less room":            func(j *Job) { j.native.job.dst_size-- },
			"larger result":        func(j *Job) { j.native.job.h++ },
			"stage of more pixels": func(j *Job) { j.native.job.stages.in_w++ },
			"stage makes more":     func(j *Job) { j.native.job.stages.w++ },
			"place behind the end": func(j *Job) { j.stages[0].x.first[0] = 1000 },
			"place far behind":     func(j *Job) { j.stages[0].y.first[1] = 1 << 30 },
			"unknown stage":        func(j *Job) { j.native.job.stages.what = 7 },
		} {
			p := pipeline(t, spec)
			out, err := p.Shape(Key{}, shape)
			if err != nil {
				t.Fatal(err)
			}
			n, err := out.Bytes(p.DType())
			if err != nil {
				t.Fatal(err)
			}
			j, err := ws.Job(p, Key{}, shape, false, make([]byte, n))
			if err != nil {
				t.Fatal(err)
			}
			spoil(j)
			pix, stride := cutRegion(make([]byte, 20*30*3), 30, 3, j.Region())
			if err := j.Deliver(pix, stride); (err == nil) != (name == "nothing") || err != nil && !errs.Is(err, errs.Internal) {
				t.Errorf("%s, %s: %v", spec, name, err)
			}
			ws.Reset()
		}
	}
}
