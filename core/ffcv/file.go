package ffcv

import (
	"context"
	"encoding/binary"
	"slices"
	"sort"
	"sync"

	"deeplake/core/arrow"
	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// ReaderAt reads parts of a file.
type ReaderAt interface {
	// ReadAt fills p from off on.
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// File is an open file. Its methods may be called in parallel.
type File struct {
	from ReaderAt
	size int64

	page    int64
	fields  []field
	records int64 // where the records begin
	record  int64 // bytes of one
	rows    int64
	data    int64 // where the pages begin
	table   int64 // where the table of allocations begins

	mu    sync.Mutex
	forms map[string]form // of fields of images, as far as they are known
	sizes *allocations    // nil: the table is not read yet
}

// form is how a field stores its images.
type form uint8

const (
	formRaw form = iota + 1 // all are pixels
	formJPEG
	formMixed
)

// Open reads the header of a file of some size.
func Open(ctx context.Context, from ReaderAt, size int64) (*File, error) {
	f := &File{from: from, size: size, forms: map[string]form{}}
	return f, f.readHeader(ctx)
}

// Columns are the names of the fields, in the order of the file.
func (f *File) Columns() (names []string) {
	for i := range f.fields {
		names = append(names, f.fields[i].name)
	}
	return names
}

// Rows is the number of samples.
func (f *File) Rows() int64 { return f.rows }

// Types returns some columns without rows; nil: all.
func (f *File) Types(ctx context.Context, columns []string) (*arrow.Column, error) {
	s, err := f.samples(ctx, gather.Options{Columns: columns})
	if err != nil {
		return nil, err
	}
	all := make([]gather.Column, len(f.fields))
	for i := range f.fields {
		if !s.wanted[i] {
			continue
		}
		if all[i], err = s.NewColumn(i); err != nil {
			return nil, errs.New(errs.KindOf(err), "field %q %w", f.fields[i].name, err)
		}
	}
	return gather.Struct(f.Columns(), all)
}

// imageForm tells how a field stores its images, by the modes in the records.
func (f *File) imageForm(ctx context.Context, one *field) (form, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.forms[one.name]; known != 0 {
		return known, nil
	}
	var has [2]bool
	step := max(1, blockBytes/f.record)
	for at := int64(0); at < f.rows && !(has[modeJPEG] && has[modeRaw]); at += step {
		p := make([]byte, min(step, f.rows-at)*f.record)
		if err := f.from.ReadAt(ctx, p, f.records+at*f.record); err != nil {
			return 0, err
		}
		for ; len(p) > 0; p = p[f.record:] {
			if mode := p[one.at]; int(mode) < len(has) { // the others are errors of their samples
				has[mode] = true
			}
		}
	}
	switch {
	case has[modeJPEG] && has[modeRaw]:
		f.forms[one.name] = formMixed
	case has[modeRaw]:
		f.forms[one.name] = formRaw
	default:
		f.forms[one.name] = formJPEG
	}
	return f.forms[one.name], nil
}

// allocations are the sizes of values by their positions, which ascend.
type allocations struct {
	at    []int64
	bytes []uint32
}

func (a *allocations) Len() int           { return len(a.at) }
func (a *allocations) Less(i, j int) bool { return a.at[i] < a.at[j] }
func (a *allocations) Swap(i, j int) {
	a.at[i], a.at[j] = a.at[j], a.at[i]
	a.bytes[i], a.bytes[j] = a.bytes[j], a.bytes[i]
}

// size returns the bytes of the value at a position; -1: none begins there.
func (a *allocations) size(at int64) int64 {
	i, ok := slices.BinarySearch(a.at, at)
	if !ok {
		return -1
	}
	return int64(a.bytes[i])
}

// allocated reads the table of allocations. Those without bytes have no position of their own.
func (f *File) allocated(ctx context.Context) (*allocations, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sizes != nil {
		return f.sizes, nil
	}
	if n := (f.size - f.table) / allocationBytes; n > maxAllocations {
		return nil, errs.New(errs.Invalid, "its table has %d allocations, want at most %d; divide the file", n, maxAllocations)
	}
	all := &allocations{}
	for at := f.table; at < f.size; {
		p := make([]byte, min(blockBytes/allocationBytes*allocationBytes, f.size-at))
		if err := f.from.ReadAt(ctx, p, at); err != nil {
			return nil, err
		}
		at += int64(len(p))
		for ; len(p) > 0; p = p[allocationBytes:] {
			place, size := binary.LittleEndian.Uint64(p[8:]), binary.LittleEndian.Uint64(p[16:])
			if size == 0 {
				continue
			}
			if place < uint64(f.data) || place > uint64(f.table) || size > uint64(f.table)-place || size > uint64(f.page) {
				return nil, errs.New(errs.Corrupt, "its table of allocations has %d bytes at byte %d, want at most %d within %d to %d", size, place, f.page, f.data, f.table)
			}
			all.at, all.bytes = append(all.at, int64(place)), append(all.bytes, uint32(size))
		}
	}
	if !sort.IsSorted(all) {
		sort.Sort(all)
	}
	for i := 1; i < len(all.at); i++ {
		if end := all.at[i-1] + int64(all.bytes[i-1]); end > all.at[i] {
			return nil, errs.New(errs.Corrupt, "its table of allocations has values at bytes %d and %d that overlap", all.at[i-1], all.at[i])
		}
	}
	f.sizes = all
	return all, nil
}

// Read begins to read samples.
func (f *File) Read(ctx context.Context, o Options) (*Reader, error) {
	s, err := f.samples(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	s.parallel = o.Parallel
	return &Reader{gather.NewReader(s, o.Options), s}, nil
}

// Options choose samples and their values.
type Options struct {
	gather.Options
	Parallel bool // requests several ranges at once: for stores across a network
}

// newColumn makes the collector of a field.
func (s *samples) newColumn(i int) (gather.Column, error) {
	one := &s.file.fields[i]
	if one.err != nil {
		return nil, errs.New(errs.KindOf(one.err), "%w; leave the field out by columns=", one.err)
	}
	switch one.kind {
	case kindFloat:
		return &gather.Numbers{DType: tensor.Float64}, nil
	case kindInt:
		return &gather.Numbers{DType: tensor.Int64}, nil
	case kindBytes:
		return &gather.Texts{Format: "Z"}, nil
	case kindJSON:
		return &gather.Texts{Format: "U", JSON: true}, nil
	case kindImage:
		if s.forms[i] != formRaw {
			return &gather.Files{}, nil
		}
		return &gather.Arrays{DType: tensor.Uint8, HType: "image", Read: func(p []byte) (tensor.DType, []int64, []byte, error) {
			v := &s.now.values[i]
			return tensor.Uint8, []int64{v.height, v.width, 3}, p, nil
		}}, nil
	}
	return &gather.Arrays{DType: one.dtype, Read: func(p []byte) (tensor.DType, []int64, []byte, error) {
		return one.dtype, one.shape, p, nil
	}}, nil
}
