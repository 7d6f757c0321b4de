package ingest

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"deeplake/core/tensor"
)

// numbering says how the labels of a tensor are given. A tensor has class numbers without names, or
// the names of its classes. With both, a number would get the name of another class.
type numbering uint8

const (
	labelsUnknown numbering = iota
	labelsByNumber
	labelsByName
)

// labelOf makes a label from the text of a .cls member. A number is a class number if it is a
// decimal integer of at least 0 that fits, without sign or leading zeros. Other numbers are a
// reason to leave out the row.
func labelOf(text string) (s tensor.Sample, reason string) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && n >= 0 && strconv.FormatInt(n, 10) == text {
		data := binary.LittleEndian.AppendUint64(nil, uint64(n))
		return tensor.Sample{Form: tensor.FormArray, DType: tensor.Int64, Shape: tensor.Shape{}, Data: data}, ""
	}
	if _, err := strconv.ParseFloat(text, 64); strings.ContainsAny(text[:1], "+-.0123456789") && (err == nil || strings.Trim(text, "+-0123456789") == "") {
		return s, fmt.Sprintf("its label is %.50q, want a class number like 0, 1 or 23, or a name", text)
	}
	return textSample(tensor.String, []byte(text)), ""
}

// mixedLabel returns the reason to leave out a row whose label is a number among names, or a name
// among numbers. The first label of a tensor decides.
func (im *importer) mixedLabel(r *row) string {
	for i := range r.values {
		v := &r.values[i]
		if v.kind != labelKind {
			continue
		}
		is := labelsByName
		if v.Form == tensor.FormArray {
			is = labelsByNumber
		}
		was := im.numbering[v.tensor]
		if was == labelsUnknown {
			was, im.numbering[v.tensor] = is, is
		}
		of := "the dataset"
		if v.named {
			of = fmt.Sprintf("tensor %q", v.tensor)
		}
		switch {
		case is == was:
		case is == labelsByNumber:
			return fmt.Sprintf("its label is the number %d, and the labels of %s are names", binary.LittleEndian.Uint64(v.Data), of)
		default:
			return fmt.Sprintf("its label is the name %.50q, and the labels of %s are numbers", v.Data, of)
		}
	}
	return ""
}
