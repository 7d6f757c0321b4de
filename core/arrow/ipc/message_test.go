package ipc

import (
	"os"
	"slices"
	"testing"

	"deeplake/core/arrow"
)

// FuzzParseSchema reads forged messages of schemas: each is a type, or an error.
func FuzzParseSchema(f *testing.F) {
	p, err := os.ReadFile("testdata/schema.message")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p)
	f.Add(p[:100])
	f.Fuzz(func(t *testing.T, p []byte) {
		s, err := ParseSchema(p)
		if err == nil && len(s.Children) > len(p) {
			t.Errorf("%d columns of %d bytes", len(s.Children), len(p))
		}
	})
}

// TestParseSchema reads the schema of all types as pyarrow has written it.
func TestParseSchema(t *testing.T) {
	t.Parallel()
	p, err := os.ReadFile("testdata/schema.message")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseSchema(p)
	if err != nil {
		t.Fatal(err)
	}
	var print func(s *arrow.Type) string
	print = func(s *arrow.Type) string {
		out := s.Name + ":" + s.Format
		if s.Dictionary != nil {
			out += "->" + print(s.Dictionary)
		}
		for _, c := range s.Children {
			out += " (" + print(c) + ")"
		}
		return out
	}
	var got []string
	for _, c := range s.Children {
		got = append(got, print(c))
	}
	want := []string{
		"b:b", "i8:c", "u8:C", "i16:s", "u16:S", "i32:i", "u32:I", "i64:l", "u64:L", "f16:e", "f32:f", "f64:g", "s:u", "ls:U", "sv:vu", "z:z", "lz:Z", "zv:vz", "w:w:7",
		"d32:tdD", "d64:tdm", "t32:tts", "t64:ttn", "ts:tsu:Asia/Kolkata", "tn:tsn:", "du:tDm", "dec:d:7,2,128", "dec256:d:60,2,256",
		"l:+l (item:i)", "ll:+L (item:i)", "lv:+vl (item:i)", "fl:+w:3 (item:f)", "st:+s (a:l) (b:u)", "m:+m (entries:+s (key:u) (value:i))",
		"di:c->:u", "dl:i->:l", "n:n", "un:+us: (x:i)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if s.Metadata["about"] != "all types" || s.Children[0].Metadata["of"] != "a column" {
		t.Errorf("metadata %v, %v", s.Metadata, s.Children[0].Metadata)
	}
}
