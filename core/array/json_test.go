package array

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
)

// TestLargeDocuments: members of large documents are those of small ones, of right and of damaged
// text.
func TestLargeDocuments(t *testing.T) {
	t.Parallel()
	filler := `"` + strings.Repeat("x", largeJSON) + `"`
	for _, s := range []string{
		`[1, "a\u00e9", null, {"b": [2]}, FILLER]`, `[FILLER]`, `{"a": 1, "a": 2, "é": FILLER, "c": {"d": null}}`, `{"": FILLER}`,
		`[FILLER`, `[FILLER]]`, `[FILLER, ]`, `[1 2, FILLER]`, `{"a": FILLER`, `{"a": FILLER} x`, `{"a" FILLER}`, `{a: FILLER}`, `{"a": FILLER, }`,
		`{"a": FILLER} `, ` [FILLER] `, `FILLER`, `[` + strings.Repeat("[", 12_000) + `FILLER`,
	} {
		s = strings.Replace(s, "FILLER", filler, 1)
		var list []json.RawMessage
		var object map[string]json.RawMessage
		isList, isObject := json.Unmarshal([]byte(s), &list) == nil, json.Unmarshal([]byte(s), &object) == nil
		same := func(a, b json.RawMessage) bool { return string(a) == string(b) }
		if got, ok := JSONList(nil, s); ok != isList || ok && !slices.EqualFunc(got, list, same) {
			t.Errorf("%.40s: a list is %v, want %v, or has other items", s, ok, isList)
		}
		if got, ok := JSONObject(nil, s); ok != isObject || ok && !maps.EqualFunc(got, object, same) {
			t.Errorf("%.40s: an object is %v, want %v, or has other members", s, ok, isObject)
		}
	}
}

// TestLargeDocumentsStop: parsing a document of seconds ends soon after its caller has gone.
func TestLargeDocumentsStop(t *testing.T) {
	t.Parallel()
	s := "[" + strings.Repeat(`{"a": [1, 2, 3]}, `, 6<<20) + "0]"
	began := time.Now()
	w := NewWork("test", func() error {
		if time.Since(began) > 20*time.Millisecond {
			return errs.New(errs.Canceled, "gone")
		}
		return nil
	}, nil)
	if _, ok := JSONList(w, s); ok || w.Err() == nil {
		t.Error("it is not stopped")
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it ended after %s", took)
	}
}
