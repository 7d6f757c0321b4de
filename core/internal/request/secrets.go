package request

import (
	"encoding/json"
	"errors"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

const (
	// leastSecret is the length from which a value is removed from texts of another side: shorter
	// ones are parts of words.
	leastSecret = 4
	// leastAnywhere is the length from which a value is removed from whole messages. The keys of
	// test servers ("test") may be names of buckets, too.
	leastAnywhere = 8
	// mostSent bounds the secrets of requests in a generation: fewer requests are in flight.
	mostSent = 512
)

// secretHeaders are the headers whose values are secrets at every store.
var secretHeaders = [...]string{
	"Authorization", "Proxy-Authorization", "Cookie", "X-Amz-Security-Token", "X-Amz-Server-Side-Encryption-Customer-Key",
	"X-Amz-Copy-Source-Server-Side-Encryption-Customer-Key", "X-Goog-Encryption-Key",
}

// secrets are the values that no message of a Client shows, wherever a server repeats them: those
// of the settings, and those of the latest requests.
type secrets struct {
	mu    sync.Mutex
	given []string           // of the settings and files
	sent  [2]map[string]bool // of requests: the newest generation, and the one before
}

// note remembers the secrets that rq carries, among them the values of private headers.
func (s *secrets) note(rq *http.Request, private ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range private {
		for _, value := range rq.Header.Values(name) {
			s.add(value)
		}
	}
	for _, name := range secretHeaders {
		for _, value := range rq.Header[name] {
			if name == "Authorization" {
				credentialsOf(value, s.add)
			} else {
				s.add(value)
			}
		}
	}
	if rq.URL.RawQuery != "" {
		storage.SecretValues(rq.URL.RawQuery, s.add)
	}
}

// add remembers a value. A full generation takes the place of the one before.
func (s *secrets) add(value string) {
	if len(value) < leastSecret || s.sent[0][value] || slices.Contains(s.given, value) {
		return
	}
	if s.sent[0] == nil || len(s.sent[0]) == mostSent {
		s.sent[0], s.sent[1] = map[string]bool{}, s.sent[0]
	}
	s.sent[0][value] = true
}

// Remember keeps the signatures in the query of a URL out of messages, until many more requests
// were sent.
func (c *Client) Remember(query string) {
	c.secrets.mu.Lock()
	defer c.secrets.mu.Unlock()
	storage.SecretValues(query, c.secrets.add)
}

// credentialsOf calls add for the secrets of an Authorization header: a token, or the key and the
// signature of Amazon's scheme.
func credentialsOf(value string, add func(string)) {
	scheme, rest, _ := strings.Cut(value, " ")
	if !strings.HasPrefix(scheme, "AWS4-") {
		add(value)
		add(rest)
		return
	}
	if _, key, found := strings.Cut(rest, "Credential="); found {
		key, _, _ = strings.Cut(key, "/")
		add(key)
	}
	if _, signature, found := strings.Cut(rest, "Signature="); found {
		add(signature)
	}
}

// scrub replaces the secrets of `least` bytes or more in text, plain or as HTML, JSON, Go and URLs
// write them, in any case.
func (s *secrets) scrub(text string, least int) string {
	s.mu.Lock()
	values := slices.Clone(s.given)
	for _, sent := range s.sent {
		values = slices.AppendSeq(values, maps.Keys(sent))
	}
	s.mu.Unlock()
	// A secret that contains another one goes first.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	for _, value := range values {
		if len(value) >= least {
			text = scrub(text, value)
		}
	}
	return text
}

func scrub(text, value string) string {
	if plain(value) {
		return replaceFold(text, value)
	}
	encoded, _ := json.Marshal(value) // of a string: no error
	for _, form := range []string{
		value, html.EscapeString(value), url.QueryEscape(value), url.PathEscape(value), string(encoded[1 : len(encoded)-1]),
	} {
		quoted := strconv.Quote(form) // errors of Go quote a text so
		for _, f := range []string{form, quoted[1 : len(quoted)-1]} {
			text = replaceFold(text, f)
		}
	}
	return text
}

// plain reports whether no form of a value differs from it.
func plain(value string) bool {
	for i := range len(value) {
		c := value[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// replaceFold replaces old in text, whatever the case of its letters.
func replaceFold(text, old string) string {
	var out strings.Builder
	from := 0
	for i := 0; i+len(old) <= len(text); {
		if lower(text[i]) != lower(old[0]) || !strings.EqualFold(text[i:i+len(old)], old) {
			i++
			continue
		}
		out.WriteString(text[from:i])
		out.WriteString("***")
		i += len(old)
		from = i
	}
	if from == 0 {
		return text
	}
	return out.String() + text[from:]
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// CleanError is err without secrets, as a message may show what another side has sent. It unwraps
// to err.
func (c *Client) CleanError(err error) error {
	text := Clean(c.secrets.scrub(err.Error(), leastSecret), maxWords)
	if text == err.Error() {
		return err
	}
	return &cleaned{text, err}
}

// Hide returns err without secrets. An error that shows one keeps its kind and its fault, and loses
// the other layers.
func (c *Client) Hide(err error) error {
	if err == nil {
		return nil
	}
	text, id := err.Error(), errs.FieldsOf(err).RequestID
	hidden, hiddenID := c.secrets.scrub(text, leastAnywhere), c.secrets.scrub(id, leastAnywhere)
	if hidden == text && hiddenID == id {
		return err
	}
	var out error = &errs.Error{Kind: errs.KindOf(err), RequestID: hiddenID, Err: errors.New(hidden)}
	var (
		bucket *storage.NoBucket
		fault  *storage.Fault
		again  later
	)
	if errors.As(err, &bucket) {
		out = &storage.NoBucket{Err: out}
	}
	switch {
	case errors.As(err, &again):
		out = later{out}
	case errors.As(err, &fault):
		out = &storage.Fault{Repeat: fault.Repeat, Wait: fault.Wait, Err: out}
	}
	return out
}

// Keep adds values that no message may show.
func (c *Client) Keep(values ...string) {
	c.secrets.mu.Lock()
	defer c.secrets.mu.Unlock()
	for _, v := range values {
		if len(v) >= leastSecret && !slices.Contains(c.secrets.given, v) {
			c.secrets.given = append(c.secrets.given, v)
		}
	}
}
