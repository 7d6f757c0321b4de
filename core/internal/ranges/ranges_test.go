package ranges

import (
	"errors"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// TestHiddenPart takes parts whose Content-Range a browser hides: by their length alone.
func TestHiddenPart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a      Answer
		off, n int64
		length int64 // -1: refused
	}{
		"exact":            {Answer{Length: 4, Hidden: true}, 8, 4, 4},
		"to the end":       {Answer{Length: 9, Hidden: true}, 8, -1, 9},
		"end of an object": {Answer{Length: 3, Hidden: true}, 8, 4, 3},
		"too long":         {Answer{Length: 5, Hidden: true}, 8, 4, -1},
		"no length":        {Answer{Length: -1, Hidden: true}, 8, 4, -1},
		"not hidden":       {Answer{Length: 4}, 8, 4, -1},
		"seen":             {Answer{Length: 4, Range: "bytes 8-11/20"}, 8, 4, 4},
		"another":          {Answer{Length: 4, Range: "bytes 9-12/20"}, 8, 4, -1},
	} {
		length, size, err := c.a.Part(c.off, c.n)
		var fault *storage.Fault
		if refused := c.length < 0; refused != errors.As(err, &fault) || !refused && length != c.length || c.a.Hidden && size != -1 {
			t.Errorf("%s: %d of %d, %v", name, length, size, err)
		}
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	if size, err := (Answer{Length: -1, Hidden: true}).Outside(0); err != nil || size != 0 {
		t.Errorf("the empty object: %d, %v", size, err)
	}
	if _, err := (Answer{Length: -1, Hidden: true}).Outside(7); !errs.Is(err, errs.Corrupt) {
		t.Errorf("behind the end: %v", err)
	}
	if _, err := (Answer{Range: "bytes */9"}).Outside(3); errs.Is(err, errs.Corrupt) || err == nil {
		t.Errorf("a range that exists: %v", err)
	}
}

// TestWhole takes whole objects in place of parts: from their first byte alone.
func TestWhole(t *testing.T) {
	t.Parallel()
	a := Answer{Host: "h", Length: 9}
	var none *storage.NoRanges
	if length, size, err := a.Whole(0, 4); length != 4 || size != 9 || err != nil {
		t.Errorf("from the first byte: %d of %d, %v", length, size, err)
	}
	if _, _, err := a.Whole(3, 4); !errors.As(err, &none) || none.Host != "h" || !errs.Is(err, errs.Unsupported) {
		t.Errorf("from the fourth byte: %v", err)
	}
	if _, _, err := a.Whole(9, 4); errors.As(err, &none) || !errs.Is(err, errs.Corrupt) {
		t.Errorf("behind the end: %v", err)
	}
}

func FuzzContentRange(f *testing.F) {
	for _, text := range []string{"bytes 0-9/10", "bytes 5-9/*", "bytes */10", "bytes 9-5/10", "bytes 0-18446744073709551615/1", "", "bytes -1-5/7", "bytes +1-5/7"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, last, size, ok := parse(text)
		if ok && (first < 0 || last < first || size >= 0 && last >= size || size < -1) {
			t.Errorf("%q is read as %d-%d/%d", text, first, last, size)
		}
	})
}
