package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
)

const viewsPrefix = "views/"

// ViewsPrefix is the prefix of all saved views.
func ViewsPrefix() string { return viewsPrefix }

// ViewKey is where the n-th saying about a saved view of that name lies. The name is one that
// CheckRefName passes.
func ViewKey(name string, n uint64) string {
	return viewsPrefix + escapeRef(name) + "." + strconv.FormatUint(n, 10)
}

// ViewAfter is a key behind which a listing of ViewsPrefix begins with the objects of that name.
func ViewAfter(name string) string { return viewsPrefix + escapeRef(name) + "." }

// ParseViewKey is the inverse of ViewKey. Any other key is errs.Corrupt, since only a listing
// yields keys.
func ParseViewKey(key string) (name string, n uint64, err error) {
	escaped, digits, _ := strings.Cut(strings.TrimPrefix(key, viewsPrefix), ".")
	if name, err = unescapeRef(escaped); err == nil {
		n, err = strconv.ParseUint(digits, 10, 64)
	}
	if err != nil || ViewKey(name, n) != key {
		return "", 0, errs.New(errs.Corrupt, "key %q is not that of a saved view", clip(key))
	}
	return name, n, nil
}

// View is the newest object of a saved view's name: the query, its commit and its rows. With
// Deleted there is no view of that name.
type View struct {
	Deleted bool
	Branch  UUID // of the commit
	Version uint64
	Commit  UUID
	Time    time.Time // stored in UTC with nanoseconds
	Author  string
	Query   string          // in its canonical form; "": the rows were selected otherwise
	Params  json.RawMessage // a JSON array, compact; of the query
	Seed    uint64          // of the query
	Columns []ViewColumn
	Listed  bool      // Rows are the rows; else the query is to be run again
	Rows    []ViewRun // rows of the commit, deleted ones not counted
}

// ViewColumn is a column of a view: a tensor, or, with Tensor "", something computed.
type ViewColumn struct {
	Name   string
	Tensor string
}

// ViewRun is Count rows from Start on; with Start -1, Count times no row.
type ViewRun struct{ Start, Count int64 }

// EncodeView makes the object. One that DecodeView would not take is errs.Invalid.
func EncodeView(v View, b Binding) ([]byte, error) { return EncodeViewWhile(v, b, nil) }

// packedAtOnce is the part of a payload that is compressed between two calls of look. A payload of
// several parts has a frame of Zstandard for each.
const packedAtOnce = 8 << 20

// EncodeViewWhile is EncodeView for views of many runs: it ends with the error of look, which it
// calls from time to time. nil is never called.
func EncodeViewWhile(v View, b Binding, look func() error) ([]byte, error) {
	if look == nil {
		look = func() error { return nil }
	}
	var stopped error
	payload, err := encodeView(v, b, func() bool {
		stopped = look()
		return stopped != nil
	})
	if stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, refused("saved view", err)
	}
	if int64(len(payload)) > MaxBlobRaw {
		return nil, errs.New(errs.Invalid, "saved view has %d bytes, want at most %d", len(payload), int64(MaxBlobRaw))
	}
	codec, stored, err := packWhile(payload, packedAtOnce, look)
	if err != nil {
		return nil, err
	}
	frame, err := sealFrame(KindView, codec, stored, len(payload))
	if err != nil {
		return nil, err
	}
	SetSalt(frame, b.Dataset)
	return frame, nil
}

// DecodeView is the strict inverse of EncodeView. An object that says that it is another one is
// errs.Corrupt.
func DecodeView(data []byte, b Binding) (View, error) { return DecodeViewWhile(data, b, nil) }

// lookRuns is the number of runs between two calls of look.
const lookRuns = 1 << 18

// DecodeViewWhile is DecodeView for views of many runs: it ends with the error of look, which it
// calls from time to time. nil is never called.
func DecodeViewWhile(data []byte, b Binding, look func() error) (View, error) {
	payload, head, err := decodeFrame(KindView, data)
	if err != nil {
		return View{}, err
	}
	if head.salt != b.Dataset {
		return View{}, errs.New(errs.Corrupt, "saved view is of dataset %s, want %s as in tsf.json: one of the two is of another dataset", head.salt, b.Dataset)
	}
	var stopped error
	v, err := decodeView(payload, b, func() bool {
		if look != nil && stopped == nil {
			stopped = look()
		}
		return stopped != nil
	})
	if stopped != nil {
		return View{}, stopped
	}
	return v, damaged("saved view", err)
}

// viewHead is the JSON of a view, in the order of its members.
type viewHead struct {
	Key     string          `json:"key,omitempty"` // from version 2 on
	Branch  UUID            `json:"branch"`
	Version uint64          `json:"version"`
	Commit  UUID            `json:"commit"`
	Time    string          `json:"time"`
	Author  string          `json:"author"`
	Query   string          `json:"query"`
	Params  json.RawMessage `json:"params"`
	Seed    uint64          `json:"seed"`
	Names   []string        `json:"names"`
	Tensors []string        `json:"tensors"`
	Rows    *int64          `json:"rows"`
}

// encodeView ends early once stop returns true.
func encodeView(v View, b Binding, stop func() bool) ([]byte, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	var head []byte
	var err error
	if v.Deleted {
		if head = []byte(`{"deleted":true}`); b.Key != "" {
			head = fmt.Appendf(nil, `{"key":"%s","deleted":true}`, b.Key)
		}
	} else {
		h := viewHead{Key: b.Key, Branch: v.Branch, Version: v.Version, Commit: v.Commit, Time: v.Time.UTC().Format(timeLayout), Author: v.Author,
			Query: v.Query, Params: v.Params, Seed: v.Seed, Names: []string{}, Tensors: []string{}}
		for _, c := range v.Columns {
			h.Names, h.Tensors = append(h.Names, c.Name), append(h.Tensors, c.Tensor)
		}
		if v.Listed {
			n := v.count()
			h.Rows = &n
		}
		if head, err = marshal(h); err != nil {
			return nil, err
		}
		if err := strictJSON(head); err != nil {
			return nil, err
		}
	}
	out := append(appendUvarint(nil, int64(len(head))), head...)
	out = appendUvarint(out, int64(len(v.Rows)))
	end := int64(0)
	for i, r := range v.Rows {
		if i%lookRuns == 0 && stop() {
			return nil, errors.New("its writer has stopped")
		}
		out = appendUvarint(appendSvarint(out, r.Start-end), r.Count-1)
		end = r.end()
	}
	return out, nil
}

// end is where the next run most likely begins.
func (r ViewRun) end() int64 {
	if r.Start < 0 {
		return 0
	}
	return r.Start + r.Count
}

func (v *View) count() int64 {
	n := int64(0)
	for _, r := range v.Rows {
		n += r.Count
	}
	return n
}

// decodeView ends early, with an error, once stop returns true.
func decodeView(payload []byte, b Binding, stop func() bool) (View, error) {
	r := reader{b: payload}
	head := r.bytes(r.count(MaxBlobRaw, 1, "bytes of the head"), "head")
	if r.err != nil {
		return View{}, r.err
	}
	v, rows, err := decodeViewHead(head, b)
	if err != nil {
		return View{}, err
	}
	if n := r.count(MaxRows, 2, "runs of rows"); n > 0 {
		v.Rows = make([]ViewRun, n)
	}
	end := int64(0)
	for i := range v.Rows {
		if i%lookRuns == 0 && stop != nil && stop() {
			return View{}, errors.New("its reader has stopped")
		}
		run := ViewRun{Start: r.svarint("first row of a run"), Count: r.uvarint(MaxRows, "rows of a run") + 1}
		if run.Start < -MaxRows || run.Start > MaxRows {
			r.fail("first row of a run is %d from the last one", run.Start)
		}
		run.Start += end
		if r.err != nil || run.check() != nil {
			break
		}
		v.Rows[i], end = run, run.end()
	}
	if err := first(r.end(), v.check()); err != nil {
		return View{}, err
	}
	if rows != nil && *rows != v.count() || rows == nil && v.Rows != nil {
		return View{}, errors.New("its rows are not as many as it says")
	}
	return v, nil
}

func decodeViewHead(head []byte, b Binding) (v View, rows *int64, err error) {
	if err := strictJSON(head); err != nil {
		return v, nil, err
	}
	m := open("saved view", head)
	got := Binding{Dataset: b.Dataset}
	m.value("key", &got.Key)
	m.bound(got, b)
	if _, v.Deleted = m.left["deleted"]; v.Deleted {
		m.deleted()
		return v, nil, m.end()
	}
	m.value("branch", &v.Branch)
	m.value("version", &v.Version)
	m.value("commit", &v.Commit)
	v.Time = m.time("time")
	m.value("author", &v.Author)
	m.value("query", &v.Query)
	var params bytes.Buffer
	if err := json.Compact(&params, m.take("params")); err == nil { // else it is missing, or null
		v.Params = params.Bytes()
	}
	m.value("seed", &v.Seed)
	names, tensors := list[string](m, "names"), list[string](m, "tensors")
	if m.err == nil && (names == nil || len(names) != len(tensors)) {
		m.fail("tensors", fmt.Errorf("has %d, and there are %d names", len(tensors), len(names)))
	}
	if raw := m.take("rows"); raw != nil {
		rows = new(int64)
		m.decode("rows", raw, rows)
		v.Listed = true
	}
	if err := m.end(); err != nil {
		return v, nil, err
	}
	for i, name := range names {
		v.Columns = append(v.Columns, ViewColumn{name, tensors[i]})
	}
	return v, rows, nil
}

func (r ViewRun) check() error {
	if r.Start < -1 || r.Count < 1 || r.Count > MaxRows || r.Start > MaxRows-r.Count {
		return fmt.Errorf("a run has %d rows from %d on", r.Count, r.Start)
	}
	return nil
}

// check validates a view. Encoder and decoder call it.
func (v *View) check() error {
	if v.Deleted {
		if v.Listed || v.Rows != nil || v.Columns != nil || v.Query != "" || v.Params != nil {
			return errors.New("it is deleted and has something to say")
		}
		return nil
	}
	switch {
	case v.Branch.IsZero() || v.Commit.IsZero():
		return errors.New("a uuid is zero")
	case !v.Listed && (v.Rows != nil || v.Query == ""):
		return errors.New("it has neither rows nor a query")
	case len(v.Params) == 0 || v.Params[0] != '[':
		return errors.New("its parameters are no list")
	}
	if y := v.Time.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("time is in the year %d", y)
	}
	total := int64(0)
	for _, r := range v.Rows {
		if err := r.check(); err != nil {
			return err
		}
		if total += r.Count; total > MaxRows {
			return fmt.Errorf("it has more than %d rows", int64(MaxRows))
		}
	}
	for _, c := range v.Columns {
		if err := first(checkText("a name", c.Name), checkText("a name", c.Tensor)); err != nil {
			return err
		}
		if c.Name == "" {
			return errors.New("a column has no name")
		}
	}
	return first(checkText("author", v.Author), checkText("query", v.Query))
}
