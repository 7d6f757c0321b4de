package tql

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a query, far beyond any that people write.
const (
	maxText  = 1 << 20
	maxDepth = 200     // of parentheses, operators and selects within each other
	maxLinks = 1 << 16 // operators and indices that follow each other
	maxParts = 10000   // joins and set operations
)

// lexer cuts a text into tokens.
type lexer struct {
	text     string
	at       Pos
	keywords []string
	symbols  []string
}

// Tokens splits a query into tokens. The last one is an EndToken. It returns errs.Invalid for
// unknown characters, unclosed quotes and comments, and texts longer than 1 MiB.
func Tokens(text string) ([]Token, error) {
	l := &lexer{text: text, at: Pos{Line: 1, Column: 1}, keywords: keywords(), symbols: symbols()}
	if len(text) > maxText {
		return nil, l.failed(l.at, "a query has at most %d bytes, this one %d", maxText, len(text))
	}
	var out []Token
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		if out = append(out, t); t.Kind == EndToken {
			return out, nil
		}
	}
}

func (l *lexer) rest() string { return l.text[l.at.Offset:] }

// skip advances by n bytes, which must be whole characters.
func (l *lexer) skip(n int) {
	for _, r := range l.text[l.at.Offset : l.at.Offset+n] {
		l.at.Column++
		if r == '\n' {
			l.at.Line++
			l.at.Column = 1
		}
	}
	l.at.Offset += n
}

// space skips blanks and comments: -- to the end of the line, and /* */.
func (l *lexer) space() error {
	for {
		rest := l.rest()
		blank := len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
		switch {
		case blank > 0:
			l.skip(blank)
		case strings.HasPrefix(rest, "--"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			l.skip(end)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return l.failed(l.at, "this comment has no end; want */")
			}
			l.skip(end + 4)
		default:
			return nil
		}
	}
}

func (l *lexer) next() (Token, error) {
	if err := l.space(); err != nil {
		return Token{}, err
	}
	t := Token{At: l.at}
	rest := l.rest()
	if rest == "" {
		return t, nil
	}
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case first == utf8.RuneError && size == 1:
		return t, l.failed(l.at, "this is not UTF-8")
	case first == ';':
		l.skip(1)
		if err := l.space(); err != nil || l.rest() == "" {
			return Token{At: l.at}, err
		}
		return t, l.failed(t.At, "a query is one statement; a ';' may only end it")
	case first == '\'' || first == '"':
		return l.quoted(t, rest, byte(first))
	case isDigit(rest[0]) || rest[0] == '.' && len(rest) > 1 && isDigit(rest[1]):
		return l.number(t, rest)
	case first == '_' || unicode.IsLetter(first):
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(rest)
		}
		t.Kind, t.Text = WordToken, rest[:n]
		if upper := strings.ToUpper(t.Text); slices.Contains(l.keywords, upper) {
			t.Word = upper
		}
		l.skip(n)
		return t, nil
	}
	for _, s := range l.symbols {
		if strings.HasPrefix(rest, s) {
			t.Kind, t.Text, t.Word = SymbolToken, s, s
			l.skip(len(s))
			return t, nil
		}
	}
	return t, l.failed(l.at, "the character %q means nothing here", first)
}

// quoted reads a text in quotes. A doubled quote stands for one.
func (l *lexer) quoted(t Token, rest string, mark byte) (Token, error) {
	var text strings.Builder
	for i := 1; i < len(rest); i++ {
		if rest[i] != mark {
			text.WriteByte(rest[i])
			continue
		}
		if i+1 < len(rest) && rest[i+1] == mark {
			text.WriteByte(mark)
			i++
			continue
		}
		t.Kind, t.Text = StringToken, text.String()
		if mark == '"' {
			t.Kind = QuotedToken
			if t.Text == "" {
				return t, l.failed(t.At, "a name is empty")
			}
		}
		if !utf8.ValidString(t.Text) {
			return t, l.failed(t.At, "this is not UTF-8")
		}
		l.skip(i + 1)
		return t, nil
	}
	return t, l.failed(t.At, "what begins here in quotes has no end; want %c", mark)
}

// number reads digits, a fraction and an exponent. A sign is an operator.
func (l *lexer) number(t Token, rest string) (Token, error) {
	n := digits(rest, 0)
	if n < len(rest) && rest[n] == '.' && !strings.HasPrefix(rest[n:], "...") {
		n = digits(rest, n+1)
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		e := n + 1
		if e < len(rest) && (rest[e] == '+' || rest[e] == '-') {
			e++
		}
		if end := digits(rest, e); end > e {
			n = end
		}
	}
	t.Kind, t.Text = NumberToken, rest[:n]
	if r, _ := utf8.DecodeRuneInString(rest[n:]); r == '_' || unicode.IsLetter(r) {
		return t, l.failed(t.At, "a number ends in a letter, %s", rest[:n+utf8.RuneLen(r)])
	}
	l.skip(n)
	return t, nil
}

func digits(text string, at int) int {
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	return at
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
