package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"deeplake/core/tensor"
)

// BranchPoint is a commit by its place.
type BranchPoint struct {
	Branch  UUID   `json:"branch"`
	Version uint64 `json:"version"`
}

// Column is one tensor in a commit.
type Column struct {
	Root   *Root `json:"root"`   // nil: no row has a value, and Chunks and Bytes are 0
	Chunks int64 `json:"chunks"` // leaf entries of the tree
	// of all chunks written for the tensor, replaced ones included
	Bytes int64 `json:"bytes"`
	// bounds of the axes over all samples ever written; nil: unknown
	MinShape tensor.Shape `json:"min_shape"`
	MaxShape tensor.Shape `json:"max_shape"` // nil together with MinShape, else of the same length
}

// Record is a commit record. Exactly one of Schema and SchemaPage is set; Ops count if and only if
// Txn is nil.
type Record struct {
	Features    []string // see Schema.Features; FeatureKeyed is the last one
	Dataset     UUID
	UUID        UUID
	Branch      UUID
	Version     uint64
	Parent      *UUID        // nil in record 0 of main only
	Base        *BranchPoint // in record 0 of every other branch only
	Merged      *BranchPoint
	Time        time.Time // stored in UTC with nanoseconds
	Author      string
	Message     string
	Writer      string
	Rows        int64
	DeletedRows int64
	Deleted     *UUID // set if and only if DeletedRows > 0
	RowIDs      *Root
	Schema      *Schema
	SchemaPage  *UUID
	Columns     map[UUID]Column // a tensor that is missing here has no value
	// version 2: the page that holds the columns; then Columns are not encoded
	ColumnsPage *UUID
	Ops         []Op
	Txn         *UUID
	// a name of the change: another commit with the key would make it again; "": it has none
	Key string
}

// MaxKeyBytes bounds the idempotency key of a commit.
const MaxKeyBytes = 1 << 10

// wireRecord orders the members as FORMAT.md lists them.
type wireRecord struct {
	Format      int             `json:"format"`
	Features    []string        `json:"features"`
	UUID        UUID            `json:"uuid"`
	Branch      UUID            `json:"branch"`
	Version     uint64          `json:"version"`
	Parent      *UUID           `json:"parent"`
	Base        *BranchPoint    `json:"base"`
	Merged      *BranchPoint    `json:"merged"`
	Time        string          `json:"time"`
	Author      string          `json:"author"`
	Message     string          `json:"message"`
	Writer      string          `json:"writer"`
	Rows        int64           `json:"rows"`
	DeletedRows int64           `json:"deleted_rows"`
	Deleted     *UUID           `json:"deleted"`
	RowIDs      *Root           `json:"row_ids"`
	Schema      *Schema         `json:"schema"`
	SchemaPage  *UUID           `json:"schema_page"`
	Columns     map[UUID]Column `json:"columns"`
	ColumnsPage *UUID           `json:"columns_page"`
	Ops         []Op            `json:"ops"`
	Txn         *UUID           `json:"txn"`
	Key         string          `json:"idempotency_key,omitempty"`
}

// timeLayout has all nine digits, so that a time has one form.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// EncodeRecord makes the object, frame included. One that DecodeRecord would not take, or that is
// larger than MaxRecordBytes as stored, is errs.Invalid.
func EncodeRecord(r *Record) ([]byte, error) {
	payload, err := r.payload()
	if err != nil {
		return nil, refused("commit record", err)
	}
	frame, err := EncodeFrame(KindRecord, payload)
	if err != nil {
		return nil, err
	}
	SetSalt(frame, r.Dataset)
	return frame, nil
}

func (r *Record) payload() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	w := wireRecord{
		Format: Version, Features: append([]string{}, r.Features...), UUID: r.UUID, Branch: r.Branch, Version: r.Version, Parent: r.Parent,
		Base: r.Base, Merged: r.Merged, Time: r.Time.UTC().Format(timeLayout), Author: r.Author, Message: r.Message,
		Writer: r.Writer, Rows: r.Rows, DeletedRows: r.DeletedRows, Deleted: r.Deleted, RowIDs: r.RowIDs,
		SchemaPage: r.SchemaPage, Columns: r.Columns, ColumnsPage: r.ColumnsPage, Txn: r.Txn, Key: r.Key,
	}
	if r.Schema != nil {
		w.Schema = r.Schema.stored()
	}
	switch {
	case r.ColumnsPage != nil:
		w.Columns = nil
	case w.Columns == nil:
		w.Columns = map[UUID]Column{}
	}
	if r.Txn == nil {
		w.Ops = append([]Op{}, r.Ops...)
	}
	payload, err := marshal(w)
	if err != nil {
		return nil, err
	}
	return payload, strictJSON(payload)
}

// DecodeRecord is the strict inverse of EncodeRecord. Whether the record lies under the key of its
// branch and version is the caller's check.
func DecodeRecord(data []byte) (*Record, error) {
	payload, head, err := decodeFrame(KindRecord, data)
	if err != nil {
		return nil, err
	}
	r, err := decodeRecord(payload, head)
	return r, damaged("commit record", err)
}

func decodeRecord(payload []byte, head frameHead) (*Record, error) {
	if err := strictJSON(payload); err != nil {
		return nil, err
	}
	m, features, err := versioned("commit record", payload, knownFeatures()...)
	if err != nil {
		return nil, err
	}
	r := &Record{Dataset: head.salt}
	if len(features) > 0 {
		r.Features = features
	}
	m.value("uuid", &r.UUID)
	m.value("branch", &r.Branch)
	m.value("version", &r.Version)
	r.Parent = m.uuidOrNull("parent")
	r.Base = m.branchPoint("base")
	r.Merged = m.branchPoint("merged")
	r.Time = m.time("time")
	m.value("author", &r.Author)
	m.value("message", &r.Message)
	m.value("writer", &r.Writer)
	r.Rows = m.count("rows", MaxRows)
	r.DeletedRows = m.count("deleted_rows", MaxRows)
	r.Deleted = m.uuidOrNull("deleted")
	r.RowIDs = m.root("row_ids")
	schema := m.take("schema")
	r.SchemaPage = m.uuidOrNull("schema_page")
	columns := m.take("columns")
	r.ColumnsPage = m.uuidOrNull("columns_page")
	ops := m.take("ops")
	r.Txn = m.uuidOrNull("txn")
	if slices.Contains(features, FeatureKeyed) {
		m.value("idempotency_key", &r.Key)
	}
	if err := m.end(); err != nil {
		return nil, err
	}
	if schema != nil {
		if r.Schema, err = parseSchema(schema); err != nil {
			return nil, err
		}
	}
	if ops != nil {
		if r.Ops, err = parseOps(ops); err != nil {
			return nil, err
		}
	} else if r.Txn == nil {
		return nil, errors.New("neither ops nor txn is set")
	}
	if columns != nil || r.ColumnsPage == nil {
		if r.ColumnsPage != nil {
			return nil, errors.New("want exactly one of columns and columns_page")
		}
		if r.Columns, err = parseColumns(columns); err != nil {
			return nil, err
		}
	}
	return r, r.check()
}

func parseColumns(raw json.RawMessage) (map[UUID]Column, error) {
	m := open("columns", raw)
	if m.err != nil {
		return nil, m.err
	}
	columns := make(map[UUID]Column, len(m.left))
	for name, raw := range m.left {
		id, err := ParseUUID(name)
		if err != nil {
			return nil, fmt.Errorf("columns: %w", err)
		}
		c := open("column", raw)
		columns[id] = Column{
			Root:     c.root("root"),
			Chunks:   c.count("chunks", MaxRows),
			Bytes:    c.count("bytes", 1<<62),
			MinShape: c.shape("min_shape"),
			MaxShape: c.shape("max_shape"),
		}
		if err := c.end(); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

func (m *members) root(name string) *Root {
	raw := m.take(name)
	if raw == nil || m.err != nil {
		return nil
	}
	var r Root
	o := open("root", raw)
	o.value("page", &r.Page)
	r.Height = int(o.count("height", MaxHeight))
	if err := o.end(); err != nil {
		m.fail(name, err)
	}
	return &r
}

func (m *members) branchPoint(name string) *BranchPoint {
	raw := m.take(name)
	if raw == nil || m.err != nil {
		return nil
	}
	var p BranchPoint
	o := open("branch point", raw)
	o.value("branch", &p.Branch)
	o.value("version", &p.Version)
	if err := o.end(); err != nil {
		m.fail(name, err)
	}
	return &p
}

func (m *members) time(name string) time.Time {
	var s string
	m.value(name, &s)
	if m.err != nil {
		return time.Time{}
	}
	t, err := time.Parse(timeLayout, s)
	if err != nil || t.Format(timeLayout) != s {
		m.fail(name, fmt.Errorf("%q is not a time in UTC with nanoseconds", clip(s)))
	}
	return t
}

// check validates a record. Encoder and decoder call it.
func (r *Record) check() error {
	switch {
	case r == nil:
		return errors.New("record is nil")
	case slices.ContainsFunc(r.Features, func(f string) bool { return !slices.Contains(knownFeatures(), f) }):
		return fmt.Errorf("one of its features %q is not known", r.Features)
	case (r.Key != "") != slices.Contains(r.Features, FeatureKeyed):
		return fmt.Errorf("its features are %q, which contradicts its idempotency key", r.Features)
	case r.Schema != nil && !slices.Equal(r.features(), r.Features):
		return fmt.Errorf("its features are %q, those of its schema %q", r.Features, r.Schema.Features())
	case r.Dataset.IsZero() || r.UUID.IsZero() || r.Branch.IsZero():
		return errors.New("uuid of the dataset, the commit or the branch is zero")
	case r.Version > 0 && (r.Parent == nil || r.Base != nil):
		return fmt.Errorf("record %d has no parent or has a base", r.Version)
	case r.Version == 0 && (r.Parent == nil) != (r.Base == nil):
		return errors.New("record 0 has a parent without a base or a base without a parent")
	case r.Rows < 0 || r.Rows > MaxRows || r.DeletedRows < 0 || r.DeletedRows > r.Rows:
		return fmt.Errorf("%d of %d rows are deleted, want 0 <= deleted <= rows <= %d", r.DeletedRows, r.Rows, int64(MaxRows))
	case (r.DeletedRows > 0) != (r.Deleted != nil):
		return fmt.Errorf("%d rows are deleted, which contradicts the page of deleted rows", r.DeletedRows)
	case (r.Schema == nil) == (r.SchemaPage == nil):
		return errors.New("want exactly one of schema and schema_page")
	case r.Txn != nil && len(r.Ops) > 0:
		return errors.New("want exactly one of ops and txn")
	case r.RowIDs != nil && r.Rows == 0:
		return errors.New("no rows, but row identities")
	}
	for _, u := range []*UUID{r.Parent, r.Deleted, r.SchemaPage, r.ColumnsPage, r.Txn} {
		if u != nil && u.IsZero() {
			return errors.New("a uuid is zero")
		}
	}
	return first(r.RowIDs.check(), r.checkPlaces(), r.checkTexts(), r.checkColumns(), r.checkOps())
}

func (r *Record) checkPlaces() error {
	for _, p := range []*BranchPoint{r.Base, r.Merged} {
		if p != nil && p.Branch.IsZero() {
			return errors.New("a branch is zero")
		}
	}
	if y := r.Time.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("time is in the year %d", y)
	}
	return nil
}

func (r *Record) checkTexts() error {
	return first(checkText("author", r.Author), checkText("message", r.Message), checkText("writer", r.Writer), CheckKey(r.Key))
}

// features are those that a record with its schema in place has.
func (r *Record) features() []string {
	out := r.Schema.Features()
	if r.Key != "" {
		out = append(out, FeatureKeyed)
	}
	return out
}

// CheckKey refuses idempotency keys that a record cannot have.
func CheckKey(key string) error {
	if len(key) > MaxKeyBytes {
		return fmt.Errorf("the idempotency key has %d bytes, want at most %d", len(key), MaxKeyBytes)
	}
	return checkText("idempotency key", key)
}

func (r *Record) checkColumns() error {
	if r.Schema != nil {
		if err := r.Schema.check(); err != nil {
			return err
		}
	}
	if r.ColumnsPage != nil {
		return nil // they are checked with their page
	}
	return CheckColumns(r.Columns, r.Schema)
}

// CheckColumns refuses columns that cannot be, or that are not in the schema, if that is not nil.
func CheckColumns(columns map[UUID]Column, schema *Schema) error {
	known := map[UUID]bool{}
	if schema != nil {
		for i := range schema.Tensors {
			known[schema.Tensors[i].ID] = true
		}
	}
	for id, c := range columns {
		if schema != nil && !known[id] {
			return fmt.Errorf("column %s is not in the schema", id)
		}
		if err := c.check(); err != nil {
			return fmt.Errorf("column %s: %w", id, err)
		}
	}
	return nil
}

func (r *Record) checkOps() error {
	for i, o := range r.Ops {
		if err := o.check(); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		if o.end() > r.Rows {
			return fmt.Errorf("operation %d reaches row %d of %d", i, o.end(), r.Rows)
		}
	}
	return nil
}

func (r *Root) check() error {
	if r != nil && (r.Page.IsZero() || r.Height < 0 || r.Height > MaxHeight) {
		return fmt.Errorf("a root has page %s and height %d", r.Page, r.Height)
	}
	return nil
}

func (c Column) check() error {
	switch {
	case c.Chunks < 0 || c.Bytes < 0:
		return fmt.Errorf("%d chunks of %d bytes", c.Chunks, c.Bytes)
	case (c.Root == nil) != (c.Chunks == 0), c.Root == nil && c.Bytes != 0:
		return fmt.Errorf("%d chunks of %d bytes contradict the root", c.Chunks, c.Bytes)
	}
	return first(c.Root.check(), checkBounds(c.MinShape, c.MaxShape))
}

// checkBounds asks that two shapes are both unknown or bound the same axes.
func checkBounds(lo, hi tensor.Shape) error {
	if (lo == nil) != (hi == nil) || len(lo) != len(hi) || len(lo) > tensor.MaxDims {
		return fmt.Errorf("bounds %s and %s of a shape do not fit together", lo, hi)
	}
	for i := range lo {
		if lo[i] < 0 || lo[i] > hi[i] || hi[i] > tensor.MaxSampleBytes {
			return fmt.Errorf("bounds %s and %s of a shape do not fit together", lo, hi)
		}
	}
	return nil
}
