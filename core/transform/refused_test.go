package transform

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestSpecIsRefused: errors of impossible specs name the step, the parameter and its value.
func TestSpecIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, want string }{
		"a boolean":        {`true`, "a transform is true or false, want an object"},
		"no boolean":       {`false`, "a transform is true or false, want an object"},
		"a number":         {`7`, "a transform is a number, want an object"},
		"null":             {`{"op":"HorizontalFlip","p":null}`, "HorizontalFlip: p is null, want a number"},
		"null, other case": {`{"op":"HorizontalFlip","P":null}`, "HorizontalFlip: p is null, want a number"},
		"null for a name":  {`{"op":"Resize","size":8,"interpolation":null}`, "interpolation is null, want a string"},
		"null for a flag":  {`{"op":"ToFloat","scale":null}`, "scale is null, want true or false"},
		"a flag for sizes": {`{"op":"CenterCrop","size":true}`, "got true, want a number"},
		"too much to fill": {`{"op":"Pad","padding":1,"fill":[1,2,3,4,5,6,7,8,9]}`, "of at most 8"},
	} {
		var o Op
		if err := json.Unmarshal([]byte(c.spec), &o); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, spec := range map[string]string{
		"no longest side": `{"op":"Resize","size":8,"max_size":null}`,
		"no padding":      `{"op":"RandomCrop","size":8,"padding":null,"fill":null}`,
		"no jitter":       `{"op":"ColorJitter","brightness":null,"contrast":0.5}`,
	} {
		if err := json.Unmarshal([]byte(spec), &Op{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFillIsOneOrOneForEachChannel accepts one value or one for each channel. It refuses other
// lists, which used to be repeated or cut.
func TestFillIsOneOrOneForEachChannel(t *testing.T) {
	t.Parallel()
	eight := `[1,2,3,4,5,6,7,8]`
	for name, c := range map[string]struct {
		fill  string
		shape tensor.Shape
		ok    bool
	}{
		"none":                   {`[]`, tensor.Shape{5, 5, 3}, true},
		"one":                    {`9`, tensor.Shape{5, 5, 3}, true},
		"one for many channels":  {`9`, tensor.Shape{5, 5, 12}, true},
		"one for each":           {`[1,2,3]`, tensor.Shape{5, 5, 3}, true},
		"eight for eight":        {eight, tensor.Shape{5, 5, 8}, true},
		"one, gray":              {`[4]`, tensor.Shape{5, 5}, true},
		"three, gray":            {`[1,2,3]`, tensor.Shape{5, 5}, false},
		"two for three":          {`[1,2]`, tensor.Shape{5, 5, 3}, false},
		"eight for nine":         {eight, tensor.Shape{5, 5, 9}, false},
		"eight for so many more": {eight, tensor.Shape{5, 5, 16}, false},
	} {
		for _, op := range []string{`{"op":"Pad","padding":2,"fill":` + c.fill + `}`, `{"op":"RandomCrop","size":7,"padding":2,"fill":` + c.fill + `}`} {
			err := pipeline(t, `[`+op+`]`).Check(tensor.Uint8, c.shape)
			if c.ok && err != nil || !c.ok && (!errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "fill has")) {
				t.Errorf("%s: %s of %s: %v, want it to be taken: %v", name, op, c.shape, err, c.ok)
			}
		}
	}
}

// TestFillOfManyChannels: one number fills all of them, in C and in Go.
func TestFillOfManyChannels(t *testing.T) {
	t.Parallel()
	var ws Workspace
	defer ws.Close()
	agree(t, &ws, `[{"op":"Pad","padding":2,"fill":9}]`, tensor.Shape{3, 4, 12}, Key{}, rand.New(rand.NewPCG(3, 3)))
	p := pipeline(t, `[{"op":"Pad","padding":1,"fill":9}]`)
	dst := make([]byte, 3*3*12)
	j, err := ws.Job(p, Key{}, tensor.Shape{1, 1, 12}, false, dst)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Deliver(make([]byte, 12), 12); err != nil {
		t.Fatal(err)
	}
	for i, v := range dst {
		if inside := i/12 == 4; inside != (v == 0) || !inside && v != 9 {
			t.Fatalf("byte %d is %d", i, v)
		}
	}
}

// TestShapeRefusesWhatTheJobWould: so that no memory is laid out for a picture that cannot be made.
func TestShapeRefusesWhatTheJobWould(t *testing.T) {
	t.Parallel()
	var ws Workspace
	defer ws.Close()
	long := tensor.Shape{1, 1 << 20, 3}
	for name, spec := range map[string]string{
		"resize":               `[{"op":"Resize","size":64}]`,
		"resize and crop":      `[{"op":"Resize","size":64},{"op":"CenterCrop","size":8}]`,
		"resize, then resize":  `[{"op":"Resize","size":64},{"op":"Resize","size":[8,8]}]`,
		"crop that is too big": `[{"op":"RandomCrop","size":64}]`,
	} {
		p := pipeline(t, spec)
		_, shaped := p.Shape(Key{}, long)
		_, made := ws.Job(p, Key{}, long, false, make([]byte, 8*8*3))
		if !errs.Is(shaped, errs.Type) || !errs.Is(made, errs.Type) {
			t.Errorf("%s: Shape says %v, Job says %v, want both to refuse it", name, shaped, made)
		}
	}
}

// TestPicturesBetweenStepsAreBounded: the parameters of a spec must not be able to ask for all
// memory there is, and where a small part of a large picture is enough, only that is made.
func TestPicturesBetweenStepsAreBounded(t *testing.T) {
	t.Parallel()
	var ws Workspace
	defer ws.Close()
	const jitter = `{"op":"ColorJitter","contrast":[0.5,0.6]}`
	for name, c := range map[string]struct {
		spec string
		ok   bool
	}{
		"resized twice":           {`[{"op":"Resize","size":[1000000,1000000]},` + jitter + `,{"op":"CenterCrop","size":4}]`, false},
		"padded, then resized":    {`[{"op":"Pad","padding":500000},{"op":"Resize","size":[4,4]}]`, false},
		"a row, then a column":    {`[{"op":"Resize","size":[2,1000000]},{"op":"Resize","size":[1000000,2]},` + jitter + `,{"op":"CenterCrop","size":4}]`, true},
		"a part of a large one":   {`[{"op":"Resize","size":[1000000,1000000]},{"op":"CenterCrop","size":4}]`, true},
		"a corner of the padding": {`[{"op":"Pad","padding":500000},{"op":"CenterCrop","size":4}]`, true},
	} {
		p := pipeline(t, c.spec)
		dst := make([]byte, 4*4*3)
		j, err := ws.Job(p, Key{}, tensor.Shape{20, 20, 3}, false, dst)
		if !c.ok {
			if !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "between two steps") {
				t.Errorf("%s: %v, want it to be refused", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		part, stride := cutRegion(make([]byte, 20*20*3), 20, 3, j.Region())
		if err := j.Deliver(part, stride); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		ws.Reset()
	}
}
