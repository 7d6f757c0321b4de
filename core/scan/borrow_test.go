package scan

import (
	"context"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"deeplake/core/array"
	"deeplake/core/query"
)

// TestBorrow: borrowed values equal read ones; compressed columns and columns with holes are read.
func TestBorrow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const n = 300_000
	for _, uri := range []string{"mem://lent", "file://" + t.TempDir() + "/d"} {
		table := Of(numbersSet(t, testEnv(), uri, n))
		r := table.Reader().(*reader)
		defer r.Close()
		random := rand.New(rand.NewPCG(1, 2))
		shown := map[string]int{}
		for range 300 {
			column := random.IntN(len(table.Columns()))
			from := random.Int64N(n)
			rows := query.Rows{From: from, N: random.Int64N(min(n-from, 70_000) + 1)}
			c := must[*array.Column](t)(r.Borrow(ctx, column, rows))
			if c == nil {
				continue
			}
			name := table.Columns()[column].Name
			shown[name]++
			if rows.N = int64(c.N); c.N == 0 {
				t.Fatalf("no row of %q is shown, and not nil", name)
			}
			if want := must[*array.Column](t)(r.Read(ctx, column, rows, query.Values, nil)); !reflect.DeepEqual(c, want) {
				t.Fatalf("rows %d to %d of %q are shown otherwise than they are read", rows.From, rows.From+rows.N, name)
			}
			r.Return()
		}
		if shown["y"] > 0 || runtime.GOOS == "linux" && (shown["x"] == 0 || shown["v"] == 0) {
			t.Errorf("%s: shown are %v, want x and v, not y which is compressed", uri, shown)
		}
		if c := must[*array.Column](t)(r.Borrow(ctx, 0, query.Rows{List: []int64{1, 2}, N: 2})); c != nil {
			t.Error("a list of rows was shown")
		}
		if c := must[*array.Column](t)(r.Borrow(ctx, 0, query.Rows{From: n - 1, N: 2})); c != nil {
			t.Error("rows behind the last were shown")
		}
	}
}
