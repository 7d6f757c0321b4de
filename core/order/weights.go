package order

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/bits"
	"slices"
	"sort"

	"deeplake/core/errs"
)

// How weights choose rows: Order.Draw.
const (
	DrawAgain = "again" // with replacement: every draw is from all rows
	DrawOnce  = "once"  // without: a row comes once at most
)

// maxDraws bounds the positions of an epoch: far beyond any, far from overflow.
const maxDraws = 1 << 48

// Weights gives the probability of each row of a view in a draw. It is immutable and safe in
// parallel.
//
// Nothing below depends on the machine. Floats are only multiplied, divided and added, one
// operation at a time, so that no compiler can fuse two of them. All choices are made in integers.
type Weights struct {
	values   []float64 // 0 to 1: relative to the largest
	positive int64
	digest   string
}

// NewWeights checks and copies one weight for each row.
func NewWeights(values []float64) (*Weights, error) {
	if int64(len(values)) > math.MaxUint32 {
		return nil, errs.New(errs.Invalid, "weights of %d rows, want at most %d", len(values), uint32(math.MaxUint32))
	}
	w := &Weights{values: make([]float64, len(values))}
	most := 0.0
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return nil, errs.New(errs.Invalid, "weight of row %d is %v, want a finite number of at least 0", i, v)
		}
		if v > 0 {
			w.positive++
		}
		most = max(most, v)
	}
	if len(values) > 0 && w.positive == 0 {
		return nil, errs.New(errs.Invalid, "all %d weights are 0, so that no row can be drawn; want one above 0 at least", len(values))
	}
	sum := sha256.New()
	var word [8]byte
	for i, v := range values {
		binary.LittleEndian.PutUint64(word[:], math.Float64bits(v+0)) // -0 is 0
		sum.Write(word[:])
		if v > 0 {
			w.values[i] = max(v/most, math.SmallestNonzeroFloat64)
		}
	}
	w.digest = hex.EncodeToString(sum.Sum(nil)[:12])
	return w, nil
}

// Rows returns the number of rows that the weights are for.
func (w *Weights) Rows() int64 { return int64(len(w.values)) }

// unit is the sum that the weights have in integers, roughly.
const unit = 1 << 62

// shares returns the weights in integers. Their sum is unit or slightly off. No positive weight
// becomes 0.
func (w *Weights) shares() ([]uint64, uint64) {
	// by Neumaier: a billion equal weights must not end up with unequal shares
	sum, lost := 0.0, 0.0
	for _, v := range w.values {
		t := sum + v
		if sum >= v {
			lost += (sum - t) + v
		} else {
			lost += (v - t) + sum
		}
		sum = t
	}
	scale := unit / (sum + lost)
	shares, total := make([]uint64, len(w.values)), uint64(0)
	for i, v := range w.values {
		if v > 0 {
			shares[i] = max(uint64(float64(v*scale)), 1)
			total += shares[i]
		}
	}
	return shares, total
}

// draws maps the numbers of draws to rows.
type draws interface {
	// row returns the row of draw i.
	row(i int64) int64
}

// alias draws rows independently of each other: Walker's method with Vose's construction (M. D.
// Vose, A linear algorithm for generating random numbers with a given distribution, 1991). Every
// bin has size units: units below cut belong to its own row, the others to one other row.
type alias struct {
	key   uint64
	size  uint64
	cut   []uint64
	other []uint32
}

func newAlias(w *Weights) *alias {
	shares, total := w.shares()
	n := uint64(len(shares))
	a := &alias{size: (total + n - 1) / n, cut: shares, other: make([]uint32, n)}
	// The shortfall to n full bins is spread over the rows that have a share: less than one
	// unit in a billion.
	missing := a.size*n - total
	each, rest := missing/uint64(w.positive), missing%uint64(w.positive)
	var low, high []uint32
	for i := range shares {
		if shares[i] > 0 {
			shares[i] += each
			if rest > 0 {
				shares[i]++
				rest--
			}
		}
		a.other[i] = uint32(i)
		if shares[i] < a.size {
			low = append(low, uint32(i))
		} else if shares[i] > a.size {
			high = append(high, uint32(i))
		}
	}
	for len(low) > 0 && len(high) > 0 {
		l, h := low[len(low)-1], high[len(high)-1]
		low = low[:len(low)-1]
		a.other[l] = h
		if shares[h] -= a.size - shares[l]; shares[h] <= a.size {
			high = high[:len(high)-1]
			if shares[h] < a.size {
				low = append(low, h)
			}
		}
	}
	return a
}

func (a *alias) row(i int64) int64 {
	bin, _ := bits.Mul64(chance(a.key, 2*uint64(i)), uint64(len(a.cut)))
	at, _ := bits.Mul64(chance(a.key, 2*uint64(i)+1), a.size)
	if at < a.cut[bin] {
		return int64(bin)
	}
	return int64(a.other[bin])
}

// strata draws one row from each of equal parts of the sum of weights, in order of rows. A row of
// weight w is drawn about w times. Neighbouring draws are neighbouring rows, so that an order by
// windows of draws reads neighbours together (stratified resampling: G. Kitagawa, Monte Carlo
// filter and smoother, 1996).
type strata struct {
	key   uint64
	draws uint64
	sums  []uint64 // of the shares, up to and with each row
}

func newStrata(w *Weights, draws int64) *strata {
	sums, _ := w.shares()
	for i := 1; i < len(sums); i++ {
		sums[i] += sums[i-1]
	}
	return &strata{draws: uint64(draws), sums: sums}
}

func (s *strata) row(i int64) int64 {
	from, to := s.edge(uint64(i)), s.edge(uint64(i)+1)
	at, _ := bits.Mul64(chance(s.key, uint64(i)), to-from)
	at += from
	return int64(sort.Search(len(s.sums), func(r int) bool { return s.sums[r] > at }))
}

// edge is where part i of the sum begins.
func (s *strata) edge(i uint64) uint64 {
	hi, lo := bits.Mul64(i, s.sums[len(s.sums)-1])
	q, _ := bits.Div64(hi, lo, s.draws) // hi < i/2 <= draws/2
	return q
}

// chosen are the rows of an epoch, each at most once.
type chosen []uint32

func (c chosen) row(i int64) int64 { return int64(c[i]) }

// choose draws n distinct rows, each draw with the weights of the rows that are left: the n
// smallest of independent exponential keys, by key (P. S. Efraimidis, P. G. Spirakis, Weighted
// random sampling with a reservoir, 2006: their u^(1/w), as -ln(u)/w). With sorted, by row instead.
func choose(w *Weights, n int64, key uint64, sorted bool) chosen {
	all := make([]candidate, 0, w.positive)
	for i, v := range w.values {
		if v > 0 {
			u := (float64(chance(key, uint64(i))>>11) + 0.5) / (1 << 53)
			all = append(all, candidate{math.Float64bits(max(-logarithm(u), 0) / v), uint32(i)})
		}
	}
	if !sorted || n < int64(len(all)) {
		all = inOrder(all)
	}
	rows := make(chosen, n)
	for i := range rows {
		rows[i] = all[i].row
	}
	if sorted {
		slices.Sort(rows)
	}
	return rows
}

// candidate is a row with its key, a float of at least 0: as bits these have the same order.
type candidate struct {
	key uint64
	row uint32
}

// inOrder sorts candidates, which are in order of rows, by key, then by row: digit by digit, which
// for a million is ten times as fast as comparing.
func inOrder(all []candidate) []candidate {
	const digit = 11
	other := make([]candidate, len(all))
	for shift := 0; shift < 64; shift += digit {
		var starts [1<<digit + 1]int
		for i := range all {
			starts[all[i].key>>shift&(1<<digit-1)+1]++
		}
		for i := range 1 << digit {
			starts[i+1] += starts[i]
		}
		for i := range all {
			at := &starts[all[i].key>>shift&(1<<digit-1)]
			other[*at] = all[i]
			*at++
		}
		all, other = other, all
	}
	return all
}

// chance is number i of the random numbers of a key: SplitMix64 with the mixing of the cipher.
func chance(key, i uint64) uint64 { return mix(key + (i+1)*golden) }

// logarithm is ln x for x > 0, the same on every machine, which math.Log does not promise: 2
// artanh((m-1)/(m+1)) of the mantissa m as a series, to 2^-50 of the result or better.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	square := float64(s * s)
	sum := 0.0
	for k := 25; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(float64(2*s)*sum) + float64(float64(e)*math.Ln2)
}
