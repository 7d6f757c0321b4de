package annotations

import (
	"context"
	"io"
	"slices"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/errs"
)

// Source gives the files of the place that is imported.
type Source interface {
	// Open begins to read a file by its name in the listing. A missing one is errs.NotFound.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
}

// Picture is a picture of the source. Its size is that of the stored pixels.
type Picture struct {
	Key           string
	Width, Height int64
}

// Set is the annotations of all pictures of a source. Its methods may be called in parallel.
type Set interface {
	// Tensors are the tensors of the annotations, in order.
	Tensors() []dataset.TensorSpec
	// Has reports whether a picture belongs to the set. Others are left out.
	Has(key string) bool
	// Why says more about a picture that does not belong to the set; "": no annotations name it.
	Why(key string) string
	// Read returns the annotations of a picture that belongs to the set. An error is about the
	// whole picture.
	Read(ctx context.Context, p Picture) (*Row, error)
	// Uses reports whether a file of the source is part of the annotations, and no picture of them.
	Uses(key string) bool
	// Lost calls fn for the pictures with names behind after that annotations name, and Has did not
	// see.
	Lost(after string, fn func(key string))
	// Faults are the first objects that Open has left out, and the number of all.
	Faults() (first []Fault, all int64)
}

// Fault says why an object was left out.
type Fault struct{ Path, Reason string }

// faults collects objects that are left out.
type faults struct {
	first []Fault
	all   int64
}

// shownFaults bounds the objects that are reported one by one.
const shownFaults = 1000

func (f *faults) add(path, reason string) {
	if f.all++; len(f.first) < shownFaults {
		f.first = append(f.first, Fault{path, reason})
	}
}

// Place is where annotations are looked for.
type Place struct {
	Source
	Names *Names
	// Asked says that the user has named the format: then an error says why there are none.
	Asked bool
	File  string // the file with annotations, or with names of classes; "": it is found by its name
	Masks bool   // make a mask of each outline, of the size of the picture
}

// Format is a layout of annotations: one line of formats.
type Format struct {
	Name string
	// Open reads the annotations. It returns nil if the place has none of this layout.
	Open func(ctx context.Context, p *Place) (Set, error)
}

// formats lists all layouts. The first one that a place has is taken.
func formats() []Format {
	return []Format{
		{"coco", openCOCO},
		{"cvat", openCVAT}, // before voc, which reads any XML beside pictures
		{"labelstudio", openLabelStudio},
		{"voc", openVOC},
		{"kitti", openKITTI},
		{"yolo", openYOLO},
	}
}

// Formats lists the names of all layouts.
func Formats() (names []string) {
	for _, f := range formats() {
		names = append(names, f.Name)
	}
	return names
}

// Open reads the annotations of a place in the layout of that name, or in the first one that it
// has; then name is "". Without annotations the set is nil.
func Open(ctx context.Context, name string, p *Place) (Set, string, error) {
	p.Asked = name != ""
	if p.Asked && !slices.Contains(Formats(), name) {
		return nil, "", errs.New(errs.Invalid, "format is %q, want %s", name, strings.Join(Formats(), ", "))
	}
	for _, f := range formats() {
		if name != "" && f.Name != name {
			continue
		}
		set, err := f.Open(ctx, p)
		if set != nil || err != nil {
			return set, f.Name, err
		}
	}
	return nil, "", nil
}
