package format

import (
	"crypto/rand"
	"encoding/hex"

	"deeplake/core/errs"
)

// NewUUID returns 16 random bytes.
func NewUUID() UUID {
	var u UUID
	rand.Read(u[:]) // crypto/rand.Read does not fail: it ends the process instead
	return u
}

// ParseUUID reads 32 lower-case hexadecimal digits; anything else is errs.Invalid.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != 2*len(u) {
		return UUID{}, errs.New(errs.Invalid, "uuid %q has %d characters, want 32 lower-case hexadecimal digits", clip(s), len(s))
	}
	for i := range len(s) {
		v, ok := hexDigit(s[i])
		if !ok {
			return UUID{}, errs.New(errs.Invalid, "uuid %q: character %d is not a lower-case hexadecimal digit", s, i)
		}
		u[i/2] = u[i/2]<<4 | v
	}
	return u, nil
}

// String is the 32 digits that ParseUUID reads.
func (u UUID) String() string { return hex.EncodeToString(u[:]) }

// IsZero reports whether u is the zero value, which names nothing.
func (u UUID) IsZero() bool { return u == UUID{} }

// MarshalText makes a UUID a string, or the name of a member, in JSON.
func (u UUID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, u[:]), nil }

// UnmarshalText is ParseUUID. On error u keeps its value.
func (u *UUID) UnmarshalText(text []byte) error {
	v, err := ParseUUID(string(text))
	if err == nil {
		*u = v
	}
	return err
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// clip keeps hostile text out of error messages beyond a readable length.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
