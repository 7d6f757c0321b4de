package format

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Write is a distributed write: tasks on other machines make fragments on top of one commit, and
// one commit takes them in.
type Write struct {
	Dataset UUID
	Base    BranchPoint // the commit on which the tasks work
	Commit  UUID        // of that commit
	ID      UUID
}

// MaxTaskBytes bounds the key of a task.
const MaxTaskBytes = 256

// inlineFragment is the size up to which the content of a fragment is in the fragment itself.
const inlineFragment = 6 << 10

// maxAlikeEntries bounds the entries of a fragment beyond one a byte. Only in a leaf of the first
// chunks of a session can entries take no bytes, and no tasks write many such leaves.
const maxAlikeEntries = 1 << 16

// EncodeWrite makes the JSON object that a program sends to its tasks.
func EncodeWrite(w Write) ([]byte, error) {
	if err := w.check(); err != nil {
		return nil, refused("distributed write", err)
	}
	return sealJSON(append(w.members(), ',')), nil
}

// DecodeWrite is the strict inverse of EncodeWrite.
func DecodeWrite(data []byte) (Write, error) {
	var w Write
	m, err := openSealed("distributed write", data)
	if err == nil {
		w.take(m)
		if err = m.end(); err == nil {
			err = w.check()
		}
	}
	if err != nil {
		return Write{}, classify(errs.Invalid, "decode distributed write", err)
	}
	return w, nil
}

func (w Write) members() []byte {
	return fmt.Appendf(nil, `{"format":%d,"dataset":"%s","branch":"%s","version":%d,"commit":"%s","write":"%s"`,
		Version, w.Dataset, w.Base.Branch, w.Base.Version, w.Commit, w.ID)
}

func (w *Write) take(m *members) {
	var format int64
	m.value("format", &format)
	if m.err == nil && format != Version {
		m.err = errs.New(errs.Unsupported, "%s has format version %d, want %d; use one version of this library on all machines", m.of, format, Version)
	}
	m.value("dataset", &w.Dataset)
	m.value("branch", &w.Base.Branch)
	m.value("version", &w.Base.Version)
	m.value("commit", &w.Commit)
	m.value("write", &w.ID)
}

func (w Write) check() error {
	for _, u := range []UUID{w.Dataset, w.Base.Branch, w.Commit, w.ID} {
		if u.IsZero() {
			return errors.New("a uuid is zero")
		}
	}
	return nil
}

// AppendID is the identity of the rows that a task appends: all attempts of a task have the same.
func (w Write) AppendID(task string) UUID {
	return ContentName([]byte("append\x00" + w.ID.String() + task))
}

// TensorID is the id of a tensor that tasks of the write create under one name.
func (w Write) TensorID(name string) UUID {
	return ContentName([]byte("tensor\x00" + w.ID.String() + name))
}

// Session begins the chunks of one attempt of a task. Sessions of one write begin alike, so that a
// listing finds their chunks together.
func (w Write) Session() UUID {
	id := NewUUID()
	copy(id[:8], w.ID[:8])
	return id
}

// SessionsFrom is a key behind which a listing begins with the chunks of the write; Owns tells them
// apart from those behind.
func (w Write) SessionsFrom() string { return dataPrefix + w.ID.String()[:16] }

// Owns reports whether a session begins like those of the write.
func (w Write) Owns(session UUID) bool { return string(session[:8]) == string(w.ID[:8]) }

// Fragment is a part of a transaction, which one attempt of a task has written. Rows of the base
// are physical ones, appended rows are counted from the length of the base's axis on.
type Fragment struct {
	Write Write
	Task  string
	Time  time.Time // when the attempt began, by the clock of its machine
	Rows  int64     // appended
	// Object is the name of the object with the content, if that is large; see DecodeContent
	Object *UUID

	Tensors []TensorSchema // changed or created, in the order of the schema
	Deleted []RowRange     // rising
	Columns []FragmentColumn
	Sides   []FragmentSide // side pages that are not stored yet
}

// FragmentColumn has the changes of a fragment to one tensor.
type FragmentColumn struct {
	Tensor   UUID
	Bytes    int64        // of its chunks
	Min, Max tensor.Shape // bounds of the samples' shapes; nil: none, or unknown
	Unknown  bool         // samples have shapes without bounds
	Appended []Entry      // rows counted from 0, rising
	Updated  []FragmentEdit
	Filled   []FragmentEdit // rows of the base in a tensor that it does not have
	Rewrites []FragmentEdit // rows of the base, which keep their samples
}

// FragmentEdit gives rows a new layout; rows without an entry are holes.
type FragmentEdit struct {
	Rows    RowRange
	Entries []Entry
}

// FragmentSide is a side page: the directories of chunks. Entries name it by ID.
type FragmentSide struct {
	ID   UUID
	Dirs [][]byte
}

// EncodeFragment makes the JSON object of a fragment. If object is not nil, it is a large content
// that the caller stores under TxnKey(name) first.
func EncodeFragment(f *Fragment) (message []byte, name UUID, object []byte, err error) {
	payload, err := f.payload()
	if err != nil {
		return nil, UUID{}, nil, refused("fragment", err)
	}
	content, err := EncodeFrame(KindFragment, payload)
	if err != nil {
		return nil, UUID{}, nil, err
	}
	SetSalt(content, f.Write.Session())
	body := append(f.Write.members(), `,"task":`...)
	task, err := marshal(f.Task)
	if err != nil {
		return nil, UUID{}, nil, refused("fragment", err)
	}
	body = append(body, task...)
	body = fmt.Appendf(body, `,"time":"%s","rows":%d`, f.Time.UTC().Format(timeLayout), f.Rows)
	if len(content) <= inlineFragment {
		body = fmt.Appendf(body, `,"content":"%s","object":null,`, base64.StdEncoding.EncodeToString(content))
		return sealJSON(body), UUID{}, nil, nil
	}
	name = ContentName(content)
	return sealJSON(fmt.Appendf(body, `,"content":null,"object":"%s",`, name)), name, content, nil
}

// DecodeFragment is the strict inverse of EncodeFragment, but for a content in an object: Object is
// then set, and the caller hands the object to DecodeContent.
func DecodeFragment(data []byte) (*Fragment, error) {
	f := &Fragment{}
	m, err := openSealed("fragment", data)
	if err == nil {
		err = f.decode(m)
	}
	if err != nil {
		return nil, classify(errs.Invalid, "decode fragment", err)
	}
	return f, nil
}

func (f *Fragment) decode(m *members) error {
	f.Write.take(m)
	m.value("task", &f.Task)
	f.Time = m.time("time")
	f.Rows = m.count("rows", MaxRows)
	content := m.take("content")
	f.Object = m.uuidOrNull("object")
	if err := m.end(); err != nil {
		return err
	}
	if err := first(f.Write.check(), CheckTask(f.Task)); err != nil {
		return err
	}
	switch {
	case (content == nil) == (f.Object == nil):
		return errors.New("want exactly one of content and object")
	case f.Object != nil && f.Object.IsZero():
		return errors.New("a uuid is zero")
	case f.Object != nil:
		return nil
	}
	text, err := text(content)
	if err != nil {
		return err
	}
	frame, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") { // which the decoder skips
		return errors.New("its content is not base64")
	}
	return f.DecodeContent(frame)
}

// CheckTask refuses keys of tasks that a fragment cannot have.
func CheckTask(task string) error {
	switch {
	case task == "" || len(task) > MaxTaskBytes:
		return fmt.Errorf("the key of a task has %d bytes, want 1 to %d", len(task), MaxTaskBytes)
	case !utf8.ValidString(task) || strings.ContainsFunc(task, unicode.IsControl):
		return errors.New("the key of a task is not UTF-8, or has control characters")
	}
	return nil
}

// DecodeContent decodes the content of a fragment: a frame, which the caller has held against
// Object if it is an object. On error f keeps the content that it has.
func (f *Fragment) DecodeContent(frame []byte) error {
	payload, err := DecodeFrame(KindFragment, frame)
	if err != nil {
		return err
	}
	of := Fragment{Write: f.Write, Task: f.Task, Time: f.Time, Rows: f.Rows, Object: f.Object}
	if err := of.decodePayload(payload); err != nil {
		return damaged("fragment", err)
	}
	*f = of
	return nil
}

func (f *Fragment) decodePayload(payload []byte) error {
	r := fragmentReader{reader{b: payload}, maxAlikeEntries + len(payload)}
	schema, err := decodeSchema(r.bytes(r.uvarint(MaxBlobRaw, "bytes of the schema"), "schema"))
	if err = first(r.err, err); err != nil {
		return err
	}
	if f.Tensors = schema.Tensors; len(schema.Info) > 0 {
		return errors.New("its schema has info, which only a dataset has")
	}
	f.Deleted = r.ranges("deleted rows")
	for range r.count(MaxRows, 19, "side pages") {
		f.Sides = append(f.Sides, r.side())
	}
	for range r.count(MaxTensors, 25, "columns") {
		f.Columns = append(f.Columns, r.column())
	}
	return first(r.end(), f.check())
}

// fragmentReader takes the content of a fragment apart.
type fragmentReader struct {
	reader
	left int // entries that may still come
}

func (f *Fragment) payload() ([]byte, error) {
	if err := first(f.Write.check(), CheckTask(f.Task), f.check()); err != nil {
		return nil, err
	}
	if y := f.Time.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("time is in the year %d", y)
	}
	schema, err := (&Schema{Tensors: f.Tensors}).payload()
	if err != nil {
		return nil, err
	}
	b := append(appendUvarint(nil, int64(len(schema))), schema...)
	b = appendRanges(b, f.Deleted)
	b = appendUvarint(b, int64(len(f.Sides)))
	for i := range f.Sides {
		s := &f.Sides[i]
		b = appendUvarint(append(b, s.ID[:]...), int64(len(s.Dirs)))
		for _, dir := range s.Dirs {
			b = append(appendUvarint(b, int64(len(dir))), dir...)
		}
	}
	b = appendUvarint(b, int64(len(f.Columns)))
	entries := 0
	for i := range f.Columns {
		if b, err = f.Columns[i].append(b); err != nil {
			return nil, err
		}
		for _, edits := range f.Columns[i].edits() {
			for k := range edits {
				entries += len(edits[k].Entries)
			}
		}
		entries += len(f.Columns[i].Appended)
	}
	if most := maxAlikeEntries + len(b); entries > most {
		return nil, fmt.Errorf("it has %d chunks or parts of chunks, want at most %d; give its task fewer rows", entries, most)
	}
	return b, nil
}

func (r *fragmentReader) side() (s FragmentSide) {
	s.ID = r.uuid("side page")
	for range r.count(MaxSideSlots, 2, "directories") {
		s.Dirs = append(s.Dirs, r.bytes(r.uvarint(MaxDirectoryRaw, "bytes of a directory"), "directory"))
	}
	return s
}

// Flags of a column of a fragment. It has one at most.
const (
	fragmentBounds  = 1
	fragmentUnknown = 2
)

// edits are those of all kinds, in the order of their bytes.
func (c *FragmentColumn) edits() [3][]FragmentEdit {
	return [...][]FragmentEdit{c.Updated, c.Filled, c.Rewrites}
}

func (c *FragmentColumn) append(b []byte) ([]byte, error) {
	b = appendUvarint(append(b, c.Tensor[:]...), c.Bytes)
	switch {
	case c.Unknown:
		b = append(b, fragmentUnknown)
	case c.Max != nil:
		b = appendAxes(appendAxes(appendUvarint(append(b, fragmentBounds), int64(len(c.Max))), c.Min), c.Max)
	default:
		b = append(b, 0)
	}
	b, err := appendEntries(b, c.Appended)
	for _, edits := range c.edits() {
		rows := make([]RowRange, len(edits))
		var entries []Entry
		for i := range edits {
			rows[i] = edits[i].Rows
			entries = append(entries, edits[i].Entries...)
		}
		b = appendRanges(b, rows)
		if err == nil {
			b, err = appendEntries(b, entries)
		}
	}
	return b, err
}

func (r *fragmentReader) column() (c FragmentColumn) {
	c.Tensor = r.uuid("tensor")
	c.Bytes = r.uvarint(1<<62, "bytes of a column")
	switch flags := r.byte("flags of a column"); flags {
	case 0:
	case fragmentUnknown:
		c.Unknown = true
	case fragmentBounds:
		n := r.count(tensor.MaxDims, 2, "axes of a column")
		both := r.axes(make(tensor.Shape, 0, 2*n), 2*n, 0)
		if r.err == nil {
			c.Min, c.Max = both[:n:n], both[n:]
		}
	default:
		r.fail("%w", errs.New(errs.Unsupported, "a column has flags %#02x, which are not known; use one version of this library on all machines", flags))
	}
	c.Appended = r.entries()
	c.Updated, c.Filled, c.Rewrites = r.edits(), r.edits(), r.edits()
	return c
}

// edits takes ranges and entries, each of which lies in a range.
func (r *fragmentReader) edits() []FragmentEdit {
	ranges, entries := r.ranges("rows"), r.entries()
	var out []FragmentEdit
	for _, rows := range ranges {
		n := 0
		for n < len(entries) && entries[n].Row+entries[n].Rows <= rows.Start+rows.Count && entries[n].Row >= rows.Start {
			n++
		}
		out = append(out, FragmentEdit{Rows: rows, Entries: entries[:n:n]})
		entries = entries[n:]
	}
	if len(entries) > 0 {
		r.fail("the entry of row %d is in none of the ranges", entries[0].Row)
	}
	return out
}

// appendRanges appends rising ranges: their number, and each as the distance from the end of the
// one before, and its rows.
func appendRanges(b []byte, ranges []RowRange) []byte {
	b = appendUvarint(b, int64(len(ranges)))
	end := int64(0)
	for _, r := range ranges {
		b = appendUvarint(appendUvarint(b, r.Start-end), r.Count)
		end = r.Start + r.Count
	}
	return b
}

func (r *fragmentReader) ranges(what string) []RowRange {
	var out []RowRange
	end := int64(0)
	for range r.count(MaxRows, 2, what) {
		start := end + r.uvarint(MaxRows, what)
		n := r.uvarint(MaxRows, what)
		if err := checkRange(start, n, end); err != nil {
			r.fail("%s: %w", what, err)
			return nil
		}
		end = start + n
		out = append(out, RowRange{Start: start, Count: n})
	}
	return out
}

// appendEntries appends entries, which rise, as the payloads of leaves.
func appendEntries(b []byte, entries []Entry) ([]byte, error) {
	b = appendUvarint(b, int64((len(entries)+MaxPageEntries-1)/MaxPageEntries))
	for len(entries) > 0 {
		n := min(len(entries), MaxPageEntries)
		leaf, err := encodeLeaf(Leaf{Entries: entries[:n]})
		if err != nil {
			return nil, err
		}
		b = append(appendUvarint(b, int64(len(leaf))), leaf...)
		entries = entries[n:]
	}
	return b, nil
}

func (r *fragmentReader) entries() []Entry {
	var out []Entry
	for range r.count(MaxRows, 26, "leaves") {
		if len(out)%MaxPageEntries != 0 {
			r.fail("a leaf that is not the last has %d entries, want %d", len(out)%MaxPageEntries, MaxPageEntries)
		}
		leaf, err := decodeLeaf(r.bytes(r.uvarint(MaxPageRaw, "bytes of a leaf"), "leaf"))
		if err != nil {
			r.fail("%w", err)
		}
		if r.err != nil {
			return nil
		}
		if k := len(out); k > 0 && leaf.Entries[0].Row < out[k-1].Row+out[k-1].Rows {
			r.fail("the rows of leaves overlap at %d", leaf.Entries[0].Row)
		}
		if r.left -= len(leaf.Entries); r.left < 0 {
			r.fail("it has more chunks, or parts of chunks, than its bytes can stand for")
			return nil
		}
		out = append(out, leaf.Entries...)
	}
	return out
}

// check validates the content of a fragment. Encoder and decoder call it.
func (f *Fragment) check() error {
	if f.Rows < 0 || f.Rows > MaxRows {
		return fmt.Errorf("it appends %d rows, want 0 to %d", f.Rows, int64(MaxRows))
	}
	at := int64(0)
	sides, err := f.checkSides()
	for _, r := range f.Deleted {
		err = first(err, checkRange(r.Start, r.Count, at))
		at = r.Start + r.Count
	}
	if err != nil {
		return err
	}
	seen := map[UUID]bool{}
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.Tensor.IsZero() || seen[c.Tensor] {
			return errors.New("the tensor of a column is zero, or has two columns")
		}
		seen[c.Tensor] = true
		if err := c.check(f, sides); err != nil {
			return fmt.Errorf("column %s: %w", c.Tensor, err)
		}
	}
	return nil
}

// checkSides returns the number of directories of each side page.
func (f *Fragment) checkSides() (map[UUID]int64, error) {
	sides := map[UUID]int64{}
	for i := range f.Sides {
		s := &f.Sides[i]
		if n := len(s.Dirs); s.ID.IsZero() || n == 0 || n > MaxSideSlots || sides[s.ID] > 0 {
			return nil, fmt.Errorf("side page %s has %d directories, or is there twice", s.ID, n)
		}
		for _, dir := range s.Dirs {
			if n := len(dir); n == 0 || n > MaxDirectoryRaw {
				return nil, fmt.Errorf("a directory of side page %s has %d bytes", s.ID, n)
			}
		}
		sides[s.ID] = int64(len(s.Dirs))
	}
	return sides, nil
}

func (c *FragmentColumn) check(f *Fragment, sides map[UUID]int64) error {
	switch {
	case c.Bytes < 0 || c.Bytes > 1<<62:
		return fmt.Errorf("it has %d bytes", c.Bytes)
	case c.Unknown && (c.Min != nil || c.Max != nil):
		return errors.New("it has bounds, and samples without bounds")
	}
	err := first(checkBounds(c.Min, c.Max), f.checkEntries(c.Appended, RowRange{Count: f.Rows}, sides))
	for _, edits := range c.edits() {
		at := int64(0)
		for i := range edits {
			rows := edits[i].Rows
			err = first(err, checkRange(rows.Start, rows.Count, at), f.checkEntries(edits[i].Entries, rows, sides))
			at = rows.Start + rows.Count
		}
	}
	return err
}

// checkEntries holds entries against the rows in which they lie, and against the side pages.
func (f *Fragment) checkEntries(entries []Entry, rows RowRange, sides map[UUID]int64) error {
	at := rows.Start
	for i := range entries {
		e := &entries[i]
		if err := checkRange(e.Row, e.Rows, at); err != nil {
			return err
		}
		if at = e.Row + e.Rows; at > rows.Start+rows.Count {
			return fmt.Errorf("a chunk has rows up to %d, and its rows are [%d, +%d)", at, rows.Start, rows.Count)
		}
		if !f.Write.Owns(e.Session) {
			return fmt.Errorf("row %d has a chunk of session %s, which is not one of the write", e.Row, e.Session)
		}
		if n, ok := sides[e.Side]; ok && (e.Slot < 0 || e.Slot > n-e.step()) {
			return fmt.Errorf("row %d has directories %d to %d of the %d of side page %s", e.Row, e.Slot, e.Slot+e.step()-1, n, e.Side)
		}
	}
	return nil
}
