package tensor

import (
	"strings"

	"deeplake/core/errs"
)

// HType is the meaning of a tensor: what its samples stand for, and hence which dtype and shape
// they must have.
type HType struct {
	Base     string // "image.rgb"
	Sequence bool   // a row is a list of Base
}

// rule is the promise of an htype about its samples.
type rule struct {
	name   string
	dtype  DType   // default; 0: whatever the first sample has
	dtypes []DType // allowed; nil: any
	shape  Shape   // -1: any size of the axis; nil: any shape
	axes   []int   // allowed numbers of axes where shape does not fix it; nil: any
	fixed  bool    // all samples have the shape of the first
	list   bool    // a row is a list of samples by nature
	want   string  // the shape in words
}

var (
	integers = []DType{Uint8, Uint16, Uint32, Uint64, Int8, Int16, Int32, Int64}
	reals    = []DType{Float16, BFloat16, Float32, Float64}
	numbers  = append(append([]DType{}, integers...), reals...)
)

var rules = []rule{
	{name: "generic", want: "any"},
	{name: "image", dtype: Uint8, dtypes: []DType{Uint8, Uint16, Float32}, shape: Shape{-1, -1, -1}, want: "(height, width, channels)"},
	{name: "image.rgb", dtype: Uint8, dtypes: []DType{Uint8}, shape: Shape{-1, -1, 3}, want: "(height, width, 3)"},
	{name: "image.gray", dtype: Uint8, dtypes: []DType{Uint8, Uint16}, shape: Shape{-1, -1, 1}, want: "(height, width, 1)"},
	{name: "class_label", dtype: Int64, dtypes: integers, axes: []int{0, 1}, want: "() or (labels,)"},
	{name: "tag", dtype: JSON, dtypes: []DType{JSON}, want: "a list of strings"},
	{name: "bbox", dtype: Float32, dtypes: numbers, shape: Shape{-1, 4}, want: "(boxes, 4)"},
	{name: "binary_mask", dtype: Bool, dtypes: []DType{Bool}, axes: []int{2, 3}, want: "(height, width) or (height, width, masks)"},
	{name: "segment_mask", dtype: Uint32, dtypes: integers, axes: []int{2, 3}, want: "(height, width) or (height, width, masks)"},
	{name: "instance_label", dtype: Uint32, dtypes: integers, axes: []int{0, 1, 2, 3}, want: "(), (instances,), (height, width) or (height, width, masks)"},
	{name: "keypoints_coco", dtype: Int32, dtypes: numbers, axes: []int{2}, want: "(3 x keypoints, instances)"},
	{name: "point", dtype: Int32, dtypes: numbers, axes: []int{2}, want: "(points, 2) or (points, 3)"},
	{name: "polygon", dtype: Float32, dtypes: numbers, axes: []int{2}, list: true, want: "a list of polygons, each (points, 2) or (points, 3)"},
	{name: "text", dtype: String, dtypes: []DType{String}, want: "a string"},
	{name: "json", dtype: JSON, dtypes: []DType{JSON}, want: "a JSON value"},
	{name: "list", dtype: JSON, dtypes: []DType{JSON}, want: "a JSON list"},
	{name: "embedding", dtype: Float32, dtypes: numbers, axes: []int{1}, fixed: true, want: "(dimensions,), equal for all rows"},
	{name: "video", dtype: Bytes, dtypes: []DType{Bytes}, want: "a video file"},
	{name: "intrinsics", dtype: Float32, dtypes: reals, shape: Shape{3, 3}, want: "(3, 3)"},
}

// HTypes lists the names of all htypes, without sequence[...].
func HTypes() []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.name
	}
	return names
}

// ParseHType reads "image.rgb" or "sequence[image.rgb]"; "sequence" alone means sequence[generic].
func ParseHType(s string) (HType, error) {
	h := HType{Base: s}
	if inner, ok := strings.CutPrefix(s, "sequence["); ok {
		base, closed := strings.CutSuffix(inner, "]")
		if !closed {
			return h, errs.New(errs.Invalid, "htype %q: \"]\" is missing at the end", s)
		}
		h = HType{Base: base, Sequence: true}
	} else if s == "sequence" {
		h = HType{Base: "generic", Sequence: true}
	}
	if h.rule() == nil {
		return h, errs.New(errs.Invalid, "unknown htype %q (want one of %s, or sequence[...] of them)%s",
			s, strings.Join(HTypes(), ", "), errs.Suggest(h.Base, HTypes()))
	}
	switch {
	case h.Sequence && h.rule().list:
		return h, errs.New(errs.Invalid, "htype %q: a row of %s is a list already", s, h.Base)
	case h.Sequence && h.IsVideo():
		return h, errs.New(errs.Invalid, "htype %q: a row has one video; make a tensor for each camera", s)
	}
	return h, nil
}

// String returns the name that ParseHType reads.
func (h HType) String() string {
	if h.Sequence {
		return "sequence[" + h.Base + "]"
	}
	return h.Base
}

// List reports whether a row is a list of samples: a sequence, or an htype that is one by nature.
func (h HType) List() bool { return h.Sequence || h.rule().list }

// IsImage reports whether samples are pictures, which a sample codec may store.
func (h HType) IsImage() bool { return h.Base == "image" || strings.HasPrefix(h.Base, "image.") }

// IsMask reports whether samples are numbers in the place of pixels, which a PNG file may hold.
func (h HType) IsMask() bool {
	return h.Base == "binary_mask" || h.Base == "segment_mask" || h.Base == "instance_label"
}

// IsVideo reports whether samples are files of video.
func (h HType) IsVideo() bool { return h.Base == "video" }

// Fixed reports whether all samples must have the shape of the first.
func (h HType) Fixed() bool { return h.rule().fixed }

// DefaultDType is the dtype when the user gives none; 0 means that the first sample decides.
func (h HType) DefaultDType() DType { return h.rule().dtype }

// Decides reports whether the first samples of a tensor without a dtype decide it. Labels are
// int64, as losses need them.
func (h HType) Decides() bool {
	r := h.rule()
	return h.Base != "class_label" && (r.dtypes == nil || len(r.dtypes) > 1)
}

// Shape returns the shape that the htype demands of samples, -1 for axes that vary; nil if it
// demands none.
func (h HType) Shape() Shape { return h.rule().shape.Clone() }

func (h HType) rule() *rule {
	for i := range rules {
		if rules[i].name == h.Base {
			return &rules[i]
		}
	}
	return nil
}

// Empty is the shape of no boxes, points or keypoints at all, which people write as an empty list;
// nil where an htype has no such thing.
func (h HType) Empty() Shape {
	switch h.Base {
	case "bbox":
		return Shape{0, 4}
	case "point", "polygon":
		return Shape{0, 2}
	case "keypoints_coco":
		return Shape{0, 0}
	}
	return nil
}

// CheckDType refuses a dtype that the htype does not allow.
func (h HType) CheckDType(d DType) error {
	r := h.rule()
	if r.dtypes == nil {
		return nil
	}
	names := make([]string, len(r.dtypes))
	for i, ok := range r.dtypes {
		if ok == d {
			return nil
		}
		names[i] = ok.String()
	}
	return errs.New(errs.Type, "htype %s cannot have dtype %s (want %s)", h.Base, d, strings.Join(names, ", "))
}

// CheckShape refuses the shape of a sample that the htype does not allow.
func (h HType) CheckShape(s Shape) error {
	r := h.rule()
	ok := true
	switch {
	case r.shape != nil:
		ok = s.Fits(r.shape)
	case r.axes != nil:
		ok = false
		for _, n := range r.axes {
			ok = ok || n == len(s)
		}
	}
	switch {
	case !ok:
	case h.Base == "keypoints_coco":
		ok = s[0]%3 == 0
	case h.Base == "point" || h.Base == "polygon":
		ok = s[1] == 2 || s[1] == 3
	case h.Base == "image":
		ok = s[2] >= 1
	}
	if h.IsImage() && s.ChannelsFirst() {
		return OrderError(s)
	}
	if ok {
		return nil
	}
	remedy := ""
	if h.IsImage() && len(s) == 4 {
		remedy = "; extend takes a batch of pictures, one for each row"
	}
	return errs.New(errs.Type, "sample has shape %s, want %s for htype %s%s", s, r.want, h.Base, remedy)
}

// ChannelsFirst reports whether a picture has the order of axes of torch: it would be at most 4
// pixels high and have more channels than pictures have.
func (s Shape) ChannelsFirst() bool { return len(s) == 3 && s[0] <= 4 && s[2] > 16 }

// OrderError refuses a picture for the order of its axes.
func OrderError(s Shape) error {
	return errs.New(errs.Type, "sample has shape %s, a picture is (height, width, channels); use permute(1, 2, 0) of torch or transpose(1, 2, 0) of NumPy", s)
}

// Fits reports whether s has the axes of want, where -1 stands for any size.
func (s Shape) Fits(want Shape) bool {
	if len(s) != len(want) {
		return false
	}
	for i, d := range want {
		if d >= 0 && d != s[i] {
			return false
		}
	}
	return true
}
