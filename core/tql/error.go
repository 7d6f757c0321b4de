package tql

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
)

// maxShown bounds the quoted line of a message, in characters.
const maxShown = 100

// Errorf returns an error about a position of a query: line, column, the formatted message, and the
// line of the query with a caret under the position. The result unwraps to a [PositionError].
func Errorf(text string, at Pos, kind errs.Kind, format string, args ...any) error {
	line, shift := lineOf(text, at)
	caret := strings.Repeat(" ", max(at.Column-1-shift, 0)) + "^"
	return errs.New(kind, "query, line %d, column %d: %w\n  %s\n  %s", at.Line, at.Column, &PositionError{fmt.Errorf(format, args...)}, line, caret)
}

// PositionError marks an error whose message already names its position in the query.
type PositionError struct{ err error }

func (e *PositionError) Error() string { return e.err.Error() }
func (e *PositionError) Unwrap() error { return e.err }

// lineOf returns the line of a position, cut to maxShown characters, and the number of characters
// cut from its beginning.
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
	return Errorf(l.text, at, errs.Invalid, format, args...)
}
