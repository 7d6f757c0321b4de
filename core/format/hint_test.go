package format

import (
	"math"
	"testing"

	"deeplake/core/errs"
)

func TestHint(t *testing.T) {
	t.Parallel()
	for _, version := range []uint64{0, 1, 64, math.MaxUint64} {
		if got, err := DecodeHint(EncodeHint(version)); got != version || err != nil {
			t.Errorf("%d comes back as %d, %v", version, got, err)
		}
	}
	for _, body := range []string{
		`{`, `{"version":null,`, `{"version":-1,`, `{"version":1.5,`, `{"version":18446744073709551616,`, `{"version":"1",`, `{"version":1,"x":2,`, `{"Version":1,`,
	} {
		if n, err := DecodeHint(sealJSON([]byte(body))); !errs.Is(err, errs.Corrupt) {
			t.Errorf("%s is %d, %v", body, n, err)
		}
	}
	if n, err := DecodeHint([]byte(`{"version":1}`)); !errs.Is(err, errs.Corrupt) {
		t.Errorf("without a checksum: %d, %v", n, err)
	}
}

func FuzzDecodeHint(f *testing.F) {
	seed(f, false, "hint")
	f.Fuzz(func(t *testing.T, data []byte) {
		encode := func(n uint64) ([]byte, error) { return EncodeHint(n), nil }
		stable(t, data, DecodeHint, encode)
		stable(t, resealed(data), DecodeHint, encode)
	})
}
