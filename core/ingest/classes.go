package ingest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// checkClasses refuses a list of classes that cannot be the class names of a tensor.
func (o Options) checkClasses(source string) error {
	if o.Classes == nil {
		return nil
	}
	if o.Labels == "none" {
		return errs.Op("import from", source).New(errs.Invalid, "classes has %d names, and labels is none; leave one of them out", len(o.Classes))
	}
	seen := map[string]bool{}
	for _, class := range o.Classes {
		switch {
		case class == "" || !utf8.ValidString(class):
			return errs.Op("import from", source).New(errs.Invalid, "classes has the name %q, want text", class)
		case seen[class]:
			return errs.Op("import from", source).New(errs.Invalid, "classes has the name %q twice", class)
		}
		seen[class] = true
	}
	if len(seen) == 0 {
		return errs.Op("import from", source).New(errs.Invalid, "classes has no name; leave it out, or name the classes")
	}
	return nil
}

// given gives a row the class that its label names, by name or by number. It returns the reason to
// leave out a row whose class is none of the given ones.
func (im *importer) given(r *row) string {
	given, label := im.o.Classes, r.value(labelTensor)
	if given == nil || label == nil {
		return ""
	}
	class := string(label.Data)
	if label.Form == tensor.FormArray {
		n := binary.LittleEndian.Uint64(label.Data)
		switch class = strconv.FormatUint(n, 10); {
		case slices.Contains(given, class):
		case n < uint64(len(given)):
			class = given[n]
		default:
			return fmt.Sprintf("its label is the number %d, and %d classes are given", n, len(given))
		}
	}
	if label.Sample = textSample(tensor.String, []byte(class)); slices.Contains(given, class) {
		return ""
	}
	return fmt.Sprintf("its class is %.50q, which is none of the %d given classes%s", class, len(given), errs.Suggest(class, given))
}

// natural compares names as people order them: numbers in them by value, so that "class 10" comes
// after "class 9".
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if digit(x[0]) && digit(y[0]) {
			var m, n string
			m, x = number(x)
			n, y = number(y)
			if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	// "1" and "01" are one number.
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// number cuts off the number at the start of a text, without its leading zeros.
func number(text string) (digits, rest string) {
	n := 0
	for n < len(text) && digit(text[n]) {
		n++
	}
	return strings.TrimLeft(text[:n], "0"), text[n:]
}
