package aggregate

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"deeplake/core/array"
	"deeplake/core/internal/task"
	"deeplake/core/tensor"
)

// countingWords is COUNT(DISTINCT x) where a value fits into 64 bits. Values are collected by
// partition and compared late: the values of one partition fit into the processor's cache, and
// partitions are finished on several cores.
type countingWords struct {
	float   bool
	grouped bool
	groups  int // so far
	parts   [wordParts]words
	held    int64
	table   wordTable
}

func newCountingWords(t array.Type) *countingWords { return &countingWords{float: t.Float()} }

const (
	wordParts = 256
	// firstWords is how many values of a partition are collected before equal ones among them are
	// removed.
	firstWords = 1 << 5
	// serialWords is the number of values that are finished by the caller alone, since goroutines
	// would cost more.
	serialWords = 1 << 16
)

// words are the values of one partition.
type words struct {
	run  wordRun   // values of this aggregator
	most int       // len of run at which equal values are removed; 0: firstWords
	more []wordRun // of merged aggregators
}

// wordRun are values with their groups; of is nil if all are in group 0.
type wordRun struct {
	keys []uint64
	of   []int32
}

// countsWords reports whether values of type t are told apart by 64 bits.
func countsWords(t array.Type) bool {
	return array.Whole(t) || t.Scalar() && (t.DType == tensor.Uint64 || t.Float())
}

// Held is part of Keeper.
func (a *countingWords) Held() int64 { return a.held }

func (a *countingWords) Add(c *array.Column, group []int32, groups int) error {
	a.groups = max(a.groups, groups, 1)
	a.grouped = a.grouped || group != nil
	c = c.Expand()
	switch d, unsigned := c.Data.([]uint64); {
	case unsigned:
		addWords(a, d, c.Null, group)
	case a.float && c.DType != 0:
		values := array.As[float64](c.Data)
		keys := make([]uint64, len(values))
		for i, v := range values {
			keys[i] = math.Float64bits(array.CanonicalFloat(v))
		}
		addWords(a, keys, c.Null, group)
	default:
		values, nulls := array.Ints(c)
		addWords(a, values, nulls, group)
	}
	return nil
}

// addWords collects the values that are not NULL. They are equal where AppendKey's bytes are.
func addWords[T int64 | uint64](a *countingWords, values []T, nulls []bool, group []int32) {
	for i, v := range values {
		if nulls != nil && nulls[i] {
			continue
		}
		key, of := uint64(v), int32(0)
		if group != nil {
			of = group[i]
		}
		p := &a.parts[partOf(key)]
		p.run.keys = append(p.run.keys, key)
		if a.grouped {
			p.run.of = append(p.run.ofAll(len(p.run.keys)-1), of)
		}
		if len(p.run.keys) >= max(p.most, firstWords) {
			a.compact(p)
		}
	}
	a.held = 0
	for k := range a.parts {
		a.held += a.parts[k].run.bytes()
	}
}

// partOf spreads values over the partitions. It is the same in every aggregator, since partitions
// are merged.
func partOf(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> 56 }

// compact removes equal values from a full partition. The next run waits until the partition has
// twice as many values, or four times as many if few were equal. So a value is compared a bounded
// number of times.
func (a *countingWords) compact(p *words) {
	n := len(p.run.keys)
	left := a.table.unique(&p.run)
	p.most = 2 * left
	if left > n-n/8 {
		p.most = 4 * left
	}
}

// ofAll returns the groups of the first n values. Values added without groups belong to group 0.
func (r *wordRun) ofAll(n int) []int32 {
	if len(r.of) < n {
		r.of = append(r.of, make([]int32, n-len(r.of))...)
	}
	return r.of
}

func (r *wordRun) bytes() int64 { return 8*int64(cap(r.keys)) + 4*int64(cap(r.of)) }

func (a *countingWords) Merge(other Aggregator, to []int32) error {
	b, ok := other.(*countingWords)
	if !ok {
		return otherKind()
	}
	a.groups = max(a.groups, groupsOf(b.groups, to))
	a.grouped = a.grouped || b.grouped || target(to, 0) != 0
	for k := range b.parts {
		p, q := &a.parts[k], &b.parts[k]
		for _, r := range append(q.more, q.run) {
			if a.grouped {
				for i, g := range r.ofAll(len(r.keys)) {
					r.of[i] = int32(target(to, int(g)))
				}
			}
			if len(r.keys) > 0 {
				p.more = append(p.more, r)
			}
		}
	}
	return nil
}

func (a *countingWords) Result(w *array.Work) (*array.Column, error) {
	total := 0
	for k := range a.parts {
		p := &a.parts[k]
		total += len(p.run.keys)
		for _, r := range p.more {
			total += len(r.keys)
		}
	}
	workers := task.Cores()
	if total <= serialWords {
		workers = 1
	}
	counts := make([][]int64, workers)
	var next atomic.Int64
	g := task.New(context.Background(), 0)
	for w := range counts {
		counts[w] = make([]int64, max(a.groups, 1))
		g.Go(func(context.Context) error {
			var table wordTable
			for k := next.Add(1) - 1; k < wordParts; k = next.Add(1) - 1 {
				a.parts[k].count(&table, counts[w], a.grouped)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, c := range counts[1:] {
		for i, n := range c {
			counts[0][i] += n
		}
	}
	return array.FromInts(counts[0], nil), nil
}

// count adds the number of different values of each group. It does not change the partition.
func (p *words) count(table *wordTable, counts []int64, grouped bool) {
	whole := wordRun{}
	for _, r := range append(p.more[:len(p.more):len(p.more)], p.run) {
		whole.keys = append(whole.keys, r.keys...)
		if grouped {
			whole.of = append(whole.of, r.ofAll(len(r.keys))...)
		}
	}
	n := table.unique(&whole)
	if !grouped {
		counts[0] += int64(n)
		return
	}
	for _, g := range whole.of {
		counts[g]++
	}
}

// wordTable finds equal values. It hashes with a random seed, so that chosen values do not collide.
type wordTable struct {
	seed  uint64
	slots []uint32 // of an open-addressing table: the index of a value plus 1; 0: free
}

// unique keeps the first of equal values in each group, in order, and returns their number.
func (t *wordTable) unique(r *wordRun) int {
	if t.seed == 0 {
		t.seed = rand.Uint64() | 1
	}
	size := 1 << bits.Len(uint(2*len(r.keys)))
	if size <= cap(t.slots) {
		t.slots = t.slots[:size]
		clear(t.slots)
	} else {
		t.slots = make([]uint32, size)
	}
	mask, n := uint64(size-1), 0
	if r.of == nil {
		for _, key := range r.keys {
			at := t.hash(key) & mask
			for t.slots[at] != 0 && r.keys[t.slots[at]-1] != key {
				at = (at + 1) & mask
			}
			if t.slots[at] == 0 {
				r.keys[n] = key
				n++
				t.slots[at] = uint32(n)
			}
		}
		r.keys = r.keys[:n]
		return n
	}
	for i, key := range r.keys {
		of := r.of[i]
		at := t.hash(key^uint64(of)<<32^uint64(of)) & mask
		for t.slots[at] != 0 && (r.keys[t.slots[at]-1] != key || r.of[t.slots[at]-1] != of) {
			at = (at + 1) & mask
		}
		if t.slots[at] == 0 {
			r.keys[n], r.of[n] = key, of
			n++
			t.slots[at] = uint32(n)
		}
	}
	r.keys, r.of = r.keys[:n], r.of[:n]
	return n
}

func (t *wordTable) hash(key uint64) uint64 {
	hi, lo := bits.Mul64(key^t.seed, 0xd6e8feb86659fd93)
	return hi ^ lo
}
