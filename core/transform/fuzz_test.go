package transform

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"deeplake/core/tensor"
)

// few bounds the pixels of a fuzzed picture at any step: the target tests numbers, not memory.
const few = 1 << 14

// FuzzSpec takes a pipeline as users write it through a small picture. What is taken means the same
// when it is written and read again; C and Go give the same bytes; nothing around the result is
// touched.
func FuzzSpec(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 40 {
		f.Add([]byte(someSpec(rng)), uint8(rng.IntN(60)), uint8(rng.IntN(60)), uint8(rng.IntN(4)), rng.Uint64())
	}
	f.Add([]byte(`[{"op":"Resize","size":[1048576],"max_size":1048577}]`), uint8(0), uint8(59), uint8(2), uint64(0))
	f.Add([]byte(`[{"op":"RandomCrop","size":9,"padding":[0,40],"padding_mode":"reflect","fill":[1,2,3]}]`), uint8(3), uint8(3), uint8(2), uint64(0))
	f.Fuzz(func(t *testing.T, text []byte, height, width, channels uint8, seed uint64) {
		var spec Spec
		if json.Unmarshal(text, &spec) != nil {
			return
		}
		p, err := New("images", spec)
		if err != nil {
			return
		}
		shape := tensor.Shape{1 + int64(height), 1 + int64(width), 1 + int64(channels%4)}
		key := Key{Seed: seed, Epoch: int64(seed % 3), Row: int64(seed % 5)}
		if p.Check(tensor.Uint8, shape) != nil || !small(p, key, shape) {
			return
		}
		written, err := json.Marshal(spec)
		if err != nil {
			t.Fatalf("%s cannot be written: %v", text, err)
		}
		var again Spec
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s is written as %s: %v", text, written, err)
		}
		same, err := New("images", again)
		if err != nil {
			t.Fatalf("%s is written as %s: %v", text, written, err)
		}
		pix := make([]byte, shape[0]*shape[1]*shape[2])
		for i := range pix {
			pix[i] = byte(uint64(i) * (seed | 1) >> 3)
		}
		inC := taken(t, p, key, shape, pix, (*Job).Deliver)
		inGo := taken(t, same, key, shape, pix, func(j *Job, pix []byte, stride int) error {
			j.run(pix, stride)
			return nil
		})
		if !bytes.Equal(inC, inGo) {
			t.Errorf("%s of %s: C and Go differ", text, shape)
		}
	})
}

// small reports whether the pipeline takes the picture and keeps it small all the way.
func small(p *Pipeline, key Key, shape tensor.Shape) bool {
	trace, err := p.Trace(key, int(shape[0]), int(shape[1]), nil)
	if err != nil {
		return false
	}
	for _, s := range trace.steps {
		if s.h > few || s.w > few || s.h*s.w > few {
			return false
		}
	}
	return true
}

// taken is the result of one picture, after a look at what lies around it.
func taken(t *testing.T, p *Pipeline, key Key, shape tensor.Shape, pix []byte, take func(*Job, []byte, int) error) []byte {
	t.Helper()
	out, err := p.Shape(key, shape)
	if err != nil {
		t.Fatalf("Trace takes the picture, Shape does not: %v", err)
	}
	n, err := out.Bytes(p.DType())
	if err != nil {
		t.Fatal(err)
	}
	const guard = 64
	room := bytes.Repeat([]byte{0xa5}, int(n)+2*guard)
	var ws Workspace
	defer ws.Close()
	j, err := ws.Job(p, key, shape, false, room[guard:guard+int(n)])
	if err != nil {
		t.Fatal(err)
	}
	part, stride := cutRegion(pix, int(shape[1]), int(shape[2]), j.Region())
	if err := take(j, part, stride); err != nil {
		t.Fatal(err)
	}
	if around := bytes.Repeat([]byte{0xa5}, guard); !bytes.Equal(room[:guard], around) || !bytes.Equal(room[guard+int(n):], around) {
		t.Errorf("bytes around the result of %s were written to", shape)
	}
	return room[guard : guard+int(n)]
}
