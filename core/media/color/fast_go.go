//go:build !cgo

package color

import "deeplake/core/media"

// fast has no C in this build.
func fast(dst []byte, stride int, p *media.Picture, j *job) { plain(dst, stride, p, j) }
