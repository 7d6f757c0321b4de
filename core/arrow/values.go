package arrow

import (
	"encoding/binary"
	"unsafe"

	"deeplake/core/errs"
)

// values are a checked array: each access of a row within n lies in the memory that its producer
// describes. Rows begin at offset.
type values struct {
	*dataType
	n, offset int64
	valid     []byte   // a bit for each row, offset included; nil: no row is null
	data      []byte   // of numbers and times, and bits; of text, all up to the last end
	ends      []int64  // n+1 ends of text or lists, the first a start; nil: no such type
	sizes     []int64  // of list views, whose ends are starts
	views     []byte   // 16 bytes a row
	variadic  [][]byte // the memory of long views
	children  []*values
	dict      *values
	at        []int64 // as Data.At, offset included
}

// buffersOf is the number of buffers of each layout. Views have more.
var buffersOf = [...]int64{
	kindNull: 0, kindBool: 2, kindNumber: 2, kindTime: 2, kindDecimal: 2, kindText: 3, kindView: 3, kindFixed: 2,
	kindList: 2, kindListView: 3, kindFixedList: 1, kindStruct: 1, kindMap: 2,
}

// valuesOf checks an array against its type.
func valuesOf(t *dataType, a *Array, depth int) (*values, error) {
	v, err := newValues(t, a)
	if err != nil || t.kind == kindOther || depth > maxDepth {
		return v, err
	}
	children, err := childrenOf(a.children, a.nChildren)
	if err != nil {
		return nil, err
	}
	if len(children) != len(t.fields) {
		return nil, errs.New(errs.Invalid, "the array has %d children, and its type %s has %d", len(children), t.name, len(t.fields))
	}
	for i, c := range children {
		child, err := valuesOf(t.fields[i].dataType, c, depth+1)
		if err != nil {
			return nil, err
		}
		if least := v.least(); child.n < least {
			return nil, errs.New(errs.Invalid, "child %d of an array of type %s has %d rows, want at least %d", i, t.name, child.n, least)
		}
		v.children = append(v.children, child)
	}
	if t.dictionary == nil {
		return v, nil
	}
	if a.dictionary == nil {
		return nil, errs.New(errs.Invalid, "an array of type %s has no dictionary", t.name)
	}
	v.dict, err = valuesOf(t.dictionary, a.dictionary, depth+1)
	return v, err
}

// newValues checks the buffers of an array.
func newValues(t *dataType, a *Array) (*values, error) {
	v := &values{dataType: t, n: a.length, offset: a.offset}
	switch {
	case a.release == 0:
		return nil, errs.New(errs.Invalid, "the array was released before")
	case a.length < 0 || a.offset < 0 || a.length > maxLength || a.offset > maxLength:
		return nil, errs.New(errs.Invalid, "the array has length %d and offset %d, want 0 to %d", a.length, a.offset, int64(maxLength))
	case a.nullCount < -1 || a.nullCount > a.length:
		return nil, errs.New(errs.Invalid, "the array has %d nulls in %d rows", a.nullCount, a.length)
	case t.kind == kindOther:
		return v, nil
	case a.nBuffers != buffersOf[t.kind] && !(t.kind == kindNull && a.nBuffers == 1) && !(t.kind == kindView && a.nBuffers > 3 && a.nBuffers < maxChildren):
		return nil, errs.New(errs.Invalid, "the array of type %s has %d buffers, want %d", t.name, a.nBuffers, buffersOf[t.kind])
	case a.nBuffers > 0 && a.buffers == nil:
		return nil, errs.New(errs.Invalid, "the buffers of an array of type %s are NULL", t.name)
	}
	buffers := unsafe.Slice(a.buffers, a.nBuffers)
	if t.kind == kindNull {
		buffers = nil // polars has a bitmap, which tells nothing
	}
	if len(buffers) > 0 && buffers[0] != nil {
		v.valid = memory(buffers[0], (v.offset+v.n+7)/8)
	} else if a.nullCount > 0 && t.kind != kindNull {
		return nil, errs.New(errs.Invalid, "the array has %d nulls and no bitmap of them", a.nullCount)
	}
	if a.nullCount == 0 {
		v.valid = nil
	}
	if v.n == 0 {
		v.ends = []int64{0}
		return v, nil
	}
	return v, v.take(buffers)
}

// take keeps the buffers of n > 0 rows.
func (v *values) take(buffers []unsafe.Pointer) error {
	for i := 1; i < len(buffers); i++ {
		if buffers[i] == nil && i != 2 && v.kind != kindView {
			return errs.New(errs.Invalid, "buffer %d of an array of type %s is NULL", i, v.name)
		}
	}
	rows := v.offset + v.n
	if v.width > 0 && rows > maxLength/v.width {
		return errs.New(errs.Invalid, "an array of type %s has %d rows, which are too many", v.name, rows)
	}
	switch v.kind {
	case kindBool:
		v.data = memory(buffers[1], (rows+7)/8)
	case kindNumber:
		v.data = memory(buffers[1], rows*int64(v.dtype.Size()))
	case kindTime, kindDecimal, kindFixed:
		v.data = memory(buffers[1], rows*v.width)
	case kindText:
		if err := v.takeEnds(buffers[1]); err != nil {
			return err
		}
		if last := v.ends[v.n]; last > 0 {
			if buffers[2] == nil {
				return errs.New(errs.Invalid, "the text of an array of type %s is NULL, and ends at byte %d", v.name, last)
			}
			v.data = memory(buffers[2], last)
		}
	case kindView:
		return v.takeViews(buffers)
	case kindList, kindMap:
		return v.takeEnds(buffers[1])
	case kindListView:
		if buffers[2] == nil {
			return errs.New(errs.Invalid, "the sizes of an array of type %s are NULL", v.name)
		}
		v.ends = numbersOf(buffers[1], v.offset, v.n, v.wide)
		v.sizes = numbersOf(buffers[2], v.offset, v.n, v.wide)
		for i, at := range v.ends {
			if size := v.sizes[i]; at < 0 || size < 0 || at > maxLength || size > maxLength {
				return errs.New(errs.Invalid, "row %d of an array of type %s begins at %d and has %d items", i, v.name, at, size)
			}
		}
	}
	return nil
}

// takeEnds reads the offsets of text or lists, which never run backward.
func (v *values) takeEnds(p unsafe.Pointer) error {
	v.ends = numbersOf(p, v.offset, v.n+1, v.wide)
	at := int64(0)
	for i, end := range v.ends {
		if end < at || end > maxLength {
			return errs.New(errs.Invalid, "offset %d of an array of type %s is %d, want %d to %d", i, v.name, end, at, int64(maxLength))
		}
		at = end
	}
	return nil
}

// takeViews keeps the views of texts, and checks that each lies in its buffer.
func (v *values) takeViews(buffers []unsafe.Pointer) error {
	k := len(buffers) - 3
	if buffers[1] == nil || k > 0 && buffers[k+2] == nil {
		return errs.New(errs.Invalid, "the views or sizes of an array of type %s are NULL", v.name)
	}
	v.views = memory(buffers[1], (v.offset+v.n)*16)
	sizes := elements[int64](buffers[k+2], int64(k))
	for i := range k {
		size := sizes[i]
		if size < 0 || size > maxLength || size > 0 && buffers[2+i] == nil {
			return errs.New(errs.Invalid, "buffer %d of an array of type %s has %d bytes at %p", 2+i, v.name, size, buffers[2+i])
		}
		v.variadic = append(v.variadic, memory(buffers[2+i], size))
	}
	for i := range v.n {
		if v.null(i) {
			continue
		}
		size, buffer, at := v.view(i)
		if size < 0 || size > inlineView && (buffer < 0 || buffer >= int64(k) || at < 0 || at > int64(len(v.variadic[buffer]))-size) {
			return errs.New(errs.Invalid, "row %d of an array of type %s has %d bytes at byte %d of buffer %d, which does not have them", i, v.name, size, at, buffer)
		}
	}
	return nil
}

// inlineView is the most bytes of a text that lies in its view.
const inlineView = 12

// view reads view i: the size of the text, and where it lies if it is longer than inlineView.
func (v *values) view(i int64) (size, buffer, at int64) {
	p := v.views[(v.offset+i)*16:][:16]
	number := func(at int) int64 { return int64(int32(binary.NativeEndian.Uint32(p[at:]))) }
	return number(0), number(8), number(12)
}

// text returns text or bytes i.
func (v *values) text(i int64) []byte {
	switch v.kind {
	case kindText:
		return v.data[v.ends[i]:v.ends[i+1]]
	case kindView:
		size, buffer, at := v.view(i)
		if size <= inlineView {
			return v.views[(v.offset+i)*16+4:][:size]
		}
		return v.variadic[buffer][at:][:size]
	}
	return v.data[(v.offset+i)*v.width:][:v.width]
}

// span returns where the items of list i begin and end in its child.
func (v *values) span(i int64) (from, to int64) {
	switch {
	case v.kind == kindFixedList:
		return (v.offset + i) * v.width, (v.offset + i + 1) * v.width
	case v.sizes != nil:
		return v.ends[i], v.ends[i] + v.sizes[i]
	}
	return v.ends[i], v.ends[i+1]
}

// rowOf returns the list that has an item.
func (v *values) rowOf(item int64) int64 {
	for i := range v.n {
		if from, to := v.span(i); from <= item && item < to {
			return i
		}
	}
	return 0 // of no list: an error about it cannot be about a row
}

// least returns the number of rows that children have at least.
func (v *values) least() int64 {
	switch v.kind {
	case kindStruct:
		return v.offset + v.n
	case kindFixedList:
		return (v.offset + v.n) * v.width
	}
	most := int64(0)
	for i := range v.sizes {
		most = max(most, v.ends[i]+v.sizes[i])
	}
	if v.sizes == nil && v.ends != nil {
		most = v.ends[v.n]
	}
	return most
}

// null reports whether row i is null.
func (v *values) null(i int64) bool {
	return v.kind == kindNull || v.valid != nil && !bit(v.valid, v.offset+i)
}

// isList reports whether rows are lists of items.
func (t *dataType) isList() bool {
	return t.kind == kindList || t.kind == kindListView || t.kind == kindFixedList
}

func bit(bits []byte, i int64) bool { return bits[i>>3]>>(i&7)&1 != 0 }

func memory(p unsafe.Pointer, n int64) []byte { return unsafe.Slice((*byte)(p), n) }

// elements returns n numbers at p, in place where they are aligned.
func elements[T int32 | int64](p unsafe.Pointer, n int64) []T {
	if n == 0 {
		return nil
	}
	if uintptr(p)%unsafe.Alignof(T(0)) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	out := make([]T, n)
	size := n * int64(unsafe.Sizeof(out[0]))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), size), memory(p, size))
	return out
}

// numbersOf returns n offsets or sizes from offset on.
func numbersOf(p unsafe.Pointer, offset, n int64, wide bool) []int64 {
	if wide {
		return elements[int64](p, offset+n)[offset:]
	}
	out := make([]int64, n)
	for i, v := range elements[int32](p, offset+n)[offset:] {
		out[i] = int64(v)
	}
	return out
}
