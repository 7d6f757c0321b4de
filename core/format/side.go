package format

import "fmt"

// EncodeSide makes a side page, frame included, of raw directories in the order of their slots.
func EncodeSide(dirs [][]byte) ([]byte, error) {
	payload, err := encodeSide(dirs)
	if err != nil {
		return nil, refused("side page", err)
	}
	return EncodeFrame(KindSide, payload)
}

// DecodeSide is the strict inverse of EncodeSide. The directories may be parts of data;
// DecodeDirectory checks them.
func DecodeSide(data []byte) ([][]byte, error) {
	payload, err := DecodeFrame(KindSide, data)
	if err != nil {
		return nil, err
	}
	dirs, err := decodeSide(payload)
	return dirs, damaged("side page", err)
}

func encodeSide(dirs [][]byte) ([]byte, error) {
	if n := len(dirs); n < 1 || n > MaxSideSlots {
		return nil, fmt.Errorf("%d slots, want 1 to %d", n, MaxSideSlots)
	}
	out := appendUvarint(nil, int64(len(dirs)))
	total := 0
	for i, d := range dirs {
		if len(d) == 0 {
			return nil, fmt.Errorf("slot %d is empty", i)
		}
		out = appendUvarint(out, int64(len(d)))
		if total += len(d); total > MaxSideRaw {
			return nil, fmt.Errorf("directories have more than %d bytes", MaxSideRaw)
		}
	}
	for _, d := range dirs {
		out = append(out, d...)
	}
	return out, nil
}

func decodeSide(payload []byte) ([][]byte, error) {
	r := reader{b: payload}
	n := r.count(MaxSideSlots, 2, "slots")
	if r.err == nil && n == 0 {
		return nil, fmt.Errorf("no slots")
	}
	sizes := reader{b: r.b}
	for range n {
		r.uvarint(MaxSideRaw, "bytes of a directory")
	}
	dirs := make([][]byte, n)
	for i := range dirs {
		size := sizes.uvarint(MaxSideRaw, "bytes of a directory")
		if dirs[i] = r.bytes(size, "directory"); r.err == nil && size == 0 {
			r.fail("slot %d is empty", i)
		}
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return dirs, nil
}
