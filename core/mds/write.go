package mds

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"

	"deeplake/core/errs"
)

// Field is a column of a shard to write.
type Field struct {
	Name     string
	Encoding string // such as "jpeg", "int64" or "ndarray:float32:3,4"
	// bytes of each value; 0: they vary
	Size int64
}

// ShardWriter gathers the samples of a shard.
type ShardWriter struct {
	fields []Field
	blocks [][]byte // of samples, so that none is copied as the shard grows
	bytes  int64
	ends   []int64 // of samples
}

// blockBytes is the size of a block; a larger value has one of its own.
const blockBytes = 4 << 20

// write appends p to the samples.
func (w *ShardWriter) write(p []byte) {
	w.bytes += int64(len(p))
	last := len(w.blocks) - 1
	if last < 0 || len(p) > cap(w.blocks[last])-len(w.blocks[last]) {
		w.blocks = append(w.blocks, make([]byte, 0, max(blockBytes, len(p))))
		last++
	}
	w.blocks[last] = append(w.blocks[last], p...)
}

// NewShardWriter begins a shard of fields, which are in the order of their names.
func NewShardWriter(fields []Field) *ShardWriter { return &ShardWriter{fields: fields} }

// Add adds a sample, with a value for each field.
func (w *ShardWriter) Add(values [][]byte) error {
	for i, f := range w.fields {
		if f.Size != 0 {
			if int64(len(values[i])) != f.Size {
				return errs.New(errs.Invalid, "a value of %q has %d bytes, want %d", f.Name, len(values[i]), f.Size)
			}
			continue
		}
		if int64(len(values[i])) > math.MaxUint32 {
			return errs.New(errs.Invalid, "a value of %q has %d bytes, want less than 4 GB", f.Name, len(values[i]))
		}
		var size [4]byte
		binary.LittleEndian.PutUint32(size[:], uint32(len(values[i])))
		w.write(size[:])
	}
	for _, v := range values {
		w.write(v)
	}
	w.ends = append(w.ends, w.bytes)
	return nil
}

// columns returns the description of the columns, as a shard and the index have it.
func (w *ShardWriter) columns() map[string]any {
	names, encodings, sizes := []string{}, []string{}, []any{}
	for _, f := range w.fields {
		names, encodings = append(names, f.Name), append(encodings, f.Encoding)
		if f.Size != 0 {
			sizes = append(sizes, f.Size)
		} else {
			sizes = append(sizes, nil)
		}
	}
	return map[string]any{
		"version": 2, "format": "mds", "compression": nil, "hashes": []string{}, "size_limit": nil,
		"column_names": names, "column_encodings": encodings, "column_sizes": sizes,
	}
}

// WriteTo writes the shard, which then has no samples. It returns the entry of the index for a file
// of that name.
func (w *ShardWriter) WriteTo(to io.Writer, name string) (map[string]any, error) {
	about := w.columns()
	config, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	n := len(w.ends)
	head := int64(4*(n+2) + len(config))
	if size := head + w.bytes; size > math.MaxUint32 {
		return nil, errs.New(errs.Invalid, "a shard has %d bytes, want less than 4 GB; take smaller shards", size)
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, head), uint32(n))
	out = binary.LittleEndian.AppendUint32(out, uint32(head))
	for _, end := range w.ends {
		out = binary.LittleEndian.AppendUint32(out, uint32(head+end))
	}
	out = append(out, config...)
	if _, err := to.Write(out); err != nil {
		return nil, err
	}
	for i, block := range w.blocks {
		if _, err := to.Write(block); err != nil {
			return nil, err
		}
		w.blocks[i] = nil // frees its memory
	}
	about["samples"] = n
	about["raw_data"] = map[string]any{"basename": name, "bytes": head + w.bytes, "hashes": map[string]any{}}
	about["zip_data"] = nil
	return about, nil
}

// AppendShape appends the shape of an array, as values of the encoding ndarray:dtype begin.
func AppendShape(dst []byte, shape []int64) ([]byte, error) {
	most := int64(0)
	for _, n := range shape {
		most = max(most, n)
	}
	width := 0 // as a power of two
	for width < 3 && most>>(8<<width) != 0 {
		width++
	}
	if len(shape) > math.MaxUint8>>2 {
		return nil, errs.New(errs.Invalid, "the array has %d axes, want at most %d", len(shape), math.MaxUint8>>2)
	}
	dst = append(dst, byte(len(shape)<<2|width))
	for _, n := range shape {
		dst = append(dst, binary.LittleEndian.AppendUint64(nil, uint64(n))[:1<<width]...)
	}
	return dst, nil
}

// AppendFiles appends the files of an image list, the encodings list[jpeg] and list[png].
func AppendFiles(dst []byte, files [][]byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(files)))
	for _, p := range files {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p)))
	}
	for _, p := range files {
		dst = append(dst, p...)
	}
	return dst
}
