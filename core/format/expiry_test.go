package format

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"deeplake/core/errs"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	last := ""
	for _, below := range []uint64{math.MaxUint64, 1000, 2, 1} { // the furthest is listed first
		e := Expiry{id(0x22), below}
		data, err := EncodeExpiry(e, in("refs/tags/v1"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeExpiry(data, in("refs/tags/v1")); got != e || err != nil {
			t.Errorf("%+v comes back as %+v, %v", e, got, err)
		}
		key := ExpiryKey(e)
		if got, err := ParseExpiryKey(key); got != e || err != nil {
			t.Errorf("%q is %+v, %v; want %+v", key, got, err, e)
		}
		if !strings.HasPrefix(key, ExpiryPrefixOf(e.Branch)) || key <= last {
			t.Errorf("%q comes after %q in a listing of %q", key, last, ExpiryPrefixOf(e.Branch))
		}
		last = key
	}
	for _, e := range []Expiry{{id(1), 0}, {UUID{}, 3}} {
		if _, err := EncodeExpiry(e, in("refs/tags/v1")); !errs.Is(err, errs.Invalid) {
			t.Errorf("encode %+v: %v", e, err)
		}
	}
	branch := id(0x22).String()
	for _, body := range []string{
		`{`, fmt.Sprintf(`{"branch":"%s",`, branch), `{"below":3,`, fmt.Sprintf(`{"branch":"%s","below":0,`, branch), fmt.Sprintf(`{"branch":"%s","below":null,`, branch),
		fmt.Sprintf(`{"branch":"%s","below":3,"x":1,`, branch), fmt.Sprintf(`{"branch":"%032x","below":3,`, 0), fmt.Sprintf(`{"branch":"%s","below":-3,`, branch),
	} {
		if e, err := DecodeExpiry(sealJSON([]byte(body)), in("refs/tags/v1")); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s is %+v, %v", body, e, err)
		}
	}
	for _, key := range []string{
		"refs/expired/" + branch, "refs/expired/" + branch + "/1", "refs/expired/" + branch + ".18446744073709551614", "refs/expired/" + branch + "/18446744073709551615", "refs/heads/" + branch + "/18446744073709551614",
		"refs/expired/" + branch + "/99999999999999999999", "refs/expired/" + strings.ToUpper("ab"+branch[2:]) + "/18446744073709551614", "refs/expired/" + branch + "/18446744073709551614x",
	} {
		if e, err := ParseExpiryKey(key); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%q is %+v, %v", key, e, err)
		}
	}
}

func FuzzDecodeExpiry(f *testing.F) {
	seed(f, false, "expiry*")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, b := range bindings {
			decode := func(data []byte) (Expiry, error) { return DecodeExpiry(data, b) }
			encode := func(e Expiry) ([]byte, error) { return EncodeExpiry(e, b) }
			stable(t, data, decode, encode)
			stable(t, resealed(data), decode, encode)
		}
	})
}
