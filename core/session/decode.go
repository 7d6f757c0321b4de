package session

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"deeplake/core/tensor"
)

// savedParams are the `params` of a saved view.
type savedParams struct {
	params  []Param
	names   []string // of params; nil: they have none
	batched []int
	commits map[string]string
}

// give sets the parameters of a query.
func (s *savedParams) give(q *Query) {
	q.Params, q.Names, q.Each, q.Commits = s.params, s.names, s.batched, s.commits
}

// parseParams reads the `params` of a saved view. It takes no more memory than the text does.
func parseParams(raw json.RawMessage) (savedParams, error) {
	var s savedParams
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return s, fmt.Errorf("the parameters cannot be read (%w); save the view again", err)
	}
	for i, part := range parts {
		last := i == len(parts)-1
		if err := s.add(part, last); err != nil {
			return s, fmt.Errorf("parameter %d cannot be read (%w); save the view again", i+1, err)
		}
	}
	if s.names != nil && len(s.names) != len(s.params) {
		return s, fmt.Errorf("%d of %d parameters have names; save the view again", len(s.names), len(s.params))
	}
	return s, nil
}

func (s *savedParams) add(raw json.RawMessage, last bool) error {
	m, err := object(raw)
	if err != nil {
		return err
	}
	if commits, ok := m["commits"]; ok && last {
		if err := json.Unmarshal(commits, &s.commits); err != nil || s.commits == nil {
			return errors.New("commits are no object of texts")
		}
		return nil
	}
	if name, ok := m["name"]; ok {
		var text string
		if err := json.Unmarshal(name, &text); err != nil || text == "" || m["value"] == nil {
			return errors.New("a name is no text, or has no value")
		}
		s.names, raw = append(s.names, text), m["value"]
		if m, err = object(raw); err != nil {
			return err
		}
	}
	if each, ok := m["each"]; ok {
		s.batched = append(s.batched, len(s.params))
		raw = each
		if m, err = object(raw); err != nil {
			return err
		}
	}
	var rows tensor.Rows
	if m == nil {
		rows, err = plainValue(raw)
	} else {
		rows, err = taggedValue(m)
	}
	if err != nil {
		return err
	}
	p, err := NewParam(&rows)
	if err != nil {
		return err
	}
	s.params = append(s.params, p)
	return nil
}

// object returns the members of an object, nil for another JSON value.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '{' {
		return nil, nil
	}
	m := map[string]json.RawMessage{}
	return m, json.Unmarshal(raw, &m)
}

// plainValue reads null, a bool, a number or a text. A number is a float if it has a point or an
// exponent.
func plainValue(raw json.RawMessage) (tensor.Rows, error) {
	text := string(bytes.TrimSpace(raw))
	switch {
	case text == "null":
		return sampleRows(tensor.Sample{Form: tensor.FormHole}), nil
	case text == "true":
		return scalarRows("", tensor.Bool, []byte{1}), nil
	case text == "false":
		return scalarRows("", tensor.Bool, []byte{0}), nil
	case strings.HasPrefix(text, `"`):
		var value string
		err := json.Unmarshal(raw, &value)
		return sampleRows(tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(value)}), err
	case strings.HasPrefix(text, "["):
		return tensor.Rows{}, errors.New("it is a list, want a value or an object")
	case strings.ContainsAny(text, ".eE"):
		v, err := strconv.ParseFloat(text, 64)
		return floatRows(v), err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return intRows("", n), err
}

// taggedValue reads an object. Its member names the kind of value.
func taggedValue(m map[string]json.RawMessage) (tensor.Rows, error) {
	if raw, ok := m["json"]; ok {
		return sampleRows(tensor.Sample{Form: tensor.FormText, DType: tensor.JSON, Data: raw}), nil
	}
	if raw, ok := m["interval"]; ok {
		var n int64
		err := json.Unmarshal(raw, &n)
		return intRows("interval", n), err
	}
	if raw, ok := m["time"]; ok {
		return timeRows(raw, m["dtype"])
	}
	for _, tag := range []string{"number", "bytes", "timestamp", "date", "array"} {
		raw, ok := m[tag]
		if !ok {
			continue
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return tensor.Rows{}, fmt.Errorf("%s is no text: %w", tag, err)
		}
		switch tag {
		case "number":
			v, err := strconv.ParseFloat(text, 64)
			return floatRows(v), err
		case "bytes":
			data, err := base64.StdEncoding.DecodeString(text)
			return sampleRows(tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: data}), err
		case "timestamp":
			return timestampRows(text)
		case "date":
			at, err := time.Parse("2006-01-02", text)
			return intRows("date", at.Unix()/(24*60*60)), err
		default:
			return arrayRows(text, m)
		}
	}
	return tensor.Rows{}, errors.New("no member of the object names a kind of value")
}

// timestampRows reads a time as text, with or without the offset of its zone.
func timestampRows(text string) (tensor.Rows, error) {
	at := zoneSuffix.FindStringIndex(text)
	local, zone := text, ""
	if at != nil {
		local, zone = text[:at[0]], text[at[0]:]
	}
	if strings.HasSuffix(local, "Z") {
		local, zone = strings.TrimSuffix(local, "Z"), "+00:00"
	}
	offset, err := parseZone(zone)
	if err != nil {
		return tensor.Rows{}, err
	}
	when, err := time.Parse("2006-01-02T15:04:05", local) // takes a fraction too
	if err != nil {
		return tensor.Rows{}, err
	}
	return intRows("timestamp"+zone, when.Add(-offset).UnixMicro()), nil
}

// timeRows reads a count of a NumPy unit, like "datetime64[ns]".
func timeRows(raw, dtype json.RawMessage) (tensor.Rows, error) {
	var n int64
	var unit string
	if err := json.Unmarshal(raw, &n); err != nil {
		return tensor.Rows{}, err
	}
	if err := json.Unmarshal(dtype, &unit); err != nil || !numpyUnit.MatchString(unit) {
		return tensor.Rows{}, fmt.Errorf("dtype is %.80s, want one of dates or times", dtype)
	}
	return intRows(unit, n), nil
}

// arrayRows reads an array. The data must be as long as dtype and shape say.
func arrayRows(text string, m map[string]json.RawMessage) (tensor.Rows, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return tensor.Rows{}, err
	}
	var name string
	if err := json.Unmarshal(m["dtype"], &name); err != nil {
		return tensor.Rows{}, fmt.Errorf("dtype is %.80s, want one of numbers", m["dtype"])
	}
	d, ok := arrayTypes[strings.Replace(name, ">", "<", 1)]
	if !ok {
		return tensor.Rows{}, fmt.Errorf("dtype is %.80q, want one of numbers", name)
	}
	var shape tensor.Shape
	if err := json.Unmarshal(m["shape"], &shape); err != nil || shape == nil {
		return tensor.Rows{}, fmt.Errorf("shape is %.80s, want a list of sizes", m["shape"])
	}
	want := float64(d.Size()) // no overflow
	for _, n := range shape {
		if n < 0 {
			return tensor.Rows{}, fmt.Errorf("shape is %.80s, want a list of sizes", m["shape"])
		}
		want *= float64(n)
	}
	if want != float64(len(data)) {
		return tensor.Rows{}, fmt.Errorf("shape and dtype want %.0f bytes, and the data has %d", want, len(data))
	}
	if d.Size() > 1 && name[0] != nativeOrder {
		data = swapped(data, d.Size())
	}
	return sampleRows(tensor.Sample{Form: tensor.FormArray, DType: d, Shape: shape, Data: data}), nil
}

func sampleRows(s tensor.Sample) tensor.Rows { return tensor.Rows{Samples: []tensor.Sample{s}} }

func scalarRows(unit string, d tensor.DType, data []byte) tensor.Rows {
	return tensor.Rows{Counts: unit, Array: &tensor.Array{DType: d, Shape: tensor.Shape{}, Data: data}}
}

func intRows(unit string, n int64) tensor.Rows {
	return scalarRows(unit, tensor.Int64, binary.NativeEndian.AppendUint64(nil, uint64(n)))
}

func floatRows(v float64) tensor.Rows {
	return scalarRows("", tensor.Float64, binary.NativeEndian.AppendUint64(nil, math.Float64bits(v)))
}

var (
	zoneText   = regexp.MustCompile(`^([+-])(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{6}))?)?$`)
	zoneSuffix = regexp.MustCompile(`[+-]\d\d:\d\d(:\d\d(\.\d{6})?)?$`)
	numpyUnit  = regexp.MustCompile(`^(datetime64|timedelta64)(?:\[(\d{0,9})(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?$`)
)

// parseZone returns the offset from UTC of text like "+02:00", and 0 for "".
func parseZone(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	m := zoneText.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("zone is %.80q, want one like +02:00", text)
	}
	var offset time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second, time.Microsecond} {
		n, _ := strconv.Atoi("0" + m[i+2])
		offset += time.Duration(n) * unit
	}
	if m[1] == "-" {
		offset = -offset
	}
	return offset, nil
}
