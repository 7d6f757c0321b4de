package aggregate

import (
	"slices"
	"strings"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/internal/invariant"
)

// Aggregator reduces rows, group by group. It is used by one goroutine at a time; several of them
// are merged.
type Aggregator interface {
	// Add takes rows. group is the group of each, nil if all are in group 0; there are groups of
	// them so far.
	Add(c *array.Column, group []int32, groups int) error
	// Merge adds the state of other, of the same kind, which saw later rows. Group i of other is
	// group to[i] here; a nil to keeps the numbers. other must not be used afterwards.
	Merge(other Aggregator, to []int32) error
	// Result is one row for each group, at least one.
	Result(w *array.Work) (*array.Column, error)
}

// Keeper is an Aggregator that keeps values, about so many bytes of them by now.
type Keeper interface{ Held() int64 }

// Kind is an aggregate with its types and facts.
type Kind struct {
	Name string
	Doc  string // its signature and meaning, in a line
	// NoAlias promises that the Aggregator shares no memory with the columns that it is given. They
	// may then be borrowed.
	NoAlias bool

	check func(name string, x array.Type) (array.Type, error)
	make  func(name string, distinct bool, x, result array.Type) Aggregator
}

var kinds = []Kind{
	{"COUNT", "COUNT(*), COUNT(x), COUNT(DISTINCT x): the rows of a group, those where x is not NULL, its different values", true,
		countType, count},
	{"SUM", "of scalars, with GROUP BY or over all rows, the sum over the rows; NULL of none", true, sumType, distinctOnce(sum)},
	{"AVG", averageDoc, true, averageType, distinctOnce(average)},
	{"MEAN", averageDoc, true, averageType, distinctOnce(average)},
	{"MIN", extremeDoc, true, extremeType, least},
	{"MAX", extremeDoc, true, extremeType, greatest},
	{"STD", deviationDoc, true, plainNumbers, distinctOnce(deviation)},
	{"STDDEV", deviationDoc, true, plainNumbers, distinctOnce(deviation)},
	{"VAR", varianceDoc, true, plainNumbers, distinctOnce(deviation)},
	{"VARIANCE", varianceDoc, true, plainNumbers, distinctOnce(deviation)},
	{"STDDEV_POP", "STDDEV_POP" + populationDoc, true, plainNumbers, distinctOnce(deviation)},
	{"VAR_POP", "VAR_POP" + populationDoc, true, plainNumbers, distinctOnce(deviation)},
	{"FIRST", "FIRST" + firstDoc, false, oneOfValues, gather},
	{"LAST", "LAST" + firstDoc, false, oneOfValues, gather},
	{"ANY_VALUE", "ANY_VALUE(x): the first value of a group that is not NULL", false, oneOfValues, gather},
	{"LIST", "LIST(x): the values of a group that are not NULL as a list; with UNGROUP BY those that are NULL, too", false, listType, gather},
	{"MEDIAN", "MEDIAN(x): with GROUP BY or over all rows, the value in the middle, or the mean of the two there", false, plainNumbers, gather},
	{"BOOL_AND", "BOOL_AND" + boolsDoc, true, boolsType, distinctOnce(least)},
	{"BOOL_OR", "BOOL_OR" + boolsDoc, true, boolsType, distinctOnce(greatest)},
	{"STRING_AGG", "STRING_AGG(text[, separator]): the texts of a group, with a constant text between them, a comma if there is none", false,
		textsType, gather},
}

const (
	averageDoc    = "of scalars, with GROUP BY or over all rows, the mean over the rows; NULL of none"
	extremeDoc    = "of scalars, with GROUP BY or over all rows, the least or greatest of the rows; NULL of none"
	deviationDoc  = "of scalars, with GROUP BY or over all rows, the standard deviation of the sample"
	varianceDoc   = "of scalars, with GROUP BY or over all rows, the variance of the sample"
	populationDoc = "(x): with GROUP BY or over all rows, as STD and VAR, of the population"
	firstDoc      = "(x): the value of the first or last row of a group"
	boolsDoc      = "(x): with GROUP BY or over all rows, whether all are true, or one is"
)

// Names lists the names of all aggregates, in upper case.
func Names() []string {
	out := make([]string, len(kinds))
	for i, a := range kinds {
		out[i] = a.Name
	}
	return out
}

// Find finds an aggregate by its name, nil if there is none.
func Find(name string) *Kind {
	name = strings.ToUpper(name)
	i := slices.IndexFunc(kinds, func(a Kind) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// ResultType returns the type of an aggregate over values of type x.
func ResultType(name string, x array.Type) (array.Type, error) {
	a := Find(name)
	if a == nil {
		name = strings.ToUpper(name)
		return array.Type{}, errs.New(errs.NotFound, "there is no aggregate %q%s", name, errs.Suggest(name, Names()))
	}
	return a.check(a.Name, x)
}

// NewStringAgg makes a STRING_AGG of values of type x, with a separator.
func NewStringAgg(distinct bool, x array.Type, separator string) (Aggregator, error) {
	a, err := New("STRING_AGG", distinct, x)
	if g, ok := a.(*gathering); ok {
		g.separator = separator
	}
	return a, err
}

// New makes an aggregator of values of type x.
func New(name string, distinct bool, x array.Type) (Aggregator, error) {
	t, err := ResultType(name, x)
	if err != nil {
		return nil, err
	}
	a := Find(name)
	out := a.make(a.Name, distinct, x, t)
	if invariant.Enabled && a.NoAlias {
		out = &aliasChecked{Aggregator: out, name: a.Name}
	}
	return out, nil
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

// groupsOf is the number of groups that a merge brings: other's i becomes to[i].
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

func (a *counting) Result(w *array.Work) (*array.Column, error) {
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

// fresh returns the rows with new values, without NULL, and their groups.
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

func (a *distinctly) Result(w *array.Work) (*array.Column, error) { return a.inner.Result(w) }

// aliasChecked checks the NoAlias of an Aggregator: its result must share no memory with its input
// columns.
type aliasChecked struct {
	Aggregator
	name  string
	given []*array.Column // retained, so that their memory is not reused
}

// Held is part of Keeper.
func (a *aliasChecked) Held() int64 {
	if k, ok := a.Aggregator.(Keeper); ok {
		return k.Held()
	}
	return 0
}

func (a *aliasChecked) Add(c *array.Column, group []int32, groups int) error {
	a.given = append(a.given, c)
	return a.Aggregator.Add(c, group, groups)
}

func (a *aliasChecked) Merge(other Aggregator, to []int32) error {
	if b, ok := other.(*aliasChecked); ok {
		a.given = append(a.given, b.given...)
		other = b.Aggregator
	}
	return a.Aggregator.Merge(other, to)
}

func (a *aliasChecked) Result(w *array.Work) (*array.Column, error) {
	out, err := a.Aggregator.Result(w)
	for _, c := range a.given {
		invariant.Check(err != nil || !array.SharesMemory(out.Data, c.Data), a.name+" is called free of aliases, and its result shares memory")
	}
	return out, err
}
