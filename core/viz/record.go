package viz

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// header describes the body of a record.
type header struct {
	End     bool    `json:"end,omitempty"`
	Row     int64   `json:"row"`   // of the view
	Index   int64   `json:"index"` // of the dataset
	Column  string  `json:"column"`
	Item    *int64  `json:"item,omitempty"`
	Items   *int64  `json:"items,omitempty"`
	Kind    string  `json:"kind"`
	Media   string  `json:"media,omitempty"`
	Width   int64   `json:"width,omitempty"`
	Height  int64   `json:"height,omitempty"`
	Region  []int64 `json:"region,omitempty"`
	DType   string  `json:"dtype,omitempty"`
	Shape   []int64 `json:"shape,omitempty"`
	Size    int64   `json:"size,omitempty"`
	Codec   string  `json:"codec,omitempty"` // of a video; of others ""
	Frames  int64   `json:"frames,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Message string  `json:"message,omitempty"`
	Reason  string  `json:"reason,omitempty"` // of an error that every sample has
}

// The kinds of a record.
const (
	kindFile    = "file"
	kindArray   = "array"
	kindText    = "text"
	kindJSON    = "json"
	kindMissing = "missing"
	kindError   = "error"
	kindLarge   = "large"
	kindVideo   = video
)

const (
	recordMagic = "DLS1"
	recordHead  = 16
)

// records writes the answer of api/samples. All methods may be called in parallel.
type records struct {
	mu  sync.Mutex
	out *bufio.Writer
	to  Answer
}

func newRecords(to Answer) *records {
	to.Begin(mediaSamples)
	return &records{out: bufio.NewWriterSize(to, 64<<10), to: to}
}

var padding [8]byte

// write appends a record.
func (r *records) write(h *header, body []byte) error {
	head, err := json.Marshal(h)
	if err != nil {
		return errs.Op("write record", "").New(errs.Internal, "%w", err)
	}
	for len(head)%8 != 0 {
		head = append(head, ' ')
	}
	var fixed [recordHead]byte
	copy(fixed[:], recordMagic)
	binary.LittleEndian.PutUint32(fixed[4:], uint32(len(head)))
	binary.LittleEndian.PutUint64(fixed[8:], uint64(len(body)))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range [][]byte{fixed[:], head, body, padding[:-len(body)&7]} {
		if _, err := r.out.Write(part); err != nil {
			return errs.Op("send sample", "").New(errs.Canceled, "%w", err)
		}
	}
	return nil
}

// flush sends all records that were written.
func (r *records) flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.out.Flush()
	if err == nil {
		err = r.to.Flush()
	}
	if err != nil {
		return errs.Op("send samples", "").New(errs.Canceled, "%w", err)
	}
	return nil
}

// end writes the last record.
func (r *records) end() error {
	if err := r.write(&header{End: true}, nil); err != nil {
		return err
	}
	return r.flush()
}

// array describes an array, and returns its data in a form that pages read.
func (h *header) array(d tensor.DType, shape tensor.Shape, data []byte) []byte {
	h.Kind, h.DType, h.Shape = kindArray, d.String(), append([]int64{}, shape...)
	if d == tensor.BFloat16 {
		h.DType = tensor.Float32.String()
		return fromBFloat16(data)
	}
	return data
}

// fromBFloat16 makes float32 of bfloat16, which pages have no type for.
func fromBFloat16(data []byte) []byte {
	out := make([]byte, 2*len(data))
	for i := 0; i+1 < len(data); i += 2 {
		out[2*i+2], out[2*i+3] = data[i], data[i+1]
	}
	return out
}
