package tensor

// Form says how the bytes of a Sample are to be understood.
type Form uint8

// The forms a sample can arrive in.
const (
	FormArray Form = 0 // Data is a C-order array of DType and Shape
	// Data is a file of a sample codec (a JPEG, a PNG, a WebP); DType and Shape are ignored
	FormEncoded Form = 1
	// Data is UTF-8 text, JSON or opaque bytes, as DType (String, JSON, Bytes) says
	FormText Form = 2
	FormHole Form = 3 // the row has no sample
	FormLink Form = 4 // the sample is a file that stays where it is, at Link
)

// Sample is one value on its way into a tensor. Data may alias memory of the caller and is not
// kept.
type Sample struct {
	Form  Form
	DType DType
	Shape Shape
	Data  []byte
	// of FormLink, whose Data is empty, or the beginning of the linked file with its shape. Of
	// FormEncoded: where the file lies, without a URL; nil: not known.
	Link *Link
	// of a video: its *media.Video, if the caller has read the tables of the file. A link with them
	// is complete. Nil: the file is looked at.
	Tables any
	// an array of plain numbers of the host language: their dtype is the one that held them, and
	// nothing that the user chose
	Literal bool
}

// Link is the address of a sample that is not copied into the dataset. Callees do not change it.
type Link struct {
	URL    string // absolute, "scheme://..."
	Offset int64
	Length int64  // 0: all from Offset on
	Head   []byte // of the sample, in front of the bytes of the object
	// of a video: the time that the sample is of, in seconds; nil: all
	Part *TimeRange
	Tag  string // the version that the object must have; "": the present one
	// Facts of the file that are known already: then nothing of it is read when it is linked. With
	// codec 0 it is read; else Size, Length, and DType and Shape of the sample, are right too.
	Codec uint8 // id of the sample codec
	Size  int64 // bytes of the whole object; -1: the store does not say
}

// TimeRange is the times from Begin, and before End, in seconds. End 0 is that of the file.
type TimeRange struct{ Begin, End float64 }

// Rows are the values of one tensor for a number of rows. Exactly one is set of Array, which are
// equal samples one after the other in one C-order array, Texts, Samples, and Foreign.
type Rows struct {
	Tensor  string
	Array   *Array
	Texts   *Texts
	Samples []Sample
	Foreign Foreign
	// of Array and Texts: marks rows without a sample, which have no place in them; nil: none
	Missing  []bool
	RowItems []int64 // sequence tensors: items of each row, summing to len(Samples); nil otherwise
	// the time that int64 numbers count: "date", "timestamp[us, UTC]" or another name that
	// ParseTime reads; "": no time
	Counts string
	// Names of the classes that integers number from 0, in a column with numbers of its own, such
	// as the categories of a data frame; nil: they are the numbers of the tensor
	Names []string
}

// RowOf returns the row that has a sample, where rows have these numbers of samples; nil: one each.
func RowOf(items []int64, sample int) int {
	if items == nil {
		return sample
	}
	row := 0
	for left := int64(sample); row < len(items)-1 && left >= items[row]; row++ {
		left -= max(items[row], 0)
	}
	return row
}

// Array is n equal samples in one piece of memory. The caller passes n beside it.
type Array struct {
	DType   DType
	Shape   Shape // of one sample
	Data    []byte
	Literal bool // as of a Sample
}

// Texts are texts, JSON values or bytes in one piece of memory. Value i is Data[Starts[i]:Ends[i]].
type Texts struct {
	DType        DType
	Data         []byte
	Starts, Ends []int64
}

// At returns value i.
func (t *Texts) At(i int) []byte { return t.Data[t.Starts[i]:t.Ends[i]] }

// Foreign is a column in the memory of another program. Its values depend on the tensor that takes
// them: names become classes, and binary values become files or bytes.
type Foreign interface {
	// Len is the number of rows.
	Len() int64
	// Rows returns the values for a tensor. They may lie in the memory of the other program. Errors
	// name the row.
	Rows(t Target) (Rows, error)
	// Infer returns the tensor that the column makes in a dataset without tensors.
	Infer() Inferred
	// Number is the dtype of numbers, also of lists of them; 0 for other types, and for times.
	Number() DType
	// Time names the times, as ParseTime reads it, also of lists of them; "" for other types.
	Time() string
}

// Target is the tensor that takes the values of a Foreign column.
type Target struct {
	HType HType
	DType DType // 0: the first samples decide
	Open  bool  // the first samples may decide another dtype
}

// Spread returns r with one sample for each row in the place of Array and Texts.
func (r *Rows) Spread() Rows {
	out := *r
	out.Array, out.Texts, out.Missing = nil, nil, nil
	n := 0
	var of func(i int) Sample
	switch {
	case r.Array != nil:
		size, _ := r.Array.Shape.Bytes(r.Array.DType) // callers have the array: its size is known
		a := r.Array
		of = func(i int) Sample {
			return Sample{DType: a.DType, Shape: a.Shape, Data: a.Data[int64(i)*size:][:size], Literal: a.Literal}
		}
		if size > 0 {
			n = len(a.Data) / int(size)
		} else {
			n = len(r.Missing)
		}
	case r.Texts != nil:
		n = len(r.Texts.Starts)
		of = func(i int) Sample { return Sample{Form: FormText, DType: r.Texts.DType, Data: r.Texts.At(i)} }
	default:
		return out
	}
	if r.Missing == nil {
		out.Samples = make([]Sample, n)
		for i := range out.Samples {
			out.Samples[i] = of(i)
		}
		return out
	}
	out.Samples = make([]Sample, len(r.Missing))
	next := 0
	for i, missing := range r.Missing {
		if missing {
			out.Samples[i].Form = FormHole
			continue
		}
		out.Samples[i] = of(next)
		next++
	}
	return out
}
