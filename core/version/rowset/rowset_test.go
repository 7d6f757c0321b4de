package rowset

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
	"testing"

	"deeplake/core/format"
)

// rows lists the rows of ranges, each once, in order.
func rows(ranges []format.RowRange) []int64 {
	var out []int64
	for _, r := range ranges {
		for row := r.Start; row < r.Start+r.Count; row++ {
			out = append(out, row)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func random(rng *rand.Rand) []format.RowRange {
	out := make([]format.RowRange, rng.IntN(6))
	for i := range out {
		out[i] = format.RowRange{Start: rng.Int64N(40), Count: rng.Int64N(8)}
	}
	return out
}

func checkNormal(t *testing.T, name string, s Set) {
	t.Helper()
	for i, r := range s {
		if r.Count <= 0 || i > 0 && s[i-1].Start+s[i-1].Count >= r.Start {
			t.Fatalf("%s: %v is not normal", name, s)
		}
	}
}

// TestSets holds the operations against lists of single rows.
func TestSets(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		x, y := random(rng), random(rng)
		a, b := Of(x), Of(y)
		inB := func(row int64) bool { return slices.Contains(rows(y), row) }
		for _, c := range []struct {
			name string
			got  Set
			want []int64
		}{
			{"Of", a, rows(x)},
			{"Or", a.Or(b), rows(append(slices.Clone(x), y...))},
			{"And", a.And(b), slices.DeleteFunc(rows(x), func(row int64) bool { return !inB(row) })},
			{"Minus", a.Minus(b), slices.DeleteFunc(rows(x), inB)},
		} {
			checkNormal(t, c.name, c.got)
			if got := rows(c.got); !slices.Equal(got, c.want) {
				t.Fatalf("%s of %v and %v: %v, want %v", c.name, x, y, got, c.want)
			}
			if c.got.Count() != int64(len(c.want)) {
				t.Fatalf("Count of %v: %d, want %d", c.got, c.got.Count(), len(c.want))
			}
			if got := c.got.First(3); !slices.Equal(got, c.want[:min(3, len(c.want))]) {
				t.Fatalf("First(3) of %v: %v", c.got, got)
			}
		}
	}
}

// TestAlignment holds alignments against a map of single rows.
func TestAlignment(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5_000 {
		var m Alignment
		there := map[int64]int64{}
		from := int64(0)
		for _, at := range rng.Perm(5) {
			s := Segment{From: from + rng.Int64N(3), To: int64(at)*10 + rng.Int64N(3), Rows: 1 + rng.Int64N(6)}
			from = s.From + s.Rows
			m = append(m, s)
			for k := range s.Rows {
				there[s.From+k] = s.To + k
			}
		}
		some := Of(random(rng))
		var want []int64
		for _, row := range rows(some) {
			if to, ok := there[row]; ok {
				want = append(want, to)
			}
		}
		slices.Sort(want)
		if got := rows(m.Apply(some)); !slices.Equal(got, want) {
			t.Fatalf("Apply of %v to %v: %v, want %v", m, some, got, want)
		}
		if again := m.Inverse().Inverse(); !reflect.DeepEqual(again, m) {
			t.Fatalf("Inverse twice of %v: %v", m, again)
		}
		for _, s := range m.Within(some) {
			for k := range s.Rows {
				if there[s.From+k] != s.To+k || !slices.Contains(rows(some), s.From+k) {
					t.Fatalf("Within(%v) of %v has %v", some, m, s)
				}
			}
		}
	}
}

func TestSeek(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		starts, at := []int64{rng.Int64N(3)}, 0
		for range rng.IntN(80) {
			starts = append(starts, starts[len(starts)-1]+1+rng.Int64N(1+rng.Int64N(20)))
		}
		for row := starts[0]; row < starts[len(starts)-1]+5; row += 1 + rng.Int64N(1+rng.Int64N(30)) {
			want := sort.Search(len(starts), func(i int) bool { return starts[i] > row }) - 1
			if at = Seek(starts, at, row); at != want {
				t.Fatalf("seed %d: row %d of %v is found at %d, want %d", seed, row, starts, at, want)
			}
		}
	}
}
