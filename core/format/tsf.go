package format

import (
	"fmt"

	"deeplake/core/errs"
)

// maxTSFBytes caps tsf.json.
const maxTSFBytes = 64 << 10

// TSF is the content of tsf.json.
type TSF struct {
	Format   int // FirstVersion to Version
	UUID     UUID
	Main     UUID // the branch that the name main means
	Features []string
}

// crcMember is what stands between the bytes that the checksum covers and its eight digits.
const crcMember = `"crc":"`

// EncodeTSF renders tsf.json. Format 0 means Version. The object carries a checksum in its last member, since it has no
// frame and a wrong branch uuid would make the dataset look empty.
func EncodeTSF(t TSF) ([]byte, error) {
	if t.Format == 0 {
		t.Format = Version
	}
	if t.Format < FirstVersion || t.Format > Version {
		return nil, errs.New(errs.Invalid, "encode tsf.json: format is %d, want %d to %d", t.Format, FirstVersion, Version)
	}
	if len(t.Features) > 0 {
		return nil, errs.New(errs.Unsupported, "encode tsf.json: feature %q is not known", t.Features[0])
	}
	if err := t.check(); err != nil {
		return nil, refused("tsf.json", err)
	}
	out := fmt.Appendf(nil, `{"format":%d,"uuid":"%s","main":"%s","features":[],`, t.Format, t.UUID, t.Main)
	return sealJSON(out), nil
}

// DecodeTSF is the strict inverse: another version or a feature is errs.Unsupported, anything else that EncodeTSF would
// not write is errs.Corrupt.
func DecodeTSF(data []byte) (TSF, error) {
	t, err := decodeTSF(data)
	return t, damaged("tsf.json", err)
}

func decodeTSF(data []byte) (TSF, error) {
	if len(data) > maxTSFBytes {
		return TSF{}, fmt.Errorf("has %d bytes, want at most %d", len(data), maxTSFBytes)
	}
	if err := strictJSON(data); err != nil {
		return TSF{}, err
	}
	m, version, err := versioned("tsf.json", data)
	if err != nil {
		return TSF{}, err
	}
	t := TSF{Format: version}
	var crc string
	m.value("uuid", &t.UUID)
	m.value("main", &t.Main)
	m.value("crc", &crc)
	if err := m.end(); err != nil {
		return TSF{}, err
	}
	if err := checkSeal("tsf.json", data, crc); err != nil {
		return TSF{}, err
	}
	return t, t.check()
}

func (t TSF) check() error {
	if t.UUID.IsZero() || t.Main.IsZero() {
		return fmt.Errorf("a uuid is zero")
	}
	return nil
}
