// Package ranges owns what HTTP says about parts of an object: the Range of a request, and whether
// an answer is the part that was requested. It sends nothing.
package ranges

import (
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Text returns the header Range for n bytes from offset off (n < 0: all that follow); "": the whole
// object.
func Text(off, n int64) string {
	switch {
	case n >= 0:
		return "bytes=" + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(off+n-1, 10)
	case off > 0:
		return "bytes=" + strconv.FormatInt(off, 10) + "-"
	}
	return ""
}

// Beyond is the error of a read behind the end of an object.
func Beyond(off, size int64) error {
	return errs.New(errs.Corrupt, "object is truncated (has %d bytes, want some at offset %d)", size, off)
}

// Answer is the head of an answer to a request for n bytes from offset off (n < 0: all that
// follow).
type Answer struct {
	Host   string
	Length int64  // Content-Length; -1: it does not say
	Range  string // Content-Range
	Hidden bool   // Range is "" because this program may not see it
}

// Whole takes an answer of status 200, which has the object from its first byte. It returns the
// bytes to read from off on, and the size of the object.
func (a Answer) Whole(off, n int64) (length, size int64, err error) {
	if a.Length < 0 {
		return 0, -1, errs.New(errs.Unsupported, "%q does not say how long the object is, so that its end cannot be told from a broken connection", a.Host)
	}
	if off > 0 && off >= a.Length {
		return 0, -1, Beyond(off, a.Length)
	}
	if off > 0 {
		return 0, -1, errs.New(errs.Unsupported, "%w", &storage.NoRanges{Host: a.Host})
	}
	size, length = a.Length, a.Length-off
	if n >= 0 && n < length {
		length = n
	}
	return length, size, nil
}

// Part takes an answer of status 206, which claims to be the range. It returns the bytes to read,
// and the size of the object, -1 if it is not known.
func (a Answer) Part(off, n int64) (length, size int64, err error) {
	if a.Hidden && a.Length >= 0 && (n < 0 || a.Length <= n) {
		return a.Length, -1, nil
	}
	first, last, size, ok := parse(a.Range)
	ok = ok && first == off && (n < 0 || last-first < n)
	// A range that stops early is right at the end of the object only.
	ok = ok && (n >= 0 && last == off+n-1 || size >= 0 && last == size-1)
	ok = ok && (a.Length < 0 || a.Length == last-first+1)
	if !ok {
		return 0, -1, &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage,
			"%q answers with another range (got %q of %d bytes, want %d bytes at offset %d)", a.Host, a.Range, a.Length, n, off)}
	}
	return last - first + 1, size, nil
}

// Outside takes an answer of status 416 to a range without a byte in the object, which is right for
// one that is empty only. It returns the size of the object.
func (a Answer) Outside(off int64) (size int64, err error) {
	text, ok := strings.CutPrefix(a.Range, "bytes */")
	size, err = strconv.ParseInt(text, 10, 64)
	switch {
	case !ok || err != nil || size < 0:
		if off != 0 { // only the empty object has no first byte
			return -1, errs.New(errs.Corrupt, "object is truncated (it ends before offset %d)", off)
		}
		size = 0
	case off >= size && off > 0:
		return -1, Beyond(off, size)
	case off < size:
		return -1, &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%q refuses a range at offset %d of an object of %d bytes", a.Host, off, size)}
	}
	return size, nil
}

// parse reads "bytes first-last/size"; size is -1 for "*".
func parse(text string) (first, last, size int64, ok bool) {
	text, isBytes := strings.CutPrefix(text, "bytes ")
	span, total, hasTotal := strings.Cut(text, "/")
	from, to, hasSpan := strings.Cut(span, "-")
	if !isBytes || !hasTotal || !hasSpan {
		return 0, 0, 0, false
	}
	first, ok1 := digits(from)
	last, ok2 := digits(to)
	size, ok3 := digits(total)
	if total == "*" {
		size, ok3 = -1, true
	}
	ok = ok1 && ok2 && ok3 && first <= last && (size < 0 || last < size)
	return first, last, size, ok
}

func digits(text string) (int64, bool) {
	if text == "" || text[0] < '0' || text[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
