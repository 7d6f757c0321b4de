package tensor

// Form says how the bytes of a Sample are to be understood.
type Form uint8

// The forms a sample can arrive in.
const (
	FormArray   Form = 0 // Data is a C-order array of DType and Shape
	FormEncoded Form = 1 // Data is a file of a sample codec (a JPEG, a PNG); DType and Shape are ignored
	FormText    Form = 2 // Data is UTF-8 text, JSON or opaque bytes, as DType (String, JSON, Bytes) says
	FormHole    Form = 3 // the row has no sample
)

// Sample is one value on its way into a tensor. Data may alias memory of the caller and is not kept.
type Sample struct {
	Form  Form
	DType DType
	Shape Shape
	Data  []byte
}

// Rows are the values of one tensor for a number of rows: either Array, equal samples one after the other in one
// C-order array, or Samples. Exactly one of the two is set.
type Rows struct {
	Tensor   string
	Array    *Array
	Samples  []Sample
	RowItems []int64 // sequence tensors: items of each row, summing to len(Samples); nil otherwise
}

// Array is n equal samples in one piece of memory, n given by whoever passes it.
type Array struct {
	DType DType
	Shape Shape // of one sample
	Data  []byte
}
