package parquet

import "encoding/binary"

// appendRuns appends numbers of width bits: long runs of equal ones, and groups of packed ones.
func appendRuns[T byte | int32](dst []byte, numbers []T, width int) []byte {
	least := 8 // of a run that takes fewer bytes than packed numbers
	if width < 4 {
		least = 48 / (width + 1)
	}
	for i := 0; i < len(numbers); {
		if n := runOf(numbers[i:]); n >= least || n == len(numbers)-i {
			dst = binary.AppendUvarint(dst, uint64(n)<<1)
			for b := 0; b < width; b += 8 {
				dst = append(dst, byte(uint32(numbers[i])>>b))
			}
			i += n
			continue
		}
		end := i + 8
		for end < len(numbers) && !isRun(numbers[end:], least) {
			end += 8
		}
		group := numbers[i:min(end, len(numbers))]
		dst = binary.AppendUvarint(dst, uint64((len(group)+7)/8)<<1|1)
		dst = appendBits(dst, group, width)
		i += len(group)
	}
	return dst
}

// runOf counts the equal numbers at the beginning.
func runOf[T byte | int32](numbers []T) int {
	for i, v := range numbers {
		if v != numbers[0] {
			return i
		}
	}
	return len(numbers)
}

// isRun reports whether the first n numbers are equal.
func isRun[T byte | int32](numbers []T, n int) bool {
	return len(numbers) >= n && runOf(numbers[:n]) == n
}

// appendBits appends packed numbers, in groups of eight; zeros fill the last one.
func appendBits[T byte | int32](dst []byte, numbers []T, width int) []byte {
	size := (len(numbers) + 7) / 8 * width
	at := len(dst)
	dst = append(dst, make([]byte, size)...)
	out := dst[at:]
	if width == 8 {
		for i, v := range numbers {
			out[i] = byte(v)
		}
		return dst
	}
	held, bits, to := uint64(0), 0, 0
	for _, v := range numbers {
		held |= uint64(uint32(v)) << bits
		if bits += width; bits >= 32 {
			binary.LittleEndian.PutUint32(out[to:], uint32(held))
			held, bits, to = held>>32, bits-32, to+4
		}
	}
	for ; bits > 0; bits -= 8 {
		out[to] = byte(held)
		held >>= 8
		to++
	}
	return dst
}
