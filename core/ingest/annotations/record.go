package annotations

import (
	"encoding/binary"
	"math"
)

// Records of objects lie in few large pieces of memory: about a third of the bytes of a document.

const (
	pieceBits = 20
	// pieceBytes is the size of a piece. A longer record has a piece of its own.
	pieceBytes = 1 << pieceBits
	// maxPieces bounds the pieces: a place has 32 bits.
	maxPieces = 1 << (32 - pieceBits)
)

// arena holds records that are never changed.
type arena struct{ pieces [][]byte }

// put copies a record and returns its place. ok is false if there is no room.
func (a *arena) put(record []byte) (at uint32, ok bool) {
	n := len(a.pieces) - 1
	if n < 0 || cap(a.pieces[n])-len(a.pieces[n]) < len(record) || len(a.pieces[n]) >= pieceBytes {
		if n+1 == maxPieces {
			return 0, false
		}
		a.pieces = append(a.pieces, make([]byte, 0, max(pieceBytes, len(record))))
		n++
	}
	from := len(a.pieces[n])
	a.pieces[n] = append(a.pieces[n], record...)
	return uint32(n)<<pieceBits | uint32(from), true
}

// from returns the bytes that begin at a place.
func (a *arena) from(at uint32) []byte { return a.pieces[at>>pieceBits][at%pieceBytes:] }

// writer builds a record.
type writer struct{ p []byte }

func (w *writer) int(v int64)      { w.p = binary.AppendVarint(w.p, v) }
func (w *writer) double(v float64) { w.p = binary.LittleEndian.AppendUint64(w.p, math.Float64bits(v)) }
func (w *writer) text(v string) {
	w.int(int64(len(v)))
	w.p = append(w.p, v...)
}

// mostDecimals bounds the decimals of numbers that are stored as integers.
const mostDecimals = 4

// numbers stores finite numbers. Files have decimal numbers of few digits: their differences to the
// number two before, which is the same coordinate, take a byte or two.
func (w *writer) numbers(v []float32) {
	w.int(int64(len(v)))
	if len(v) == 0 {
		return
	}
	scale := 1.0
	for d := range mostDecimals {
		if isDecimal(v, scale) {
			w.p = append(w.p, byte(d))
			var before [2]int64
			for i, x := range v {
				n := int64(math.Round(float64(x) * scale))
				w.int(n - before[i%2])
				before[i%2] = n
			}
			return
		}
		scale *= 10
	}
	w.p = append(w.p, mostDecimals)
	for _, x := range v {
		w.p = binary.LittleEndian.AppendUint32(w.p, math.Float32bits(x))
	}
}

// isDecimal reports whether numbers are integers divided by scale.
func isDecimal(v []float32, scale float64) bool {
	for _, x := range v {
		if n := math.Round(float64(x) * scale); math.Abs(n) > 1<<40 || float32(n/scale) != x || x == 0 && math.Signbit(float64(x)) {
			return false
		}
	}
	return true
}

// reader reads a record that a writer has built.
type reader struct{ p []byte }

func (r *reader) int() int64 {
	v, n := binary.Varint(r.p)
	r.p = r.p[n:]
	return v
}

func (r *reader) byte() byte {
	v := r.p[0]
	r.p = r.p[1:]
	return v
}

func (r *reader) double() float64 {
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.p))
	r.p = r.p[8:]
	return v
}

func (r *reader) text() string {
	n := r.int()
	v := string(r.p[:n])
	r.p = r.p[n:]
	return v
}

// numbers appends numbers.
func (r *reader) numbers(to []float32) []float32 {
	n := r.int()
	if n == 0 {
		return to
	}
	d := r.p[0]
	r.p = r.p[1:]
	if d == mostDecimals {
		for range n {
			to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(r.p)))
			r.p = r.p[4:]
		}
		return to
	}
	scale := math.Pow10(int(d))
	var before [2]int64
	for i := range n {
		before[i%2] += r.int()
		to = append(to, float32(float64(before[i%2])/scale))
	}
	return to
}
