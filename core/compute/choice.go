package compute

import (
	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Choose takes each row from one of several columns: row i of cols[from[i]], or NULL where from[i]
// is -1. The columns have the type t, or can become it; all have len(from) rows.
func Choose(w *array.Work, t array.Type, from []int32, cols []*array.Column) (*array.Column, error) {
	n := len(from)
	parts := make([]*array.Column, 0, len(cols))
	base := make([]int, len(cols))
	step := make([]int, len(cols))
	at := 0
	for i, c := range cols {
		c, err := array.Become(w, c, t)
		if err != nil {
			return nil, err
		}
		base[i], step[i] = at, 1
		if c.Const {
			c, step[i] = c.OnlyRow(), 0
		}
		at += c.N
		parts = append(parts, c)
	}
	all, err := array.Concat(w, t, parts)
	if err != nil {
		return nil, err
	}
	rows, ok := array.Room[int](w, n)
	if !ok {
		return nil, w.Err()
	}
	for i, k := range from {
		rows[i] = -1
		if k >= 0 {
			rows[i] = base[k] + i*step[k]
		}
	}
	return all.TakeIn(w, rows), w.Err()
}

func unifyAll(args []array.Type) (array.Type, error) {
	t := args[0]
	var err error
	for _, a := range args[1:] {
		if t, err = array.Unify(t, a); err != nil {
			return t, err
		}
	}
	return t, nil
}

func typesOf(args []*array.Column) []array.Type {
	out := make([]array.Type, len(args))
	for i, a := range args {
		out[i] = a.Type
	}
	return out
}

func choiceFunctions() []Function {
	return []Function{
		{Name: "COALESCE", Least: 1, Most: -1, Doc: "COALESCE(a, b, ...): the first that is not NULL", Check: unifyAll, Call: coalesce, Facts: Facts{Infallible: always}},
		{Name: "NULLIF", Least: 2, Most: 2, Doc: "NULLIF(a, b): NULL where both are equal, otherwise a", Check: func(args []array.Type) (array.Type, error) {
			if !args[0].Scalar() || !args[1].Scalar() {
				return array.Type{}, errs.New(errs.Type, "NULLIF of %s and %s: want single values", args[0], args[1])
			}
			_, err := CompareType("=", args[0], args[1])
			return args[0], err
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
				same, err := Compare(w, "=", c[0], c[1])
				if err != nil {
					return nil, err
				}
				from, ok := array.Room[int32](w, n)
				if !ok {
					return nil, w.Err()
				}
				for _, i := range Pick(same.ExpandIn(w)) {
					from[i] = -1
				}
				return Choose(w, c[0].Type, from, c[:1])
			}, args...)
		}},
		{Name: "IF", Least: 3, Most: 3, Doc: "IF(condition, a, b): a where the condition is true, otherwise b", Check: func(args []array.Type) (array.Type, error) {
			if err := TruthType(args[0]); err != nil {
				return array.Type{}, err
			}
			return array.Unify(args[1], args[2])
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
			t, err := array.Unify(args[1].Type, args[2].Type)
			if err != nil {
				return nil, err
			}
			return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
				is, err := Truth(w, c[0])
				if err != nil {
					return nil, err
				}
				from, ok := array.Room[int32](w, n)
				if !ok {
					return nil, w.Err()
				}
				for i := range from {
					from[i] = 1
				}
				if is.DType != 0 {
					for _, i := range Pick(is.ExpandIn(w)) {
						from[i] = 0
					}
				}
				return Choose(w, t, from, c[1:])
			}, args...)
		}},
		best("GREATEST", "the greatest of several values, NULL left out", ">"),
		best("LEAST", "the least of several values, NULL left out", "<"),
		{Name: "LOGICAL_AND", Least: 2, Most: 2, Doc: "LOGICAL_AND(a, b): a AND b, element by element", Check: func(args []array.Type) (array.Type, error) {
			return LogicType("AND", args[0], args[1])
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) { return And(w, args[0], args[1]) }},
		{Name: "LOGICAL_OR", Least: 2, Most: 2, Doc: "LOGICAL_OR(a, b): a OR b, element by element", Check: func(args []array.Type) (array.Type, error) {
			return LogicType("OR", args[0], args[1])
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) { return Or(w, args[0], args[1]) }},
		{Name: "LOGICAL_NOT", Least: 1, Most: 1, Doc: "LOGICAL_NOT(a): NOT a, element by element", Check: func(args []array.Type) (array.Type, error) {
			return NotType(args[0])
		}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) { return Not(w, args[0]) }},
	}
}

func coalesce(w *array.Work, args []*array.Column) (*array.Column, error) {
	t, err := unifyAll(typesOf(args))
	if err != nil {
		return nil, err
	}
	return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
		from, ok := array.Room[int32](w, n)
		if !ok {
			return nil, w.Err()
		}
		for i := range from {
			from[i] = -1
			for k := range c {
				if !c[k].IsNull(i) {
					from[i] = int32(k)
					break
				}
			}
		}
		return Choose(w, t, from, c)
	}, args...)
}

func best(name, doc, op string) Function {
	return Function{Name: name, Least: 1, Most: -1, Doc: name + "(a, b, ...): " + doc, Check: func(args []array.Type) (array.Type, error) {
		for i, t := range args {
			if t.DType != 0 && (!t.Scalar() || t.DType == tensor.JSON || t.DType == tensor.Bytes) {
				return array.Type{}, wrong(name, i, t, "a single value with an order")
			}
		}
		return unifyAll(args)
	}, Call: func(w *array.Work, args []*array.Column) (*array.Column, error) {
		t, err := unifyAll(typesOf(args))
		if err != nil {
			return nil, err
		}
		return array.ForAll(func(c []*array.Column, n int) (*array.Column, error) {
			out := c[0]
			if out, err = array.Become(w, out, t); err != nil {
				return nil, err
			}
			for _, other := range c[1:] {
				if other, err = array.Become(w, other, t); err != nil {
					return nil, err
				}
				if out, err = better(w, t, op, out, other, n); err != nil {
					return nil, err
				}
			}
			return out, nil
		}, args...)
	}}
}

// better takes from b where b op a holds, or a is NULL.
func better(w *array.Work, t array.Type, op string, a, b *array.Column, n int) (*array.Column, error) {
	is, err := Compare(w, op, b, a)
	if err != nil {
		return nil, err
	}
	from, ok := array.Room[int32](w, n)
	if !ok {
		return nil, w.Err()
	}
	if is.DType != 0 {
		for _, i := range Pick(is.ExpandIn(w)) {
			from[i] = 1
		}
	}
	for i := range from {
		if a.IsNull(i) {
			from[i] = 1
		}
	}
	return Choose(w, t, from, []*array.Column{a, b})
}
