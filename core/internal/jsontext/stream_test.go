package jsontext

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"deeplake/core/errs"
)

// rebuilt reads a document piece by piece and returns it without white space.
func rebuilt(s *Stream, deep int) (string, error) {
	kind, err := s.Kind()
	if err != nil {
		return "", err
	}
	var parts []string
	switch {
	case kind == Object && deep > 0:
		err := s.Object(func(key string) error {
			value, err := rebuilt(s, deep-1)
			quoted, _ := json.Marshal(key)
			parts = append(parts, string(quoted)+":"+value)
			return err
		})
		return "{" + strings.Join(parts, ",") + "}", err
	case kind == List && deep > 0:
		err := s.List(func() error {
			value, err := rebuilt(s, deep-1)
			parts = append(parts, value)
			return err
		})
		return "[" + strings.Join(parts, ",") + "]", err
	}
	p, err := s.Value()
	return string(p), err
}

func TestStream(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a": [1, -2.5e3 , "x\"]}"], "b\u00e9": {}, "c":[] , "d": null,"e":true}`, `{"a":[1,-2.5e3,"x\"]}"],"bé":{},"c":[],"d":null,"e":true}`},
		{"\xef\xbb\xbf [ [ ] , { } ] \n", `[[],{}]`},
		{`12`, `12`}, {` "" `, `""`}, {`{"":{"":[{}]}}`, `{"":{"":[{}]}}`},
	} {
		for deep := range 4 {
			for _, slow := range []bool{false, true} {
				var from io.Reader = strings.NewReader(c.in)
				if slow {
					from = iotest.OneByteReader(from)
				}
				s := NewStream(from, 1<<20)
				got, err := rebuilt(s, deep)
				if err == nil {
					err = s.End()
				}
				if err != nil || strings.ReplaceAll(strings.ReplaceAll(got, " ", ""), `\u00e9`, "é") != c.want {
					t.Errorf("%s to a depth of %d: %s, %v", c.in, deep, got, err)
				}
			}
		}
	}
}

func TestLax(t *testing.T) {
	for in, want := range map[string]bool{`{"a": [NaN, -Infinity, Infinity, 1]}`: true, "NaN": true, "[Nan]": false, "[-]": false, "[-Infinit]": false} {
		s := NewStream(strings.NewReader(in), 1<<20)
		s.Lax = true
		_, err := s.Value()
		if err == nil {
			err = s.End()
		}
		if err == nil != want {
			t.Errorf("%s: %v", in, err)
		}
		if _, err := NewStream(strings.NewReader(in), 1<<20).Value(); err == nil {
			t.Errorf("%s is JSON", in)
		}
	}
}

func TestStreamFaults(t *testing.T) {
	for _, c := range []struct {
		in   string
		kind errs.Kind
	}{
		{"", errs.Corrupt}, {"{", errs.Corrupt}, {`{"a"`, errs.Corrupt}, {`{"a":`, errs.Corrupt}, {`{"a":1`, errs.Corrupt}, {`{"a":1,}`, errs.Corrupt}, {`{a:1}`, errs.Corrupt},
		{"[1 2]", errs.Corrupt}, {"[1,]", errs.Corrupt}, {"[1", errs.Corrupt}, {`["a`, errs.Corrupt}, {`["\x"]`, errs.Corrupt}, {"[tru]", errs.Corrupt}, {"[1}", errs.Corrupt},
		{"[01]", errs.Corrupt}, {"[] []", errs.Corrupt}, {"1 1", errs.Corrupt}, {strings.Repeat("[", 300), errs.Invalid}, {`["` + strings.Repeat("x", 2<<20) + `"]`, errs.Invalid},
	} {
		for deep := range 3 {
			s := NewStream(strings.NewReader(c.in), 1<<20)
			_, err := rebuilt(s, deep)
			if err == nil {
				err = s.End()
			}
			if !errs.Is(err, c.kind) && !(c.kind == errs.Invalid && errs.Is(err, errs.Corrupt)) {
				t.Errorf("%.40s to a depth of %d: %v, want %v", c.in, deep, err, c.kind)
			}
		}
	}
	s := NewStream(iotest.ErrReader(io.ErrClosedPipe), 1<<20)
	if _, err := s.Value(); err != io.ErrClosedPipe {
		t.Errorf("a broken source: %v", err)
	}
}

// FuzzStream compares a Stream with encoding/json.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"a": [1, {"b": "\u00e9"}], "c": null}`))
	f.Add([]byte(`[[], {}, "", 1e5]`))
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, read := range []func(s *Stream) error{
			func(s *Stream) error { return s.Skip() },
			func(s *Stream) error { _, err := s.Value(); return err },
		} {
			s := NewStream(iotest.HalfReader(strings.NewReader(string(p))), 1<<20)
			err := read(s)
			if err == nil {
				err = s.End()
			}
			plain := strings.TrimPrefix(string(p), "\xef\xbb\xbf")
			if err == nil != json.Valid([]byte(plain)) && !errs.Is(err, errs.Invalid) {
				t.Fatalf("%q: %v", p, err)
			}
		}
	})
}
