package png

import (
	"encoding/binary"
	"math/bits"
)

// Row filters.
const (
	filterNone  = 0
	filterSub   = 1
	filterUp    = 2
	filterMean  = 3
	filterPaeth = 4
)

// unfilterRowsGo is unfilterRows in Go, for builds without C and to test the others.
func unfilterRowsGo(rows, above []byte, pixel int) int {
	size := len(above)
	n := len(rows) / (size + 1)
	for i := range n {
		row := rows[i*(size+1):][:size+1]
		if !unfilter(row[0], row[1:], above, pixel) {
			return i
		}
		above = row[1:]
	}
	return n
}

// unfilter undoes the filter of row in place, given the unfiltered row above it (zeros above the
// first) and the size of a pixel, at least 1. It reports whether the filter exists.
func unfilter(filter byte, row, above []byte, pixel int) bool {
	above = above[:len(row)]
	switch filter {
	case filterNone:
	case filterSub:
		for i := pixel; i < len(row); i++ {
			row[i] += row[i-pixel]
		}
	case filterUp:
		addUp(row, above)
	case filterMean:
		for i := range min(pixel, len(row)) {
			row[i] += above[i] / 2
		}
		for i := pixel; i < len(row); i++ {
			row[i] += byte((int(row[i-pixel]) + int(above[i])) / 2)
		}
	case filterPaeth:
		unfilterPaeth(row, above, pixel)
	default:
		return false
	}
	return true
}

// addUp adds eight bytes at a time: the low seven bits of each without carry into the next, then
// the top bits.
func addUp(row, above []byte) {
	const low = 0x7f7f7f7f7f7f7f7f
	for ; len(row) >= 8 && len(above) >= 8; row, above = row[8:], above[8:] {
		a, b := binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(above)
		binary.LittleEndian.PutUint64(row, (a&low+b&low)^((a^b)&^low))
	}
	for i := range row {
		row[i] += above[i]
	}
}

// unfilterPaeth goes channel by channel, so that the neighbours stay in registers.
func unfilterPaeth(row, above []byte, pixel int) {
	for c := range pixel {
		left, corner := 0, 0
		for i := c; i < len(row); i += pixel {
			up := int(above[i])
			left = int(row[i] + byte(paeth(left, up, corner)))
			row[i] = byte(left)
			corner = up
		}
	}
}

// paeth is the neighbour closest to left + up - corner; ties go to left, then up.
func paeth(left, up, corner int) int {
	dl, du := abs(up-corner), abs(left-corner)
	dc := abs(left + up - 2*corner)
	if dl <= du && dl <= dc {
		return left
	}
	if du <= dc {
		return up
	}
	return corner
}

func abs(x int) int {
	sign := x >> (bits.UintSize - 1)
	return (x ^ sign) - sign
}

// applyFilter writes the filtered row to out, given the row above it.
func applyFilter(filter byte, out, row, above []byte, pixel int) {
	above, out = above[:len(row)], out[:len(row)]
	head := min(pixel, len(row)) // bytes without a left neighbour
	switch filter {
	case filterNone:
		copy(out, row)
	case filterSub:
		copy(out[:head], row)
		for i := pixel; i < len(row); i++ {
			out[i] = row[i] - row[i-pixel]
		}
	case filterUp:
		for i, v := range row {
			out[i] = v - above[i]
		}
	case filterMean:
		for i := range head {
			out[i] = row[i] - above[i]/2
		}
		for i := pixel; i < len(row); i++ {
			out[i] = row[i] - byte((int(row[i-pixel])+int(above[i]))/2)
		}
	case filterPaeth:
		for i := range head {
			out[i] = row[i] - above[i]
		}
		for i := pixel; i < len(row); i++ {
			out[i] = row[i] - byte(paeth(int(row[i-pixel]), int(above[i]), int(above[i-pixel])))
		}
	}
}

// magnitude is the sum of the bytes as distances from 0, a guess at how badly they compress.
func magnitude(b []byte) int {
	sum := 0
	for _, v := range b {
		sum += abs(int(int8(v)))
	}
	return sum
}
