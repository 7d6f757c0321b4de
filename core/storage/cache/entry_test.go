package cache

import (
	"bytes"
	"testing"

	"deeplake/core/errs"
)

// FuzzDecode: what is taken for an entry is one, byte for byte.
func FuzzDecode(f *testing.F) {
	n := nameOf("mem://x", "key", 3)
	for _, p := range []page{{[]byte("data"), 4}, {[]byte("data"), 1 << 40}, {[]byte("data"), -1}, {nil, 0}, {make([]byte, PageBytes), PageBytes}} {
		t := seal(n, p)
		f.Add(append(bytes.Clone(p.data), t[:]...))
	}
	f.Add([]byte(magic))
	f.Add(make([]byte, trailerBytes))
	f.Add(make([]byte, maxEntry+1))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := decode(n, file)
		if err != nil {
			if !errs.Is(err, errs.Corrupt) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		trailer := seal(n, p)
		if again := append(bytes.Clone(p.data), trailer[:]...); !bytes.Equal(again, file) {
			t.Fatalf("%d bytes decode to what encodes to others", len(file))
		}
		if _, err := decode(nameOf("mem://x", "key", 4), file); err == nil {
			t.Fatal("the entry passes under another name")
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[name]string{}
	for _, c := range []struct {
		uri, key string
		number   int64
	}{{"a", "bc", 0}, {"ab", "c", 0}, {"a", "bc", 1}, {"a", "bd", 0}, {"", "abc", 0}, {"abc", "", 0}} {
		n := nameOf(c.uri, c.key, c.number)
		if other, ok := seen[n]; ok {
			t.Errorf("%v has the name of %s", c, other)
		}
		seen[n] = c.uri + "|" + c.key
	}
}
