package v3

import (
	"bytes"
	"encoding/json"
	"math"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/internal/jsontext"
	"deeplake/core/tensor"
)

// maxMeta bounds a JSON file of metadata, and an index file.
const maxMeta = 1 << 30

// datasetMeta is dataset_meta.json.
type datasetMeta struct {
	Tensors []string          `json:"tensors"`        // keys, in order of creation
	Names   map[string]string `json:"tensor_names"`   // keys by name; empty in old files
	Hidden  []string          `json:"hidden_tensors"` // keys
}

// tensorMeta is tensor_meta.json.
type tensorMeta struct {
	HType    string  `json:"htype"` // "" while there is no sample
	DType    string  `json:"dtype"`
	Max      []int64 `json:"max_shape"`
	Min      []int64 `json:"min_shape"`
	Length   int64   `json:"length"` // items of sequences
	Sample   string  `json:"sample_compression"`
	Chunk    string  `json:"chunk_compression"`
	Sequence bool    `json:"is_sequence"`
	Link     bool    `json:"is_link"`
	Hidden   bool    `json:"hidden"`
	Links    any     `json:"links"` // tensors that follow it, by key
}

// node is a commit of version_control_info.json, or the head of a branch.
type node struct {
	Branch   string   `json:"branch"`
	Parent   string   `json:"parent"`
	Children []string `json:"children"`
	Message  string   `json:"commit_message"`
	Time     *float64 `json:"commit_time"` // nil: the head of a branch
	User     string   `json:"commit_user_name"`
}

// versionInfo is version_control_info.json.
type versionInfo struct {
	Commits  map[string]*node  `json:"commits"`
	Branches map[string]string `json:"branches"` // heads by name
}

// decodeJSON decodes a file of metadata. null leaves a member unchanged. NaN and Infinity, which
// Python writes, become null.
func decodeJSON(data []byte, to any) error {
	if len(data) > maxMeta {
		return errs.New(errs.Corrupt, "it has %d bytes, want at most %d", len(data), maxMeta)
	}
	strict, err := strictJSON(data)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(strict))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		return errs.New(errs.Corrupt, "it is not the JSON of its kind: %w", err)
	}
	return nil
}

// strictJSON checks that data is one JSON value, and replaces NaN, Infinity and -Infinity by null.
// The result may be data itself.
func strictJSON(data []byte) ([]byte, error) {
	s := jsontext.Scanner{P: data, Lax: true}
	s.Space()
	if _, err := s.Value(0); err != nil {
		return nil, err
	}
	if s.Space(); s.At < len(data) {
		return nil, s.Wrong()
	}
	if !bytes.Contains(data, []byte("NaN")) && !bytes.Contains(data, []byte("Infinity")) {
		return data, nil
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			end := i + 1
			for data[end] != '"' { // the value is whole
				if data[end] == '\\' {
					end++
				}
				end++
			}
			out = append(out, data[i:end+1]...)
			i = end + 1
		case bytes.HasPrefix(data[i:], []byte("NaN")):
			out, i = append(out, "null"...), i+len("NaN")
		case bytes.HasPrefix(data[i:], []byte("-Infinity")):
			out, i = append(out, "null"...), i+len("-Infinity")
		case bytes.HasPrefix(data[i:], []byte("Infinity")):
			out, i = append(out, "null"...), i+len("Infinity")
		default:
			out, i = append(out, c), i+1
		}
	}
	return out, nil
}

// kind is how samples of a tensor are stored, as its metadata say.
type kind struct {
	htype    tensor.HType
	base     string       // the htype of Deep Lake 3, without sequence[] and link[]
	dtype    tensor.DType // 0: no sample has decided it
	time     string       // what int64 numbers count, as tensor.ParseTime reads it
	image    bool         // samples are images, of three axes here
	sequence bool
	sample   string       // sample compression
	chunk    string       // chunk compression
	opaque   bool         // samples are files that no codec here reads, as bytes
	axes     int          // of a sample; 0: unknown
	points   tensor.DType // of the numbers of polygons in sequences; 0: it has none
	refused  string       // why samples cannot be read; "": they can
}

// kindOf finds the kind of a tensor.
func (m *tensorMeta) kindOf() kind {
	k := kind{base: m.HType, sequence: m.Sequence, sample: m.Sample, chunk: m.Chunk, axes: len(m.Max)}
	if k.base == "" {
		k.base = "generic"
	}
	if m.Link {
		// The samples are addresses, never compressed.
		k.base, k.chunk, k.dtype = "link", "", tensor.String
		k.htype = tensor.HType{Base: "text", Sequence: k.sequence}
		if base := known(m.HType); codecOf(k.sample) != codec.None && (tensor.HType{Base: base}).IsImage() {
			k.htype.Base, k.dtype, k.image, k.axes = base, tensor.Uint8, true, 3
		} else {
			k.sample = ""
		}
		return k
	}
	k.htype = tensor.HType{Base: k.base, Sequence: k.sequence}
	switch k.base {
	case "text":
		k.dtype = tensor.String
		return k
	case "json", "list", "tag":
		k.dtype = tensor.JSON
		return k
	}
	if k.opaque = opaque(m.Sample) || opaque(m.Chunk); k.opaque {
		k.htype.Base, k.dtype = "generic", tensor.Bytes
		if m.Chunk != "" {
			k.refused = "its chunks are compressed by " + m.Chunk
		}
		return k
	}
	if k.numbers(m.DType); k.refused != "" {
		k.htype.Base = "generic"
		return k
	}
	if k.dtype != 0 && tensor.HType.CheckDType(tensor.HType{Base: known(k.base)}, k.dtype) != nil {
		k.htype.Base = "generic"
	} else {
		k.htype.Base = known(k.base)
	}
	if k.htype.Base == "polygon" {
		k.htype.Sequence = false // each sample is a list already
		if k.sequence && k.dtype != 0 {
			// A list of lists, which this format has in JSON.
			k.htype.Base, k.points, k.dtype, k.time = "json", k.dtype, tensor.JSON, ""
		}
	}
	k.image = k.htype.IsImage()
	return k
}

// nested reports whether each sample is a list of lists of polygons.
func (k *kind) nested() bool { return k.points != 0 }

// numbers sets the dtype from a name of NumPy.
func (k *kind) numbers(name string) {
	unit := func(prefix string) (string, bool) {
		rest, ok := bytes.CutPrefix([]byte(name), []byte(prefix+"["))
		unit, closed := bytes.CutSuffix(rest, []byte("]"))
		return string(unit), ok && closed
	}
	if u, ok := unit("datetime64"); ok {
		k.count("timestamp["+u+"]", u == "D", "date")
	} else if u, ok := unit("timedelta64"); ok {
		k.count("interval["+u+"]", false, "")
	} else if name != "" {
		d, err := tensor.ParseDType(name)
		if err != nil || !d.Fixed() {
			k.refused, k.dtype = "its dtype is "+clip(name), tensor.Bytes
			return
		}
		k.dtype = d
	}
}

// count makes the numbers count time, or plain int64 where no such unit exists here.
func (k *kind) count(time string, isDate bool, date string) {
	if k.dtype = tensor.Int64; isDate {
		time = date
	}
	if t, err := tensor.ParseTime(time); err == nil {
		k.time = t.String()
	}
}

// known returns the htype itself, or "generic" for one that does not exist here.
func known(base string) string {
	if _, err := tensor.ParseHType(base); err != nil {
		return "generic"
	}
	return base
}

// rasters are the compressions whose files this library decodes.
var rasters = map[string]bool{"jpeg": true, "png": true, "webp": true, "bmp": true, "gif": true, "tiff": true}

// opaque reports whether files of a compression stay bytes.
func opaque(compression string) bool {
	return compression != "" && compression != "lz4" && !rasters[compression]
}

// seconds splits seconds since 1970. A time out of bounds is 0.
func seconds(t float64) (sec, nsec int64) {
	if math.IsNaN(t) || t < 0 || t > 1e11 {
		return 0, 0
	}
	whole, part := math.Modf(t)
	return int64(whole), int64(part * 1e9)
}
