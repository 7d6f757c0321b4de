package format

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"deeplake/core/errs"
)

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
