package arrow

import "math/big"

const (
	surelyExact = 15  // digits, at most, of integers that float64 always holds
	mostDigits  = 310 // of those that it may hold, with a sign; longer ones would take long
)

// IsExact reports whether float64 has all digits of a decimal integer.
func IsExact(integer string) bool {
	switch {
	case len(integer) <= surelyExact:
		return true
	case len(integer) > mostDigits:
		return false
	}
	n, ok := new(big.Int).SetString(integer, 10)
	if !ok || n.Sign() == 0 {
		return ok
	}
	return n.BitLen()-int(n.TrailingZeroBits()) <= 53 && n.BitLen() <= 1024
}
