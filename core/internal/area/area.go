// Package area owns the reduction of pictures by averages of areas. The sums are whole numbers, so
// that the result does not depend on the parts in which the pixels come.
package area

import "encoding/binary"

// Mean makes a picture smaller. Each pixel of the result is the average of the area that it covers,
// rounded half up; pixels at the edge of the area count by the part that it covers. Pixels come by
// Add, in any parts, but Done says from time to time that all rows above have come.
type Mean struct {
	rows, columns axis
	channels      int
	size          int // bytes of a number: 1 or 2
	dst           []byte
	first, done   int      // rows of the result: sums begin at first, and all before done are made
	sums          []uint64 // of rows from first on
	line          []uint64 // sums along one row of pixels
}

// axis divides the length of one axis: a pixel is part long, a pixel of the result whole.
type axis struct {
	n, out      int
	part, whole uint64
}

func newAxis(n, out int) axis {
	a, b := n, out
	for b > 0 {
		a, b = b, a%b
	}
	return axis{n: n, out: out, part: uint64(out / a), whole: uint64(n / a)}
}

// at returns the pixel of the result in which pixel i begins, and how much of i lies in it. The
// rest lies in the next one.
func (a *axis) at(i int) (out int, in uint64) {
	from := uint64(i) * a.part
	o := from / a.whole
	return int(o), min(a.part, (o+1)*a.whole-from)
}

// New makes a reduction from height x width pixels of channels numbers to outH x outW, which are at
// least 1 and at most as large. Numbers have size bytes: 1 (uint8) or 2 (uint16, little-endian).
// dst gets the result.
func New(height, width, outH, outW, channels, size int, dst []byte) *Mean {
	return &Mean{rows: newAxis(height, outH), columns: newAxis(width, outW), channels: channels, size: size, dst: dst,
		line: make([]uint64, (outW+1)*channels)}
}

// Add adds the pixels of a part, whose first row and column are y and x. Rows of pix begin every
// stride bytes.
func (m *Mean) Add(pix []byte, stride, y, x, height, width int) {
	from, _ := m.columns.at(x)
	to, _ := m.columns.at(x + width - 1)
	to = min(to+2, m.columns.out+1) // the last pixel may reach into the next one
	line := m.line[from*m.channels : to*m.channels]
	for r := range height {
		clear(line)
		row := pix[r*stride:][:width*m.channels*m.size]
		switch {
		case m.size == 2:
			m.across16(line, row, x, from)
		case m.columns.part == 1:
			m.across(line, row, x, from)
		default:
			m.acrossParts(line, row, x, from)
		}
		at, in := m.rows.at(y + r)
		m.down(at, in, line, from)
		if rest := m.rows.part - in; rest > 0 {
			m.down(at+1, rest, line, from)
		}
	}
}

// across adds up one row where each pixel lies within one pixel of the result.
func (m *Mean) across(line []uint64, row []byte, x, from int) {
	c, whole := m.channels, int(m.columns.whole)
	for len(row) > 0 {
		at := x / whole
		n := min(whole-x%whole, len(row)/c)
		to := line[(at-from)*c:][:c]
		part := row[:n*c]
		if c == 3 {
			var s [3]uint64
			for ; len(part) >= 3; part = part[3:] {
				s[0] += uint64(part[0])
				s[1] += uint64(part[1])
				s[2] += uint64(part[2])
			}
			to[0], to[1], to[2] = to[0]+s[0], to[1]+s[1], to[2]+s[2]
		} else {
			for i := 0; i < len(part); i += c {
				for k := range c {
					to[k] += uint64(part[i+k])
				}
			}
		}
		x, row = x+n, row[n*c:]
	}
}

func (m *Mean) acrossParts(line []uint64, row []byte, x, from int) {
	c := m.channels
	for i := 0; i < len(row); i += c {
		at, in := m.columns.at(x)
		to := line[(at-from)*c:]
		rest := m.columns.part - in
		for k := range c {
			v := uint64(row[i+k])
			to[k] += v * in
			if rest > 0 {
				to[c+k] += v * rest
			}
		}
		x++
	}
}

func (m *Mean) across16(line []uint64, row []byte, x, from int) {
	c := m.channels
	for i := 0; i < len(row); i += 2 * c {
		at, in := m.columns.at(x)
		to := line[(at-from)*c:]
		rest := m.columns.part - in
		for k := range c {
			v := uint64(binary.LittleEndian.Uint16(row[i+2*k:]))
			to[k] += v * in
			if rest > 0 {
				to[c+k] += v * rest
			}
		}
		x++
	}
}

// down adds the sums of a row to row at of the result.
func (m *Mean) down(at int, weight uint64, line []uint64, from int) {
	c, width := m.channels, m.columns.out*m.channels
	if need := (at - m.first + 1) * width; need > len(m.sums) {
		m.sums = append(m.sums, make([]uint64, need-len(m.sums))...)
	}
	to := m.sums[(at-m.first)*width:][:width][from*c:]
	for i, v := range line[:min(len(line), len(to))] {
		to[i] += v * weight
	}
}

// Done makes the rows of the result that need no row from y on.
func (m *Mean) Done(y int) {
	width, total := m.columns.out*m.channels, m.rows.whole*m.columns.whole
	end := m.rows.out
	if y < m.rows.n {
		end, _ = m.rows.at(y)
	}
	for ; m.done < end; m.done++ {
		sums := m.sums[(m.done-m.first)*width:][:width]
		out := m.dst[m.done*width*m.size:][:width*m.size]
		for i, s := range sums {
			v := (s + total/2) / total
			if m.size == 2 {
				binary.LittleEndian.PutUint16(out[2*i:], uint16(v))
			} else {
				out[i] = byte(v)
			}
		}
	}
	n := copy(m.sums, m.sums[min((m.done-m.first)*width, len(m.sums)):])
	m.sums, m.first = m.sums[:n], m.done
}

// Reduce makes a whole picture smaller; see New.
func Reduce(dst, pix []byte, height, width, outH, outW, channels, size int) {
	m := New(height, width, outH, outW, channels, size, dst)
	step := max(height/16, 64)
	for y := 0; y < height; y += step {
		n := min(step, height-y)
		m.Add(pix[y*width*channels*size:], width*channels*size, y, 0, n, width)
		m.Done(y + n)
	}
}
