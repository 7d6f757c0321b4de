package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Constants of the portable Roaring serialization.
const (
	roaringPlain     = 12346 // cookie: no run containers
	roaringRuns      = 12347 // low half of the cookie: some are runs
	roaringOffsets   = 4     // with runs, offsets are stored from this number of containers on
	roaringArrayMax  = 4096  // a container of more values is 8 KiB of bits
	roaringBitsBytes = 8192
)

// EncodeBitmap makes a bitmap page, frame included. It neither changes nor keeps b. A position of
// MaxRows or more is errs.Invalid.
func EncodeBitmap(b *roaring64.Bitmap) ([]byte, error) {
	payload, err := encodeBitmap(b)
	if err != nil {
		return nil, refused("bitmap page", err)
	}
	return EncodeFrame(KindBitmap, payload)
}

// DecodeBitmap is the inverse of EncodeBitmap. The bitmap is the caller's and shares nothing with
// data. It checks the serialization itself, because the library trusts counts and order; memory
// stays in proportion to the payload.
func DecodeBitmap(data []byte) (*roaring64.Bitmap, error) {
	payload, err := DecodeFrame(KindBitmap, data)
	if err != nil {
		return nil, err
	}
	b, err := decodeBitmap(payload)
	return b, damaged("bitmap page", err)
}

func encodeBitmap(b *roaring64.Bitmap) ([]byte, error) {
	if !b.IsEmpty() && b.Maximum() >= MaxRows {
		return nil, fmt.Errorf("row is %d, want less than %d", b.Maximum(), int64(MaxRows))
	}
	packed := b.Clone()
	packed.RunOptimize()
	return packed.ToBytes()
}

func decodeBitmap(payload []byte) (*roaring64.Bitmap, error) {
	if err := checkBitmap(payload); err != nil {
		return nil, err
	}
	b := roaring64.New()
	if n, err := b.ReadFrom(bytes.NewReader(payload)); err != nil || n != int64(len(payload)) {
		return nil, fmt.Errorf("roaring bitmap: %d of %d bytes read: %w", n, len(payload), errors.Join(err))
	}
	return b, nil
}

func (r *reader) u16(what string) int64 {
	if b := r.bytes(2, what); b != nil {
		return int64(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (r *reader) u32(what string) int64 {
	if b := r.bytes(4, what); b != nil {
		return int64(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (r *reader) u64(what string) uint64 {
	if b := r.bytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// checkBitmap walks the whole serialization.
func checkBitmap(payload []byte) error {
	r := reader{b: payload}
	n := r.u64("number of 32-bit bitmaps")
	if n > uint64(len(r.b)) {
		r.fail("%d 32-bit bitmaps in %d bytes", n, len(r.b))
	}
	last := int64(-1)
	for i := uint64(0); i < n && r.err == nil; i++ {
		key := r.u32("high half")
		if key <= last || key >= MaxRows>>32 {
			r.fail("high half %d behind %d, want rising ones below %d", key, last, int64(MaxRows>>32))
		}
		last = key
		r.roaring32()
	}
	return r.end()
}

// roaring32 takes one 32-bit bitmap.
func (r *reader) roaring32() {
	start := len(r.b)
	cookie := r.u32("cookie")
	var n int64
	var runs []byte
	switch {
	case cookie == roaringPlain:
		n = r.u32("containers")
	case cookie&0xffff == roaringRuns:
		n = cookie>>16 + 1
		runs = r.bytes((n+7)/8, "run flags")
	default:
		r.fail("cookie is %d", cookie)
	}
	if n < 1 || n > 1<<16 {
		r.fail("%d containers, want 1 to 65536", n)
	}
	heads := reader{b: r.bytes(4*n, "container heads")}
	var offsets reader
	hasOffsets := runs == nil || n >= roaringOffsets
	if hasOffsets {
		offsets.b = r.bytes(4*n, "container offsets")
	}
	last := int64(-1)
	for i := int64(0); i < n && r.err == nil; i++ {
		key, card := heads.u16("key"), heads.u16("cardinality")+1
		if key <= last {
			r.fail("container key %d behind %d", key, last)
		}
		last = key
		if at := int64(start - len(r.b)); r.err == nil && hasOffsets && offsets.u32("offset") != at {
			r.fail("offset of container %d is not %d", i, at)
		}
		r.container(card, runs != nil && runs[i/8]>>(i%8)&1 == 1)
	}
	if runs != nil && r.err == nil && n%8 != 0 && runs[n/8]>>(n%8) != 0 {
		r.fail("run flags beyond %d containers", n)
	}
}

// container takes the values of one container and holds them against its cardinality.
func (r *reader) container(card int64, isRuns bool) {
	switch last := int64(-1); {
	case isRuns:
		body := reader{b: r.bytes(4*r.u16("runs"), "runs")}
		for len(body.b) > 0 {
			start, more := body.u16("start"), body.u16("length")
			if start <= last || start+more > 0xffff {
				r.fail("run [%d, +%d] behind %d", start, more, last)
			}
			last = start + more
			card -= more + 1
		}
		if card != 0 {
			r.fail("runs miss their cardinality by %d", card)
		}
	case card <= roaringArrayMax:
		body := reader{b: r.bytes(2*card, "array")}
		for len(body.b) > 0 {
			v := body.u16("value")
			if v <= last {
				r.fail("value %d behind %d", v, last)
			}
			last = v
		}
	default:
		body := reader{b: r.bytes(roaringBitsBytes, "bits")}
		for len(body.b) > 0 {
			card -= int64(bits.OnesCount64(body.u64("bits")))
		}
		if card != 0 {
			r.fail("bits miss their cardinality by %d", card)
		}
	}
}
