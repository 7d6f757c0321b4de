package compute

import (
	"strconv"

	"deeplake/core/array"
	"deeplake/core/errs"
)

// Apply checks the arguments of f and calls it.
func (f *Function) Apply(args ...*array.Column) (*array.Column, error) {
	types := make([]array.Type, len(args))
	for i, a := range args {
		types[i] = a.Type
	}
	if _, err := f.Accepts(types); err != nil {
		return nil, err
	}
	return f.Call(nil, args)
}

// Accepts is Check with the number of arguments looked at, too.
func (f *Function) Accepts(args []array.Type) (array.Type, error) {
	n := len(args)
	if n < f.Least || f.Most >= 0 && n > f.Most {
		want := strconv.Itoa(f.Least)
		switch {
		case f.Most < 0:
			want = "at least " + want
		case f.Most > f.Least:
			want += " to " + strconv.Itoa(f.Most)
		}
		return array.Type{}, errs.New(errs.Invalid, "%s: got %d arguments, want %s: %s", f.Name, n, want, f.Doc)
	}
	return f.Check(args)
}

// SortRows puts rows into the order of keys; equal ones stay as they stand.
func SortRows(keys []array.Key, rows []int) error {
	o, err := array.Order(keys, nil)
	if err == nil {
		o.Sort(rows)
	}
	return err
}

// TopK returns the first k rows in the order of keys.
func TopK(keys []array.Key, k int) ([]int, error) {
	o, err := array.Order(keys, nil)
	if err != nil {
		return nil, err
	}
	return o.Top(keys[0].Column.N, k), nil
}
