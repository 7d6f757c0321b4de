package aggregate

import (
	"math"
	"math/bits"

	"deeplake/core/array"
	"deeplake/core/compute"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// sumInts adds in 128 bits, so that the order does not matter and only the sum has to fit.
type sumInts struct {
	t    array.Type
	mean bool
	n    []int64
	low  []uint64
	high []int64
}

func (a *sumInts) grow(n int) {
	a.n, a.low, a.high = grown(a.n, n), grown(a.low, n), grown(a.high, n)
}

func (a *sumInts) add(g int, v int64) {
	low, carry := bits.Add64(a.low[g], uint64(v), 0)
	a.low[g] = low
	a.high[g] += v>>63 + int64(carry)
}

func (a *sumInts) Add(c *array.Column, group []int32, groups int) error {
	a.grow(max(groups, 1))
	if c.DType == 0 || c.N == 0 {
		return nil
	}
	c = c.Expand()
	countRows(a.n, c, group)
	switch d := c.Data.(type) {
	case []bool:
		addSmall(a, array.As[uint8](d), group)
	case []uint8:
		addSmall(a, d, group)
	case []uint16:
		addSmall(a, d, group)
	case []uint32:
		addSmall(a, d, group)
	case []int8:
		addSmall(a, d, group)
	case []int16:
		addSmall(a, d, group)
	case []int32:
		addSmall(a, d, group)
	case []int64:
		a.addLarge(d, group)
	case []uint64:
		for i, v := range d {
			g := 0
			if group != nil {
				g = int(group[i])
			}
			low, carry := bits.Add64(a.low[g], v, 0)
			a.low[g] = low
			a.high[g] += int64(carry)
		}
	}
	return nil
}

// addSmall adds numbers of small types: the sum of a batch cannot overflow.
func addSmall[T array.Number](a *sumInts, d []T, group []int32) {
	if group == nil {
		for len(d) > 0 {
			n := min(len(d), 1<<30)
			if whole, _, _, ok := compute.SumNative(array.DTypeOf(d), d[:n]); ok {
				a.add(0, whole)
				d = d[n:]
				continue
			}
			var s, s2 int64
			part := d[:n]
			for len(part) >= 2 {
				s += int64(part[0])
				s2 += int64(part[1])
				part = part[2:]
			}
			for _, v := range part {
				s += int64(v)
			}
			a.add(0, s+s2)
			d = d[n:]
		}
		return
	}
	if len(a.n) > len(d) {
		for i, g := range group[:len(d)] {
			a.add(int(g), int64(d[i]))
		}
		return
	}
	part := make([]int64, len(a.n))
	for i, g := range group[:len(d)] {
		part[g] += int64(d[i])
	}
	for g, v := range part {
		a.add(g, v)
	}
}

func (a *sumInts) addLarge(d []int64, group []int32) {
	if group != nil {
		for i, g := range group[:len(d)] {
			a.add(int(g), d[i])
		}
		return
	}
	low, high := a.low[0], a.high[0]
	for _, v := range d {
		var carry uint64
		low, carry = bits.Add64(low, uint64(v), 0)
		high += v>>63 + int64(carry)
	}
	a.low[0], a.high[0] = low, high
}

func (a *sumInts) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*sumInts)
	if !ok {
		return otherKind()
	}
	a.grow(groupsOf(len(b.n), to))
	for i := range b.n {
		g := target(to, i)
		low, carry := bits.Add64(a.low[g], b.low[i], 0)
		a.low[g] = low
		a.high[g] += b.high[i] + int64(carry)
		a.n[g] += b.n[i]
	}
	return nil
}

func (a *sumInts) Result(w *array.Work) (*array.Column, error) {
	a.grow(1)
	null := empties(a.n)
	if a.mean {
		out := make([]float64, len(a.n))
		for g, n := range a.n {
			if n > 0 {
				out[g] = (float64(a.high[g])*(1<<64) + float64(a.low[g])) / float64(n)
				if int64(a.low[g]) >= 0 == (a.high[g] == 0) && (a.high[g] == 0 || a.high[g] == -1) {
					out[g] = float64(int64(a.low[g])) / float64(n)
				}
			}
		}
		if a.t.Unit != array.None {
			whole := make([]int64, len(out))
			for i, v := range out {
				whole[i] = int64(math.Round(v))
			}
			return array.From(a.t, whole, null), nil
		}
		return array.From(a.t, out, null), nil
	}
	out := make([]int64, len(a.n))
	for g := range out {
		out[g] = int64(a.low[g])
		if a.high[g] != out[g]>>63 {
			return nil, errs.New(errs.Range, "SUM: the sum does not fit int64; SUM(CAST(... AS DOUBLE)) computes with floating point")
		}
	}
	return array.From(a.t, out, null), nil
}

// empties is which groups have no value, nil for none.
func empties(n []int64) []bool {
	var null []bool
	for g, k := range n {
		if k == 0 {
			if null == nil {
				null = make([]bool, len(n))
			}
			null[g] = true
		}
	}
	return null
}

// sumFloats keeps the rounding errors of its sums, so that the order of rows hardly matters.
type sumFloats struct {
	t    array.Type
	mean bool
	n    []int64
	sum  []float64
	lost []float64
}

func (a *sumFloats) grow(n int) {
	a.n, a.sum, a.lost = grown(a.n, n), grown(a.sum, n), grown(a.lost, n)
}

// two returns a+b and its rounding error.
func two(a, b float64) (s, lost float64) {
	s = a + b
	v := s - a
	return s, (a - (s - v)) + (b - v)
}

func (a *sumFloats) add(g int, v float64) {
	s, lost := two(a.sum[g], v)
	a.sum[g] = s
	a.lost[g] += lost
}

func (a *sumFloats) Add(c *array.Column, group []int32, groups int) error {
	a.grow(max(groups, 1))
	if c.DType == 0 || c.N == 0 {
		return nil
	}
	c = c.Expand()
	countRows(a.n, c, group)
	if group != nil {
		l, scratch := array.Lanes[float64](c.Data), make([]float64, array.Block)
		for at := 0; at < c.N; at += array.Block {
			end := min(at+array.Block, c.N)
			for i, v := range l(at, end, scratch) {
				a.add(int(group[at+i]), v)
			}
		}
		return nil
	}
	if d, ok := c.Data.([]float32); ok {
		a.addNarrow(d)
		return nil
	}
	d := array.Elems[float64](c)
	if _, sum, lost, ok := compute.SumNative(tensor.Float64, d); ok {
		a.add(0, sum)
		a.lost[0] += lost
		return nil
	}
	var s, e [4]float64
	for len(d) >= 4 {
		v := d[:4]
		s0, e0 := two(s[0], v[0])
		s1, e1 := two(s[1], v[1])
		s2, e2 := two(s[2], v[2])
		s3, e3 := two(s[3], v[3])
		s = [4]float64{s0, s1, s2, s3}
		e[0] += e0
		e[1] += e1
		e[2] += e2
		e[3] += e3
		d = d[4:]
	}
	for _, v := range d {
		var lost float64
		s[0], lost = two(s[0], v)
		e[0] += lost
	}
	for i := range s {
		a.add(0, s[i])
		a.lost[0] += e[i]
	}
	return nil
}

// addNarrow adds float32 values. A run of some thousands loses almost nothing in float64.
func (a *sumFloats) addNarrow(d []float32) {
	if _, sum, _, ok := compute.SumNative(tensor.Float32, d); ok {
		a.add(0, sum)
		return
	}
	for len(d) > 0 {
		n := min(len(d), array.Block)
		var s [4]float64
		part := d[:n]
		for len(part) >= 4 {
			s[0] += float64(part[0])
			s[1] += float64(part[1])
			s[2] += float64(part[2])
			s[3] += float64(part[3])
			part = part[4:]
		}
		for _, v := range part {
			s[0] += float64(v)
		}
		for _, v := range s {
			a.add(0, v)
		}
		d = d[n:]
	}
}

func (a *sumFloats) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*sumFloats)
	if !ok {
		return otherKind()
	}
	a.grow(groupsOf(len(b.n), to))
	for i := range b.n {
		g := target(to, i)
		a.add(g, b.sum[i])
		a.lost[g] += b.lost[i]
		a.n[g] += b.n[i]
	}
	return nil
}

func (a *sumFloats) Result(w *array.Work) (*array.Column, error) {
	a.grow(1)
	out := make([]float64, len(a.n))
	for g := range out {
		if out[g] = a.sum[g] + a.lost[g]; math.IsNaN(out[g]) {
			out[g] = a.sum[g]
		}
		if a.mean && a.n[g] > 0 {
			out[g] /= float64(a.n[g])
		}
	}
	return array.From(a.t, out, empties(a.n)), nil
}

// spreading computes variances: number, mean and sum of squared distances, which merge exactly
// enough.
type spreading struct {
	root bool // of the variance
	all  bool // the rows are all there are, not a sample
	n    []int64
	mean []float64
	m2   []float64
}

func (a *spreading) grow(n int) {
	a.n, a.mean, a.m2 = grown(a.n, n), grown(a.mean, n), grown(a.m2, n)
}

func (a *spreading) join(g int, n int64, mean, m2 float64) {
	switch {
	case n == 0:
	case a.n[g] == 0:
		a.n[g], a.mean[g], a.m2[g] = n, mean, m2
	default:
		d := mean - a.mean[g]
		sum := float64(a.n[g] + n)
		a.mean[g] += d * float64(n) / sum
		a.m2[g] += m2 + d*d*float64(a.n[g])*float64(n)/sum
		a.n[g] += n
	}
}

func (a *spreading) Add(c *array.Column, group []int32, groups int) error {
	a.grow(max(groups, 1))
	if c.DType == 0 || c.N == 0 {
		return nil
	}
	c = c.Expand()
	l, scratch := array.Lanes[float64](c.Data), make([]float64, array.Block)
	kept := make([]float64, 0, array.Block)
	for at := 0; at < c.N; at += array.Block {
		end := min(at+array.Block, c.N)
		d := l(at, end, scratch)
		if group != nil {
			for i, v := range d {
				if c.Null == nil || !c.Null[at+i] {
					g := group[at+i]
					a.n[g]++
					delta := v - a.mean[g]
					a.mean[g] += delta / float64(a.n[g])
					a.m2[g] += delta * (v - a.mean[g])
				}
			}
			continue
		}
		if c.Null != nil {
			kept = kept[:0]
			for i, v := range d {
				if !c.Null[at+i] {
					kept = append(kept, v)
				}
			}
			d = kept
		}
		mean, m2 := moments(d)
		a.join(0, int64(len(d)), mean, m2)
	}
	return nil
}

// moments returns the mean and the sum of squared distances from it.
func moments(d []float64) (mean, m2 float64) {
	if len(d) == 0 {
		return 0, 0
	}
	for _, v := range d {
		mean += v
	}
	mean /= float64(len(d))
	rest := 0.0
	for _, v := range d {
		m2 += (v - mean) * (v - mean)
		rest += v - mean
	}
	return mean, m2 - rest*rest/float64(len(d))
}

func (a *spreading) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*spreading)
	if !ok {
		return otherKind()
	}
	a.grow(groupsOf(len(b.n), to))
	for i := range b.n {
		a.join(target(to, i), b.n[i], b.mean[i], b.m2[i])
	}
	return nil
}

func (a *spreading) Result(w *array.Work) (*array.Column, error) {
	a.grow(1)
	out := make([]float64, len(a.n))
	null := make([]bool, len(a.n))
	for g, n := range a.n {
		if !a.all {
			n--
		}
		if n <= 0 {
			null[g] = true
			continue
		}
		if out[g] = max(a.m2[g], 0) / float64(n); a.root {
			out[g] = math.Sqrt(out[g])
		}
	}
	return array.From(array.Of(tensor.Float64), out, null), nil
}
