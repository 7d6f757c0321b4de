package format

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

func TestViewKeys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cats", "Cats and dogs", "größe", "a.b"} {
		key := ViewKey(name, 12)
		if got, n, err := ParseViewKey(key); err != nil || got != name || n != 12 || !strings.HasPrefix(key, ViewAfter(name)) {
			t.Errorf("%q: %q, %d, %v", key, got, n, err)
		}
	}
	for _, key := range []string{"views/a", "views/a.01", "views/A.1", "views/.1", "view/a.1", "views/a.-1", "views/a.99999999999999999999"} {
		if _, _, err := ParseViewKey(key); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

func TestViewRoundTrip(t *testing.T) {
	t.Parallel()
	plain := goldenView()
	again := plain
	again.Listed, again.Rows = false, nil
	none := plain
	none.Rows, none.Columns = nil, nil
	for _, v := range []View{plain, again, none, {Deleted: true}} {
		data, err := EncodeView(v, in("refs/tags/v1"))
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeView(data, in("refs/tags/v1")); err != nil || !reflect.DeepEqual(back, v) {
			t.Errorf("%+v became %+v, %v", v, back, err)
		}
	}
}

func TestViewRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(v *View){
		"no commit":         func(v *View) { v.Commit = UUID{} },
		"neither":           func(v *View) { v.Listed, v.Rows, v.Query = false, nil, "" },
		"rows, not listed":  func(v *View) { v.Listed = false },
		"empty run":         func(v *View) { v.Rows[0].Count = 0 },
		"before the first":  func(v *View) { v.Rows[0].Start = -2 },
		"too many":          func(v *View) { v.Rows[0].Count = MaxRows; v.Rows[1].Count = MaxRows },
		"parameters":        func(v *View) { v.Params = []byte(`{"a":1}`) },
		"no parameters":     func(v *View) { v.Params = nil },
		"broken parameters": func(v *View) { v.Params = []byte(`[1,`) },
		"nameless":          func(v *View) { v.Columns[0].Name = "" },
		"text":              func(v *View) { v.Query = "\xff" },
		"deleted":           func(v *View) { v.Deleted = true },
	} {
		v := goldenView()
		change(&v)
		if _, err := EncodeView(v, in("refs/tags/v1")); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(head string) string{
		"other count":  func(h string) string { return strings.Replace(h, `"rows":506`, `"rows":507`, 1) },
		"not listed":   func(h string) string { return strings.Replace(h, `"rows":506`, `"rows":null`, 1) },
		"unknown":      func(h string) string { return strings.Replace(h, `{`, `{"what":1,`, 1) },
		"missing":      func(h string) string { return strings.Replace(h, `"seed":7,`, ``, 1) },
		"unequal":      func(h string) string { return strings.Replace(h, `["crop","label"]`, `["crop"]`, 1) },
		"not deleted":  func(string) string { return `{"deleted":false}` },
		"deleted rows": func(string) string { return `{"deleted":true}` },
	} {
		payload, err := encodeView(goldenView(), in("refs/tags/v1"), func() bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		r := reader{b: payload}
		head := string(r.bytes(r.uvarint(MaxBlobRaw, ""), ""))
		changed := change(head)
		if changed == head {
			t.Fatalf("%s: nothing changed in %s", name, head)
		}
		bad := append(append(appendUvarint(nil, int64(len(changed))), changed...), r.b...)
		if v, err := decodeView(bad, in("refs/tags/v1"), nil); err == nil {
			t.Errorf("%s: taken as %+v", name, v)
		}
	}
}

// TestDecodeViewStops: the decoder of a view of many runs looks at its caller.
func TestDecodeViewStops(t *testing.T) {
	t.Parallel()
	v := goldenView()
	v.Listed, v.Rows = true, make([]ViewRun, 4*lookRuns)
	for i := range v.Rows {
		v.Rows[i] = ViewRun{Start: int64(i % 2), Count: 1}
	}
	data, err := EncodeView(v, in("refs/tags/v1"))
	if err != nil {
		t.Fatal(err)
	}
	want := errs.New(errs.Canceled, "enough")
	for stop := range 4 {
		looks := 0
		_, err := DecodeViewWhile(data, in("refs/tags/v1"), func() error {
			if looks++; looks > stop {
				return want
			}
			return nil
		})
		if !errors.Is(err, want) || looks != stop+1 {
			t.Errorf("got %v after %d looks, want it after %d", err, looks, stop+1)
		}
	}
	if _, err := DecodeViewWhile(data, in("refs/tags/v1"), func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestEncodeViewStops: the encoder of a view of many runs looks at its caller, also while it
// compresses, and a payload of several parts comes back.
func TestEncodeViewStops(t *testing.T) {
	t.Parallel()
	v := goldenView()
	v.Listed, v.Rows = true, make([]ViewRun, 16*lookRuns)
	for i := range v.Rows {
		v.Rows[i] = ViewRun{Start: int64(i*i) % (1 << 40), Count: int64(i%7) + 1}
	}
	want, looks := errs.New(errs.Canceled, "enough"), 0
	data, err := EncodeViewWhile(v, in("refs/tags/v1"), func() error { looks++; return nil })
	if err != nil || looks < 18 {
		t.Fatalf("%v after %d looks", err, looks)
	}
	for stop := range looks {
		seen := 0
		_, err := EncodeViewWhile(v, in("refs/tags/v1"), func() error {
			if seen++; seen > stop {
				return want
			}
			return nil
		})
		if !errors.Is(err, want) || seen != stop+1 {
			t.Errorf("got %v after %d looks, want it after %d", err, seen, stop+1)
		}
	}
	got, err := DecodeView(data, in("refs/tags/v1"))
	if err != nil || !slices.Equal(got.Rows, v.Rows) {
		t.Errorf("%v, or other rows", err)
	}
}
