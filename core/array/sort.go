package array

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Key is a column that rows are sorted by.
type Key struct {
	Column     *Column
	Desc       bool
	NullsFirst bool
}

// OrderType refuses types without an order: lists, and arrays of more than one element.
func OrderType(t Type) error {
	if t.List || t.DType == tensor.Bytes && t.Dims > 0 {
		return errs.New(errs.Type, "ORDER BY %s: a list has no order", t)
	}
	for _, d := range t.Axes() {
		if d > 1 {
			return errs.New(errs.Type, "ORDER BY %s: want a single value; reduce the array, as by MAX or L2_NORM", t)
		}
	}
	return nil
}

// Ordering compares rows of some columns. It does not change and may be used in parallel.
type Ordering struct {
	n    int
	keys []ordered
}

type ordered struct {
	nums  []uint64 // in the order of the values; nil: texts
	texts []string
	null  []bool
	desc  bool // of texts
	last  int  // how NULL compares with a value
}

// Order makes an Ordering. Rows without a value, and empty arrays, are NULL. It ends with the error
// of w, which may be nil.
func Order(keys []Key, w *Work) (*Ordering, error) {
	o := &Ordering{}
	for _, k := range keys {
		if err := OrderType(k.Column.Type); err != nil {
			return nil, err
		}
		o.n = k.Column.N
		c, err := onlyOne(k.Column.Expand())
		if err != nil {
			return nil, err
		}
		key := ordered{null: c.Nulls(), last: 1}
		if k.NullsFirst {
			key.last = -1
		}
		switch {
		case c.DType == 0:
			key.nums = make([]uint64, c.N)
		case c.DType == tensor.JSON:
			key.texts, key.desc = jsonOrder(c, w), k.Desc
		case DTypeOf(c.Data) == tensor.String:
			key.texts, key.desc = Elems[string](c), k.Desc
		default:
			key.nums = numberOrder(c, k.Desc)
		}
		o.keys = append(o.keys, key)
	}
	return o, w.Err()
}

// onlyOne makes scalars of arrays of one element.
func onlyOne(c *Column) (*Column, error) {
	if c.DType == 0 || c.Uniform() && SizeOf(c.Same) == 1 {
		return c, nil
	}
	rows := make([]int, c.N)
	for i := range rows {
		lo, hi := c.Span(i)
		switch rows[i] = lo; {
		case c.IsNull(i) || lo == hi:
			rows[i] = -1
		case hi-lo > 1:
			return nil, InRow(errs.Type, i, "ORDER BY: row %d is an array of shape %s, want a single value", Here, c.ShapeAt(i))
		}
	}
	return From(c.Type, c.Data, nil).Take(rows), nil
}

const top = 1 << 63

func numberOrder(c *Column, desc bool) []uint64 {
	out := make([]uint64, c.N)
	switch d := c.Data.(type) {
	case []uint64:
		copy(out, d)
	case []float32, []float64:
		for i, v := range As[float64](d) {
			out[i] = floatOrder(v)
		}
	default:
		for i, v := range As[int64](d) {
			out[i] = uint64(v) ^ top
		}
	}
	if desc {
		for i := range out {
			out[i] = ^out[i]
		}
	}
	return out
}

// floatOrder maps floats to integers of the same order, NaN on top.
func floatOrder(v float64) uint64 {
	if v != v {
		return math.MaxUint64
	}
	b := math.Float64bits(CanonicalFloat(v))
	if b&top != 0 {
		return ^b
	}
	return b | top
}

// stepsOfJSON is the least work of parsing a document, in elementary steps.
const stepsOfJSON = 64

// jsonOrder gives texts that have the order of the values: bools, numbers, strings, the rest.
func jsonOrder(c *Column, w *Work) []string {
	out := make([]string, c.N)
	for i, s := range Elems[string](c) {
		if c.IsNull(i) {
			continue
		}
		if !w.Step(stepsOfJSON + len(s)) {
			return out
		}
		v, _ := ParseJSON(s)
		kind := string(rune('0' + JSONRank(v)))
		switch x := v.(type) {
		case string:
			out[i] = kind + x
		case bool, int64, uint64, float64:
			n := floatOrder(AsFloat(x))
			b := []byte(kind)
			for shift := 56; shift >= 0; shift -= 8 {
				b = append(b, byte(n>>shift))
			}
			out[i] = string(b)
		default:
			out[i] = kind + s
		}
	}
	return out
}

// Compare is negative where row i comes before row j, 0 if they are equal.
func (o *Ordering) Compare(i, j int) int {
	for k := range o.keys {
		key := &o.keys[k]
		if key.null != nil && (key.null[i] || key.null[j]) {
			switch {
			case !key.null[j]:
				return key.last
			case !key.null[i]:
				return -key.last
			}
			continue
		}
		c := 0
		if key.nums != nil {
			c = cmp.Compare(key.nums[i], key.nums[j])
		} else if c = strings.Compare(key.texts[i], key.texts[j]); key.desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// Less reports whether row i comes before row j.
func (o *Ordering) Less(i, j int) bool { return o.Compare(i, j) < 0 }

type numbered struct {
	key uint64
	row int
}

// Sort sorts rows; equal rows keep their order.
func (o *Ordering) Sort(rows []int) {
	if len(o.keys) == 0 {
		return
	}
	first := &o.keys[0]
	if first.nums == nil || len(rows) < 64 {
		slices.SortStableFunc(rows, o.Compare)
		return
	}
	list, missing := make([]numbered, 0, len(rows)), []int(nil)
	for _, r := range rows {
		if first.null != nil && first.null[r] {
			missing = append(missing, r)
		} else {
			list = append(list, numbered{first.nums[r], r})
		}
	}
	list = radix(list)
	at := 0
	if first.last < 0 {
		at = len(missing)
	}
	sorted := rows[at : at+len(list)]
	for i := range list {
		sorted[i] = list[i].row
	}
	if first.last < 0 {
		copy(rows, missing)
		missing = rows[:at]
	} else {
		copy(rows[len(list):], missing)
		missing = rows[len(list):]
	}
	if len(o.keys) == 1 {
		return
	}
	slices.SortStableFunc(missing, o.Compare)
	for from := 0; from < len(list); {
		to := from + 1
		for to < len(list) && list[to].key == list[from].key {
			to++
		}
		if to > from+1 {
			slices.SortStableFunc(sorted[from:to], o.Compare)
		}
		from = to
	}
}

// radix sorts by key, byte by byte from the last. Bytes that are the same in all keys are skipped.
func radix(list []numbered) []numbered {
	if len(list) < 2 {
		return list
	}
	var counts [8][256]int
	for i := range list {
		k := list[i].key
		for b := range counts {
			counts[b][byte(k>>(8*b))]++
		}
	}
	other := make([]numbered, len(list))
	for b := range counts {
		c := &counts[b]
		if c[byte(list[0].key>>(8*b))] == len(list) {
			continue
		}
		sum := 0
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		for _, e := range list {
			at := &c[byte(e.key>>(8*b))]
			other[*at] = e
			*at++
		}
		list, other = other, list
	}
	return list
}

// Top returns the first k rows of n in order, as Sort would have them.
func (o *Ordering) Top(n, k int) []int {
	k = min(k, n)
	if k <= 0 {
		return nil
	}
	// a heap of the best so far, the worst of them on top; of equal rows the later is worse
	heap := make([]int, 0, k)
	worse := func(i, j int) bool {
		c := o.Compare(i, j)
		return c > 0 || c == 0 && i > j
	}
	down := func(at int) {
		for {
			child := 2*at + 1
			if child >= len(heap) {
				return
			}
			if child+1 < len(heap) && worse(heap[child+1], heap[child]) {
				child++
			}
			if !worse(heap[child], heap[at]) {
				return
			}
			heap[at], heap[child] = heap[child], heap[at]
			at = child
		}
	}
	for i := range k {
		heap = append(heap, i)
	}
	for i := k/2 - 1; i >= 0; i-- {
		down(i)
	}
	var quick []uint64
	if len(o.keys) > 0 && o.keys[0].null == nil {
		quick = o.keys[0].nums
	}
	for i := k; i < n; i++ {
		if quick != nil && quick[i] > quick[heap[0]] {
			continue
		}
		if o.Compare(i, heap[0]) < 0 {
			heap[0] = i
			down(0)
		}
	}
	slices.Sort(heap)
	o.Sort(heap)
	return heap
}

// CompareFloat has NaN above all numbers.
func CompareFloat(a, b float64) int {
	if a != a || b != b {
		switch {
		case a == a:
			return -1
		case b == b:
			return 1
		}
		return 0
	}
	return cmp.Compare(a, b)
}
