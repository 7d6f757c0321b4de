package codec

import "bytes"

// Sniff recognises the sample codec of a file by its first bytes: JPEG (start of image and one more
// marker), PNG (the signature) and WebP (a RIFF list of that form). It says nothing about the rest
// of the file; that is Header's work. Safe for parallel use.
func Sniff(data []byte) (ID, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return JPEG, true
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return PNG, true
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return WebP, true
	}
	return None, false
}
