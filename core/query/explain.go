package query

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Explanation describes the steps of a query: the plan that index pages give, and after a run the
// actual figures.
type Explanation struct {
	Query string `json:"query"` // in canonical form
	Plan  *Step  `json:"plan"`
	Done  *Done  `json:"done,omitempty"`
}

// Step is a part of a plan; its inputs are steps themselves.
type Step struct {
	Does   string  `json:"does"`
	Rows   int64   `json:"rows"`            // at most; -1: not known
	Zones  int64   `json:"zones,omitempty"` // runs of rows with examined bounds
	Cut    int64   `json:"cut,omitempty"`   // of these, runs in which no row can hold
	Bytes  int64   `json:"bytes,omitempty"` // to be read, about
	Inputs []*Step `json:"inputs,omitempty"`
}

// Done counts the work of a step that ran.
type Done struct {
	Seconds float64 `json:"seconds"`
	Rows    int64   `json:"rows"`    // of the result
	Looked  int64   `json:"looked"`  // examined rows of tables
	Zones   int64   `json:"zones"`   // runs of rows with examined bounds
	Cut     int64   `json:"cut"`     // of these, pruned runs
	Read    int64   `json:"read"`    // bytes, as stored
	Decoded int64   `json:"decoded"` // bytes that came of them
	Memory  int64   `json:"memory"`  // bytes for the result and intermediate values
}

// tally is Done in the making.
type tally struct {
	looked, zones, cut, read, decoded atomic.Int64
}

func (t *tally) done(began time.Time, rows, memory int64) *Done {
	return &Done{
		Seconds: time.Since(began).Seconds(), Rows: rows, Looked: t.looked.Load(), Zones: t.zones.Load(), Cut: t.cut.Load(),
		Read: t.read.Load(), Decoded: t.decoded.Load(), Memory: memory,
	}
}

// String returns the plan as lines of text, each step under the one that takes its rows.
func (e *Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Query)
	e.Plan.write(&b, 0)
	if d := e.Done; d != nil {
		fmt.Fprintf(&b, "done in %.3f s: %s of %s rows", d.Seconds, thousands(d.Rows), thousands(d.Looked))
		if d.Zones > 0 {
			fmt.Fprintf(&b, ", %s of %s chunks left out", thousands(d.Cut), thousands(d.Zones))
		}
		fmt.Fprintf(&b, ", %s read, %s decoded, %s held\n", size(d.Read), size(d.Decoded), size(d.Memory))
	}
	return b.String()
}

func (s *Step) write(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%s%s", strings.Repeat("  ", depth), s.Does)
	if s.Rows >= 0 {
		fmt.Fprintf(b, ", %s rows", thousands(s.Rows))
	}
	if s.Zones > 0 {
		fmt.Fprintf(b, ", %s of %s chunks left out", thousands(s.Cut), thousands(s.Zones))
	}
	if s.Bytes > 0 {
		fmt.Fprintf(b, ", about %s to read", size(s.Bytes))
	}
	b.WriteByte('\n')
	for _, in := range s.Inputs {
		in.write(b, depth+1)
	}
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GB", float64(n)/1e9)
	case n >= 10<<20:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 10<<10:
		return fmt.Sprintf("%.0f KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

// explainer predicts the work of plans from index pages.
type explainer struct {
	r   *run
	err error
}

// explain returns the step of a plan, with the steps that provide its rows below it.
func (p *plan) explain(e *explainer) *Step {
	s := p.body.explain(e)
	on := func(does string, rows int64) { s = &Step{Does: does, Rows: rows, Inputs: []*Step{s}} }
	if len(p.order) > 0 {
		does := "sort by "
		if p.limit >= 0 && len(p.arrange) == 0 && p.limit <= mostTop-p.offset {
			does = fmt.Sprintf("keep the first %s by ", thousands(p.limit+p.offset))
		}
		for i, k := range p.order {
			if i > 0 {
				does += ", "
			}
			if does += k.x.say; k.desc {
				does += " descending"
			}
		}
		on(does, s.Rows)
	}
	if len(p.arrange) > 0 {
		on("spread evenly by "+says(p.arrange), s.Rows)
	}
	if p.limit >= 0 || p.offset > 0 {
		rows := s.Rows
		if rows >= 0 {
			rows = max(0, rows-p.offset)
		}
		does := fmt.Sprintf("rows from %s on", thousands(p.offset))
		if p.limit >= 0 {
			rows = min(p.limit, rows)
			does = fmt.Sprintf("%s rows from %s on", thousands(p.limit), thousands(p.offset))
			if s.Rows < 0 {
				rows = p.limit
			}
		}
		on(does, rows)
	}
	if p.sample != nil {
		rows := s.Rows
		if p.sample.count >= 0 {
			rows = p.sample.count
		}
		how := "with"
		if !p.sample.replace {
			how = "without"
		}
		on("draw "+how+" replacement by "+p.sample.weight.say, rows)
	}
	return s
}

func (s *selected) explain(e *explainer) *Step {
	own := make([][]*node, len(s.scope.origins))
	var rest []*node
	if s.single {
		own[0] = s.where
	} else {
		own, rest = s.pushed()
	}
	step := s.explainOrigin(e, 0, own[0])
	for k := range s.joins {
		step = &Step{Does: strings.ToLower(s.joins[k].kind) + " join", Rows: -1, Inputs: []*Step{step, s.explainOrigin(e, k+1, own[k+1])}}
		if keys := s.joins[k].left; len(keys) > 0 {
			step.Does += " by " + says(keys)
		}
	}
	if len(rest) > 0 {
		step = &Step{Does: "where " + texts(rest), Rows: step.Rows, Inputs: []*Step{step}}
	}
	if s.expand != nil {
		step = &Step{Does: fmt.Sprintf("with %d rows before and %d after", s.expand.before, s.expand.after), Rows: -1, Inputs: []*Step{step}}
	}
	if s.group != nil {
		rows := int64(1)
		does := "aggregate"
		if s.group.by {
			rows, does = -1, "group by "+says(s.group.keys)
		}
		step = &Step{Does: does, Rows: rows, Inputs: []*Step{step}}
		if s.having != nil {
			step = &Step{Does: "having " + texts([]*node{s.having}), Rows: rows, Inputs: []*Step{step}}
		}
	}
	if s.unique {
		step = &Step{Does: "distinct", Rows: step.Rows, Inputs: []*Step{step}}
	}
	return step
}

// explainOrigin returns the step that reads one table.
func (s *selected) explainOrigin(e *explainer, k int, conds []*node) *Step {
	o := s.scope.origins[k]
	if o.table == nil {
		step := &Step{Does: "the rows of a query", Rows: -1, Inputs: []*Step{o.plan.explain(e)}}
		if o.name != "" {
			step.Does += ", " + o.name
		}
		if len(conds) > 0 {
			step.Does += ", where " + texts(conds)
		}
		return step
	}
	tables := make([]Table, k+1)
	tables[k] = o.table
	sc := newScan(tables, k, conds)
	if err := sc.prepare(e.r); err != nil && e.err == nil {
		e.err = err
	}
	step := &Step{Does: "scan " + o.table.Name(), Rows: sc.n, Zones: int64(sc.zones), Cut: int64(sc.cut)}
	if len(conds) > 0 {
		step.Does += " where " + texts(sc.conds)
	}
	bytes := 0.0
	seen := map[int]bool{}
	for _, n := range sc.conds {
		for _, m := range n.refs() {
			if m.ref.want == Values && !seen[m.id] {
				seen[m.id] = true
				bytes += o.fields[m.ref.column].Bytes
			}
		}
	}
	if len(conds) > 0 && !(len(sc.spans) > 0 && sc.spans[0].sure) {
		step.Bytes = int64(bytes * float64(sc.n))
	}
	return step
}

// texts returns conditions in the order of their evaluation.
func texts(conds []*node) string {
	all := make([]string, len(conds))
	for i, n := range conds {
		all[i] = n.sentence(8)
	}
	return strings.Join(all, " and then ")
}

// sentence returns an expression for people, as far as depth operators below it.
func (x *node) sentence(depth int) string {
	if depth == 0 && len(x.args) > 0 {
		return "..."
	}
	depth--
	if x.compute == nil || len(x.args) == 0 || strings.ContainsAny(x.say, "([ ") && x.say != "IS NULL" && x.say != "IS NOT NULL" {
		return x.say
	}
	switch len(x.args) {
	case 1:
		if x.role == roleTruth {
			return x.args[0].sentence(depth + 1)
		}
		if x.say == "IS NULL" || x.say == "IS NOT NULL" {
			return x.args[0].sentence(depth) + " " + x.say
		}
	case 2:
		if x.say != "IN" {
			return x.args[0].sentence(depth) + " " + x.say + " " + x.args[1].sentence(depth)
		}
	}
	return x.say + "(" + says(x.args) + ")"
}

func (u *united) explain(e *explainer) *Step {
	all := ""
	if u.all {
		all = " all"
	}
	return &Step{Does: strings.ToLower(u.op) + all, Rows: -1, Inputs: []*Step{u.left.explain(e), u.right.explain(e)}}
}

func (u *ungrouping) explain(e *explainer) *Step {
	return &Step{Does: "a row for each item", Rows: -1, Inputs: []*Step{u.of.explain(e)}}
}
