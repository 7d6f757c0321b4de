package request

import (
	"net/http"
	"testing"
)

// TestIsPageOf has answers to a write: moto gives empty ones the type of a web page.
func TestIsPageOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   string
		tag    string
		status int
		bytes  int64
		want   bool
	}{
		{"S3", "application/xml", `"a"`, 200, 0, false},
		{"moto, a put", "text/html; charset=utf-8", `"a"`, 200, 0, false},
		{"moto, a deletion", "text/html; charset=utf-8", "", 204, 0, false},
		{"a page", "text/html", "", 200, 900, true},
		{"a page of unknown size", "text/html", `"a"`, 200, -1, true},
		{"a page with a tag", "text/html", `"a"`, 200, 900, true},
		{"an empty answer without a tag", "text/html", "", 200, 0, false},
		{"a page that says it is no content", "text/html", "", 204, -1, false},
	} {
		h := http.Header{"Content-Type": {c.kind}}
		if c.tag != "" {
			h.Set("ETag", c.tag)
		}
		if got := IsPageOf(&http.Response{StatusCode: c.status, Header: h, ContentLength: c.bytes}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
