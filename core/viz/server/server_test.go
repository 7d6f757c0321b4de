package server

import (
	"bytes"
	"testing"
)

// TestCalls holds that calls reach the service, and its answers and refusals the page.
func TestCalls(t *testing.T) {
	t.Parallel()
	f := serve(t, Options{})
	var v struct{ View, URI string }
	f.call("open", map[string]string{}, &v)
	if v.View == "" || v.URI != "mem://served" {
		t.Errorf("the view is %+v", v)
	}
	r, data := f.request("POST", "/api/samples", `{"view": "`+v.View+`", "rows": [], "columns": []}`, nil)
	if kind := r.Header.Get("Content-Type"); r.StatusCode != 200 || kind != "application/x-deeplake-samples" || !bytes.HasPrefix(data, []byte("DLS1")) {
		t.Errorf("samples: %d %s %q", r.StatusCode, kind, data)
	}
	for name, want := range map[string]int{"nothing": 404, "query": 404, "open/more": 404} {
		if status, why := f.refused(name, map[string]string{}); status != want || why.Kind != "not found" {
			t.Errorf("%s: %d %+v", name, status, why)
		}
	}
	if r, body := f.request("POST", "/api/open", "{", nil); r.StatusCode != 400 || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("half of a body: %d %s", r.StatusCode, body)
	}
}
