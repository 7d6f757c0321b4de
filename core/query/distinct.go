package query

import (
	"slices"

	"deeplake/core/array"
	"deeplake/core/compute"
)

// filtered is the rows for which a condition holds.
func filtered(r *run, rows *rel, cond *node) (*rel, error) {
	weight := cond.weight()
	parts := make([][]int, rows.units(r, weight))
	err := rows.each(r, weight, nil, func(unit int, f *frame) error {
		v, err := f.eval(cond)
		if err != nil {
			return err
		}
		for _, i := range compute.Pick(v) {
			parts[unit] = append(parts[unit], int(f.first)+i)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows.take(slices.Concat(parts...)), nil
}

// distinct returns the first rows with different values, at most most of them.
func (s *selected) distinct(r *run, rows *rel, most int64) (*rel, error) {
	by := s.on
	if by == nil {
		for _, o := range s.outs {
			by = append(by, o.x)
		}
	}
	seen := map[string]bool{}
	var picked []int
	err := inOrder(r, rows, by, false, func(first int, keys [][]byte) error {
		for i, k := range keys {
			if most >= 0 && int64(len(picked)) >= most {
				return nil
			}
			if !seen[string(k)] {
				seen[string(k)] = true
				picked = append(picked, first+i)
				if err := r.hold(int64(len(k)) + 64); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows.take(picked), nil
}

// inOrder calls do with the values of expressions as keys, batch by batch in order of rows.
func inOrder(r *run, rows *rel, by []*node, whole bool, do func(first int, keys [][]byte) error) error {
	type batch struct {
		first int
		keys  [][]byte
	}
	weight := weightOf(by)
	parts := make([][]batch, rows.units(r, weight))
	err := rows.each(r, weight, nil, func(unit int, f *frame) error {
		keys, err := f.keys(by, whole)
		if err != nil {
			return err
		}
		parts[unit] = append(parts[unit], batch{int(f.first), keys})
		total := int64(0)
		for _, k := range keys {
			total += int64(len(k)) + 24
		}
		return r.hold(total)
	})
	if err != nil {
		return err
	}
	for _, unit := range parts {
		for _, b := range unit {
			if err := do(b.first, b.keys); err != nil {
				return err
			}
		}
		if err := r.alive(); err != nil {
			return err
		}
	}
	return nil
}

// keys is the values of expressions, together, as bytes that are equal where the values are; with
// whole, nil where one is NULL.
func (f *frame) keys(by []*node, whole bool) ([][]byte, error) {
	cols := make([]*array.Column, len(by))
	for k, x := range by {
		v, err := f.eval(x)
		if err != nil {
			return nil, err
		}
		cols[k] = v
	}
	var buf []byte
	ends := make([]int, f.n)
	for i := range f.n {
		for _, c := range cols {
			buf = array.AppendKey(buf, c, i)
		}
		ends[i] = len(buf)
	}
	keys := make([][]byte, f.n)
	begin := 0
	for i, end := range ends {
		keys[i] = buf[begin:end:end]
		for _, c := range cols {
			if whole && c.IsNull(i) {
				keys[i] = nil
			}
		}
		begin = end
	}
	return keys, nil
}
