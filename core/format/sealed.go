package format

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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

const leasePrefix = "leases/"

// LeasePrefix is the prefix of the leases of distributed writes.
func LeasePrefix() string { return leasePrefix }

// LeaseKeys are the two objects of a lease: the first is written once, the second again and again.
// The store dates both.
func LeaseKeys(write UUID) (begun, renewed string) {
	return leasePrefix + write.String() + ".begun", leasePrefix + write.String() + ".renewed"
}

// ParseLeaseKey is the inverse of LeaseKeys. Any other key is errs.Corrupt, since only a listing
// yields keys.
func ParseLeaseKey(key string) (write UUID, renewed bool, err error) {
	id, kind, _ := strings.Cut(strings.TrimPrefix(key, leasePrefix), ".")
	if write, err = ParseUUID(id); err == nil {
		begun, again := LeaseKeys(write)
		if renewed = kind == "renewed"; key == begun || key == again {
			return write, renewed, nil
		}
	}
	return UUID{}, false, errs.New(errs.Corrupt, "key %q is not that of a lease", clip(key))
}

// MaxLease is the longest time that a lease may have between renewals.
const MaxLease = 30 * 24 * time.Hour

// EncodeLease makes the second object of a lease, which ends unless it is renewed within a time.
// That is rounded up to seconds.
func EncodeLease(b Binding, within time.Duration) ([]byte, error) {
	body, err := leaseBody(b, within)
	if err != nil {
		return nil, refused("lease", err)
	}
	return sealJSON(body), nil
}

// DecodeLease is the strict inverse of EncodeLease.
func DecodeLease(data []byte, b Binding) (within time.Duration, err error) {
	m, err := openSealed("lease", data)
	if err == nil {
		within, err = takeLease(m, b)
	}
	return within, damaged("lease", err)
}

// EncodeLeaseBegun makes the first object of a lease, which names the commit that the write began
// on. nil: as writers made it that name none.
func EncodeLeaseBegun(b Binding, within time.Duration, base *BranchPoint) ([]byte, error) {
	body, err := leaseBody(b, within)
	if err == nil && base != nil {
		body = fmt.Appendf(body, `"branch":"%s","version":%d,`, base.Branch, base.Version)
		err = checkLeaseBase(base)
	}
	if err != nil {
		return nil, refused("lease", err)
	}
	return sealJSON(body), nil
}

// DecodeLeaseBegun is the strict inverse of EncodeLeaseBegun.
func DecodeLeaseBegun(data []byte, b Binding) (within time.Duration, base *BranchPoint, err error) {
	m, err := openSealed("lease", data)
	if err != nil {
		return 0, nil, damaged("lease", err)
	}
	if m.left["branch"] != nil || m.left["version"] != nil {
		base = &BranchPoint{}
		m.value("branch", &base.Branch)
		m.value("version", &base.Version)
	}
	within, err = takeLease(m, b)
	if err == nil && base != nil {
		err = checkLeaseBase(base)
	}
	if err != nil {
		return 0, nil, damaged("lease", err)
	}
	return within, base, nil
}

func checkLeaseBase(base *BranchPoint) error {
	if base.Branch.IsZero() {
		return errors.New("a uuid is zero")
	}
	return nil
}

// leaseBody is the JSON of a lease up to the comma before what follows.
func leaseBody(b Binding, within time.Duration) ([]byte, error) {
	if within < time.Second || within > MaxLease {
		return nil, fmt.Errorf("it is renewed within %s, want a second to %s", within, MaxLease)
	}
	return fmt.Appendf(b.members(), `"seconds":%d,`, int64((within+time.Second-1)/time.Second)), nil
}

// takeLease takes the members of leaseBody, and no others may be left.
func takeLease(m *members, b Binding) (within time.Duration, err error) {
	b.check(m)
	within = time.Duration(m.count("seconds", int64(MaxLease/time.Second))) * time.Second
	if err = m.end(); err == nil && within == 0 {
		err = errors.New("it lasts no time")
	}
	return within, err
}

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
