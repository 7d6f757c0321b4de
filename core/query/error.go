package query

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
)

// maxShown bounds the line that a message shows, in characters.
const maxShown = 100

// mistake is an error about a place in a query: line, column, what is wrong, and the line with a
// caret below the place.
func mistake(text string, at Pos, kind errs.Kind, format string, args ...any) error {
	line, shift := lineOf(text, at)
	caret := strings.Repeat(" ", max(at.Column-1-shift, 0)) + "^"
	return errs.New(kind, "query, line %d, column %d: %w\n  %s\n  %s", at.Line, at.Column, &placedError{fmt.Errorf(format, args...)}, line, caret)
}

// placedError is an error of which a message says where in the query it belongs.
type placedError struct{ err error }

func (e *placedError) Error() string { return e.err.Error() }
func (e *placedError) Unwrap() error { return e.err }

// lineOf is the line of a place, as much of it as can be shown, and how many characters are left
// out before.
func lineOf(text string, at Pos) (line string, shift int) {
	begin := strings.LastIndexByte(text[:at.Offset], '\n') + 1
	end := strings.IndexByte(text[at.Offset:], '\n')
	if end < 0 {
		end = len(text)
	} else {
		end += at.Offset
	}
	runes := []rune(strings.ToValidUTF8(text[begin:end], string(utf8.RuneError)))
	if at.Column > maxShown {
		shift = at.Column - maxShown/2
	}
	shift = min(shift, len(runes))
	runes = runes[shift:min(len(runes), shift+maxShown)]
	for i, r := range runes {
		if r < ' ' {
			runes[i] = ' ' // a tab would shift the caret
		}
	}
	return string(runes), shift
}

func (l *lexer) failed(at Pos, format string, args ...any) error {
	return mistake(l.text, at, errs.Invalid, format, args...)
}
