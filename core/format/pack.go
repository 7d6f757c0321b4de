//go:build !js

package format

import "deeplake/core/codec/zstd"

// zstdEncoder holds no data between calls and serves parallel callers.
var zstdEncoder = zstd.NewEncoder(zstd.Dense)

// pack compresses raw if that saves at least one eighth; else it returns raw itself.
func pack(raw []byte) (byte, []byte) {
	if len(raw) < 64 {
		return packNone, raw
	}
	if out, err := zstdEncoder.Encode(nil, raw); err == nil && len(out) <= len(raw)-(len(raw)+7)/8 {
		return packZstd, out
	}
	return packNone, raw
}

// packWhile is pack of parts of so many bytes. It ends with the error of look, which it calls
// before each.
func packWhile(raw []byte, part int, look func() error) (byte, []byte, error) {
	if len(raw) <= part {
		codec, stored := pack(raw)
		return codec, stored, look()
	}
	var out []byte
	for from := 0; from < len(raw); from += part {
		err := look()
		if err == nil {
			out, err = zstdEncoder.Encode(out, raw[from:min(from+part, len(raw))])
		}
		if err != nil {
			return 0, nil, err
		}
	}
	if len(out) <= len(raw)-(len(raw)+7)/8 {
		return packZstd, out, nil
	}
	return packNone, raw, nil
}

// packParts is pack for a payload whose parts, which begin at cuts, are unlike each other: a frame
// each, where that is smaller, since zstd has one code for all literals of a block.
func packParts(raw []byte, cuts []int) (byte, []byte) {
	codec, whole := pack(raw)
	if codec == packNone && len(raw) < 64 {
		return codec, whole
	}
	var out []byte
	from := 0
	for _, to := range append(cuts, len(raw)) {
		if to > from {
			var err error
			if out, err = zstdEncoder.Encode(out, raw[from:to]); err != nil {
				return codec, whole
			}
		}
		from = to
	}
	if len(out) < len(whole) && len(out) <= len(raw)-(len(raw)+7)/8 {
		return packZstd, out
	}
	return codec, whole
}
