package compute

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"deeplake/core/array"
	"deeplake/core/errs"
)

// The bounds of a pattern: its characters, and the steps of its program, which repetitions add to.
const (
	maxPattern = 10_000
	maxProgram = 100_000
)

// directWork is the product of characters and program steps up to which a text is matched without a
// look at the caller: some milliseconds.
const directWork = 1 << 20

// regex is a regular expression whose search ends when the caller gives up.
type regex struct {
	first   *regexp.Regexp
	text    string
	steps   int            // of the program, about
	further *regexp.Regexp // finds matches after the first character; nil until it is needed
}

func newRegex(w *array.Work, pattern string) (*regex, error) {
	if len(pattern) > maxPattern {
		return nil, errs.New(errs.Invalid, "it has %d characters, want at most %d", len(pattern), maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	steps := programSteps(tree)
	if steps > maxProgram {
		return nil, errs.New(errs.Invalid, "its repetitions make %d steps of it, want at most %d", steps, maxProgram)
	}
	if !w.Step(steps) || !w.Reserve(int64(steps)*programBytes) {
		return emptyRegex(), nil
	}
	r, err := regexp.Compile(pattern)
	return &regex{first: r, text: pattern, steps: steps}, err
}

// programBytes is about the memory of a step of a program and of its matcher.
const programBytes = 200

func emptyRegex() *regex { return &regex{first: regexp.MustCompile(""), steps: 1} }

// programSteps estimates the steps of the program of a pattern.
func programSteps(x *syntax.Regexp) int {
	n := 1 + len(x.Rune)
	for _, sub := range x.Sub {
		if n += programSteps(sub); n > maxProgram {
			break
		}
	}
	if x.Op == syntax.OpRepeat {
		n *= max(1, x.Max, x.Min)
	}
	return min(n, 1000*maxProgram)
}

// direct reports whether a text is short enough to be matched without a look at the caller.
func (p *regex) direct(w *array.Work, s string) bool {
	return len(s) <= directWork/p.steps && w.Step(1+len(s)*min(p.steps, 8))
}

// runeReader reads a text until the caller gives up.
type runeReader struct {
	w     *array.Work
	s     string
	steps int
}

// ReadRune is part of io.RuneReader.
func (r *runeReader) ReadRune() (rune, int, error) {
	if len(r.s) == 0 || !r.w.Step(r.steps) {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.s)
	r.s = r.s[size:]
	return c, size, nil
}

func (p *regex) reader(w *array.Work, s string) *runeReader {
	return &runeReader{w, s, 2 + p.steps}
}

func (p *regex) matches(w *array.Work, s string) bool {
	if p.direct(w, s) {
		return p.first.MatchString(s)
	}
	return p.first.MatchReader(p.reader(w, s))
}

// extract returns a group of the first match; nothing where there is none.
func (p *regex) extract(w *array.Work, s string, group int64) string {
	m := p.find(w, s, 0)
	if group < 0 || 2*group >= int64(len(m)) || m[2*group] < 0 || w.Err() != nil {
		return ""
	}
	return s[m[2*group]:m[2*group+1]]
}

// find returns the bounds of the first match, and of its groups, that begins at from or later; nil
// if there is none. What stands before from decides about word boundaries and begins of lines.
func (p *regex) find(w *array.Work, s string, from int) []int {
	if from == 0 {
		if p.direct(w, s) {
			return p.first.FindStringSubmatchIndex(s)
		}
		return p.first.FindReaderSubmatchIndex(p.reader(w, s))
	}
	if p.further == nil {
		// One character before, the fewest others, then the pattern as a group before its own.
		further, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + p.text + `)`)
		if err != nil {
			return nil
		}
		p.further = further
	}
	_, size := utf8.DecodeLastRuneInString(s[:from])
	base := from - size
	var m []int
	if rest := s[base:]; p.direct(w, rest) {
		m = p.further.FindStringSubmatchIndex(rest)
	} else {
		m = p.further.FindReaderSubmatchIndex(p.reader(w, rest))
	}
	if m == nil {
		return nil
	}
	m = m[2:]
	for i := range m {
		if m[i] >= 0 {
			m[i] += base
		}
	}
	return m
}

// replace returns s with every match replaced by a template, as Regexp.ReplaceAllString does; nil,
// the text would be larger than a row may be. It counts the memory before it is allocated.
func (p *regex) replace(w *array.Work, s, template string) any {
	r := replacing{w: w, s: s, parts: p.template(w, template)}
	if p.direct(w, s) {
		all := p.first.FindAllStringSubmatchIndex(s, -1)
		if !r.room(r.size(all)) {
			return r.done()
		}
		for _, m := range all {
			if !r.match(m) {
				break
			}
		}
		return r.done()
	}
	for at, last := 0, 0; at <= len(s); {
		m := p.find(w, s, at)
		if m == nil || w.Err() != nil {
			break
		}
		if m[1] > last || m[0] == 0 { // no empty match directly behind another one
			if !r.match(m) {
				break
			}
		}
		last = m[1]
		switch _, size := utf8.DecodeRuneInString(s[at:]); {
		case at+size > m[1]:
			at += size
		case at+1 > m[1]: // at the end
			at++
		default:
			at = m[1]
		}
	}
	return r.done()
}

// replacing is a text whose matches are replaced one after the other.
type replacing struct {
	w      *array.Work
	s      string
	parts  []templatePart
	out    strings.Builder
	copied int // bytes of s that are in out, or replaced
	any    bool
	large  bool // a row may not have so many bytes
}

// match replaces a match. It returns false if that is too large.
func (r *replacing) match(m []int) bool {
	size := m[0] - r.copied
	for _, part := range r.parts {
		size += part.size(m)
	}
	if !r.room(size) || !r.w.Step(rowSteps+len(r.parts)+size/16) {
		return false
	}
	r.out.WriteString(r.s[r.copied:m[0]])
	for _, part := range r.parts {
		r.out.WriteString(part.of(r.s, m))
	}
	r.copied, r.any = m[1], true
	return true
}

// size is the size of the text once all matches are replaced, or one that is too large.
func (r *replacing) size(all [][]int) int {
	size := len(r.s)
	for _, m := range all {
		size -= m[1] - m[0]
		for _, part := range r.parts {
			size += part.size(m)
		}
		if size > 2*array.MaxRow || !r.w.Step(rowSteps+len(r.parts)) {
			break
		}
	}
	return size
}

func (r *replacing) room(size int) bool {
	r.large = r.large || int64(r.out.Len())+int64(size) > array.MaxRow
	return !r.large && grow(r.w, &r.out, size)
}

// done returns the text, nil if it is too large.
func (r *replacing) done() any {
	switch {
	case r.w.Err() != nil:
		return ""
	case !r.any && !r.large:
		return r.s
	case !r.room(len(r.s) - r.copied):
		if r.large {
			return nil
		}
		return ""
	}
	r.out.WriteString(r.s[r.copied:])
	return r.out.String()
}

// templatePart is a text, or a group of the match.
type templatePart struct {
	text  string
	group int // -1: the text
}

func (t templatePart) size(m []int) int {
	if t.group < 0 {
		return len(t.text)
	}
	if 2*t.group+1 >= len(m) || m[2*t.group] < 0 {
		return 0
	}
	return m[2*t.group+1] - m[2*t.group]
}

func (t templatePart) of(s string, m []int) string {
	if t.group < 0 {
		return t.text
	}
	if t.size(m) == 0 {
		return ""
	}
	return s[m[2*t.group]:m[2*t.group+1]]
}

// template reads the text that replaces a match, by the rules of Regexp.Expand: $1 and $name are
// groups, and $$ is a dollar.
func (p *regex) template(w *array.Work, text string) (parts []templatePart) {
	add := func(part templatePart) {
		if (part.group >= 0 || part.text != "") && w.Reserve(templateBytes) {
			parts = append(parts, part)
		}
	}
	for w.Step(rowSteps) {
		before, after, ok := strings.Cut(text, "$")
		add(templatePart{text: before, group: -1})
		if !ok {
			break
		}
		if strings.HasPrefix(after, "$") {
			add(templatePart{text: "$", group: -1})
			text = after[1:]
			continue
		}
		name, rest, ok := groupName(after)
		if !ok {
			add(templatePart{text: "$", group: -1})
			text = after
			continue
		}
		text = rest
		group, err := strconv.Atoi(name)
		if err != nil || group < 0 || group > 1e8 {
			group = p.first.SubexpIndex(name)
		}
		if group >= 0 && group <= p.first.NumSubexp() {
			add(templatePart{group: group})
		}
	}
	return parts
}

// templateBytes is the memory of a part of a template, with room to grow.
const templateBytes = 48

// groupName reads the name after a dollar: letters, digits and underscores, or anything such in
// braces.
func groupName(s string) (name, rest string, ok bool) {
	brace := strings.HasPrefix(s, "{")
	s = strings.TrimPrefix(s, "{")
	end := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	if end < 0 {
		end = len(s)
	}
	if end == 0 || brace && !strings.HasPrefix(s[end:], "}") {
		return "", "", false
	}
	name, rest = s[:end], s[end:]
	if brace {
		rest = rest[1:]
	}
	return name, rest, true
}
