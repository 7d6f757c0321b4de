package zarr

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TestMetadata compares the metadata of each kind of array with those of the package zarr.
func TestMetadata(t *testing.T) {
	t.Parallel()
	day, err := tensor.ParseTime("date")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		array Array
		want  []string
	}{
		"numbers": {Array{DType: tensor.Float32, Shape: []int64{5, 3, 0}, Rows: 2, Attributes: map[string]any{"htype": "bbox"}}, []string{
			`"shape":[5,3,0]`, `"data_type":"float32"`, `"chunk_shape":[2,3,1]`, `"fill_value":0.0`, `"endian":"little"`, `"attributes":{"htype":"bbox"}`, `"zarr_format":3`, `"node_type":"array"`,
		}},
		"bools":   {Array{DType: tensor.Bool, Shape: []int64{5}, Rows: 2}, []string{`"data_type":"bool"`, `"fill_value":false`}},
		"complex": {Array{DType: tensor.Complex64, Shape: []int64{5}, Rows: 2}, []string{`"data_type":"complex64"`, `"fill_value":[0,0]`}},
		"days":    {Array{DType: tensor.Int64, Time: day, Shape: []int64{5}, Rows: 2}, []string{`"data_type":{"name":"numpy.datetime64","configuration":{"scale_factor":1,"unit":"D"}}`}},
		"texts":   {Array{Kind: Texts, Shape: []int64{5}, Rows: 2}, []string{`"data_type":"string"`, `"name":"vlen-utf8"`, `"fill_value":""`, `"attributes":{}`}},
		"bytes":   {Array{Kind: Bytes, Shape: []int64{5}, Rows: 2}, []string{`"data_type":"variable_length_bytes"`, `"name":"vlen-bytes"`}},
	} {
		p, err := c.array.Metadata()
		if err != nil {
			t.Fatal(name, err)
		}
		var plain bytes.Buffer
		if err := json.Compact(&plain, p); err != nil {
			t.Fatal(name, err)
		}
		for _, part := range c.want {
			if !strings.Contains(plain.String(), part) {
				t.Errorf("%s: %s, want %s", name, &plain, part)
			}
		}
	}
	if _, err := (&Array{DType: tensor.BFloat16, Shape: []int64{1}, Rows: 1}).Metadata(); !errs.Is(err, errs.Unsupported) {
		t.Error(err)
	}
	if p, err := Group(); err != nil || !strings.Contains(string(p), `"node_type": "group"`) || strings.Contains(string(p), "shape") {
		t.Error(string(p), err)
	}
	if key := (&Array{Shape: []int64{9, 2, 3}}).Key(7); key != "c/7/0/0" {
		t.Error(key)
	}
}

// TestChunks reads chunks back: the last one of an array is filled up.
func TestChunks(t *testing.T) {
	t.Parallel()
	e, err := NewEncoder(2)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	plain := func(p []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out, err := z.DecodeAll(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := plain(e.Numbers([]byte("abc"), 5)); string(got) != "abc\x00\x00" {
		t.Errorf("%q", got)
	}
	if _, err := e.Numbers(nil, maxChunk+1); !errs.Is(err, errs.Unsupported) {
		t.Error(err)
	}
	var items Items
	for _, text := range []string{"é", "", "xyz"} {
		if err := items.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := "\x04\x00\x00\x00\x02\x00\x00\x00é\x00\x00\x00\x00\x03\x00\x00\x00xyz\x00\x00\x00\x00"
	if got := plain(e.Items(&items, 4)); string(got) != want || items.Len() != 0 {
		t.Errorf("%q, want %q", got, want)
	}
	if got := plain(e.Items(&items, 1)); !slices.Equal(got, []byte{1, 0, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("%q", got)
	}
}
