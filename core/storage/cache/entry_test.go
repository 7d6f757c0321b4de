package cache

import (
	"bytes"
	"testing"

	"deeplake/core/errs"
)

// FuzzDecode: every accepted entry encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	n := nameOf("mem://x", "key", 3, PageBytes)
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
		if _, err := decode(nameOf("mem://x", "key", 4, PageBytes), file); err == nil {
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
		n := nameOf(c.uri, c.key, c.number, PageBytes)
		if other, ok := seen[n]; ok {
			t.Errorf("%v has the name of %s", c, other)
		}
		seen[n] = c.uri + "|" + c.key
	}
}

// FuzzDecodeSegment: a page passes only unchanged and in its own place.
func FuzzDecodeSegment(f *testing.F) {
	n := nameOf("mem://x", "key", 3, SegmentBytes)
	data := make([]byte, SegmentBytes)
	for i := range data {
		data[i] = byte(i >> 18)
	}
	for _, size := range []int64{SegmentBytes, 1 << 40, -1} {
		t := sealSegment(n, data, size)
		f.Add(3, []byte{}, t[:])
	}
	f.Add(0, []byte("x"), make([]byte, segmentTrailer))
	f.Add(0, []byte{}, []byte(segmentMagic))
	f.Fuzz(func(t *testing.T, slot int, change, trailer []byte) {
		slot &= segmentPages - 1
		whole := bytes.Clone(data)
		got := whole[slot*PageBytes:][:PageBytes]
		copy(got, change)
		p, err := decodeSegment(n, slot, got, trailer)
		if err != nil {
			if !errs.Is(err, errs.Corrupt) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		if want := sealSegment(n, data, p.size); bytes.Equal(want[:], trailer) && !bytes.Equal(p.data, data[slot*PageBytes:][:PageBytes]) {
			t.Fatal("other bytes pass")
		}
		if _, err := decodeSegment(nameOf("mem://x", "key", 4, SegmentBytes), slot, got, trailer); err == nil {
			t.Fatal("the page passes under another name")
		}
	})
}
