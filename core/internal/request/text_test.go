package request

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		" a\r\n\tb ": "a b", "\x1b]0;title\x07": `\x1b]0;title\a`, "a\u202eb": `a\u202eb`, "\xff\x00": `?\x00`, "é 世": "é 世", "\u009b31m": `\u009b31m`,
		"aaaaaaaaaaaaaaaaaaaaé": "aaaaaaaaaaaaaaaaaaaa...",
	} {
		if got := Clean(in, 21); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	err := CleanError(errors.Join(io.ErrUnexpectedEOF, errors.New("\x1b")))
	if !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a clean error: %q", err)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(0, min(most, 1000))
		got := Clean(text, most)
		if !utf8.ValidString(got) || len(got) > 10*most+3 || strings.ContainsAny(got, "\x00\x07\x1b\n\r\u202e\u2028") {
			t.Errorf("%q, %d is shown as %q", text, most, got)
		}
	})
}

// TestResponsesRepeatNoSecret: a server that echoes a request does not bring its secrets into
// messages.
func TestResponsesRepeatNoSecret(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_ = r.Header.Write(w)
		_, _ = io.WriteString(w, "\x1b]52;c;evil\x07"+strings.Repeat("x", 100_000))
	}))
	defer server.Close()
	c := client(t, storage.Settings{})
	rq := httptest.NewRequest(http.MethodGet, server.URL+"/x", nil)
	rq.RequestURI = ""
	rq.Header = http.Header{
		"Authorization": {"Bearer hunter2"}, "X-Key": {"hunter3&<"}, "X-Amz-Security-Token": {"hunter4"}, "X-Goog-Encryption-Key": {"hunter5"},
	}
	_, err := c.Get(t.Context(), &Dialect{Private: []string{"X-Key"}}, rq, 0, 1, "")
	if !errs.Is(err, errs.Denied) || strings.Contains(err.Error(), "hunter") || strings.ContainsRune(err.Error(), 0x1b) || len(err.Error()) > 1000 {
		t.Errorf("got %q", err)
	}
}

// TestScrub: a secret is found in any case, and in the forms in which texts and errors write it.
func TestScrub(t *testing.T) {
	t.Parallel()
	c := client(t, storage.Settings{SecretAccessKey: `a<b"c\d+e/f g`, BearerToken: "Token99", SessionToken: "abc"})
	for text, want := range map[string]string{
		"TOKEN99 token99": "*** ***", "xToken99Token99y": "x******y", "Token9": "Token9", "abc": "abc", "": "",
		`a<b"c\d+e/f g`: "***", `a&lt;b&#34;c\d+e/f g`: "***", "a%3Cb%22c%5Cd%2Be%2Ff+g.": "***.", `"a<b\"c\\d+e/f g"`: `"***"`,
		`{"a\u003cb\"c\\d+e/f g"}`: `{"***"}`, `"a\\u003cb\\\"c\\\\d+e/f g"`: `"***"`,
	} {
		if got := c.secrets.scrub(text, leastSecret); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
	for n := range 3 * mostSent {
		rq := httptest.NewRequest(http.MethodGet, "http://host/?sig=query"+strconv.Itoa(n), nil)
		rq.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA99/2026, Signature=signed"+strconv.Itoa(n))
		c.secrets.note(rq)
	}
	last := strconv.Itoa(3*mostSent - 1)
	if got := c.secrets.scrub("AKIA99 signed"+last+" query"+last, leastSecret); got != "*** *** ***" {
		t.Errorf("of the last request: %s", got)
	}
	c.Keep("long-token", "test")
	err := c.Hide(&storage.Fault{Repeat: storage.Later, Wait: 3, Err: errs.New(errs.Denied, `bucket "test": no LONG-token`)})
	var fault *storage.Fault
	if !errors.As(err, &fault) || fault.Repeat != storage.Later || fault.Wait != 3 || !errs.Is(err, errs.Denied) || err.Error() != `bucket "test": no ***` {
		t.Errorf("hidden: %#v", err)
	}
	if err := c.Hide(later{errs.New(errs.Storage, "long-token")}); errs.FieldsOf(err).Retry != errs.RetryYes || err.Error() != "***" {
		t.Errorf("hidden: %#v", err)
	}
	if quoted := (&Response{Client: c}).Clean("a test", 99); quoted != "a ***" {
		t.Errorf("a text of the server: %q", quoted)
	}
}
