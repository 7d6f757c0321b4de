package annotations

import (
	"math"
	"slices"
	"testing"
)

func TestRecords(t *testing.T) {
	var a arena
	lists := [][]float32{
		nil, {0}, {1, 2, 3}, {473.07, 12.5, 473.1, -0.25}, {0.1, 0.0001}, {1e-9, 3}, {math.MaxFloat32, 1}, {float32(math.Copysign(0, -1))},
		{math.SmallestNonzeroFloat32}, {16777216, 16777218}, slices.Repeat([]float32{1.5, 2.75}, 200_000),
	}
	var at []uint32
	for i, v := range lists {
		w := &writer{}
		w.int(int64(-i))
		w.numbers(v)
		w.double(math.Pi)
		w.text("é")
		place, ok := a.put(w.p)
		if !ok {
			t.Fatal("no room")
		}
		at = append(at, place)
	}
	for i, v := range lists {
		r := &reader{a.from(at[i])}
		n, got := r.int(), r.numbers(nil)
		for k := range v {
			if math.Float32bits(got[k]) != math.Float32bits(v[k]) {
				t.Fatalf("%v came back as %v", v[k], got[k])
			}
		}
		if n != int64(-i) || len(got) != len(v) || r.double() != math.Pi || r.text() != "é" {
			t.Errorf("list %d: %d, %d numbers", i, n, len(got))
		}
	}
	w := &writer{}
	if w.numbers([]float32{200.25, 100.5, 201.75, 101.25}); len(w.p) > 14 {
		t.Errorf("four numbers with two decimals take %d bytes", len(w.p))
	}
}
