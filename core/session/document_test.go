package session

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"deeplake/core/tensor"
)

// TestDocuments holds the form in which saved views keep parameters. The texts were written by
// version 0.1 of the Python package.
func TestDocuments(t *testing.T) {
	t.Parallel()
	text := func(d tensor.DType, s string) tensor.Rows {
		return sampleRows(tensor.Sample{Form: tensor.FormText, DType: d, Data: []byte(s)})
	}
	values := func(d tensor.DType, shape tensor.Shape, data ...byte) tensor.Rows {
		return sampleRows(tensor.Sample{Form: tensor.FormArray, DType: d, Shape: shape, Data: data})
	}
	two := binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, 0x3e00), 0x4000)
	for _, c := range []struct {
		rows tensor.Rows
		want string
	}{
		{sampleRows(tensor.Sample{Form: tensor.FormHole}), `null`},
		{scalarRows("", tensor.Bool, []byte{1}), `true`},
		{intRows("", 5), `5`},
		{intRows("", math.MinInt64), `-9223372036854775808`},
		{floatRows(2.5), `2.5`},
		{floatRows(5), `5.0`},
		{floatRows(1e16), `1e+16`},
		{floatRows(1e15), `1000000000000000.0`},
		{floatRows(1e-5), `1e-05`},
		{floatRows(1e-4), `0.0001`},
		{floatRows(1e22), `1e+22`},
		{floatRows(123456789.125), `123456789.125`},
		{floatRows(math.Copysign(0, -1)), `-0.0`},
		{floatRows(math.NaN()), `{"number":"nan"}`},
		{floatRows(math.Inf(1)), `{"number":"inf"}`},
		{floatRows(math.Inf(-1)), `{"number":"-inf"}`},
		{text(tensor.String, "text"), `"text"`},
		{text(tensor.String, "é<>&😀\"\\\n\x7f\x01\u2028"), "\"é<>&😀\\\"\\\\\\n\x7f\\u0001\u2028\""},
		{text(tensor.Bytes, "by\x00tes"), `{"bytes":"YnkAdGVz"}`},
		{text(tensor.JSON, `{"a":[1,2.5,null,"é<"],"b":{}}`), `{"json":{"a":[1,2.5,null,"é<"],"b":{}}}`},
		{intRows("timestamp", 1704164645000000), `{"timestamp":"2024-01-02T03:04:05"}`},
		{intRows("timestamp", 1704164645000060), `{"timestamp":"2024-01-02T03:04:05.000060"}`},
		{intRows("timestamp+00:00", 1704164645000000), `{"timestamp":"2024-01-02T03:04:05+00:00"}`},
		{intRows("timestamp+02:30", 1704164645000678), `{"timestamp":"2024-01-02T05:34:05.000678+02:30"}`},
		{intRows("date", 19782), `{"date":"2024-02-29"}`},
		{intRows("interval", -86399999995), `{"interval":-86399999995}`},
		{intRows("datetime64[D]", 19724), `{"time":19724,"dtype":"datetime64[D]"}`},
		{intRows("timedelta64[m]", 90), `{"time":90,"dtype":"timedelta64[m]"}`},
		{values(tensor.Uint8, tensor.Shape{3}, 1, 2, 255), `{"array":"AQL/","dtype":"|u1","shape":[3]}`},
		{values(tensor.Bool, tensor.Shape{}, 1), `{"array":"AQ==","dtype":"|b1","shape":[]}`},
		{values(tensor.Float32, tensor.Shape{0, 3}), `{"array":"","dtype":"<f4","shape":[0,3]}`},
		{values(tensor.Float16, tensor.Shape{2}, two...), `{"array":"AD4AQA==","dtype":"<f2","shape":[2]}`},
		{values(tensor.Int64, tensor.Shape{}, numbers(5)...), `{"array":"BQAAAAAAAAA=","dtype":"<i8","shape":[]}`},
	} {
		p, err := NewParam(&c.rows)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		got, err := p.document()
		if err != nil || got != c.want {
			t.Errorf("got %s and %v, want %s", got, err, c.want)
		}
		back, err := parseParams([]byte("[" + c.want + "]"))
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		if again, err := back.params[0].document(); err != nil || again != c.want {
			t.Errorf("%s is read as %s, %v", c.want, again, err)
		}
		if a, b := p.appendFingerprint(nil), back.params[0].appendFingerprint(nil); string(a) != string(b) {
			t.Errorf("%s: fingerprint %q after reading, want %q", c.want, b, a)
		}
	}
}

// TestParamsOfSavedViews reads texts that other writers may leave.
func TestParamsOfSavedViews(t *testing.T) {
	t.Parallel()
	s, err := parseParams([]byte(`[1,{"each":{"array":"AAAAAAAAAAEAAAAC","dtype":">i4","shape":[3]}},{"commits":{"a@main":"c"}}]`))
	if err != nil || len(s.params) != 2 || len(s.batched) != 1 || s.batched[0] != 1 || s.commits["a@main"] != "c" {
		t.Fatalf("got %+v, %v", s, err)
	}
	if got, err := s.params[1].document(); err != nil || got != `{"array":"AAAAAAEAAAACAAAA","dtype":"<i4","shape":[3]}` {
		t.Errorf("got %s, %v: want the bytes swapped", got, err)
	}
	s, err = parseParams([]byte(`[{"name":"a","value":1},{"name":"b","value":{"each":{"array":"AAAAAQ==","dtype":">i4","shape":[1]}}},{"commits":{"a@main":"c"}}]`))
	if err != nil || len(s.params) != 2 || fmt.Sprint(s.names, s.batched, s.commits) != "[a b] [1] map[a@main:c]" {
		t.Fatalf("got %+v, %v", s, err)
	}
	for _, c := range []struct{ text, want string }{
		{`{"array":"","dtype":"S2000000000","shape":[1]}`, "want one of numbers"},
		{`{"array":"","dtype":"<i8","shape":[1099511627776]}`, "and the data has 0"},
		{`{"array":"","dtype":"|O","shape":[0]}`, "want one of numbers"},
		{`{"array":"","dtype":[["a","<i8",1]],"shape":[0]}`, "want one of numbers"},
		{`{"array":"AAAA","dtype":"<i8","shape":[-1]}`, "want a list of sizes"},
		{`{"array":"AAAA","dtype":"<i8"}`, "want a list of sizes"},
		{`{"array":"AAAAAAAAAAAAAAAAAAAAAA==","dtype":"<f8","shape":[3]}`, "want 24 bytes, and the data has 16"},
		{`{"time":1,"dtype":"S2000000000"}`, "want one of dates or times"},
		{`{"time":1208925819614629174706176,"dtype":"datetime64[s]"}`, "parameter 1"},
		{`{"time":9223372036854775807,"dtype":"datetime64[s]"}`, "64 bits"},
		{`{"interval":1000000000000000000000000000000}`, "parameter 1"},
		{`{"date":5}`, "date is no text"},
		{`{"timestamp":"2024-01-02T03:04:05+2:00"}`, "parameter 1"},
		{`{"each":{"each":1}}`, "names a kind of value"},
		{`{"name":"a","value":{"name":"b","value":1}}`, "names a kind of value"},
		{`{"name":5,"value":1}`, "a name is no text"},
		{`{"name":"","value":1}`, "a name is no text"},
		{`{"name":"a"}`, "has no value"},
		{`{"name":"a","value":1},2`, "1 of 2 parameters have names"},
		{`{"commits":{"a":1}}`, "commits"},
		{`{"commits":null}`, "commits"},
		{`[1]`, "it is a list"},
		{`{}`, "names a kind of value"},
	} {
		if _, err := parseParams([]byte("[" + c.text + "]")); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "save the view again") {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestNumPyUnits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit string
		n    int64
		want string
		v    int64
	}{
		{"datetime64[D]", 5, "date", 5},
		{"datetime64[2D]", 5, "timestamp", 10 * 86_400e6},
		{"datetime64[M]", 648, "timestamp", 1704067200e6},
		{"datetime64[Y]", -1, "timestamp", -365 * 86_400e6},
		{"datetime64[ns]", -1, "timestamp", -1},
		{"datetime64[ns]", 1999, "timestamp", 1},
		{"timedelta64[W]", 1, "interval", 7 * 86_400e6},
		{"timedelta64[as]", -1, "interval", -1},
		{"timedelta64[25s]", 2, "interval", 50e6},
		{"timestamp+02:00", 7, "timestamp", 7},
	} {
		got, err := normal(intRows(c.unit, c.n))
		if err != nil || got.Counts != c.want || int64(binary.NativeEndian.Uint64(got.Array.Data)) != c.v {
			t.Errorf("%d %s: got %+v, %v, want %d %s", c.n, c.unit, got, err, c.v, c.want)
		}
	}
	if got, err := normal(intRows("datetime64[ns]", math.MinInt64)); err != nil || got.Samples[0].Form != tensor.FormHole {
		t.Errorf("NaT: got %+v, %v, want a missing value", got, err)
	}
}
