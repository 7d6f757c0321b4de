package query

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"deeplake/core/errs"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "a", " A b", "Straße, ÉTÉ!", "x1-y2 \u0130stanbul \u212a", "\xff a\xfeb", strings.Repeat("ab ", 1000), "\u0301a"} {
		want := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		got := termsOf(text)
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		k := &ranking{terms: []string{"ab", "a"}}
		out := []float64{7, 7}
		n, err := k.counts(text, out, func() error { return nil })
		counted := func(word string) (n float64) {
			for _, w := range want {
				if w == word {
					n++
				}
			}
			return n
		}
		if err != nil || int(n) != len(want) || out[0] != counted("ab") || out[1] != counted("a") {
			t.Errorf("%q: got %v words and %v, %v", text, n, out, err)
		}
	}
}

// TestTermsStop: the words of one huge text are not counted for a caller who has given up.
func TestTermsStop(t *testing.T) {
	t.Parallel()
	gone := errs.New(errs.Canceled, "the caller is gone")
	k := &ranking{terms: []string{"ab"}}
	if n, err := k.counts(strings.Repeat("ab ", 4<<20), []float64{0}, func() error { return gone }); err != gone || n > 1<<20 {
		t.Errorf("got %v words, %v", n, err)
	}
}
