package format

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"deeplake/core/errs"
)

// ContentName is the name of an object under map/ or txn/: the first 16 bytes of its SHA-256. Since
// an object carries a salt, none can stand in the place of another.
func ContentName(object []byte) UUID {
	sum := sha256.Sum256(object)
	return UUID(sum[:16])
}

// SideSalt is the salt of a side page whose first slot is the directory of this chunk. It is as
// unique as the chunk, and lets a side page that is lost be made again from its chunks, under its
// name.
func SideSalt(session UUID, ordinal int64) UUID {
	return ContentName(binary.LittleEndian.AppendUint64(append([]byte("side"), session[:]...), uint64(ordinal)))
}

// CheckObject compares an object that was read from map/ or txn/ with its name. Its decoder checks
// the content.
func CheckObject(name UUID, object []byte) error {
	if got := ContentName(object); got != name {
		return errs.New(errs.Corrupt, "object of %d bytes has content %s, which is not that of its name: it is damaged, or another one is in its place", len(object), got)
	}
	return nil
}

// Binding ties an object with a name to its place: it carries the uuid of its dataset and its own
// key.
type Binding struct {
	Dataset UUID
	Key     string
}

// members renders the binding as the first members of a JSON object, up to the comma behind them.
func (b Binding) members() []byte {
	// no key needs an escape
	return fmt.Appendf(nil, `{"dataset":"%s","key":"%s",`, b.Dataset, b.Key)
}

// check takes the members of the binding and holds them against b.
func (b Binding) check(m *members) {
	var got Binding
	m.value("dataset", &got.Dataset)
	m.value("key", &got.Key)
	m.bound(got, b)
}

// bound fails where an object says that it is another one.
func (m *members) bound(got, want Binding) {
	switch {
	case m.err != nil:
	case got.Dataset != want.Dataset:
		m.fail("dataset", fmt.Errorf("is %s, want %s as in tsf.json: one of the two is of another dataset", got.Dataset, want.Dataset))
	case got.Key != want.Key:
		m.fail("key", fmt.Errorf("is %q, want %q: another object is in this one's place", clip(got.Key), want.Key))
	}
}

// EncodeBuried makes the object whose existence says that a tag is deleted.
func EncodeBuried(b Binding) []byte {
	return sealJSON(append(b.members(), `"deleted":true,`...))
}

// DecodeBuried checks what EncodeBuried makes.
func DecodeBuried(data []byte, b Binding) error {
	return damaged("deletion of a tag", decodeBuried(data, b))
}

func decodeBuried(data []byte, b Binding) error {
	m, err := openSealed("deletion of a tag", data)
	if err != nil {
		return err
	}
	b.check(m)
	m.deleted()
	return m.end()
}

// deleted takes the member that says so.
func (m *members) deleted() {
	if v := string(m.take("deleted")); m.err == nil && v != "true" {
		m.fail("deleted", fmt.Errorf("is %s, want true", clip(v)))
	}
}

// Owner is the dataset that a named object or a commit record says it belongs to. An object that is
// damaged is errs.Corrupt.
func Owner(data []byte) (UUID, error) {
	if len(data) > 0 && data[0] == '{' {
		owner, err := sealedOwner(data)
		return owner, damaged("owner of an object", err)
	}
	if len(data) < FrameHeadBytes {
		return UUID{}, errs.New(errs.Corrupt, "decode owner of an object: it has %d bytes, too few for a frame", len(data))
	}
	_, h, err := decodeFrame(Kind(data[4]), data)
	return h.salt, err
}

func sealedOwner(data []byte) (owner UUID, err error) {
	m, err := openSealed("object", data)
	if err != nil {
		return owner, err
	}
	m.value("dataset", &owner)
	return owner, m.err
}
