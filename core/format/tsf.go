package format

import (
	"fmt"
	"slices"

	"deeplake/core/errs"
)

// maxTSFBytes caps tsf.json.
const maxTSFBytes = 64 << 10

// TSF is the content of tsf.json.
type TSF struct {
	UUID     UUID
	Main     UUID // the branch that the name main means
	Features []string
	// Deleting: a deletion of the dataset has begun. Nothing of it may be read or written.
	Deleting bool
	// Replaces are the datasets that this one overwrote. Objects of them may still lie here, and
	// are not part of this one.
	Replaces []UUID
}

// deleting is the feature of a dataset that is being deleted: a reader that does not know it
// refuses the dataset.
const deleting = "deleting"

// MaxReplaced bounds TSF.Replaces.
const MaxReplaced = 256

// crcMember separates the bytes that the checksum covers from its eight digits.
const crcMember = `"crc":"`

// EncodeTSF renders tsf.json. The object carries a checksum in its last member, since it has no
// frame and a wrong branch uuid would make the dataset look empty.
func EncodeTSF(t TSF) ([]byte, error) {
	if len(t.Features) > 0 {
		return nil, errs.New(errs.Unsupported, "encode tsf.json: feature %q is not known", t.Features[0])
	}
	if err := t.check(); err != nil {
		return nil, refused("tsf.json", err)
	}
	out := fmt.Appendf(nil, `{"format":%d,"uuid":"%s","main":"%s",`, Version, t.UUID, t.Main)
	for i, old := range t.Replaces {
		out = fmt.Appendf(out, `%s"%s"`, [2]string{`"replaces":[`, ","}[min(i, 1)], old)
	}
	if len(t.Replaces) > 0 {
		out = append(out, "],"...)
	}
	features := ""
	if t.Deleting {
		features = `"` + deleting + `"`
	}
	return sealJSON(fmt.Appendf(out, `"features":[%s],`, features)), nil
}

// DecodeTSF is the strict inverse: another version or a feature is errs.Unsupported, anything else
// that EncodeTSF would not write is errs.Corrupt.
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
	m, used, err := versioned("tsf.json", data, deleting)
	if err != nil {
		return TSF{}, err
	}
	t := TSF{Deleting: len(used) > 0}
	var crc string
	m.value("uuid", &t.UUID)
	m.value("main", &t.Main)
	m.value("crc", &crc)
	if _, ok := m.left["replaces"]; ok {
		if t.Replaces, err = elements[UUID](m.take("replaces")); err != nil || len(t.Replaces) == 0 {
			return TSF{}, fmt.Errorf("member \"replaces\": want an array of uuids, not empty")
		}
	}
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
	if len(t.Replaces) > MaxReplaced {
		return fmt.Errorf("it replaces %d datasets, want at most %d", len(t.Replaces), MaxReplaced)
	}
	for i, old := range t.Replaces {
		if old.IsZero() || old == t.UUID || slices.Contains(t.Replaces[:i], old) {
			return fmt.Errorf("it replaces %s, which is zero, itself, or twice", old)
		}
	}
	return nil
}
