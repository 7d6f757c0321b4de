package dataset

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"unicode/utf8"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// checker holds the samples of one column against the promises of their tensor, before any of them
// is written.
type checker struct {
	given *columnType // the tensor before this column
	ct    *columnType // the same, or as this column makes it
	codec *codec.Registry
	dtype tensor.DType // the tensor's, or that of its first samples where that is open
	open  bool         // the samples of this column may decide dtype
	time  tensor.Time  // unit and zone, if the numbers are times
	shape tensor.Shape // the tensor's; of the first sample where all must have the same
	names map[string]int64
	added []string // class names that this column brings
	// the tensor or this column has class labels by number, and the tensor no class names
	numbered bool
	missing  []bool // rows that an array or texts leave out, for messages; nil: none
}

func newChecker(ct *columnType, reg *codec.Registry) *checker {
	return &checker{given: ct, ct: ct, codec: reg, dtype: ct.dtype, open: ct.open, time: ct.time, shape: ct.schema.Shape}
}

// array checks the dtype and shape of arrays and returns the shape as it will be stored: a picture
// of two axes gets a third of size 1.
func (c *checker) array(d tensor.DType, s tensor.Shape) (tensor.Shape, error) {
	switch {
	case !d.Fixed():
		return nil, errs.New(errs.Invalid, "an array has dtype %s", d)
	case c.dtype == 0 && c.open:
		return s, nil // without elements: a later sample decides the dtype
	case !c.dtype.Fixed():
		return nil, errs.New(errs.Type, "sample is an array of %s, want %s", d, wantText(c.ct.htype, c.dtype))
	}
	if c.ct.htype.IsImage() && len(s) == 2 {
		s = tensor.Shape{s[0], s[1], 1}
	}
	if empty := c.ct.htype.Empty(); empty != nil && len(s) == 1 && s[0] == 0 {
		s = empty
	}
	return s, c.checkShape(s)
}

// checkShape holds a stored shape against htype and schema.
func (c *checker) checkShape(s tensor.Shape) error {
	if _, err := s.Bytes(c.dtype); err != nil {
		return err
	}
	if err := c.ct.htype.CheckShape(s); err != nil {
		return err
	}
	if c.shape == nil {
		if c.ct.htype.Fixed() {
			c.shape = s.Clone()
		}
		return nil
	}
	if !s.Fits(c.shape) {
		return errs.New(errs.Type, "sample has shape %s, want %s", s, c.shape)
	}
	return nil
}

func wantText(h tensor.HType, d tensor.DType) string {
	switch {
	case h.IsVideo():
		return "a video file; deeplake.read(path) gives the one at a path"
	case h.Base == "text" || d == tensor.String:
		return "a str"
	case d == tensor.Bytes:
		return "bytes"
	default:
		return "a value that JSON can hold"
	}
}

// sample checks one sample and returns its stored form before compression: text normalised, class
// names replaced by their numbers, labels in the tensor's dtype. It checks an encoded sample by its
// header, and returns it unchanged with its decoded shape.
func (c *checker) sample(s tensor.Sample) (tensor.Sample, error) {
	switch s.Form {
	case tensor.FormHole:
		return s, nil
	case tensor.FormArray:
		return c.arraySample(s)
	case tensor.FormText:
		return c.text(s)
	case tensor.FormEncoded:
		return c.encoded(s)
	case tensor.FormLink:
		return c.link(s)
	}
	return s, errs.New(errs.Internal, "a sample has form %d", s.Form)
}

func (c *checker) arraySample(s tensor.Sample) (tensor.Sample, error) {
	if n, err := s.Shape.Bytes(s.DType); err != nil {
		return s, err
	} else if n != int64(len(s.Data)) {
		return s, errs.New(errs.Invalid, "sample of shape %s and dtype %s has %d bytes, want %d", s.Shape, s.DType, len(s.Data), n)
	}
	shape, err := c.array(s.DType, s.Shape)
	if err != nil {
		return s, err
	}
	s.Shape = shape
	if s.Data, err = c.numbers(s.DType, s.Data, 0); err != nil {
		return s, err
	}
	s.DType = c.dtype
	return s, c.storable(shape, int64(len(s.Data)))
}

// numbers returns elements as they are stored: class labels that have names, others in the tensor's
// dtype. rowBytes is as of convert.
func (c *checker) numbers(d tensor.DType, data []byte, rowBytes int) ([]byte, error) {
	if c.ct.htype.Base != "class_label" {
		return c.convert(d, data, rowBytes)
	}
	if d == tensor.Bool {
		d, data = tensor.Uint8, bytes.Clone(data)
	}
	if !d.IsInteger() && len(data) > 0 {
		return nil, c.refusal(d)
	}
	return c.labels(d, data, rowBytes)
}

// storable refuses an array of n bytes that could not be written, as that must be known before
// anything is.
func (c *checker) storable(shape tensor.Shape, n int64) error {
	if c.ct.sampleCodec != nil {
		return c.encodable(shape, n)
	}
	_, err := c.tile(shape, n)
	return err
}

// tile returns the shape of the tiles that an array of n bytes is cut into, or its own.
func (c *checker) tile(shape tensor.Shape, n int64) (tensor.Shape, error) {
	if c.ct.list && n > maxItemBytes {
		return nil, errs.New(errs.Invalid, "sample has %d bytes, an item of a list has at most %d", n, int64(maxItemBytes))
	}
	if !c.ct.tiles(n) {
		return shape, nil
	}
	return chunk.TileShape(shape, int64(c.dtype.Size()), c.ct.spec().Max())
}

// maxItemBytes bounds a sample that cannot be cut: text, opaque bytes, items of sequences.
const maxItemBytes = 2 * format.MaxChunkBytes

// encodable refuses a picture of n bytes that the tensor's sample codec cannot hold, whole or in
// tiles.
func (c *checker) encodable(shape tensor.Shape, n int64) error {
	ct, err := c.ct.ofArrays(c.codec)
	if err != nil {
		return err
	}
	if c.ct.htype.IsMask() && len(shape) != 2 {
		return errs.New(errs.Type, "sample has shape %s, a %s file holds one mask (height, width); create the tensor with compression=\"shuffle\"",
			shape, ct.sampleCodec.Describe().Name())
	}
	if shape[0] == 0 || shape[1] == 0 {
		return errs.New(errs.Type, "sample has shape %s, a %s file cannot be empty", shape, ct.sampleCodec.Describe().Name())
	}
	tile, err := c.tile(shape, n)
	if err != nil {
		return err
	}
	file := shape
	if n > rawTileBytes(c.ct) {
		file = tile // it is never encoded whole
	}
	if err := c.codec.Limits().Check(file); err != nil {
		return err
	}
	if len(file) == 2 {
		file = tensor.Shape{file[0], file[1], 1}
	}
	return ct.sampleCodec.Describe().CheckShape(file, ct.channels)
}

// labels checks class labels against the names and converts them to the tensor's dtype. rowBytes is
// as of convert.
func (c *checker) labels(d tensor.DType, data []byte, rowBytes int) ([]byte, error) {
	size := d.Size()
	fail := func(at int, err error) ([]byte, error) {
		if rowBytes > 0 {
			err = c.atRow(at/rowBytes, err)
		}
		return nil, err
	}
	c.numbered = c.numbered || len(data) > 0 && len(c.ct.schema.ClassNames)+len(c.added) == 0
	known := int64(len(c.ct.schema.ClassNames) + len(c.added))
	out := data
	if d != c.dtype {
		out = make([]byte, 0, len(data)/size*c.dtype.Size())
	}
	for at := 0; at < len(data); at += size {
		v, ok := readInt(d, data[at:])
		if !ok || v < 0 {
			return fail(at, errs.New(errs.Type, "class label %d is negative or too large; use None for a row without a label", v))
		}
		if known > 0 && v >= known {
			return fail(at, errs.New(errs.Type, "class label %d is outside the %d class names; append the name as a string to add it", v, known))
		}
		if d != c.dtype {
			var ok bool
			if out, ok = appendInt(out, c.dtype, v); !ok {
				return fail(at, errs.New(errs.Type, "class label %d does not fit dtype %s", v, c.dtype))
			}
		}
	}
	return out, nil
}

// readInt reads a little-endian integer; ok is false if it does not fit int64.
func readInt(d tensor.DType, p []byte) (v int64, ok bool) {
	switch d {
	case tensor.Uint8:
		return int64(p[0]), true
	case tensor.Int8:
		return int64(int8(p[0])), true
	case tensor.Uint16:
		return int64(binary.LittleEndian.Uint16(p)), true
	case tensor.Int16:
		return int64(int16(binary.LittleEndian.Uint16(p))), true
	case tensor.Uint32:
		return int64(binary.LittleEndian.Uint32(p)), true
	case tensor.Int32:
		return int64(int32(binary.LittleEndian.Uint32(p))), true
	default:
		v = int64(binary.LittleEndian.Uint64(p))
		return v, d == tensor.Int64 || v >= 0
	}
}

// appendInt appends v >= 0 as a little-endian integer; ok is false if it does not fit.
func appendInt(dst []byte, d tensor.DType, v int64) ([]byte, bool) {
	bits := 8 * d.Size()
	if d >= tensor.Int8 {
		bits--
	}
	if bits < 63 && v>>bits != 0 {
		return dst, false
	}
	for i := range d.Size() {
		dst = append(dst, byte(v>>(8*i)))
	}
	return dst, true
}

func (c *checker) text(s tensor.Sample) (tensor.Sample, error) {
	if c.ct.htype.Base == "class_label" && s.DType == tensor.String {
		return c.className(string(s.Data))
	}
	if c.dtype == 0 {
		c.decide(s.DType)
	}
	if c.dtype.Fixed() {
		return s, errs.New(errs.Type, "sample is %s, want an array of dtype %s%s", article(s.DType), c.dtype, c.fileAdvice(s.DType))
	}
	if len(s.Data) > maxItemBytes {
		return s, errs.New(errs.Invalid, "sample has %d bytes, want at most %d", len(s.Data), int64(maxItemBytes))
	}
	if s.DType == tensor.String && !utf8.Valid(s.Data) {
		return s, errs.New(errs.Type, "sample is not valid UTF-8")
	}
	if c.dtype == tensor.JSON && s.DType == tensor.String {
		quoted, err := json.Marshal(string(s.Data))
		if err != nil {
			return s, errs.New(errs.Type, "sample is not JSON: %w", err)
		}
		s.DType, s.Data = tensor.JSON, quoted
	}
	if s.DType != c.dtype {
		remedy := ""
		if c.dtype == tensor.String && s.DType == tensor.Bytes {
			remedy = "; bytes.decode() gives their text"
		}
		return s, errs.New(errs.Type, "sample is %s, want %s%s", article(s.DType), wantText(c.ct.htype, c.dtype), remedy)
	}
	if c.dtype == tensor.JSON {
		return c.json(s)
	}
	return s, nil
}

// fileAdvice says how a file is given, to a user who has given a path or bytes of one.
func (c *checker) fileAdvice(d tensor.DType) string {
	switch {
	case !c.ct.htype.IsImage() && !c.ct.htype.IsMask():
		return ""
	case d == tensor.String:
		return "; deeplake.read(path) gives the file at a path"
	case d == tensor.Bytes:
		return "; deeplake.read(bytes) gives a file in memory"
	}
	return ""
}

func article(d tensor.DType) string {
	switch d {
	case tensor.String:
		return "a str"
	case tensor.JSON:
		return "a JSON value"
	default:
		return d.String()
	}
}

// json checks a JSON sample; tag takes one string for a list of one.
func (c *checker) json(s tensor.Sample) (tensor.Sample, error) {
	if !json.Valid(s.Data) || !utf8.Valid(s.Data) {
		return s, errs.New(errs.Type, "sample is '%s', which is no JSON; a text itself needs its quotes, as json.dumps() writes it", clip(s.Data))
	}
	switch c.ct.htype.Base {
	case "list":
		var list []json.RawMessage
		if json.Unmarshal(s.Data, &list) != nil || list == nil {
			return s, errs.New(errs.Type, "sample is %s, want a list", clip(s.Data))
		}
	case "tag":
		var one string
		if json.Unmarshal(s.Data, &one) == nil && s.Data[0] == '"' {
			s.Data = append(append([]byte("["), s.Data...), ']')
		}
		var list []*string
		if json.Unmarshal(s.Data, &list) != nil || list == nil {
			return s, errs.New(errs.Type, "sample is %s, want a string or a list of strings", clip(s.Data))
		}
		for _, tag := range list {
			if tag == nil {
				return s, errs.New(errs.Type, "sample is %s, want a string or a list of strings", clip(s.Data))
			}
		}
	}
	return s, nil
}

func clip(p []byte) string {
	if len(p) > 60 {
		return string(p[:60]) + "..."
	}
	return string(p)
}

// className returns the label of a name, and adds the name to the list.
func (c *checker) className(name string) (tensor.Sample, error) {
	label, err := c.classNumber(name)
	if err != nil {
		return tensor.Sample{}, err
	}
	data, fits := appendInt(nil, c.dtype, label)
	if !fits {
		return tensor.Sample{}, errs.New(errs.Type, "class name %q would get label %d, which does not fit dtype %s", name, label, c.dtype)
	}
	s := tensor.Sample{Form: tensor.FormArray, DType: c.dtype, Shape: tensor.Shape{}, Data: data}
	return s, c.checkShape(s.Shape)
}

// classNumber returns the number of a class, and adds its name to the list.
func (c *checker) classNumber(name string) (int64, error) {
	if name == "" || !utf8.ValidString(name) {
		return 0, errs.New(errs.Type, "class name %q is empty or not valid UTF-8", name)
	}
	if c.names == nil {
		c.names = make(map[string]int64, len(c.ct.schema.ClassNames))
		for i, n := range c.ct.schema.ClassNames {
			c.names[n] = int64(i)
		}
	}
	label, ok := c.names[name]
	if !ok && c.numbered {
		return 0, errs.New(errs.Type, "class name %q: the tensor has labels by number and no names, so this name would be that of label 0; append numbers, or create a tensor with class_names", name)
	}
	if !ok && c.ct.schema.Closed {
		return version.NoClass, errs.New(errs.Invalid, "class %q is none of the %d of the tensor%s%s", name, len(c.names), errs.Suggest(name, c.ct.schema.ClassNames),
			"; add_classes() adds it, and create_tensor(add_classes=True) makes a tensor that takes all")
	}
	if !ok {
		label = int64(len(c.names))
		c.names[name] = label
		c.added = append(c.added, name)
	}
	return label, nil
}

// encoded checks a file by its header.
func (c *checker) encoded(s tensor.Sample) (tensor.Sample, error) {
	if c.ct.htype.IsVideo() {
		return c.text(tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: s.Data, Tables: s.Tables})
	}
	if !c.ct.htype.IsImage() && !c.ct.htype.IsMask() {
		return s, errs.New(errs.Type, "sample is an encoded file, which htype %s does not take; decode it first", c.ct.htype)
	}
	if len(s.Data) > maxItemBytes {
		return s, errs.New(errs.Invalid, "the encoded sample has %d bytes, want at most %d", len(s.Data), int64(maxItemBytes))
	}
	id, ok := c.codec.Sniff(s.Data)
	if !ok {
		return s, errs.New(errs.Corrupt, "the encoded sample is no %s file (it begins with % x)", c.codec.Titles("or"), s.Data[:min(8, len(s.Data))])
	}
	sc, err := c.codec.Sample(id)
	if err != nil {
		return s, err
	}
	h, err := c.codec.Header(sc, s.Data, c.ct.channels)
	if err != nil {
		return s, err
	}
	if h.DType != c.dtype && !(c.ct.htype.IsMask() && c.dtype.Takes(h.DType)) {
		return s, errs.New(errs.Type, "the %s file has dtype %s, want %s; %s", sc.Describe().Name(), h.DType, c.dtype, c.advice(h.DType))
	}
	s.DType, s.Shape = h.DType, h.Shape
	return s, c.checkShape(h.Shape)
}

// checkTexts checks texts or bytes in one piece of memory. Class names become an array of labels,
// and values that need a check or a change each become samples.
func (c *checked) checkTexts(col *tensor.Rows) error {
	t := col.Texts
	switch {
	case t == nil:
		return nil
	case c.check.ct.htype.Base == "class_label" && t.DType == tensor.String:
		labels := make([]byte, 0, c.check.dtype.Size()*len(t.Starts))
		for i := range t.Starts {
			var err error
			if labels, err = c.check.appendLabel(labels, t.At(i)); err != nil {
				return c.check.atRow(i, err)
			}
		}
		col.Texts, col.Array = nil, &tensor.Array{DType: c.check.dtype, Shape: tensor.Shape{}, Data: labels}
		return nil
	case c.check.dtype == 0:
		c.check.decide(t.DType)
	}
	if t.DType != c.check.dtype || t.DType == tensor.JSON {
		*col = col.Spread()
		return nil
	}
	for i := range t.Starts {
		if n := t.Ends[i] - t.Starts[i]; n > maxItemBytes {
			return c.check.atRow(i, errs.New(errs.Invalid, "sample has %d bytes, want at most %d", n, int64(maxItemBytes)))
		}
	}
	if t.DType == tensor.String {
		if i := invalidText(t); i >= 0 {
			return c.check.atRow(i, errs.New(errs.Type, "sample is not valid UTF-8"))
		}
	}
	c.texts = t
	return nil
}

// invalidText returns the first text that is not valid UTF-8, -1 if all are.
func invalidText(t *tensor.Texts) int {
	n := len(t.Starts)
	if n == 0 {
		return -1
	}
	// Texts that follow each other are valid if all are valid together and none begins within a
	// character: one pass over long memory takes a fraction of the time.
	together := true
	for i := 0; i < n && together; i++ {
		from, to := t.Starts[i], t.Ends[i]
		together = (i == 0 || from == t.Ends[i-1]) && (from == to || utf8.RuneStart(t.Data[from]))
	}
	if together && utf8.Valid(t.Data[t.Starts[0]:t.Ends[n-1]]) {
		return -1
	}
	for i := range n {
		if !utf8.Valid(t.At(i)) {
			return i
		}
	}
	return -1
}

// appendLabel appends the label of a class name, and adds the name to the list.
func (c *checker) appendLabel(labels, name []byte) ([]byte, error) {
	label, ok := c.names[string(name)]
	if !ok {
		var err error
		if label, err = c.classNumber(string(name)); err != nil {
			return labels, err
		}
	}
	if c.dtype == tensor.Int64 {
		return binary.LittleEndian.AppendUint64(labels, uint64(label)), nil
	}
	labels, fits := appendInt(labels, c.dtype, label)
	if !fits {
		return labels, errs.New(errs.Type, "class name %q would get label %d, which does not fit dtype %s", name, label, c.dtype)
	}
	return labels, nil
}

// count counts the rows that are marked as given.
func count(marks []bool, as bool) int64 {
	n := int64(0)
	for _, m := range marks {
		if m == as {
			n++
		}
	}
	return n
}

// atRow names the row of a value in an error. value counts the rows that have one.
func (c *checker) atRow(value int, err error) error {
	if value < 0 {
		return err
	}
	row := value
	for i, missing := range c.missing {
		if missing {
			continue
		}
		if value == 0 {
			row = i
			break
		}
		value--
	}
	return rowError(row, err)
}
