package compute

import (
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Aggregator reduces rows, group by group. It is used by one goroutine at a time; several of them
// are merged.
type Aggregator interface {
	// Add takes rows. group is the group of each, nil where all are in group 0; there are groups of
	// them so far.
	Add(c *array.Column, group []int32, groups int) error
	// Merge takes what other, of the same kind, has seen after this one: its group i is group to[i]
	// here; nil: group i. other is not used any more.
	Merge(other Aggregator, to []int32) error
	// Result is one row for each group, at least one.
	Result() (*array.Column, error)
}

// Keeper is an Aggregator that keeps values, about so many bytes of them by now.
type Keeper interface{ Held() int64 }

var aggregates = []string{"COUNT", "SUM", "AVG", "MEAN", "MIN", "MAX", "STD", "STDDEV", "VAR", "VARIANCE", "STDDEV_POP", "VAR_POP",
	"FIRST", "LAST", "ANY_VALUE", "LIST", "MEDIAN", "BOOL_AND", "BOOL_OR", "STRING_AGG"}

// Aggregates lists the names that NewAggregator knows, in upper case.
func Aggregates() []string { return append([]string{}, aggregates...) }

// AggregateType is the type of an aggregate over values of type x.
func AggregateType(name string, distinct bool, x array.Type) (array.Type, error) {
	name = strings.ToUpper(name)
	scalar := func(ok bool, want string) error {
		if x.DType == 0 || x.Scalar() && ok {
			return nil
		}
		return errs.New(errs.Type, "%s of %s: want %s", name, x, want)
	}
	plain := x.Number() && !x.Label()
	out := array.Of(tensor.Float64)
	var err error
	switch name {
	case "COUNT":
		out = array.Of(tensor.Int64)
		if distinct && x.List {
			err = nil
		}
	case "SUM":
		err = scalar(plain || x.Unit == array.Interval, "numbers, one a row")
		if !x.Float() {
			out = array.Type{DType: tensor.Int64, Unit: x.Unit, Shape: tensor.Shape{}}
		}
	case "AVG", "MEAN":
		err = scalar(plain || x.Unit == array.Interval, "numbers, one a row")
		if x.Unit == array.Interval {
			out = array.OfUnit(array.Interval)
		}
	case "STD", "STDDEV", "VAR", "VARIANCE", "STDDEV_POP", "VAR_POP", "MEDIAN":
		err = scalar(plain, "numbers, one a row")
	case "BOOL_AND", "BOOL_OR":
		out = array.Of(tensor.Bool)
		err = scalar(x.DType == tensor.Bool, "bools, one a row")
	case "STRING_AGG":
		out = array.Of(tensor.String)
		err = scalar(x.Text() || x.Label(), "text")
	case "MIN", "MAX":
		out = x
		out.Weak = false
		err = scalar(x.DType != tensor.JSON && x.DType != tensor.Bytes, "single values with an order")
	case "FIRST", "LAST", "ANY_VALUE":
		out = x
		out.Weak = false
	case "LIST":
		if x.List {
			return array.Type{}, errs.New(errs.Type, "LIST of a %s: a list cannot hold lists", x)
		}
		out = x
		out.List, out.Weak = true, false
	default:
		return array.Type{}, errs.New(errs.NotFound, "there is no aggregate %q%s", name, errs.Suggest(name, aggregates))
	}
	return out, err
}

// NewAggregator makes an aggregator of values of type x.
func NewAggregator(name string, distinct bool, x array.Type) (Aggregator, error) {
	t, err := AggregateType(name, distinct, x)
	if err != nil {
		return nil, err
	}
	name = strings.ToUpper(name)
	var a Aggregator
	switch name {
	case "COUNT":
		a = &counting{}
	case "SUM", "AVG", "MEAN":
		if x.Float() {
			a = &sumFloats{t: t, mean: name != "SUM"}
		} else {
			a = &sumInts{t: t, mean: name != "SUM"}
		}
	case "STD", "STDDEV", "VAR", "VARIANCE", "STDDEV_POP", "VAR_POP":
		a = &spreading{root: name[0] == 'S', all: strings.HasSuffix(name, "_POP")}
	case "MIN", "MAX":
		a = newExtreme(t, name == "MAX")
	case "BOOL_AND", "BOOL_OR":
		a = newExtreme(t, name == "BOOL_OR")
	default:
		return &gathering{name: name, x: x, t: t, distinct: distinct}, nil
	}
	if distinct && name == "COUNT" && countsWords(x) {
		return newCountingWords(x), nil
	}
	if distinct && (name != "MIN" && name != "MAX") {
		a = &distinctly{inner: a, seen: map[string]struct{}{}}
	}
	return a, nil
}

// grown is v with room for n groups.
func grown[T any](v []T, n int) []T {
	if n <= len(v) {
		return v
	}
	if n <= cap(v) {
		return v[:n]
	}
	out := make([]T, n, max(n, 2*cap(v)))
	copy(out, v)
	return out
}

// groupsOf is how many groups a merge brings: other's i becomes to[i].
func groupsOf(n int, to []int32) int {
	if to == nil {
		return n
	}
	most := 0
	for _, g := range to {
		most = max(most, int(g)+1)
	}
	return most
}

func target(to []int32, i int) int {
	if to == nil {
		return i
	}
	return int(to[i])
}

func otherKind() error { return errs.New(errs.Internal, "merge of aggregates of different kinds") }

type counting struct{ n []int64 }

func (a *counting) Add(c *array.Column, group []int32, groups int) error {
	a.n = grown(a.n, max(groups, 1))
	countRows(a.n, c, group)
	return nil
}

// countRows counts rows with a value.
func countRows(n []int64, c *array.Column, group []int32) {
	nulls := c.Nulls()
	switch {
	case c.Const && nulls != nil && nulls[0]:
	case c.Const || nulls == nil:
		if group == nil {
			n[0] += int64(c.N)
			return
		}
		for _, g := range group {
			n[g]++
		}
	case group == nil:
		sum := 0
		for _, null := range nulls {
			if !null {
				sum++
			}
		}
		n[0] += int64(sum)
	default:
		for i, g := range group {
			if !nulls[i] {
				n[g]++
			}
		}
	}
}

func (a *counting) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*counting)
	if !ok {
		return otherKind()
	}
	a.n = grown(a.n, groupsOf(len(b.n), to))
	for i, v := range b.n {
		a.n[target(to, i)] += v
	}
	return nil
}

func (a *counting) Result() (*array.Column, error) {
	return array.FromInts(append([]int64{}, grown(a.n, 1)...), nil), nil
}

// distinctly passes a value on when it is new to its group.
type distinctly struct {
	inner  Aggregator
	seen   map[string]struct{}
	parts  []*array.Column
	groups [][]int32
	held   int64
}

// Held is part of Keeper.
func (a *distinctly) Held() int64 { return a.held }

func (a *distinctly) Add(c *array.Column, group []int32, groups int) error {
	part, of := a.fresh(c, group)
	a.parts, a.groups = append(a.parts, part), append(a.groups, of)
	a.held += 2*part.Bytes() + int64(len(of))*keptRow
	return a.inner.Add(part, of, groups)
}

// keptRow is about how many bytes a value takes that is looked up, besides its own.
const keptRow = 32

// fresh is the rows whose values are new, without NULL, and their groups.
func (a *distinctly) fresh(c *array.Column, group []int32) (*array.Column, []int32) {
	var rows []int
	of := []int32{}
	var key []byte
	for i := range c.N {
		if c.IsNull(i) {
			continue
		}
		g := int32(0)
		if group != nil {
			g = group[i]
		}
		key = append(key[:0], byte(g), byte(g>>8), byte(g>>16), byte(g>>24))
		key = array.AppendKey(key, c, i)
		if _, known := a.seen[string(key)]; known {
			continue
		}
		a.seen[string(key)] = struct{}{}
		rows, of = append(rows, i), append(of, g)
	}
	return c.Take(rows), of
}

func (a *distinctly) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*distinctly)
	if !ok {
		return otherKind()
	}
	n := 1
	for _, g := range to {
		n = max(n, int(g)+1) // also groups without a value
	}
	for i, part := range b.parts {
		for j, g := range b.groups[i] {
			b.groups[i][j] = int32(target(to, int(g)))
		}
		if err := a.Add(part, b.groups[i], n); err != nil {
			return err
		}
	}
	return nil
}

func (a *distinctly) Result() (*array.Column, error) { return a.inner.Result() }
