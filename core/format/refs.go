package format

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"deeplake/core/errs"
)

// Main is the branch that every dataset has. It has no object under refs/heads/: tsf.json names it.
const Main = "main"

const (
	refsPrefix  = "refs/"
	headsPrefix = "refs/heads/"
	tagsPrefix  = "refs/tags/"
	buried      = ".deleted"
)

// maxRefKeyBytes bounds a name as it stands in a key: a file name of a local disk has at most 255
// bytes.
const maxRefKeyBytes = 200

// maxRefBytes caps a head or tag object.
const maxRefBytes = 64 << 10

// HeadsPrefix is the prefix of all objects that name branches.
func HeadsPrefix() string { return headsPrefix }

// TagsPrefix is the prefix of all tags.
func TagsPrefix() string { return tagsPrefix }

// HeadKey is where the n-th saying about a branch of that name lies. The name is one that
// CheckRefName passes.
func HeadKey(name string, n uint64) string {
	return headsPrefix + escapeRef(name) + "." + strconv.FormatUint(n, 10)
}

// HeadAfter is a key behind which a listing of HeadsPrefix begins with the objects of that name.
func HeadAfter(name string) string { return headsPrefix + escapeRef(name) + "." }

// ParseHeadKey is the inverse of HeadKey. Any other key is errs.Corrupt, since only a listing
// yields keys.
func ParseHeadKey(key string) (name string, n uint64, err error) {
	escaped, digits, _ := strings.Cut(strings.TrimPrefix(key, headsPrefix), ".")
	if name, err = unescapeRef(escaped); err == nil {
		n, err = strconv.ParseUint(digits, 10, 64)
	}
	if err != nil || name == Main || HeadKey(name, n) != key {
		return "", 0, errs.New(errs.Corrupt, "key %q is not that of a branch", clip(key))
	}
	return name, n, nil
}

// TagKey is where the tag of that name lies.
func TagKey(name string) string { return tagsPrefix + escapeRef(name) }

// BuriedTagKey is the object whose existence says that the tag of that name is deleted; see
// EncodeBuried.
func BuriedTagKey(name string) string { return TagKey(name) + buried }

// ParseTagKey is the inverse of TagKey and BuriedTagKey. Any other key is errs.Corrupt.
func ParseTagKey(key string) (name string, isBuried bool, err error) {
	escaped, isBuried := strings.CutSuffix(strings.TrimPrefix(key, tagsPrefix), buried)
	name, err = unescapeRef(escaped)
	if err != nil || !strings.HasPrefix(key, tagsPrefix) {
		return "", false, errs.New(errs.Corrupt, "key %q is not that of a tag", clip(key))
	}
	return name, isBuried, nil
}

// CheckRefName refuses names that a branch or a tag cannot have: "@" leads a version, and what
// reads as a version number, a time or a whole commit would hide behind that.
func CheckRefName(name string) error {
	switch {
	case name == "" || !utf8.ValidString(name):
		return errs.New(errs.Invalid, "name %q is empty or not UTF-8", clip(name))
	case strings.Contains(name, "@"):
		return errs.New(errs.Invalid, "name %q has \"@\", which leads a version; take another sign", clip(name))
	case strings.HasPrefix(name, "-"):
		return errs.New(errs.Invalid, "name %q begins with \"-\", like an option; put a letter first", clip(name))
	case strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl):
		return errs.New(errs.Invalid, "name %q has control characters, or blanks at its ends", clip(name))
	case strings.Trim(name, "0123456789") == "":
		return errs.New(errs.Invalid, "name %q would mean a version number; put a letter first", clip(name))
	case len(escapeRef(name)) > maxRefKeyBytes:
		return errs.New(errs.Invalid, "name %q is %d bytes long as a key, want at most %d; take a shorter one", clip(name), len(escapeRef(name)), maxRefKeyBytes)
	}
	if _, err := ParseUUID(name); err == nil {
		return errs.New(errs.Invalid, "name %q would mean a commit; take another", name)
	}
	if _, err := time.Parse(time.RFC3339Nano, name); err == nil {
		return errs.New(errs.Invalid, "name %q would mean a time; take another", name)
	}
	return nil
}

// plainRef reports whether a byte stands for itself. Capitals do not, since some file systems
// cannot tell them apart.
func plainRef(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

func escapeRef(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; plainRef(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// unescapeRef is the strict inverse of escapeRef for names that CheckRefName passes.
func unescapeRef(escaped string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] != '%' {
			b.WriteByte(escaped[i])
			continue
		}
		if i+2 >= len(escaped) {
			return "", errors.New("an escape is cut off")
		}
		hi, ok1 := hexDigit(escaped[i+1])
		lo, ok2 := hexDigit(escaped[i+2])
		if !ok1 || !ok2 {
			return "", errors.New("an escape is not hexadecimal")
		}
		b.WriteByte(hi<<4 | lo)
		i += 2
	}
	name := b.String()
	if escapeRef(name) != escaped {
		return "", errors.New("the name is not in its one form")
	}
	return name, CheckRefName(name)
}

// Head is the newest object of a branch's name. Branch is zero if the name is deleted.
type Head struct {
	Branch UUID
}

// EncodeHead makes the object. It cannot fail.
func EncodeHead(h Head, b Binding) []byte {
	if h.Branch.IsZero() {
		return sealJSON(append(b.members(), `"deleted":true,`...))
	}
	return sealJSON(fmt.Appendf(b.members(), `"branch":"%s",`, h.Branch))
}

// DecodeHead is the strict inverse of EncodeHead. An object that says that it is another one is
// errs.Corrupt.
func DecodeHead(data []byte, b Binding) (Head, error) {
	h, err := decodeHead(data, b)
	return h, damaged("branch", err)
}

func decodeHead(data []byte, b Binding) (Head, error) {
	m, err := openSealed("branch", data)
	if err != nil {
		return Head{}, err
	}
	b.check(m)
	var h Head
	if _, deleted := m.left["deleted"]; deleted {
		m.deleted()
		return h, m.end()
	}
	m.value("branch", &h.Branch)
	if err := m.end(); err != nil {
		return Head{}, err
	}
	if h.Branch.IsZero() {
		return Head{}, errors.New("branch: its uuid is zero")
	}
	return h, nil
}

// Tag is the content of a tag. Commit is the uuid of the record at Branch and Version.
type Tag struct {
	Branch  UUID
	Version uint64
	Commit  UUID
	Time    time.Time // stored in UTC with nanoseconds
	Author  string
	Message string
}

// EncodeTag makes the object. One that DecodeTag would not take is errs.Invalid.
func EncodeTag(t Tag, b Binding) ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, refused("tag", err)
	}
	author, err1 := marshal(t.Author)
	message, err2 := marshal(t.Message)
	if err := first(err1, err2); err != nil {
		return nil, refused("tag", err)
	}
	return sealJSON(fmt.Appendf(b.members(), `"branch":"%s","version":%d,"commit":"%s","time":"%s","author":%s,"message":%s,`,
		t.Branch, t.Version, t.Commit, t.Time.UTC().Format(timeLayout), author, message)), nil
}

// DecodeTag is the strict inverse of EncodeTag. An object that says that it is another one is
// errs.Corrupt.
func DecodeTag(data []byte, b Binding) (Tag, error) {
	t, err := decodeTag(data, b)
	return t, damaged("tag", err)
}

func decodeTag(data []byte, b Binding) (Tag, error) {
	m, err := openSealed("tag", data)
	if err != nil {
		return Tag{}, err
	}
	b.check(m)
	var t Tag
	m.value("branch", &t.Branch)
	m.value("version", &t.Version)
	m.value("commit", &t.Commit)
	t.Time = m.time("time")
	m.value("author", &t.Author)
	m.value("message", &t.Message)
	if err := m.end(); err != nil {
		return Tag{}, err
	}
	return t, t.check()
}

func (t Tag) check() error {
	if t.Branch.IsZero() || t.Commit.IsZero() {
		return errors.New("a uuid is zero")
	}
	if y := t.Time.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("time is in the year %d", y)
	}
	if len(t.Message) > maxRefBytes/8 || len(t.Author) > maxRefBytes/8 {
		return fmt.Errorf("message and author have %d and %d bytes, want at most %d", len(t.Message), len(t.Author), maxRefBytes/8)
	}
	return first(checkText("author", t.Author), checkText("message", t.Message))
}

// sealJSON ends a small object that has no frame: body is the JSON up to the comma before its last
// member, the checksum.
func sealJSON(body []byte) []byte {
	return fmt.Appendf(body, crcMember+`%08x"}`+"\n", CRC(body))
}

// openSealed takes an object apart that sealJSON ended, and checks all of it but its members.
func openSealed(of string, data []byte) (*members, error) {
	if len(data) > maxRefBytes {
		return nil, fmt.Errorf("%s has %d bytes, want at most %d", of, len(data), maxRefBytes)
	}
	if err := strictJSON(data); err != nil {
		return nil, err
	}
	m := open(of, data)
	var crc string
	m.value("crc", &crc)
	if m.err != nil {
		return nil, m.err
	}
	return m, checkSeal(of, data, crc)
}

// checkSeal holds the checksum of an object against its bytes.
func checkSeal(of string, data []byte, crc string) error {
	at := bytes.LastIndex(data, []byte(crcMember))
	body := data[:max(0, at)]
	if want := fmt.Sprintf("%08x", CRC(body)); at < 0 || crc != want {
		return fmt.Errorf("%s has checksum %q, want %q", of, clip(crc), want)
	}
	if rest := data[len(body):]; string(rest) != crcMember+crc+"\"}\n" {
		return fmt.Errorf("%s does not end with its checksum", of)
	}
	return nil
}

const hintPrefix = "hint/"

// HintKey is where a version of a branch is noted that is not far from its head.
func HintKey(branch UUID) string { return hintPrefix + branch.String() }

// EncodeHint makes the object. It cannot fail.
func EncodeHint(version uint64) []byte {
	return sealJSON(fmt.Appendf(nil, `{"version":%d,`, version))
}

// DecodeHint is the strict inverse of EncodeHint. Whether there is such a commit is another
// question.
func DecodeHint(data []byte) (version uint64, err error) {
	m, err := openSealed("hint", data)
	if err == nil {
		m.value("version", &version)
		err = m.end()
	}
	if err != nil {
		return 0, damaged("hint", err)
	}
	return version, nil
}

const expiryPrefix = "refs/expired/"

// Expiry says that the versions of a branch below one are expired: they can be opened no more,
// unless a tag stands for them, and what only they need may be removed. Their records stay.
type Expiry struct {
	Branch UUID
	Below  uint64 // at least 1
}

// ExpiryPrefix is the prefix of the expiries of all branches.
func ExpiryPrefix() string { return expiryPrefix }

// ExpiryPrefixOf is the prefix of the expiries of one branch; listed, the one that goes furthest
// comes first.
func ExpiryPrefixOf(branch UUID) string { return expiryPrefix + branch.String() + "/" }

// ExpiryKey is where an expiry lies.
func ExpiryKey(e Expiry) string {
	return fmt.Sprintf("%s%020d", ExpiryPrefixOf(e.Branch), math.MaxUint64-e.Below)
}

// ParseExpiryKey is the inverse of ExpiryKey. Any other key is errs.Corrupt, since only a listing
// yields keys.
func ParseExpiryKey(key string) (Expiry, error) {
	id, digits, _ := strings.Cut(strings.TrimPrefix(key, expiryPrefix), "/")
	branch, err := ParseUUID(id)
	var n uint64
	if err == nil {
		n, err = strconv.ParseUint(digits, 10, 64)
	}
	e := Expiry{branch, math.MaxUint64 - n}
	if err != nil || e.check() != nil || ExpiryKey(e) != key {
		return Expiry{}, errs.New(errs.Corrupt, "key %q is not that of an expiry", clip(key))
	}
	return e, nil
}

// EncodeExpiry makes the object. One that DecodeExpiry would not take is errs.Invalid.
func EncodeExpiry(e Expiry, b Binding) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, refused("expiry", err)
	}
	return sealJSON(fmt.Appendf(b.members(), `"branch":"%s","below":%d,`, e.Branch, e.Below)), nil
}

// DecodeExpiry is the strict inverse of EncodeExpiry. An object that says that it is another one is
// errs.Corrupt.
func DecodeExpiry(data []byte, b Binding) (Expiry, error) {
	var e Expiry
	m, err := openSealed("expiry", data)
	if err == nil {
		b.check(m)
		m.value("branch", &e.Branch)
		m.value("below", &e.Below)
		if err = m.end(); err == nil {
			err = e.check()
		}
	}
	if err != nil {
		return Expiry{}, damaged("expiry", err)
	}
	return e, nil
}

func (e Expiry) check() error {
	switch {
	case e.Branch.IsZero():
		return errors.New("the uuid of its branch is zero")
	case e.Below == 0:
		return errors.New("it expires nothing")
	}
	return nil
}
