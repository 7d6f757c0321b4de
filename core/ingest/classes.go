package ingest

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/dataset"
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

// readSchema takes the tensors that an export has described beside shards, and the names of classes
// unless the user gives some: shards have numbers.
func (im *importer) readSchema(ctx context.Context) error {
	if im.source.shards == 0 {
		return nil
	}
	specs, err := dataset.ReadSchema(ctx, im.source)
	if err != nil {
		return errs.Wrap(errs.Storage, "import from", im.source.URI(), err)
	}
	im.described = map[string]dataset.TensorSpec{}
	for _, spec := range specs {
		im.described[spec.Name] = spec
	}
	names := im.described[labelTensor].ClassNames
	if im.o.Classes == nil && !im.labels && im.o.labels() == "auto" && len(names) > 0 {
		im.o.Classes = names
	}
	return im.o.checkClasses(im.source.URI())
}

// asDescribed returns spec with the meaning that an export has described, where members of a kind
// may have it.
func (im *importer) asDescribed(spec dataset.TensorSpec, of *kind) dataset.TensorSpec {
	told, is := im.described[spec.Name]
	h, err := tensor.ParseHType(told.HType)
	if !is || err != nil || h.List() || tensor.IsTime(told.DType) {
		return spec
	}
	switch {
	case of == imageKind && (h.IsImage() || h.IsMask()):
		spec.HType, spec.Info = told.HType, told.Info
	case of == videoKind && h.IsVideo():
		spec.Info = told.Info
	case of == jsonKind && h.Base == "tag":
		spec.HType, spec.Info = told.HType, told.Info
	case of == arrayKind && !h.IsImage():
		spec.HType, spec.Info, spec.ClassNames, spec.AddClasses = told.HType, told.Info, told.ClassNames, told.AddClasses
	case of == labelKind && h.Base == "class_label":
		spec.Info, spec.ClassNames, spec.AddClasses = told.Info, told.ClassNames, told.AddClasses
	}
	return spec
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
