package tql

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// rule is a piece of a grammar in Wirth's notation.
type rule struct {
	// 't' terminal, 'n' name of a production, 's' sequence, '|' choice, '[' option, '{' repetition
	op   byte
	text string
	of   []*rule
	cost int // the least depth of what it makes
}

// grammar reads docs/tql.ebnf.
func grammar(t testing.TB) map[string]*rule {
	t.Helper()
	data, err := os.ReadFile("../../docs/tql.ebnf")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "//") {
			continue
		}
		words = append(words, strings.Fields(line)...)
	}
	rules := map[string]*rule{}
	for len(words) > 0 {
		if len(words) < 3 || words[1] != "=" {
			t.Fatalf("a production begins with %v", words[:min(len(words), 3)])
		}
		name := words[0]
		r, rest := choice(t, words[2:])
		if rest[0] != "." || rules[name] != nil {
			t.Fatalf("production %s ends with %v, or is there twice", name, rest[0])
		}
		rules[name], words = r, rest[1:]
	}
	for _, lexical := range []string{"name", "function", "string", "address", "number", "param"} {
		rules[lexical] = &rule{op: 'l', text: lexical}
	}
	price(rules)
	return rules
}

func choice(t testing.TB, words []string) (*rule, []string) {
	out := &rule{op: '|'}
	for {
		var one *rule
		one, words = sequence(t, words)
		if out.of = append(out.of, one); words[0] != "|" {
			return out, words
		}
		words = words[1:]
	}
}

func sequence(t testing.TB, words []string) (*rule, []string) {
	out := &rule{op: 's'}
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}
	for {
		w := words[0]
		switch end := closing[w]; {
		case slices.Contains([]string{")", "]", "}", "|", "."}, w):
			return out, words
		case end != "":
			inner, rest := choice(t, words[1:])
			if rest[0] != end {
				t.Fatalf("%s is closed by %s", w, rest[0])
			}
			op := w[0]
			if w == "(" {
				op = '|'
			} else {
				inner = &rule{op: op, of: []*rule{inner}}
			}
			out.of, words = append(out.of, inner), rest[1:]
		case w[0] == '"':
			out.of, words = append(out.of, &rule{op: 't', text: strings.Trim(w, `"`)}), words[1:]
		default:
			out.of, words = append(out.of, &rule{op: 'n', text: w}), words[1:]
		}
	}
}

// price finds for each piece how deep the shallowest text of it is.
func price(rules map[string]*rule) {
	const far = 1 << 20
	var cost func(r *rule) int
	known := map[string]int{}
	cost = func(r *rule) int {
		r.cost = 0
		switch r.op {
		case 'n':
			r.cost = far
			if c, ok := known[r.text]; ok {
				r.cost = c + 1
			}
		case '|':
			r.cost = far
			for _, o := range r.of {
				r.cost = min(r.cost, cost(o))
			}
		case 's':
			for _, o := range r.of {
				r.cost = max(r.cost, cost(o))
			}
		case '[', '{':
			cost(r.of[0])
		}
		return r.cost
	}
	for changed := true; changed; {
		changed = false
		for name, r := range rules {
			if c := cost(r); c < far {
				if old, ok := known[name]; !ok || c < old {
					known[name], changed = c, true
				}
			}
		}
	}
}

// author makes texts of a grammar.
type author struct {
	rules       map[string]*rule
	rng         *rand.Rand
	fingerprint []string
	used        map[string]bool
	byName      bool // the parameters of this text
	items       int  // indices that enclose the present text
}

func (a *author) write(r *rule, depth int) {
	if len(a.fingerprint) > 120 {
		depth = 0 // come to an end
	}
	switch r.op {
	case 't':
		a.used[r.text] = true
		a.fingerprint = append(a.fingerprint, r.text)
	case 'l':
		a.fingerprint = append(a.fingerprint, a.lexical(r.text))
	case 'n':
		if r.text == "item" {
			a.items++
			defer func() { a.items-- }()
		}
		a.write(a.rules[r.text], depth-1)
	case 's':
		for _, o := range r.of {
			a.write(o, depth)
		}
	case '|':
		var fit []*rule
		for _, o := range r.of {
			if o.cost <= depth || o.cost == r.cost {
				fit = append(fit, o)
			}
		}
		a.write(fit[a.rng.IntN(len(fit))], depth)
	case '[', '{':
		most, odds := 1, 3
		if r.op == '{' {
			most, odds = 2, 10 // an expression passes a dozen of these
		}
		for range most {
			if r.of[0].cost <= depth && a.rng.IntN(odds) == 0 {
				a.write(r.of[0], depth)
			}
		}
	}
}

func (a *author) lexical(what string) string {
	pick := func(list ...string) string { return list[a.rng.IntN(len(list))] }
	switch what {
	case "string":
		return pick("'cat'", "''", "'it''s'", "'a -- b'", "'\u00e4'", "'2024-01-02'")
	case "address":
		return pick("'cat'", "'mem://it''s'", "'s3://bucket/set'")
	case "number":
		return pick("0", "7", "12.5", ".5", "3.", "1e3", "2.5E-4", "18446744073709551616")
	case "param":
		switch {
		case !a.byName:
			return "?"
		case a.items > 0:
			return pick("(:label)", "(:from)", "( :_x1 )")
		}
		return pick(":label", ":Label", ":from", ":_x1", ":d\u00e4ta")
	case "function":
		return pick("SHAPE", "l2_norm", "Count", "ALL", "LEFT", "my_fn")
	}
	return pick("images", "labels", `"training/boxes"`, "x1", "_y", `"select"`, `"a ""b"""`, "d\u00e4ta", "split", "nulls", "overlap")
}

// Whatever the grammar makes is read, and what it is written as reads as the same.
func TestGrammar(t *testing.T) {
	t.Parallel()
	rules := grammar(t)
	a := &author{rules: rules, used: map[string]bool{}}
	for seed := range uint64(4000) {
		a.rng, a.fingerprint = rand.New(rand.NewPCG(seed, 1)), nil
		a.byName = seed%3 == 0
		if seed%2 == 0 {
			a.write(rules["query"], 30)
		} else {
			a.fingerprint = append(a.fingerprint, "SELECT")
			a.write(rules[[]string{"expr", "primary"}[seed/2%2]], 13+int(seed/4%16))
		}
		text := strings.Join(a.fingerprint, " ")
		s, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "lie within each other") {
				continue
			}
			t.Fatalf("seed %d: %.2000q\n%v", seed, text, err)
		}
		checkText(t, s)
	}
	for _, w := range keywords() {
		if !a.used[w] && w != "OUTER" {
			t.Errorf("the grammar never uses the keyword %s", w)
		}
	}
	for w := range a.used {
		soft := []string{"TIME", "SPACE", "SPLIT", "EXCLUDE", "NULLS", "FIRST", "LAST", "REPLACE", "PERCENT", "OVERLAP", "AT", "DATE", "TIMESTAMP", "INTERVAL", "EXTRACT", "MAX_WEIGHT", "SUM_WEIGHT"}
		if !slices.Contains(keywords(), w) && !slices.Contains(symbols(), w) && !slices.Contains(soft, w) {
			t.Errorf("the grammar has the word %s, which the lexer does not know", w)
		}
	}
}

// checkText wants s to read back from its text, and that text to stay unchanged.
func checkText(t testing.TB, s *Statement) {
	t.Helper()
	text := s.String()
	again, err := Parse(text)
	if err != nil {
		t.Fatalf("%.2000q does not read back: %v", text, err)
	}
	if got, want := shape(again), shape(s); got != want {
		i := 0
		for i < min(len(got), len(want)) && got[i] == want[i] {
			i++
		}
		t.Fatalf("%.2000q reads back as another query:\n%.300s\n%.300s", text, got[max(i-100, 0):], want[max(i-100, 0):])
	}
	if got := again.String(); got != text {
		t.Fatalf("%.2000q became %.2000q", text, got)
	}
}

// shape is all of a query but the places.
func shape(v any) string {
	var out strings.Builder
	dump(&out, v)
	return out.String()
}

var _ fmt.Stringer = (*Statement)(nil)
