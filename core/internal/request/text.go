package request

import (
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxWords bounds the text of a server that a message quotes.
	maxWords = 300
	// leastSecret is the length from which a value is looked for: shorter ones are parts of words.
	leastSecret = 4
)

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

// Unwrap gives the error as it was.
func (c *cleaned) Unwrap() error { return c.err }

// Scrub replaces secrets that another side repeats, plain or in the form of HTML and URLs.
func Scrub(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) < leastSecret {
			continue
		}
		for _, form := range []string{s, html.EscapeString(s), url.QueryEscape(s), url.PathEscape(s)} {
			text = strings.ReplaceAll(text, form, "***")
		}
	}
	return text
}

// secretsOf returns the values of headers that no answer may repeat: the private ones, and the
// secret ones of every store.
func secretsOf(h http.Header, private []string) []string {
	var out []string
	names := append([]string{
		"Authorization", "Proxy-Authorization", "Cookie", "X-Amz-Security-Token", "X-Amz-Server-Side-Encryption-Customer-Key",
		"X-Amz-Copy-Source-Server-Side-Encryption-Customer-Key", "X-Goog-Encryption-Key",
	}, private...)
	for _, name := range names {
		for _, value := range h.Values(name) {
			out = append(out, value)
			if _, token, found := strings.Cut(value, " "); found && name == "Authorization" {
				out = append(out, token)
			}
		}
	}
	return out
}
