package v3

import (
	"encoding/json"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestKinds finds how samples of a tensor are stored.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		meta string // members of tensor_meta.json
		want kind   // without base, sample and chunk
		in   string // the htype here
	}{
		{``, kind{}, "generic"},
		{`"htype":"generic","dtype":"uint8","max_shape":[2,3]`, kind{dtype: tensor.Uint8, axes: 2}, "generic"},
		{`"htype":"generic","dtype":"float16","chunk_compression":"lz4"`, kind{dtype: tensor.Float16}, "generic"},
		{`"htype":"generic","dtype":"complex64"`, kind{dtype: tensor.Complex64}, "generic"},
		{`"htype":"generic","dtype":"float128"`, kind{dtype: tensor.Bytes, refused: "its dtype is float128"}, "generic"},
		{`"htype":"generic","dtype":"str"`, kind{dtype: tensor.Bytes, refused: "its dtype is str"}, "generic"},
		{`"htype":"generic","dtype":"datetime64[s]"`, kind{dtype: tensor.Int64, time: "timestamp[s]"}, "generic"},
		{`"htype":"generic","dtype":"datetime64[D]"`, kind{dtype: tensor.Int64, time: "date"}, "generic"},
		{`"htype":"generic","dtype":"datetime64[Y]"`, kind{dtype: tensor.Int64}, "generic"},
		{`"htype":"generic","dtype":"datetime64"`, kind{dtype: tensor.Bytes, refused: "its dtype is datetime64"}, "generic"},
		{`"htype":"generic","dtype":"timedelta64[ms]"`, kind{dtype: tensor.Int64, time: "interval[ms]"}, "generic"},
		{`"htype":"image","dtype":"uint8","sample_compression":"jpeg"`, kind{dtype: tensor.Uint8, image: true}, "image"},
		{`"htype":"image","dtype":"uint8","chunk_compression":"png"`, kind{dtype: tensor.Uint8, image: true}, "image"},
		{`"htype":"image.rgb","dtype":"uint8","sample_compression":"webp"`, kind{dtype: tensor.Uint8, image: true}, "image.rgb"},
		{`"htype":"image","dtype":"uint8","sample_compression":"jpeg2000"`, kind{dtype: tensor.Bytes, opaque: true}, "generic"},
		{`"htype":"image","dtype":"uint8","chunk_compression":"ppm"`, kind{dtype: tensor.Bytes, opaque: true, refused: "its chunks are compressed by ppm"}, "generic"},
		{`"htype":"image","dtype":"int32","sample_compression":"png"`, kind{dtype: tensor.Int32}, "generic"},
		{`"htype":"video","dtype":"uint8","sample_compression":"mp4"`, kind{dtype: tensor.Bytes, opaque: true}, "generic"},
		{`"htype":"audio","dtype":"float64","sample_compression":"wav"`, kind{dtype: tensor.Bytes, opaque: true}, "generic"},
		{`"htype":"unheard.of","dtype":"uint8"`, kind{dtype: tensor.Uint8}, "generic"},
		{`"htype":"class_label","dtype":"uint32"`, kind{dtype: tensor.Uint32}, "class_label"},
		{`"htype":"text","dtype":"str","sample_compression":"lz4"`, kind{dtype: tensor.String}, "text"},
		{`"htype":"json","dtype":"Any"`, kind{dtype: tensor.JSON}, "json"},
		{`"htype":"list","dtype":"List"`, kind{dtype: tensor.JSON}, "list"},
		{`"htype":"tag","dtype":"List"`, kind{dtype: tensor.JSON}, "tag"},
		{`"htype":"polygon","dtype":"float32","max_shape":[1,2,2]`, kind{dtype: tensor.Float32, axes: 3}, "polygon"},
		{`"htype":"polygon","dtype":"float32","is_sequence":true`, kind{dtype: tensor.JSON, points: tensor.Float32, sequence: true}, "json"},
		{`"htype":"polygon","is_sequence":true`, kind{sequence: true}, "polygon"},
		{`"htype":"generic","dtype":"int8","is_sequence":true`, kind{dtype: tensor.Int8, sequence: true}, "sequence[generic]"},
		{`"htype":"text","dtype":"str","is_sequence":true`, kind{dtype: tensor.String, sequence: true}, "sequence[text]"},
		{`"htype":"image","dtype":"uint8","sample_compression":"jpeg","is_link":true`, kind{dtype: tensor.Uint8, image: true, axes: 3}, "image"},
		{`"htype":"image","dtype":"uint8","sample_compression":"bmp","is_link":true`, kind{dtype: tensor.String}, "text"},
		{`"htype":"image","dtype":"uint8","sample_compression":"png","is_link":true,"is_sequence":true`, kind{dtype: tensor.Uint8, image: true, axes: 3, sequence: true}, "sequence[image]"},
		{`"htype":"video","dtype":"uint8","sample_compression":"mp4","is_link":true,"is_sequence":true`, kind{dtype: tensor.String, sequence: true}, "sequence[text]"},
		{`"htype":"video","dtype":"uint8","sample_compression":"mp4","is_link":true`, kind{dtype: tensor.String}, "text"},
	} {
		var m tensorMeta
		if err := decodeJSON([]byte("{"+c.meta+"}"), &m); err != nil {
			t.Fatal(err)
		}
		got := m.kindOf()
		if in := got.htype.String(); in != c.in {
			t.Errorf("%s: the htype is %s, want %s", c.meta, in, c.in)
		}
		got.htype, got.base, got.sample, got.chunk = tensor.HType{}, "", "", ""
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.meta, got, c.want)
		}
	}
}

// TestStrictJSON takes what Python writes, and nothing else.
func TestStrictJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":NaN}`:                          `{"a":null}`,
		"[Infinity, -Infinity,NaN ]":         "[null, null,null ]",
		`NaN`:                                `null`,
		`{"NaN":"Infinity -Infinity"}`:       `{"NaN":"Infinity -Infinity"}`,
		`["\"NaN",NaN,"\\",NaN,"\u0022NaN"]`: `["\"NaN",null,"\\",null,"\u0022NaN"]`,
		`["a\\\"",-Infinity]`:                `["a\\\"",null]`,
		" 1 ":                                " 1 ",
		`123456789012345678901234567890`:     `123456789012345678901234567890`,
		`{"a":{},"b":[]}`:                    `{"a":{},"b":[]}`,
		strings.Repeat("[", 200) + "NaN" + strings.Repeat("]", 200): strings.Repeat("[", 200) + "null" + strings.Repeat("]", 200),
	} {
		got, err := strictJSON([]byte(text))
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", " ", "{", "[1,]", `{"a":}`, `{a:1}`, `"\`, `"\u12`, `"\u12x4"`, `"\x"`, `"a`, "\"\n\"", "nan", "Nan", "NaNs", "-NaN", "+Infinity", "Inf", "--Infinity", "[NaNNaN]", "NaN NaN", "1 2", "01", "1.", ".5",
		"1e", "'a'", "[1 2]", `{"a":1 "b":2}`, "tru", "nulll", "\x00", "[1]]",
	} {
		if got, err := strictJSON([]byte(text)); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, deep := range []string{strings.Repeat("[", 1000) + strings.Repeat("]", 1000), strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<20)} {
		if _, err := strictJSON([]byte(deep)); err == nil || errs.KindOf(err) == errs.Internal {
			t.Errorf("%d bytes, deep: %v", len(deep), err)
		}
	}
}

// TestDecodeJSON decodes metadata of all ages.
func TestDecodeJSON(t *testing.T) {
	var m tensorMeta
	err := decodeJSON([]byte(`{"htype":null,"dtype":null,"length":9007199254740993,"min_shape":[],"max_shape":[1],"unknown":NaN}`), &m)
	if err != nil || m.HType != "" || m.Length != 9007199254740993 || len(m.Max) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	var n node
	if err := decodeJSON([]byte(`{"branch":"main","parent":null,"commit_time":1.5}`), &n); err != nil || n.Time == nil || *n.Time != 1.5 {
		t.Errorf("%+v, %v", n, err)
	}
	n = node{}
	if err := decodeJSON([]byte(`{"commit_time":NaN,"commit_message":null}`), &n); err != nil || n.Time != nil {
		t.Errorf("%+v, %v", n, err)
	}
	for _, text := range []string{`[]`, `{"length":"x"}`, `{"length":1.5}`, `{"length":1e300}`, `{"length":99999999999999999999}`, `{"max_shape":{}}`, `{"htype":{}}`, `1`} {
		if err := decodeJSON([]byte(text), &tensorMeta{}); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestSeconds bounds times.
func TestSeconds(t *testing.T) {
	for in, want := range map[float64][2]int64{
		0: {0, 0}, 1.5: {1, 5e8}, -1: {0, 0}, 1e300: {0, 0}, 1795972379.25: {1795972379, 25e7},
	} {
		if s, n := seconds(in); s != want[0] || n != want[1] {
			t.Errorf("%g: %d %d", in, s, n)
		}
	}
}

// TestClip keeps long text out of messages.
func TestClip(t *testing.T) {
	if got := clip(strings.Repeat("x", 65)); len(got) != 67 || clip("short") != "short" {
		t.Error(got)
	}
}
