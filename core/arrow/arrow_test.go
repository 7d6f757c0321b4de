package arrow

import (
	"math"
	"strings"
	"testing"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// alive is the release pointer of structures that were not released. No test calls it.
const alive = uintptr(1)

func cString(text string) *byte { return unsafe.StringData(text + "\x00") }

func schemaOf(format, name string, children ...*Schema) *Schema {
	s := &Schema{format: cString(format), name: cString(name), release: alive, nChildren: int64(len(children))}
	if len(children) > 0 {
		s.children = &children[0]
	}
	return s
}

func arrayOf(length int64, buffers []unsafe.Pointer, children ...*Array) *Array {
	a := &Array{length: length, nBuffers: int64(len(buffers)), nChildren: int64(len(children)), release: alive}
	if len(buffers) > 0 {
		a.buffers = &buffers[0]
	}
	if len(children) > 0 {
		a.children = &children[0]
	}
	return a
}

func at[T any](values ...T) unsafe.Pointer { return unsafe.Pointer(&values[0]) }

func int32s(values ...int32) *Array {
	return arrayOf(int64(len(values)), []unsafe.Pointer{nil, at(values...)})
}

func rowsOf(t *testing.T, s *Schema, a *Array, htype string, d tensor.DType) (tensor.Rows, error) {
	t.Helper()
	c, err := NewColumn(s, []*Array{a})
	if err != nil {
		return tensor.Rows{}, err
	}
	h, err := tensor.ParseHType(htype)
	if err != nil {
		t.Fatal(err)
	}
	return c.Rows(tensor.Target{HType: h, DType: d, Open: d == 0})
}

// TestBrokenProducers describes memory wrongly in every way that can be known. Each is an error
// before a byte of it is read.
func TestBrokenProducers(t *testing.T) {
	t.Parallel()
	ints := func(change func(a *Array)) func() (*Schema, *Array) {
		return func() (*Schema, *Array) {
			a := int32s(1, 2, 3)
			change(a)
			return schemaOf("i", "x"), a
		}
	}
	texts := func(offsets ...int32) func() (*Schema, *Array) {
		return func() (*Schema, *Array) {
			return schemaOf("u", "x"), arrayOf(int64(len(offsets)-1), []unsafe.Pointer{nil, at(offsets...), at([]byte("abcdef")...)})
		}
	}
	lists := func(offsets ...int32) func() (*Schema, *Array) {
		return func() (*Schema, *Array) {
			return schemaOf("+l", "x", schemaOf("i", "item")), arrayOf(int64(len(offsets)-1), []unsafe.Pointer{nil, at(offsets...)}, int32s(1, 2, 3))
		}
	}
	view := func(size, buffer, from int32, buffers ...unsafe.Pointer) func() (*Schema, *Array) {
		return func() (*Schema, *Array) {
			all := append([]unsafe.Pointer{nil, at(size, 0, buffer, from)}, buffers...)
			return schemaOf("vu", "x"), arrayOf(1, all)
		}
	}
	text := at([]byte(strings.Repeat("x", 20))...)
	deep := schemaOf("i", "x")
	for range 100 {
		deep = schemaOf("+l", "x", deep)
	}
	wide := schemaOf("n", "x")
	for range 40 { // 2^40 types, of which each is described once
		wide = schemaOf("+s", "x", wide, wide)
	}
	for _, c := range []struct {
		name, want string
		make       func() (*Schema, *Array)
	}{
		{"schema released", "schema was released", func() (*Schema, *Array) { s := schemaOf("i", "x"); s.release = 0; return s, int32s(1) }},
		{"array released", "array was released", ints(func(a *Array) { a.release = 0 })},
		{"no format", `unknown Arrow format ""`, func() (*Schema, *Array) { return schemaOf("", "x"), int32s(1) }},
		{"odd format", `unknown Arrow format "tsx:"`, func() (*Schema, *Array) { return schemaOf("tsx:", "x"), int32s(1) }},
		{"odd decimal", `unknown Arrow format "d:9,2,100"`, func() (*Schema, *Array) { return schemaOf("d:9,2,100", "x"), int32s(1) }},
		{"odd width", `unknown Arrow format "w:-1"`, func() (*Schema, *Array) { return schemaOf("w:-1", "x"), int32s(1) }},
		{"too deep", "more than 64 deep", func() (*Schema, *Array) { return deep, int32s(1) }},
		{"too many types", "more than 1048576 types", func() (*Schema, *Array) { return wide, int32s(1) }},
		{"negative length", "length -1", ints(func(a *Array) { a.length = -1 })},
		{"huge length", "length 4611686018427387904", ints(func(a *Array) { a.length = 1 << 62 })},
		{"negative offset", "offset -2", ints(func(a *Array) { a.offset = -2 })},
		{"huge offset", "offset 9223372036854775807", ints(func(a *Array) { a.offset = 1<<63 - 1 })},
		{"nulls", "has 4 nulls in 3 rows", ints(func(a *Array) { a.nullCount = 4 })},
		{"fewer than no nulls", "has -2 nulls", ints(func(a *Array) { a.nullCount = -2 })},
		{"no bitmap", "has 1 nulls and no bitmap", ints(func(a *Array) { a.nullCount = 1 })},
		{"one buffer", "has 1 buffers, want 2", ints(func(a *Array) { a.nBuffers = 1 })},
		{"many buffers", "has 3 buffers, want 2", ints(func(a *Array) { a.nBuffers = 3 })},
		{"no buffers", "buffers of an array of type int32 are NULL", ints(func(a *Array) { a.buffers = nil })},
		{"no data", "buffer 1 of an array of type int32 is NULL", ints(func(a *Array) { b := []unsafe.Pointer{nil, nil}; a.buffers = &b[0] })},
		{"children", "the array has 1 children, and its type int32 has 0", ints(func(a *Array) { c := []*Array{int32s(1)}; a.nChildren, a.children = 1, &c[0] })},
		{"NULL child", "child 0 is NULL", ints(func(a *Array) { c := []*Array{nil}; a.nChildren, a.children = 1, &c[0] })},
		{"no children", "it has 1 children", ints(func(a *Array) { a.nChildren = 1 })},
		{"dictionary of floats", "numbers of type float, want integers", func() (*Schema, *Array) {
			s := schemaOf("f", "x")
			s.dictionary = schemaOf("u", "")
			return s, int32s(1)
		}},
		{"no dictionary", "has no dictionary", func() (*Schema, *Array) {
			s := schemaOf("i", "x")
			s.dictionary = schemaOf("u", "")
			return s, int32s(1)
		}},
		{"offsets backward", "offset 2 of an array of type string is 1, want 3 to", texts(0, 3, 1)},
		{"negative offsets", "offset 0 of an array of type string is -1", texts(-1, 2)},
		{"no text", "text of an array of type string is NULL, and ends at byte 3", func() (*Schema, *Array) {
			return schemaOf("u", "x"), arrayOf(1, []unsafe.Pointer{nil, at[int32](0, 3), nil})
		}},
		{"short child", "has 3 rows, want at least 4", lists(0, 4)},
		{"lists backward", "offset 1 of an array of type list<int32> is 1, want 2 to", lists(2, 1)},
		{"short fixed child", "has 3 rows, want at least 4", func() (*Schema, *Array) {
			return schemaOf("+w:2", "x", schemaOf("i", "")), arrayOf(2, []unsafe.Pointer{nil}, int32s(1, 2, 3))
		}},
		{"huge fixed lists", "which are too many", func() (*Schema, *Array) {
			return schemaOf("+w:2147483647", "x", schemaOf("i", "")), arrayOf(1<<39, []unsafe.Pointer{nil}, int32s(1))
		}},
		{"short field", "has 3 rows, want at least 4", func() (*Schema, *Array) {
			return schemaOf("+s", "x", schemaOf("i", "a")), arrayOf(4, []unsafe.Pointer{nil}, int32s(1, 2, 3))
		}},
		{"view of no buffer", "does not have them", view(13, 0, 0, at[int64](0))},
		{"view of another buffer", "does not have them", view(13, 1, 0, text, at[int64](20))},
		{"view beyond its buffer", "does not have them", view(13, 0, 8, text, at[int64](20))},
		{"negative view", "has -1 bytes", view(-1, 0, 0, text, at[int64](20))},
		{"view from before", "does not have them", view(13, 0, -1, text, at[int64](20))},
		{"no sizes of views", "views or sizes of an array of type string_view are NULL", view(13, 0, 0, text, nil)},
		{"negative buffer of views", "buffer 2 of an array of type string_view has -5 bytes", view(1, 0, 0, text, at[int64](-5))},
		{"list view beyond", "has 3 rows, want at least 5", func() (*Schema, *Array) {
			return schemaOf("+vl", "x", schemaOf("i", "")), arrayOf(1, []unsafe.Pointer{nil, at[int32](2), at[int32](3)}, int32s(1, 2, 3))
		}},
		{"negative list view", "begins at -1", func() (*Schema, *Array) {
			return schemaOf("+vl", "x", schemaOf("i", "")), arrayOf(1, []unsafe.Pointer{nil, at[int32](-1), at[int32](1)}, int32s(1, 2, 3))
		}},
		{"code beyond its dictionary", "row 1 has number 2 of a dictionary of 2 values", func() (*Schema, *Array) {
			s, a := schemaOf("i", "x"), int32s(1, 2)
			s.dictionary = schemaOf("i", "")
			a.dictionary = int32s(7, 8)
			return s, a
		}},
		{"negative code", "row 0 has number -1 of a dictionary", func() (*Schema, *Array) {
			s, a := schemaOf("i", "x"), int32s(-1)
			s.dictionary = schemaOf("i", "")
			a.dictionary = int32s(7, 8)
			return s, a
		}},
		{"shape of a tensor", "has the shape [2 2], and 3 elements are stored", func() (*Schema, *Array) {
			s := schemaOf("+w:3", "x", schemaOf("i", ""))
			s.metadata = cString("\x02\x00\x00\x00" + "\x14\x00\x00\x00ARROW:extension:name" + "\x18\x00\x00\x00arrow.fixed_shape_tensor" +
				"\x18\x00\x00\x00ARROW:extension:metadata" + "\x0f\x00\x00\x00{\"shape\":[2,2]}")
			return s, arrayOf(1, []unsafe.Pointer{nil}, int32s(1, 2, 3))
		}},
		{"metadata", "metadata has -1 items", func() (*Schema, *Array) {
			s := schemaOf("i", "x")
			s.metadata = cString("\xff\xff\xff\xff")
			return s, int32s(1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, a := c.make()
			_, err := rowsOf(t, s, a, "generic", 0)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if errs.KindOf(err) != errs.Invalid && errs.KindOf(err) != errs.Type {
				t.Errorf("kind of %v is %d", err, errs.KindOf(err))
			}
		})
	}
}

// TestInPlace holds that numbers, texts and their offsets stay in the memory of the producer.
func TestInPlace(t *testing.T) {
	t.Parallel()
	numbers := []int32{1, 2, 3, 4}
	a := arrayOf(3, []unsafe.Pointer{nil, unsafe.Pointer(&numbers[0])})
	a.offset = 1
	rows, err := rowsOf(t, schemaOf("i", "x"), a, "generic", 0)
	if err != nil || &rows.Array.Data[0] != (*byte)(unsafe.Pointer(&numbers[1])) || len(rows.Array.Data) != 12 {
		t.Errorf("rows %+v, %v", rows.Array, err)
	}
	offsets, text := []int64{0, 1, 3, 6}, []byte("abcdef")
	rows, err = rowsOf(t, schemaOf("U", "x"), arrayOf(3, []unsafe.Pointer{nil, unsafe.Pointer(&offsets[0]), unsafe.Pointer(&text[0])}), "text", tensor.String)
	if err != nil || &rows.Texts.Data[0] != &text[0] || &rows.Texts.Starts[0] != &offsets[0] || string(rows.Texts.At(2)) != "def" {
		t.Errorf("rows %+v, %v", rows.Texts, err)
	}
	lists := arrayOf(2, []unsafe.Pointer{nil, at[int32](1, 3, 4)}, arrayOf(4, []unsafe.Pointer{nil, unsafe.Pointer(&numbers[0])}))
	rows, err = rowsOf(t, schemaOf("+l", "x", schemaOf("i", "")), lists, "generic", 0)
	if err != nil || &rows.Samples[0].Data[0] != (*byte)(unsafe.Pointer(&numbers[1])) || !rows.Samples[1].Shape.Equal(tensor.Shape{1}) {
		t.Errorf("rows %+v, %v", rows.Samples, err)
	}
}

// TestUnalignedOffsets reads offsets at an odd address.
func TestUnalignedOffsets(t *testing.T) {
	t.Parallel()
	memory := make([]byte, 33)
	for i, v := range []byte{0, 2, 3} {
		memory[1+8*i] = v
	}
	a := arrayOf(2, []unsafe.Pointer{nil, unsafe.Pointer(&memory[1]), at([]byte("abc")...)})
	rows, err := rowsOf(t, schemaOf("U", "x"), a, "text", tensor.String)
	if err != nil || string(rows.Texts.At(0)) != "ab" || string(rows.Texts.At(1)) != "c" {
		t.Errorf("rows %+v, %v", rows.Texts, err)
	}
}

// FuzzSchema reads formats and metadata of any bytes.
func FuzzSchema(f *testing.F) {
	for format := range plain {
		f.Add(format, []byte{})
	}
	for _, format := range []string{"tsu:UTC", "w:16", "+w:3", "d:30,2", "d:76,-3,256", "+ud:0,1", "+us:"} {
		f.Add(format, []byte("\x01\x00\x00\x00\x01\x00\x00\x00a\x01\x00\x00\x00b"))
	}
	f.Fuzz(func(t *testing.T, format string, metadata []byte) {
		child := schemaOf("i", "item")
		for _, s := range []*Schema{schemaOf(format, "x"), schemaOf(format, "x", child), schemaOf(format, "x", child, child)} {
			if len(metadata) > 4 {
				// Lengths within are the producer's word, so that those beyond the end are cut.
				s.metadata = cString(string(metadata[:4]) + strings.Repeat("\x00", 1<<16))
			}
			described, err := (&parser{left: 10}).describe(s, 0)
			if err != nil {
				continue
			}
			field, err := fieldOf(described)
			if err == nil && (field.dataType == nil || field.dataType.name == "") {
				t.Errorf("format %q has no name", format)
			}
		}
	})
}

// TestSmallMemoryLargeDocument shows one item by views of lists that all begin at 0: 40 levels of
// two make 2^40 numbers of a few bytes.
func TestSmallMemoryLargeDocument(t *testing.T) {
	t.Parallel()
	s, a := schemaOf("i", ""), int32s(1, 1)
	for range 40 {
		s, a = schemaOf("+vl", "", s), arrayOf(2, []unsafe.Pointer{nil, at[int32](0, 0), at[int32](2, 2)}, a)
	}
	_, err := rowsOf(t, s, a, "json", tensor.JSON)
	if err == nil || !strings.Contains(err.Error(), "row 0 has more than 268435456 bytes as JSON") {
		t.Errorf("error %v", err)
	}
}

// TestItemsNameTheirRow holds that an error about an item of a list names the row of the list.
func TestItemsNameTheirRow(t *testing.T) {
	t.Parallel()
	nan := arrayOf(4, []unsafe.Pointer{nil, at(1, 2, 3, math.NaN())})
	lists := func(child *Array) *Array { return arrayOf(3, []unsafe.Pointer{nil, at[int32](0, 2, 3, 4)}, child) }
	_, err := rowsOf(t, schemaOf("+l", "", schemaOf("g", "")), lists(nan), "sequence[json]", tensor.JSON)
	if err == nil || !strings.HasPrefix(err.Error(), "row 2 has the value NaN") {
		t.Errorf("error %v", err)
	}
	ragged := arrayOf(4, []unsafe.Pointer{nil, at[int32](0, 2, 4, 6, 8)}, arrayOf(8, []unsafe.Pointer{nil, at[int32](0, 1, 2, 3, 4, 5, 6, 7, 9)}, int32s(0, 1, 2, 3, 4, 5, 6, 7, 8)))
	_, err = rowsOf(t, schemaOf("+l", "", schemaOf("+l", "", schemaOf("+l", "", schemaOf("i", "")))), lists(ragged), "sequence[generic]", 0)
	if err == nil || !strings.HasPrefix(err.Error(), "row 2 has lists of unequal lengths") {
		t.Errorf("error %v", err)
	}
}
