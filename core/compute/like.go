package compute

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"deeplake/core/array"
	"deeplake/core/tensor"
)

// LikeType returns the type of x LIKE pattern.
func LikeType(x, pattern array.Type) (array.Type, error) {
	return array.Of(tensor.Bool), wantText("LIKE", []array.Type{x, pattern}, 0, 2)
}

// Like computes x LIKE pattern: % and * match any text, _ and ? one character. A backslash escapes
// them. fold ignores case.
func Like(w *array.Work, x, pattern *array.Column, fold bool) (*array.Column, error) {
	t, err := LikeType(x.Type, pattern.Type)
	if err != nil {
		return nil, err
	}
	if x.DType == 0 || pattern.DType == 0 {
		n, _ := array.RowsOf(x, pattern)
		return array.Nothing(t, n), nil
	}
	x, a := texts(w, x)
	pattern, b := texts(w, pattern)
	var m matcher
	last := ""
	if pattern.Const {
		last = b(0)
		m = newMatcher(w, last, fold)
		return scalars(w, t, []*array.Column{x, pattern}, func(i int) (bool, bool) { return m.match(w, a(i)), true })
	}
	first := true
	return scalars(w, t, []*array.Column{x, pattern}, func(i int) (bool, bool) {
		if p := b(i); first || p != last {
			m, last, first = newMatcher(w, p, fold), p, false
		}
		return m.match(w, a(i)), true
	})
}

// matcher is a pattern: pieces with any text between them. A piece is characters, or any one
// character.
type matcher struct {
	pieces [][]rune
	plain  []string // the pieces as text; nil if one of them has a gap
	open   bool     // there is a gap between pieces at all
	fold   bool
}

const anyOne = -1

func newMatcher(w *array.Work, p string, fold bool) matcher {
	if !w.Reserve(8 * int64(len(p))) {
		return matcher{pieces: [][]rune{nil}}
	}
	m := matcher{fold: fold, pieces: [][]rune{nil}}
	whole := true
	escaped := false
	for _, r := range p {
		if !w.Step(1) {
			break
		}
		last := len(m.pieces) - 1
		switch {
		case escaped:
			m.pieces[last] = append(m.pieces[last], folded(r, fold))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '%' || r == '*':
			m.pieces, m.open = append(m.pieces, nil), true
		case r == '_' || r == '?':
			m.pieces[last] = append(m.pieces[last], anyOne)
			whole = false
		default:
			m.pieces[last] = append(m.pieces[last], folded(r, fold))
		}
	}
	if escaped {
		m.pieces[len(m.pieces)-1] = append(m.pieces[len(m.pieces)-1], '\\')
	}
	if whole && !fold {
		for _, piece := range m.pieces {
			m.plain = append(m.plain, string(piece))
		}
	}
	return m
}

func folded(r rune, fold bool) rune {
	if fold {
		return unicode.ToLower(unicode.ToUpper(r))
	}
	return r
}

func (m *matcher) match(w *array.Work, s string) bool {
	if m.plain != nil {
		return m.matchPlain(w, s)
	}
	if !m.open {
		rest, ok := m.piece(w, s, m.pieces[0])
		return ok && rest == ""
	}
	s, ok := m.piece(w, s, m.pieces[0])
	if !ok {
		return false
	}
	last := m.pieces[len(m.pieces)-1]
	for _, p := range m.pieces[1 : len(m.pieces)-1] {
		if s, ok = m.find(w, s, p); !ok {
			return false
		}
	}
	// The rest has to end with the last piece.
	skip := countRunes(w, s) - len(last)
	if skip < 0 {
		return false
	}
	s = s[skipRunes(w, s, int64(skip)):]
	rest, ok := m.piece(w, s, last)
	return ok && rest == ""
}

func (m *matcher) matchPlain(w *array.Work, s string) bool {
	first, last := m.plain[0], m.plain[len(m.plain)-1]
	if !m.open {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, p := range m.plain[1 : len(m.plain)-1] {
		i := indexText(w, s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}

// piece matches at the begin of s and gives the rest.
func (m *matcher) piece(w *array.Work, s string, p []rune) (string, bool) {
	for i, want := range p {
		if i%array.Block == array.Block-1 && !w.Step(array.Block) {
			return s, false
		}
		r, size := utf8.DecodeRuneInString(s)
		if size == 0 || want != anyOne && folded(r, m.fold) != want {
			return s, false
		}
		s = s[size:]
	}
	return s, true
}

// find matches at the first place where that is possible.
func (m *matcher) find(w *array.Work, s string, p []rune) (string, bool) {
	for {
		if !w.Step(rowSteps) {
			return s, false
		}
		if rest, ok := m.piece(w, s, p); ok {
			return rest, true
		}
		_, size := utf8.DecodeRuneInString(s)
		if size == 0 {
			return s, false
		}
		s = s[size:]
	}
}

var likeOperators = []operator{
	{"LIKE", Facts{Infallible: always}},
	{"ILIKE", Facts{Infallible: always}},
}
