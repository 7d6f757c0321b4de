package scan

import (
	"math"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/tensor"
)

// This file brings times that tensors count in other units to the microseconds of queries.

// unitOf returns the unit of a query for the numbers of a tensor.
func unitOf(t tensor.Time) array.Unit {
	return [...]array.Unit{tensor.NoTime: array.None, tensor.Date: array.Date, tensor.Timestamp: array.Timestamp, tensor.Interval: array.Interval}[t.Kind]
}

// timeOf returns the time that a tensor counts in a unit of queries.
func timeOf(u array.Unit) tensor.Time {
	switch u {
	case array.Date:
		return tensor.Time{Kind: tensor.Date}
	case array.Timestamp:
		return tensor.Time{Kind: tensor.Timestamp, Unit: tensor.Microsecond}
	case array.Interval:
		return tensor.Time{Kind: tensor.Interval, Unit: tensor.Microsecond}
	}
	return tensor.Time{}
}

// otherUnit reports whether a stored column counts time in another unit than queries do.
func (f *field) otherUnit() bool {
	if f.column == nil {
		return false
	}
	t := f.column.Access().Time
	return (t.Kind == tensor.Timestamp || t.Kind == tensor.Interval) && t.Unit != tensor.Microsecond
}

// micro returns a count in microseconds. Parts of a microsecond are cut off towards the past, so
// that the order of times stays. ok is false beyond 64 bits.
func (f *field) micro(v int64) (micros int64, ok bool) {
	if v == tensor.NotATime {
		return v, true
	}
	switch f.column.Access().Time.Unit {
	case tensor.Nanosecond:
		return floorDiv(v, 1000), true
	case tensor.Millisecond:
		return v * 1000, v <= math.MaxInt64/1000 && v >= math.MinInt64/1000
	}
	return v * 1_000_000, v <= math.MaxInt64/1_000_000 && v >= math.MinInt64/1_000_000
}

func floorDiv(v, by int64) int64 {
	q := v / by
	if v%by < 0 {
		q--
	}
	return q
}

// micros returns a column that was read with its times in microseconds. Its memory may be the page
// cache's, and is not changed.
func (f *field) micros(c *array.Column) (*array.Column, error) {
	if !f.otherUnit() || c == nil {
		return c, nil
	}
	out := *c
	if c.Items != nil {
		items, err := f.micros(c.Items)
		out.Items = items
		return &out, err
	}
	from, ok := c.Data.([]int64)
	if !ok {
		return c, nil
	}
	data := make([]int64, len(from))
	for i, v := range from {
		if data[i], ok = f.micro(v); !ok && !(c.Null != nil && len(c.Null) == len(from) && c.Null[i]) {
			return nil, errs.New(errs.Range, "the time %d of %s lies beyond the microseconds that 64 bits hold", v, f.column.Access().Time)
		}
	}
	out.Data = data
	return &out, nil
}

// microBounds brings the bounds of a zone to microseconds. Bounds that these do not hold are
// dropped.
func (f *field) microBounds(z *query.Zone) {
	if !f.otherUnit() {
		return
	}
	least, ok := z.Min.(int64)
	most, also := z.Max.(int64)
	if !ok || !also {
		return
	}
	least, ok = f.micro(least)
	most, also = f.micro(most)
	if ok && also {
		z.Min, z.Max = least, most
	} else {
		z.Min, z.Max = nil, nil
	}
}
