package transform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"deeplake/core/tensor"
)

func pipeline(t testing.TB, spec string) *Pipeline {
	t.Helper()
	var s Spec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	p, err := New("images", s)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return p
}

// someSpec draws a pipeline of up to five steps.
func someSpec(rng *rand.Rand) string {
	side := func() int { return 1 + rng.IntN(40) }
	filters := filterNames
	spec := "["
	for range rng.IntN(5) {
		switch f := filters[rng.IntN(len(filters))]; rng.IntN(8) {
		case 0:
			spec += fmt.Sprintf(`{"op":"RandomResizedCrop","size":[%d,%d],"interpolation":%q},`, side(), side(), f)
		case 1:
			spec += fmt.Sprintf(`{"op":"Resize","size":[%d,%d],"interpolation":%q},`, side(), side(), f)
		case 2:
			spec += fmt.Sprintf(`{"op":"CenterCrop","size":[%d,%d]},`, side(), side())
		case 3:
			spec += fmt.Sprintf(`{"op":"RandomCrop","size":[%d,%d],"padding":[%d,1,2,3],"pad_if_needed":true,"fill":[7]},`, side(), side(), rng.IntN(5))
		case 4:
			spec += `{"op":"Pad","padding":[3,0],"padding_mode":"edge"},`
		case 5:
			spec += `{"op":"HorizontalFlip"},`
		case 6:
			spec += `{"op":"VerticalFlip","p":0.7},`
		case 7:
			spec += `{"op":"ColorJitter","brightness":0.4,"contrast":0.5,"saturation":0.6},`
		}
	}
	switch rng.IntN(4) {
	case 0:
		spec += `{"op":"Normalize","mean":[0.4],"std":[0.2]},`
	case 1:
		spec += `{"op":"ToFloat","bits":"bf16"},`
	case 2:
		spec += `{"op":"ToFloat","bits":"16"},{"op":"Normalize","mean":[0.4],"std":[0.2]},`
	}
	if rng.IntN(2) == 0 {
		spec += `{"op":"CHW"},`
	}
	return strings.TrimSuffix(spec, ",") + "]"
}

func cutRegion(pix []byte, w, c int, r Region) ([]byte, int) {
	return pix[(r.Y*w+r.X)*c : ((r.Y+r.Height-1)*w+r.X+r.Width)*c], w * c
}

// TestBothCodesAgree runs drawn pipelines in C and in Go.
func TestBothCodesAgree(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	var ws Workspace
	defer ws.Close()
	for i := range 3000 {
		shape := tensor.Shape{int64(1 + rng.IntN(60)), int64(1 + rng.IntN(60)), []int64{1, 3}[rng.IntN(2)]}
		agree(t, &ws, someSpec(rng), shape, Key{Seed: 3, Epoch: 1, Row: int64(i)}, rng)
		if i%7 == 0 {
			ws.Reset()
		}
	}
}

// TestBothCodesAgreeOnSizes has sizes that the vector code treats differently: weights by the
// hundred, rows and columns that do not fill its registers, pictures whose last bytes are needed.
func TestBothCodesAgreeOnSizes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 2))
	var ws Workspace
	defer ws.Close()
	for _, c := range []struct {
		name  string
		shape tensor.Shape
		to    [2]int
	}{
		{"few rows of very many", tensor.Shape{1400, 40, 3}, [2]int{2, 37}},
		{"few columns of very many", tensor.Shape{9, 1400, 3}, [2]int{11, 2}},
		{"narrower than a register", tensor.Shape{50, 7, 3}, [2]int{31, 5}},
		{"one more than a register", tensor.Shape{30, 30, 3}, [2]int{33, 11}},
		{"a photograph, smaller", tensor.Shape{375, 500, 3}, [2]int{224, 224}},
		{"a photograph, larger", tensor.Shape{101, 99, 3}, [2]int{224, 225}},
		{"gray", tensor.Shape{101, 99, 1}, [2]int{64, 130}},
	} {
		for _, filter := range []string{"bilinear", "bicubic", "lanczos"} {
			spec := fmt.Sprintf(`[{"op":"Resize","size":[%d,%d],"interpolation":%q},{"op":"HorizontalFlip"}]`, c.to[0], c.to[1], filter)
			t.Run(c.name+"/"+filter, func(t *testing.T) { agree(t, &ws, spec, c.shape, Key{Row: 1}, rng) })
		}
	}
}

// agree runs one pipeline over noise in C and in Go.
func agree(t *testing.T, ws *Workspace, spec string, shape tensor.Shape, key Key, rng *rand.Rand) {
	t.Helper()
	p := pipeline(t, spec)
	pix := make([]byte, shape[0]*shape[1]*shape[2])
	for k := range pix {
		pix[k] = byte(rng.IntN(256))
	}
	if err := p.Check(tensor.Uint8, shape); err != nil {
		t.Fatal(err)
	}
	out, err := p.Shape(key, shape)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	n, err := out.Bytes(p.DType())
	if err != nil {
		t.Fatal(err)
	}
	var got [2][]byte
	for k := range got {
		got[k] = bytes.Repeat([]byte{0xa5}, int(n))
		j, err := ws.Job(p, key, shape, false, got[k])
		if err != nil {
			t.Fatalf("%s of %s: %v", spec, shape, err)
		}
		part, stride := cutRegion(pix, int(shape[1]), int(shape[2]), j.Region())
		if k == 0 {
			err = j.Deliver(part, stride)
		} else {
			j.run(part, stride)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got[0], got[1]) {
		t.Fatalf("%s of %s: C and Go differ", spec, shape)
	}
}

func TestPhilox(t *testing.T) {
	t.Parallel()
	if got := philox([4]uint32{}, [2]uint32{}); got != [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8} {
		t.Errorf("zero: %08x", got)
	}
	const f = 0xffffffff
	if got := philox([4]uint32{f, f, f, f}, [2]uint32{f, f}); got != [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd} {
		t.Errorf("ones: %08x", got)
	}
}

func BenchmarkRandomResizedCrop(b *testing.B) {
	for _, last := range []string{"", `,{"op":"Normalize","mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225]},{"op":"CHW"}`} {
		for _, shape := range []tensor.Shape{{250, 250, 3}, {375, 500, 3}} {
			b.Run(fmt.Sprint(shape, last != ""), func(b *testing.B) {
				p := pipeline(b, `[{"op":"RandomResizedCrop","size":[224]},{"op":"HorizontalFlip"}`+last+`]`)
				pix := make([]byte, shape[0]*shape[1]*3)
				size := 224 * 224 * 3 * p.DType().Size()
				ring := make([]byte, 128<<20) // a loader writes to memory that is in no cache
				var ws Workspace
				defer ws.Close()
				for i := range b.N {
					at := i % (len(ring) / size) * size
					j, err := ws.Job(p, Key{Row: int64(i)}, shape, false, ring[at:at+size])
					if err != nil {
						b.Fatal(err)
					}
					part, stride := cutRegion(pix, int(shape[1]), 3, j.Region())
					if err := j.Deliver(part, stride); err != nil {
						b.Fatal(err)
					}
					ws.Reset()
				}
			})
		}
	}
}
