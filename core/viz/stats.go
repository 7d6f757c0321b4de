package viz

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"deeplake/core/session"
)

// statsInfo describes the values of a tensor. Filters has a condition for each class or bin.
type statsInfo struct {
	Rows    int64       `json:"rows"`
	Missing int64       `json:"missing"` // rows without a sample
	Kind    string      `json:"kind"`
	What    string      `json:"what"`              // the counted number, as "boxes"
	Unit    string      `json:"unit"`              // of counts: "rows", or "instances" of lists
	Sampled int64       `json:"sampled,omitempty"` // rows that counts are estimated from; 0: all
	Exact   []string    `json:"exact,omitempty"`   // the fields that are no estimates all the same
	Classes []classRows `json:"classes,omitempty"`
	More    int64       `json:"more,omitempty"` // other classes
	Bins    []bin       `json:"bins,omitempty"`
	Min     *float64    `json:"min,omitempty"`
	Max     *float64    `json:"max,omitempty"`
	Mean    *float64    `json:"mean,omitempty"`
	Filters []string    `json:"filters,omitempty"`
}

type classRows struct {
	Value float64 `json:"value"`
	Name  string  `json:"name"`
	Rows  int64   `json:"rows"`
}

type bin struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	Rows int64   `json:"rows"`
}

const (
	mostClasses = 200
	binCount    = 40
	mostCounted = 1e308 // numbers further from 0 are in no bin
)

func (s *Service) stats(ctx context.Context, body []byte) (any, error) {
	var in struct {
		ofView
		Column string `json:"column"`
		Sample int64  `json:"sample"`
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	if _, err := v.Column(in.Column); err != nil {
		return nil, err
	}
	all := layout(v.Describe().Tensors)
	t := &all[slices.IndexFunc(all, func(t tensorInfo) bool { return t.Name == in.Column })]
	out := &statsInfo{Rows: v.Len(), Kind: "none", Unit: "rows"}
	m, ok := measureOf(t)
	if !ok || v.Len() == 0 {
		return out, nil
	}
	out.What = m.what
	if m.list {
		out.Unit = "instances"
	}
	from := v.View
	if in.Sample > 0 && in.Sample < v.Len() {
		if from, err = v.Select(spread(v.Len(), min(in.Sample, mostSampled))); err != nil {
			return nil, err
		}
		defer from.Close()
		out.Sampled = from.Len()
	}
	c := &counter{service: s, view: from, all: v.View, of: t, measure: m, out: out}
	if passes := m.passes(t); out.Sampled == 0 && passes > 0 {
		r, end := s.counts.begin(countKey{in.View, in.Column}, passes*v.Len())
		defer end()
		c.looked = &r.looked
	}
	return out, c.count(ctx)
}

const (
	mostSampled = 1 << 20 // rows of a sample
	sampledRun  = 256     // rows beside each other, which are likely to share a chunk
)

// spread returns n of the rows 0 to all-1, n < all, in runs of neighbours at equal distances.
func spread(all, n int64) []int64 {
	rows := make([]int64, 0, n)
	runs := (n + sampledRun - 1) / sampledRun
	for k := range runs {
		from, count := all/runs*k, n/runs
		if k < n%runs {
			count++
		}
		for i := range count {
			rows = append(rows, from+i)
		}
	}
	return rows
}

// counter fills a statsInfo by queries.
type counter struct {
	service *Service
	view    *session.View // the rows that are counted
	all     *session.View // the rows that they stand for
	of      *tensorInfo
	measure
	out    *statsInfo
	looked *atomic.Int64 // counts the rows that values looks at; nil: it does not count
}

// count counts the rows. The chunk map gives a sample the range of all rows, so that the axis of
// its histogram is that of the exact one.
func (c *counter) count(ctx context.Context) error {
	if c.out.Sampled == 0 {
		return c.values(ctx, nil)
	}
	known, err := c.factsOf(ctx)
	if err != nil {
		return err
	}
	if err := c.values(ctx, known); err != nil {
		return err
	}
	c.out.scale(known)
	return nil
}

// values finds the bounds of the values, unless they are known, and counts by class or in bins.
func (c *counter) values(ctx context.Context, known *facts) error {
	// A list of classes is counted class by class.
	from, x := "", c.expr
	if c.list {
		from, x = " FROM (SELECT "+c.expr+" AS value UNGROUP BY SPLIT) AS items", "value"
	}
	present, err := c.askOf(ctx, c.view, nil, "SELECT COUNT("+quoteName(c.of.Name)+") AS n")
	if err != nil {
		return err
	}
	c.out.Missing = c.view.Len() - int64(present[0][0])
	finite := " WHERE " + x + " >= -" + number(mostCounted) + " AND " + x + " <= " + number(mostCounted)
	if c.whole {
		finite = " WHERE " + x + " IS NOT NULL"
	}
	if c.what == "class" || c.truth {
		return c.classes(ctx, x, from, finite)
	}
	aggregates := "COUNT(*) AS n, MIN(" + x + ") AS a, MAX(" + x + ") AS b, AVG(" + x + ") AS m"
	if !c.whole {
		aggregates += ", MAX(" + x + " - FLOOR(" + x + ")) AS f"
	}
	bounds, err := c.ask(ctx, "SELECT "+aggregates+from+finite)
	if err != nil {
		return err
	}
	low, high := bounds[0][1], bounds[0][2]
	if known != nil && known.ranged {
		low, high = known.low, known.high
	} else if bounds[0][0] == 0 {
		return nil
	}
	c.out.Min, c.out.Max = &low, &high
	if bounds[0][0] > 0 {
		c.out.Mean = &bounds[0][3]
	}
	if c.whole && high-low < binCount {
		return c.classes(ctx, x, from, finite)
	}
	// Floats may be whole numbers too. Edges between whole numbers leave no bin empty by itself.
	whole := c.whole || bounds[0][4] == 0 && low == math.Floor(low) && high == math.Floor(high)
	return c.bins(ctx, x, from, finite, low, high, whole)
}

func (c *counter) classes(ctx context.Context, x, from, where string) error {
	rows, err := c.ask(ctx, "SELECT "+x+" AS v, COUNT(*) AS n"+from+where+" GROUP BY "+x)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b []float64) int { return cmp.Or(cmp.Compare(b[1], a[1]), cmp.Compare(a[0], b[0])) })
	c.out.Kind = "classes"
	c.out.More = int64(max(len(rows)-mostClasses, 0))
	for _, row := range rows[:min(len(rows), mostClasses)] {
		one := classRows{Value: row[0], Rows: int64(row[1]), Name: number(row[0])}
		if c.truth {
			one.Name = strconv.FormatBool(row[0] != 0)
		}
		if at := int(row[0]); c.what == "class" && row[0] >= 0 && at < len(c.of.ClassNames) {
			one.Name = c.of.ClassNames[at]
		}
		c.out.Classes = append(c.out.Classes, one)
		c.out.Filters = append(c.out.Filters, c.filter(one))
	}
	return nil
}

// filter returns the condition of the rows of a class.
func (c *counter) filter(one classRows) string {
	if c.truth {
		return c.expr + " = " + strings.ToUpper(one.Name)
	}
	equal := c.expr + " = " + number(one.Value)
	if c.what == "class" && one.Name != number(one.Value) && only(c.of.ClassNames, one.Name) {
		equal = c.expr + " = " + quoteText(one.Name)
	}
	if c.list {
		return "ANY(" + equal + ")"
	}
	return equal
}

// only reports whether a name stands once in a list.
func only(names []string, name string) bool {
	at := slices.Index(names, name)
	return at >= 0 && !slices.Contains(names[at+1:], name)
}

// bins counts the values from low to high in bins of equal width, which is a whole number if all
// values are.
func (c *counter) bins(ctx context.Context, x, from, where string, low, high float64, whole bool) error {
	width, count := (high-low)/binCount, binCount
	if whole {
		width = math.Ceil((high - low + 1) / binCount)
	}
	if !(width > 0) || math.IsInf(width, 0) { // one value, or a range that no float64 holds
		width, count = 1, 1
	} else if whole {
		count = min(binCount, int(math.Floor((high-low)/width))+1)
	}
	place := "FLOOR((" + x + " - " + literal(low) + ") / " + literal(width) + ")"
	rows, err := c.ask(ctx, "SELECT "+place+" AS b, COUNT(*) AS n"+from+where+" GROUP BY "+place)
	if err != nil {
		return err
	}
	c.out.Kind = "histogram"
	c.out.Bins = make([]bin, count)
	for i := range c.out.Bins {
		b := &c.out.Bins[i]
		b.From, b.To = low+float64(i)*width, low+float64(i+1)*width
		upper := " < "
		if i == count-1 {
			b.To, upper = max(high, b.From), " <= "
		}
		within := c.expr + " >= " + literal(b.From) + " AND " + c.expr + upper + literal(b.To)
		if c.list {
			within = "ANY(" + within + ")"
		}
		c.out.Filters = append(c.out.Filters, within)
	}
	for _, row := range rows {
		at := min(max(int(row[0]), 0), count-1) // the highest value begins a bin of its own
		c.out.Bins[at].Rows += int64(row[1])
	}
	return nil
}

// ask runs a query of the counted rows and returns its rows of numbers. A missing number is 0.
func (c *counter) ask(ctx context.Context, text string) ([][]float64, error) {
	return c.askOf(ctx, c.view, c.looked, text)
}

func (c *counter) askOf(ctx context.Context, of *session.View, looked *atomic.Int64, text string) ([][]float64, error) {
	v, info, err := c.service.o.Session.Query(ctx, of, &session.Query{Text: text, Looked: looked})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	out := make([][]float64, v.Len())
	for _, column := range info.Outputs {
		values, err := numbers(ctx, v, column.Name)
		if err != nil {
			return nil, err
		}
		for i := range out {
			out[i] = append(out[i], values[i])
		}
	}
	return out, nil
}

// quoteName writes the name of a tensor in a query.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteText writes a string in a query.
func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// number writes a number for people.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// literal writes a number in a query, in brackets where a sign could join what stands before.
func literal(v float64) string {
	if v < 0 {
		return fmt.Sprintf("(%s)", number(v))
	}
	return number(v)
}
