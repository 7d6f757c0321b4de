//go:build cgo && !nolibjpeg

package codec_test

// jpegTolerance is 1: Pillow carries a libjpeg-turbo of another version.
func jpegTolerance(string) int { return 1 }
