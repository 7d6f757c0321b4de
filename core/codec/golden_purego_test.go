//go:build !cgo || nolibjpeg

package codec_test

// jpegTolerance allows for chroma samples that Go's image/jpeg repeats instead of smoothing them.
func jpegTolerance(name string) int {
	switch name {
	case "gray.jpg", "progressive-gray.jpg", "one.jpg", "444.jpg", "rgb.jpg", "cmyk.jpg", "ycck.jpg":
		return 2
	case "250.jpg":
		return 5
	}
	return 20
}
