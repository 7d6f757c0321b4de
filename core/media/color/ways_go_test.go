//go:build !cgo

package color

// ways are those besides the plain one.
func ways() map[string]way { return map[string]way{"plain": fast} }
