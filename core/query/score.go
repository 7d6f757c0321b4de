package query

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/tql"
)

// bm25Name is the name of BM25_SIMILARITY in plans.
const bm25Name = "BM25_SIMILARITY"

// The parameters of BM25 (Robertson and Zaragoza, 2009, section 3.2).
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// ranking holds the statistics of all texts that BM25 needs before it scores one.
type ranking struct {
	terms  []string
	docs   float64   // rows with a text
	length float64   // mean number of words
	with   []float64 // rows that have each word
}

// bm25 is BM25_SIMILARITY(text, words): how well the text of each row fits the words, among the
// rows of the query.
func (c *checker) bm25(x *tql.Call, s *scope) (*node, error) {
	if len(x.Args) != 2 {
		return nil, c.fail(x.Pos(), "BM25_SIMILARITY has %d arguments, want a text and the words to look for", len(x.Args))
	}
	args, err := c.exprs(x.Args, s)
	if err != nil {
		return nil, err
	}
	if !args[0].t.Text() || !args[0].t.Scalar() {
		return nil, tql.Errorf(c.text, args[0].at, errs.Type, "BM25_SIMILARITY of %s, want text", args[0].t)
	}
	words := ""
	if args[1].constant() {
		words, _ = args[1].value.Value(0).(string)
	}
	if words == "" {
		return nil, tql.Errorf(c.text, args[1].at, errs.Type, "the words of BM25_SIMILARITY are %s, want a text that is the same for all rows", tql.Text(x.Args[1]))
	}
	n := &node{at: x.Pos(), t: array.Of(tensor.Float64), args: args[:1], cost: dear, say: bm25Name}
	list := termsOf(words)
	n.terms = list
	n.alone = func(f *frame, n *node) (*array.Column, error) {
		rk := f.run.ranks[n.id]
		if rk == nil {
			return nil, errs.New(errs.Internal, "BM25_SIMILARITY was computed before the rows were known")
		}
		v, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		return rk.score(f.run, v)
	}
	// each select ranks its own rows
	return c.make(n, fmt.Sprint(bm25Name, " ", s.number, " ", list))
}

// termsOf cuts a text into words: letters and digits, in lower case.
func termsOf(text string) (words []string) {
	for {
		word, rest := nextTerm(text)
		if word == "" {
			return words
		}
		words, text = append(words, word), rest
	}
}

// nextTerm returns the first word of a text in lower case, and the text behind it.
func nextTerm(text string) (word, rest string) {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	from := strings.IndexFunc(text, func(r rune) bool { return !apart(r) })
	if from < 0 {
		return "", ""
	}
	text = text[from:]
	to := strings.IndexFunc(text, apart)
	if to < 0 {
		to = len(text)
	}
	return strings.ToLower(text[:to]), text[to:]
}

// counts returns how often each word is in a text, and how many words the text has. It ends with
// the error of alive, which it calls after each megabyte.
func (k *ranking) counts(text string, out []float64, alive func() error) (n float64, err error) {
	clear(out)
	for left := len(text); ; n++ {
		word, rest := nextTerm(text)
		if word == "" {
			return n, nil
		}
		for i, want := range k.terms {
			if word == want {
				out[i]++
			}
		}
		if text = rest; left-len(text) > 1<<20 {
			if left = len(text); alive() != nil {
				return n, alive()
			}
		}
	}
}

func (k *ranking) score(r *run, v *array.Column) (*array.Column, error) {
	out := make([]float64, v.N)
	null := make([]bool, v.N)
	counts := make([]float64, len(k.terms))
	for i := range out {
		if i%termsStep == 0 && r.ctx.Err() != nil {
			return nil, r.alive()
		}
		text, ok := v.Value(i).(string)
		if null[i] = !ok; !ok {
			continue
		}
		n, err := k.counts(text, counts, r.alive)
		if err != nil {
			return nil, err
		}
		for w, tf := range counts {
			idf := math.Log(1 + (k.docs-k.with[w]+0.5)/(k.with[w]+0.5))
			out[i] += idf * tf * (bm25K1 + 1) / (tf + bm25K1*(1-bm25B+bm25B*n/max(k.length, 1e-9)))
		}
	}
	return array.FromFloats(out, null), nil
}

// ranked returns the expressions that may contain BM25: over rows, or over groups if there are any.
func (s *selected) ranked() []*node {
	all := slices.Concat(nodesOf(s.outs), s.on, s.keys)
	if s.having != nil {
		all = append(all, s.having)
	}
	return all
}

// rank computes the statistics of BM25 over all rows. src is then a rel of these rows.
func rank(r *run, src *flow, tables []Table, in []*node) error {
	var wanted []*node
	for _, x := range in {
		x.each(func(n *node) {
			if n.terms != nil && r.ranks[n.id] == nil {
				wanted = append(wanted, n)
			}
		})
	}
	if len(wanted) == 0 {
		return nil
	}
	all, ok := (*src).(*rel)
	if !ok {
		var err error
		if all, err = collect(r, *src, tables, 8, nil, -1); err != nil {
			return err
		}
		*src = all
	}
	for _, n := range wanted {
		k, err := learn(r, all, n)
		if err != nil {
			return err
		}
		r.ranks[n.id] = k
	}
	return nil
}

// learn counts the words of all texts. The counts are whole numbers, so the order of units does not
// matter.
func learn(r *run, all *rel, n *node) (*ranking, error) {
	weight := n.args[0].weight()
	// each is changed by the goroutine of its unit alone
	parts := make([]ranking, all.units(r, weight))
	err := all.each(r, weight, nil, func(unit int, f *frame) error {
		v, err := f.eval(n.args[0])
		if err != nil {
			return err
		}
		k := &parts[unit]
		if k.terms == nil {
			k.terms, k.with = n.terms, make([]float64, len(n.terms))
		}
		counts := make([]float64, len(k.terms))
		for i := range v.N {
			if i%termsStep == 0 && r.ctx.Err() != nil {
				return r.alive()
			}
			text, ok := v.Value(i).(string)
			if !ok {
				continue
			}
			k.docs++
			words, err := k.counts(text, counts, r.alive)
			if err != nil {
				return err
			}
			k.length += words
			for w, tf := range counts {
				if tf > 0 {
					k.with[w]++
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	k := &ranking{terms: n.terms, with: make([]float64, len(n.terms))}
	for _, p := range parts {
		k.docs += p.docs
		k.length += p.length
		for w := range p.with {
			k.with[w] += p.with[w]
		}
	}
	k.length /= max(k.docs, 1)
	return k, nil
}

// termsStep is the number of texts that are counted without looking whether the caller has given
// up.
const termsStep = 1 << 12

// cutoff is the current k-th best score of an order that begins with a measure. Every unit with
// enough rows tightens it. Rows whose bound is worse are skipped unscored.
type cutoff struct {
	measure *node
	minus   bool // the key is the measure with another sign
	desc    bool // of the key
	bits    atomic.Uint64
}

// newCutoff returns nil if the first sort key has no cheap bound, or if a later key may fail:
// pruning must not change whether the query fails.
func newCutoff(order []key) *cutoff {
	k := order[0]
	if slices.ContainsFunc(order[1:], func(k key) bool { return k.x.fails() }) {
		return nil
	}
	c := &cutoff{measure: k.x, desc: k.desc}
	if k.x.op == "negative" && k.x.compute != nil {
		c.measure, c.minus = k.x.args[0], true
	}
	if c.measure.bounded == nil || c.measure.compute == nil || k.nullsFirst {
		return nil
	}
	own := *c.measure
	own.args = slices.Clone(own.args)
	for i, a := range own.args {
		if a.constant() {
			wide := *a
			wide.value = compute.Sought(a.value)
			own.args[i] = &wide
		}
	}
	c.measure = &own
	c.bits.Store(math.Float64bits(math.NaN()))
	return c
}

// value is NaN before the first score.
func (c *cutoff) value() float64 { return math.Float64frombits(c.bits.Load()) }

// move tightens the cutoff to v: enough rows are at least as good.
func (c *cutoff) move(v float64) {
	for v == v {
		was := c.bits.Load()
		if old := math.Float64frombits(was); c.desc && v <= old || !c.desc && v >= old {
			return
		}
		if c.bits.CompareAndSwap(was, math.Float64bits(v)) {
			return
		}
	}
}

// within returns the rows of a frame that are not worse than the cutoff, and their first key. If
// found is false, the caller computes the key in the ordinary way, which also reports errors.
func (b *best) within(f *frame) (picked []int, key *array.Column, found bool) {
	c := b.cut
	if c == nil || f.knows(c.measure) {
		return nil, nil, false
	}
	at := c.value()
	if at != at {
		return nil, nil, false
	}
	l := compute.Limit{At: at, Above: !c.desc}
	if c.minus {
		l = compute.Limit{At: -at, Above: c.desc}
	}
	if len(f.w.room) < 2*f.n {
		f.w.room = make([]float64, 2*f.n)
	}
	l.Room = f.w.room
	n := *c.measure
	n.id = unknown
	n.compute = func(_ *frame, args []*array.Column) (*array.Column, error) {
		return n.bounded(f.run.work("a measure"), args, l)
	}
	var values []float64
	plain := true
	take := func(v *array.Column, from int) {
		data, ok := v.Data.([]float64)
		if plain = plain && ok && !v.Const; plain {
			picked, values = c.pick(data[:v.N], v.Null, &l, from, picked, values)
		}
	}
	whole, err := f.pieces(&n, take)
	if err == nil && !whole {
		picked, values = nil, nil
		var v *array.Column
		if v, err = f.compute(&n); err == nil && v.N == f.n {
			take(v, 0)
		} else {
			plain = false
		}
	}
	if err != nil || !plain {
		return nil, nil, false
	}
	return picked, array.FromFloats(values, nil), true
}

// pick adds the rows within l, and their keys. The first value of v is row from.
func (c *cutoff) pick(v []float64, null []bool, l *compute.Limit, from int, picked []int, keys []float64) ([]int, []float64) {
	for i, x := range v {
		switch {
		case l.Above && x > l.At, !l.Above && x < l.At:
			continue
		case null != nil && null[i], x != x && !c.desc: // both come last
			continue
		case c.minus:
			x = -x
		}
		picked, keys = append(picked, from+i), append(keys, x)
	}
	return picked, keys
}

// unknown is the id of a node that shares its values with no other node.
const unknown = -1

// knows reports whether the values of a node are computed already.
func (f *frame) knows(n *node) bool {
	return f.memo[n.id] != nil || f.parent != nil && f.parent.memo[n.id] != nil
}
