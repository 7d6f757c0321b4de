package request

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWords bounds the text of a server that a message quotes.
const maxWords = 300

// Clean returns text that another side has sent as a message may show it: on one line, at most
// `most` bytes of it, and with characters escaped that a terminal would obey or hide (control
// characters, changes of direction).
func Clean(text string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "..."
	}
	var out strings.Builder
	for _, r := range text {
		if strconv.IsGraphic(r) {
			out.WriteRune(r)
		} else {
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}

// CleanError is err with a clean text. It unwraps to err.
func CleanError(err error) error {
	text := Clean(err.Error(), maxWords)
	if text == err.Error() {
		return err
	}
	return &cleaned{text, err}
}

type cleaned struct {
	text string
	err  error
}

func (c *cleaned) Error() string { return c.text }

// Unwrap gives the error unchanged.
func (c *cleaned) Unwrap() error { return c.err }
