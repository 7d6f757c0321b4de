//go:build !cgo || nolibdeflate

package png

// wholeInflater inflates nothing: this build has no libdeflate.
type wholeInflater struct{}

func (*wholeInflater) inflate(_, _ []byte) bool { return false }

func (*wholeInflater) close() {}
