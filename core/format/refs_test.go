package format

import (
	"strings"
	"testing"

	"deeplake/core/errs"
)

func TestRefNames(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"dev":         "dev",
		"a/b.c":       "a%2fb%2ec",
		"Dev":         "%44ev",
		"z\u00fcrich": "z%c3%bcrich",
		"v1.0":        "v1%2e0",
		"50% off":     "50%25%20off",
		"feature_x-2": "feature_x-2",
		"2026-01-31":  "2026-01-31",
		"facade":      "facade",
	} {
		if err := CheckRefName(name); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if got, want := HeadKey(name, 12), "refs/heads/"+key+".12"; got != want {
			t.Errorf("head of %q is %q, want %q", name, got, want)
		}
		if back, n, err := ParseHeadKey(HeadKey(name, 12)); back != name || n != 12 || err != nil {
			t.Errorf("%q comes back as %q.%d, %v", name, back, n, err)
		}
		for _, buried := range []bool{false, true} {
			k := TagKey(name)
			if buried {
				k = BuriedTagKey(name)
			}
			if back, got, err := ParseTagKey(k); back != name || got != buried || err != nil {
				t.Errorf("%q comes back as %q %t, %v", k, back, got, err)
			}
		}
		if !strings.HasPrefix(HeadKey(name, 3), HeadAfter(name)) || HeadKey(name, 0) <= HeadAfter(name) {
			t.Errorf("a listing behind %q does not begin with %q", HeadAfter(name), HeadKey(name, 0))
		}
	}
	for _, name := range []string{
		"", "12", "a@b", "-x", " x", "x ", "a\nb", "\xff", strings.Repeat("ab", 16), "2026-01-31T12:00:00Z",
		strings.Repeat("a", 201), strings.Repeat("A", 67),
	} {
		if err := CheckRefName(name); !errs.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, key := range []string{
		"refs/heads/main.0", "refs/heads/dev", "refs/heads/dev.01", "refs/heads/dev.-1", "refs/heads/D.0", "refs/heads/%2F.0", "refs/heads/%61.0",
		"refs/heads/%6.0", "refs/heads/.0", "refs/heads/12.0", "refs/tags/dev.0", "refs/heads/a/b.0", "refs/heads/dev.18446744073709551616",
	} {
		if name, n, err := ParseHeadKey(key); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%q is branch %q.%d, %v", key, name, n, err)
		}
	}
	for _, key := range []string{"refs/tags/", "refs/tags/a.b", "refs/tags/A", "refs/heads/a", "refs/tags/a.deleted.deleted"} {
		if name, _, err := ParseTagKey(key); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%q is tag %q, %v", key, name, err)
		}
	}
}

func TestRefObjects(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"deleted":false,`, `{"deleted":null,`, `{"deleted":true,"branch":"22222222222222222222222222222222",`,
		`{"branch":"00000000000000000000000000000000",`, `{"branch":null,`, `{`, `{"Branch":"22222222222222222222222222222222",`,
	} {
		if h, err := DecodeHead(sealJSON([]byte(body)), in("refs/tags/v1")); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s is %+v, %v", body, h, err)
		}
	}
	tag := Tag{Branch: id(1), Commit: id(2), Message: strings.Repeat("m", maxRefBytes)}
	if _, err := EncodeTag(tag, in("refs/tags/v1")); !errs.Is(err, errs.Invalid) {
		t.Errorf("long message: %v", err)
	}
	tag.Message = "\xff"
	if _, err := EncodeTag(tag, in("refs/tags/v1")); !errs.Is(err, errs.Invalid) {
		t.Errorf("message that is not UTF-8: %v", err)
	}
	tag.Message, tag.Commit = "", UUID{}
	if _, err := EncodeTag(tag, in("refs/tags/v1")); !errs.Is(err, errs.Invalid) {
		t.Errorf("no commit: %v", err)
	}
}

// resealed is data with the right checksum, if it has a place for one.
func resealed(data []byte) []byte {
	at := strings.LastIndex(string(data), crcMember)
	if at < 0 {
		return data
	}
	return sealJSON(data[:at:at])
}

// bindings are those of the golden files.
var bindings = []Binding{in("refs/tags/v1"), in("refs/heads/try.0"), in(ExpiryKey(Expiry{id(0x22), 40})), in(ViewKey("cats", 3))}

func FuzzDecodeHead(f *testing.F) {
	seed(f, false, "head*")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, b := range bindings {
			decode := func(data []byte) (Head, error) { return DecodeHead(data, b) }
			encode := func(h Head) ([]byte, error) { return EncodeHead(h, b), nil }
			stable(t, data, decode, encode)
			stable(t, resealed(data), decode, encode)
		}
	})
}

func FuzzDecodeTag(f *testing.F) {
	seed(f, false, "tag*")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, b := range bindings {
			decode := func(data []byte) (Tag, error) { return DecodeTag(data, b) }
			encode := func(v Tag) ([]byte, error) { return EncodeTag(v, b) }
			stable(t, data, decode, encode)
			stable(t, resealed(data), decode, encode)
		}
	})
}

func FuzzRefKeys(f *testing.F) {
	for _, key := range []string{"refs/heads/dev.0", "refs/heads/a%2fb.17", "refs/tags/v1%2e0", "refs/tags/v1.deleted"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if name, n, err := ParseHeadKey(key); err == nil && HeadKey(name, n) != key {
			t.Fatalf("head %q.%d comes back as %q", name, n, HeadKey(name, n))
		}
		if name, buried, err := ParseTagKey(key); err == nil {
			if back := map[bool]string{false: TagKey(name), true: BuriedTagKey(name)}[buried]; back != key {
				t.Fatalf("tag %q comes back as %q", name, back)
			}
		}
	})
}
