//go:build !js

package format

import "deeplake/core/codec/zstd"

// The encoders hold no data between calls and serve parallel callers.
var (
	denseEncoder = zstd.NewEncoder(zstd.Dense)
	quickEncoder = zstd.NewEncoder(zstd.Quick)
)

// packSample is the size of the sample that decides the level. Smaller payloads than four samples
// are compressed densely.
const packSample = 16 << 10

// encoderFor returns the encoder that makes raw smaller. Sizes of texts have an entropy and no
// matches: to search for some takes fifteen times as long, and the frame is larger.
func encoderFor(raw []byte) *zstd.Encoder {
	if len(raw) < 4*packSample {
		return denseEncoder
	}
	some := raw[len(raw)/2:][:packSample]
	quick, err := quickEncoder.Encode(nil, some)
	dense, other := denseEncoder.Encode(nil, some)
	if err == nil && other == nil && len(quick) <= len(dense)+len(dense)/32 {
		return quickEncoder
	}
	return denseEncoder
}

// pack compresses raw if that saves at least one eighth; else it returns raw itself.
func pack(raw []byte) (byte, []byte) {
	if len(raw) < 64 {
		return packNone, raw
	}
	if out, err := encoderFor(raw).Encode(nil, raw); err == nil && len(out) <= len(raw)-(len(raw)+7)/8 {
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
	encoder := encoderFor(raw)
	for from := 0; from < len(raw); from += part {
		err := look()
		if err == nil {
			out, err = encoder.Encode(out, raw[from:min(from+part, len(raw))])
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
			if out, err = encoderFor(raw[from:to]).Encode(out, raw[from:to]); err != nil {
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
