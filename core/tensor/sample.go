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
	Link  *Link // FormLink
	// an array of plain numbers of the host language: their dtype is the one that held them, and
	// nothing that the user chose
	Literal bool
}

// Link is the address of a sample that is not copied into the dataset. Callees do not change it.
type Link struct {
	URL    string // absolute, "scheme://..."
	Offset int64
	Length int64  // 0: all from Offset on
	Tag    string // what the object's version must be; "": what it is now
	// What is known of the file already: then nothing of it is read when it is linked. Codec 0 asks
	// for a look at it; else Size, Length, and DType and Shape of the sample, are right too.
	Codec uint8 // id of the sample codec
	Size  int64 // bytes of the whole object; -1: the store does not say
}

// Rows are the values of one tensor for a number of rows: either Array, equal samples one after the
// other in one C-order array, or Samples. Exactly one of the two is set.
type Rows struct {
	Tensor   string
	Array    *Array
	Samples  []Sample
	RowItems []int64 // sequence tensors: items of each row, summing to len(Samples); nil otherwise
	// the time that int64 numbers count: "date", "timestamp[us, UTC]" or another name that
	// ParseTime reads; "": no time
	Counts string
	// Names of the classes that integers number from 0, in a column with numbers of its own, such
	// as the categories of a data frame; nil: they are the numbers of the tensor
	Names []string
}

// Array is n equal samples in one piece of memory. The caller passes n beside it.
type Array struct {
	DType   DType
	Shape   Shape // of one sample
	Data    []byte
	Literal bool // as of a Sample
}
