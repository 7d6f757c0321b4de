package dataset

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/dataset/pieces"
	"deeplake/core/format"
	"deeplake/core/tensor"
)

// TestPieces copies ranges of rows that updates and deletions have left in pieces.
func TestPieces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ foldRows, leaf int }{
		"nothing is rewritten":          {1 << 30, format.MaxPieces},
		"in several leaves":             {1 << 30, 500},
		"rewritten":                     {0, format.MaxPieces},
		"rewritten, and several leaves": {0, 500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copyPieces(t, c.foldRows, c.leaf)
		})
	}
}

// copyPieces is TestPieces with leaves of so many pieces.
func copyPieces(t *testing.T, foldRows, leaf int) {
	ctx := context.Background()
	env := testEnv()
	env.foldRows = foldRows
	m := &foldModel{t: t, rng: rand.New(rand.NewPCG(2, 5))}
	m.d = must[*Dataset](t)(Create(ctx, env, "mem://pieces", CreateOptions{}))
	defer func() { _ = m.d.Close() }()
	m.d.repo.Pages.MaxPieces = leaf
	for _, spec := range foldTensors {
		m.ok(m.d.CreateTensor(ctx, spec))
	}
	copied := 0
	for range 12 {
		m.append(1 + m.rng.IntN(2000))
		m.update(m.some(2+m.rng.IntN(20)), "n", "id")
		m.update([]int64{m.rng.Int64N(int64(len(m.rows)))}, "n")
		from := m.rng.IntN(len(m.rows))
		var run []int64 // that follow each other
		for row := from; row < min(len(m.rows), from+m.rng.IntN(300)); row++ {
			run = append(run, int64(row))
		}
		m.update(run, "id")
		gone := m.some(5 + m.rng.IntN(60))
		m.ok(m.d.DeleteRows(ctx, gone))
		for _, row := range slices.Backward(gone) {
			m.rows = slices.Delete(m.rows, int(row), int(row)+1)
		}
		m.commit()
		v := must[*View](t)(m.d.View(ctx))
		w := v.NewWorker()
		var copier pieces.Copier
		for _, name := range []string{"n", "id", "r"} {
			c := must[*Column](t)(v.Column(name))
			size := c.DType().Size()
			for range 30 {
				from := m.rng.Int64N(v.Len())
				to := from + 1 + m.rng.Int64N(v.Len()-from)
				if m.rng.IntN(3) == 0 {
					to = min(v.Len(), from+1+m.rng.Int64N(20))
				}
				var want []byte
				for _, row := range m.rows[from:to] {
					want = append(want, row[name]...)
				}
				got := make([]byte, (to-from)*int64(size))
				ok, err := copier.Copy(ctx, c.Pieces(), from, to, tensor.Shape{}, got, w)
				m.ok(err)
				if ok && name == "r" {
					t.Fatalf("rows %d to %d of samples that differ in shape were copied", from, to)
				}
				if ok && !bytes.Equal(got, want) {
					t.Fatalf("rows %d to %d of tensor %q differ", from, to, name)
				}
				if ok {
					copied++
				}
			}
		}
		w.Close()
	}
	if copied < 600 {
		t.Errorf("%d of 720 ranges were copied, want most", copied)
	}
}
