package ingest

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// labelKind says what the labels of a dataset are. A tensor has class numbers without names, or the
// names of its classes: if it had both, a number would get the name of another class.
type labelKind uint8

const (
	labelsUnknown labelKind = iota
	labelsByNumber
	labelsByName
)

// setLabel makes the label of a row from the text of a .cls member. A number is a class number if
// it is a decimal integer of at least 0 that fits, without sign or leading zeros. Other numbers are
// a reason to leave out the row.
func (r *row) setLabel(text string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n >= 0 && strconv.FormatInt(n, 10) == text {
		r.label = binary.LittleEndian.AppendUint64(nil, uint64(n))
		return
	}
	if _, err := strconv.ParseFloat(text, 64); strings.ContainsAny(text[:1], "+-.0123456789") && (err == nil || strings.Trim(text, "+-0123456789") == "") {
		r.reason = fmt.Sprintf("its label is %.50q, want a class number like 0, 1 or 23, or a name", text)
		return
	}
	r.class = text
}

// mixedLabel returns the reason to leave out a row whose label is a number among names, or a name
// among numbers. The first label decides.
func (im *importer) mixedLabel(r *row) string {
	kind := labelsUnknown
	switch {
	case r.label != nil:
		kind = labelsByNumber
	case r.class != "":
		kind = labelsByName
	}
	if im.kind == labelsUnknown {
		im.kind = kind
	}
	switch {
	case kind == labelsUnknown || kind == im.kind:
		return ""
	case kind == labelsByNumber:
		return fmt.Sprintf("its label is the number %d, and the labels of the dataset are names", binary.LittleEndian.Uint64(r.label))
	}
	return fmt.Sprintf("its label is the name %.50q, and the labels of the dataset are numbers", r.class)
}
