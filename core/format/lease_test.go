package format

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
)

// TestLeaseBegun holds the first object of a lease against its text: with the commit that the write
// began on, and without, as older writers made it.
func TestLeaseBegun(t *testing.T) {
	t.Parallel()
	begun, _ := LeaseKeys(id(0x57))
	text := func(base string) string {
		return fmt.Sprintf(`{"dataset":"%s","key":"%s","seconds":600,%s`, in(begun).Dataset, begun, base)
	}
	branch := fmt.Sprintf(`"branch":"%s",`, id(0x22))
	for name, c := range map[string]struct {
		body string
		base *BranchPoint
		want string // of the error
	}{
		"with a base":    {text(branch + `"version":5,`), &BranchPoint{id(0x22), 5}, ""},
		"first version":  {text(branch + `"version":0,`), &BranchPoint{id(0x22), 0}, ""},
		"without":        {text(""), nil, ""},
		"no version":     {text(branch), nil, `"version": is missing`},
		"no branch":      {text(`"version":5,`), nil, `"branch": is missing`},
		"null branch":    {text(`"branch":null,"version":5,`), nil, `"branch": is null`},
		"zero branch":    {text(fmt.Sprintf(`"branch":"%s","version":5,`, UUID{})), nil, "a uuid is zero"},
		"negative":       {text(branch + `"version":-1,`), nil, `member "version"`},
		"unknown member": {text(branch + `"version":5,"x":1,`), nil, `"x": is not known`},
		"no time":        {strings.Replace(text(branch+`"version":5,`), "600", "0", 1), nil, "it lasts no time"},
		"another key":    {strings.Replace(text(""), ".begun", ".renewed", 1), nil, "another object is in this one's place"},
	} {
		data := sealJSON([]byte(c.body))
		within, base, err := DecodeLeaseBegun(data, in(begun))
		if c.want != "" {
			if !says(err, errs.Corrupt, c.want) || within != 0 || base != nil {
				t.Errorf("%s: %v, %v, %v", name, within, base, err)
			}
			continue
		}
		if err != nil || within != leaseWithin || !reflect.DeepEqual(base, c.base) {
			t.Errorf("%s: %v, %v, %v", name, within, base, err)
		}
		if again, err := EncodeLeaseBegun(in(begun), leaseWithin, c.base); err != nil || string(again) != string(data) {
			t.Errorf("%s: encoded %s, %v, want %s", name, again, err, data)
		}
	}
	for _, within := range []time.Duration{0, MaxLease + 1} {
		if _, err := EncodeLeaseBegun(in(begun), within, nil); !says(err, errs.Invalid, "it is renewed within") {
			t.Errorf("within %s: %v", within, err)
		}
	}
	if _, err := EncodeLeaseBegun(in(begun), leaseWithin, &BranchPoint{}); !says(err, errs.Invalid, "a uuid is zero") {
		t.Errorf("a base without a branch: %v", err)
	}
}

// FuzzLeaseBegun takes the first object of a lease, and makes the checksum right.
func FuzzLeaseBegun(f *testing.F) {
	begun, _ := LeaseKeys(id(0x57))
	type lease struct {
		within time.Duration
		base   *BranchPoint
	}
	for _, base := range []*BranchPoint{nil, {id(0x22), 5}} {
		data, _ := EncodeLeaseBegun(in(begun), leaseWithin, base)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(data)} {
			decode := func(data []byte) (lease, error) {
				within, base, err := DecodeLeaseBegun(data, in(begun))
				return lease{within, base}, err
			}
			stable(t, data, decode, func(l lease) ([]byte, error) { return EncodeLeaseBegun(in(begun), l.within, l.base) })
			if _, err := decode(data); err != nil && !refusedRight(err) {
				t.Fatal(err)
			}
		}
	})
}
