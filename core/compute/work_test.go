package compute

import (
	"errors"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"deeplake/core/array"
	"deeplake/core/array/arraytest"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// everything lists all functions and operators.
func everything() []Function {
	list := operators()
	for _, name := range Names() {
		list = append(list, *Find(name))
	}
	return list
}

// named is the size of the names of types and classes in a result: no call allocates those.
const named = 64

// wideRows is the number of rows of wide. So many rows take more memory than a call needs besides.
const wideRows = 2000

// wide returns the samples with as many rows.
func wide() (all map[string]*array.Column, names []string) {
	at := make([]int, wideRows)
	for i := range at {
		at[i] = i % arraytest.SampleRows
	}
	all = arraytest.Samples()
	for name, c := range all {
		all[name] = c.Take(at)
		names = append(names, name)
	}
	sort.Strings(names)
	return all, names
}

// TestCallsReserve: every function counts the memory of its result, whatever its arguments are,
// unless the result shares that of an argument.
func TestCallsReserve(t *testing.T) {
	t.Parallel()
	all, names := wide()
	third := []string{"weak int", "int64", "name", "query"}
	for _, f := range everything() {
		t.Run(f.Name, func(t *testing.T) {
			called := 0
			for n := f.Least; n <= 3 && (f.Most < 0 || n <= f.Most); n++ {
				combine(n, names, third, func(pick []string) {
					args := make([]*array.Column, n)
					for i, p := range pick {
						args[i] = all[p]
					}
					if called > 150 || n == 0 {
						return
					}
					if _, err := f.Accepts(typesOf(args)); err != nil {
						return
					}
					w := array.NewWork(f.Name, nil, nil)
					got, err := f.Call(w, args)
					if err != nil || w.Err() != nil || got.Const || aliases(got, args) {
						return
					}
					called++
					if want := elementBytes(got) + newCharacters(got, args) - named; w.Made() < want {
						t.Errorf("%s(%s): %d bytes were reserved, the result has %d", f.Name, strings.Join(pick, ", "), w.Made(), want)
					}
				})
			}
		})
	}
}

// aliases reports whether a result is made of the memory of an argument.
func aliases(got *array.Column, args []*array.Column) bool {
	for _, a := range args {
		for _, c := range []*array.Column{got, got.Items} {
			if c != nil && (array.SharesMemory(c.Data, a.Data) || a.Items != nil && array.SharesMemory(c.Data, a.Items.Data)) {
				return true
			}
		}
	}
	return false
}

// elementBytes is the memory of the elements of a column. Characters of texts, and shapes, may be
// those of an argument.
func elementBytes(c *array.Column) int64 {
	if c.Items != nil {
		return elementBytes(c.Items)
	}
	bare := array.Column{Type: c.Type, N: c.N, Data: c.Data}
	return bare.Bytes() - c.TextBytes()
}

// newCharacters is the size of the texts of a result that lie outside the texts of the arguments.
func newCharacters(got *array.Column, args []*array.Column) (n int64) {
	texts := func(c *array.Column) []string {
		if c.Items != nil {
			c = c.Items
		}
		return array.Elems[string](c)
	}
	begin := func(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }
	ends := map[uintptr]uintptr{}
	for _, a := range args {
		for _, s := range texts(a) {
			ends[begin(s)] = max(ends[begin(s)], begin(s)+uintptr(len(s)))
		}
	}
	seen := map[uintptr]bool{}
	for _, s := range texts(got) {
		at := begin(s)
		if seen[at] {
			continue
		}
		seen[at] = true
		inside := len(s) == 0
		for from, end := range ends {
			inside = inside || at >= from && at+uintptr(len(s)) <= end
		}
		if !inside {
			n += int64(len(s))
		}
	}
	return n
}

// growing lists the calls whose results can be many times as large as their arguments, with such
// arguments. The results of other functions are a few times as large: TestCallsReserve holds that
// those are counted.
func growing() map[string]func(w *array.Work) (*array.Column, error) {
	text := func(s string) *array.Column { return array.FromStrings([]string{s}, nil) }
	count := func(n int64) *array.Column { return array.FromInts([]int64{n}, nil) }
	long := strings.Repeat("ab", 1<<20)
	call := func(name string, args ...*array.Column) func(w *array.Work) (*array.Column, error) {
		return func(w *array.Work) (*array.Column, error) { return Find(name).Call(w, args) }
	}
	vector := func(n int) *array.Column {
		return array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{int64(n)}, make([]uint8, n), nil)
	}
	tall := array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{1 << 13, 1}, make([]uint8, 1<<13), nil)
	boxes := array.FromArrays(array.Type{DType: tensor.Uint8, HType: "bbox", Boxes: "LTRB"}, tensor.Shape{1 << 13, 4}, make([]uint8, 4<<13), nil)
	cube := make([]bool, 4<<20)
	for i := range cube {
		cube[i] = true
	}
	same := make([]*array.Column, 150)
	for i := range same {
		same[i] = text(long)
	}
	stack := make([]*array.Column, 150)
	for i := range stack {
		stack[i] = vector(2 << 20)
	}
	half := text(strings.Repeat("a", 130<<20))
	return map[string]func(w *array.Work) (*array.Column, error){
		"REPEAT":                  call("REPEAT", text("ab"), count(1<<28)),
		"CONCAT":                  call("CONCAT", same...),
		"REPLACE":                 call("REPLACE", text(long), text("a"), text(strings.Repeat("c", 400))),
		"LPAD":                    call("LPAD", text("a"), count(1<<29)),
		"RPAD":                    call("RPAD", text("a"), count(1<<29)),
		"SPLIT into letters":      call("SPLIT", text(strings.Repeat("a", 16<<20)), text("")),
		"SPLIT":                   call("SPLIT", text(strings.Repeat(",", 16<<20)), text(",")),
		"LEVENSHTEIN":             call("LEVENSHTEIN", text(strings.Repeat("a", 16<<20)), text(strings.Repeat("a", 16<<20))),
		"REGEXP_REPLACE":          call("REGEXP_REPLACE", text(long), text("a"), text(strings.Repeat("c", 400))),
		"REGEXP_REPLACE of all":   call("REGEXP_REPLACE", text(long), text("(.*)"), text(strings.Repeat("$1", 200))),
		"REGEXP_REPLACE of short": call("REGEXP_REPLACE", text(strings.Repeat("a", 1<<10)), text("a"), text(strings.Repeat("c", 1<<19))),
		"REGEXP_REPLACE of none":  call("REGEXP_REPLACE", text(long), text(""), text(strings.Repeat("c", 200))),
		"IOU":                     call("IOU", boxes, boxes, text("pairwise")),
		"NONZERO":                 call("NONZERO", array.FromArrays(array.Type{DType: tensor.Bool}, tensor.Shape{1 << 8, 1 << 7, 1 << 7}, cube, nil)),
		"CLIP":                    call("CLIP", tall, array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{1, 1 << 13}, make([]uint8, 1<<13), nil), count(1)),
		"ATAN2":                   call("ATAN2", tall, vector(1<<13)),
		"+":                       func(w *array.Work) (*array.Column, error) { return Arith(w, "+", tall, vector(1<<13)) },
		"=":                       func(w *array.Work) (*array.Column, error) { return Compare(w, "=", tall, vector(1<<15)) },
		"AND":                     func(w *array.Work) (*array.Column, error) { return And(w, tall, vector(1<<15)) },
		"||":                      func(w *array.Work) (*array.Column, error) { return ConcatText(w, half, half) },
		"ARRAY":                   func(w *array.Work) (*array.Column, error) { return array.Stack(w, stack) },
		"SIN":                     call("SIN", vector(32<<20)),
		"CAST AS BIGINT": func(w *array.Work) (*array.Column, error) {
			return array.Cast(w, vector(32<<20), array.Of(tensor.Int64))
		},
		"CAST AS TEXT": func(w *array.Work) (*array.Column, error) {
			return array.Cast(w, array.From(array.Of(tensor.Uint8), make([]uint8, 8<<20), nil), array.Of(tensor.String))
		},
		"CAST AS JSON": func(w *array.Work) (*array.Column, error) {
			return array.Cast(w, text(strings.Repeat("\x01", 48<<20)), array.Of(tensor.JSON))
		},
		"TRANSPOSE": call("TRANSPOSE", array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{1 << 13, 1 << 12}, make([]uint8, 32<<20), nil)),
		"STD":       call("STD", vector(32<<20)),
		"MAXSIM":    call("MAXSIM", array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{32 << 20, 1}, make([]uint8, 32<<20), nil), array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{1, 1}, make([]uint8, 1), nil)),
		"AREA":      call("AREA", array.FromArrays(array.Type{DType: tensor.Uint8, HType: "bbox", Boxes: "LTRB"}, tensor.Shape{8 << 20, 4}, make([]uint8, 32<<20), nil)),
		"NORMALIZE": call("NORMALIZE", array.FromArrays(array.Type{DType: tensor.Uint8, HType: "bbox", Boxes: "LTRB"}, tensor.Shape{8 << 20, 4}, make([]uint8, 32<<20), nil), array.FromArrays(array.Type{DType: tensor.Uint8}, tensor.Shape{4}, []uint8{0, 0, 1, 1}, nil)),
	}
}

// TestGrowthIsRefused: a call that needs more than its budget fails before it allocates that.
func TestGrowthIsRefused(t *testing.T) {
	const budget, slack = 8 << 20, 120 << 20
	full := errors.New("over budget")
	for name, do := range growing() {
		held := int64(0)
		w := array.NewWork(name, nil, func(bytes int64) error {
			if held += bytes; held > budget {
				return full
			}
			return nil
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := do(w)
		runtime.ReadMemStats(&after)
		if w.Err() != full {
			t.Errorf("%s: %v and %v, want the error of the budget", name, err, w.Err())
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > budget+slack {
			t.Errorf("%s allocated %d MiB, with a budget of %d", name, made>>20, int64(budget)>>20)
		}
	}
}

// slow lists calls that run for seconds, hours or ages.
func slow() map[string]func(w *array.Work) (*array.Column, error) {
	text := func(s string) *array.Column { return array.FromStrings([]string{s}, nil) }
	call := func(name string, args ...*array.Column) func(w *array.Work) (*array.Column, error) {
		return func(w *array.Work) (*array.Column, error) { return Find(name).Call(w, args) }
	}
	a := strings.Repeat("a", 16<<20)
	many := func(s string, n int) *array.Column { return array.FromStrings([]string{s}, nil).Take(make([]int, n)) }
	numbers := func(shape ...int64) *array.Column {
		return array.FromArrays(array.Type{DType: tensor.Int8}, shape[1:], make([]int8, array.SizeOf(shape)), nil)
	}
	like := func(pattern string, fold bool) func(w *array.Work) (*array.Column, error) {
		return func(w *array.Work) (*array.Column, error) { return Like(w, text(a), text(pattern), fold) }
	}
	boxes := array.FromArrays(array.Type{DType: tensor.Int16, HType: "bbox", Boxes: "LTRB"}, tensor.Shape{1 << 17, 4}, make([]int16, 4<<17), nil)
	fewer := array.FromArrays(boxes.Type, tensor.Shape{1 << 12, 4}, make([]int16, 4<<12), nil)
	out := map[string]func(w *array.Work) (*array.Column, error){
		"LEVENSHTEIN":        call("LEVENSHTEIN", text(a), text(a)),
		"LEVENSHTEIN many":   call("LEVENSHTEIN", many(a[:1<<12], 1<<12), many(a[:1<<12], 1<<12)),
		"LIKE":               like("%"+a[:1<<12]+"_b%", false),
		"ILIKE":              like("%"+a[:1<<12]+"b%", true),
		"ILIKE of pieces":    like(strings.Repeat("%a", 1<<20)+"b%", true),
		"REGEXP_MATCHES":     call("REGEXP_MATCHES", text(a), text("(x+x+)+y|(.?){200}a{200}$b")),
		"REGEXP_MATCHES rep": call("REGEXP_MATCHES", text(a), text(strings.Repeat("(a?){300}", 30)+"c")),
		"REGEXP_EXTRACT":     call("REGEXP_EXTRACT", text(a), text("(a|b|ab)*c")),
		"REGEXP_REPLACE":     call("REGEXP_REPLACE", text(a), text("a"), text("b")),
		"REGEXP_REPLACE far": call("REGEXP_REPLACE", text(a), text("a.*b|a"), text("c")),
		"SPLIT":              call("SPLIT", many(a[:1<<14], 1<<12), many("", 1<<12)),
		"TRIM":               call("TRIM", many(a[:1<<14], 1<<14), many("a", 1<<14)),
		"REVERSE":            call("REVERSE", many(a[:1<<14], 1<<13)),
		"UPPER":              call("UPPER", text(strings.Repeat("\u00e4", 64<<20))),
		"LOWER":              call("LOWER", text(strings.Repeat("\u00c4", 64<<20))),
		"REPLACE":            call("REPLACE", text(a+a), text("a"), text("b")),
		"INSTR":              call("INSTR", many(a, 1<<12), many("b", 1<<12)),
		"CONTAINS":           call("CONTAINS", many(a, 1<<12), many("b", 1<<12)),
		"LENGTH":             call("LENGTH", many(a, 1<<12)),
		"SUBSTRING":          call("SUBSTRING", many(a, 1<<12), array.Constant(array.Of(tensor.Int64), int64(16<<20), 1<<12)),
		"LEFT":               call("LEFT", many(a, 1<<12), array.Constant(array.Of(tensor.Int64), int64(15<<20), 1<<12)),
		"RIGHT":              call("RIGHT", many(a, 1<<12), array.Constant(array.Of(tensor.Int64), int64(15<<20), 1<<12)),
		"LPAD":               call("LPAD", many(a, 1<<12), array.Constant(array.Of(tensor.Int64), int64(15<<20), 1<<12)),
		"CONCAT":             call("CONCAT", many(a, 60), many(a, 60)),
		"REPEAT":             call("REPEAT", many("a", 60), array.Constant(array.Of(tensor.Int64), int64(16<<20), 60)),
		"IOU":                call("IOU", boxes, boxes),
		"IOU pairwise":       call("IOU", fewer, fewer, text("pairwise")),
		"BOX_MATCHES":        call("BOX_MATCHES", boxes, boxes, array.FromFloats([]float64{0.5}, nil)),
		"MAXSIM":             call("MAXSIM", numbers(1, 1<<17, 1).Slice(0, 1), numbers(1, 1<<17, 1).Slice(0, 1)),
		"TRANSPOSE":          call("TRANSPOSE", numbers(1, 1<<12, 1<<13)),
		"NONZERO":            call("NONZERO", numbers(1, 1<<14, 1<<13)),
		"SUM by axis":        call("SUM", numbers(1, 1<<13, 1<<12), array.FromInts([]int64{0}, nil)),
		"CAST AS TEXT": func(w *array.Work) (*array.Column, error) {
			return array.Cast(w, array.FromFloats(make([]float64, 4<<20), nil), array.Of(tensor.String))
		},
		"broadcast": func(w *array.Work) (*array.Column, error) {
			return Arith(w, "^", numbers(1, 1<<12, 1), numbers(1, 1, 1<<13))
		},
	}
	for _, name := range []string{"SIN", "COS", "TAN", "EXP", "LN", "LOG10", "SQRT", "SIGN", "FLOOR", "ROUND", "ABS"} {
		if Find(name) != nil {
			out[name] = call(name, numbers(1, 16<<20))
		}
	}
	out["ATAN2"] = call("ATAN2", numbers(1, 16<<20), numbers(1, 16<<20))
	out["POW"] = call("POW", numbers(1, 16<<20), numbers(1, 16<<20))
	return out
}

// stopped is the processor time that a call may take from the moment at which its caller gave up.
// The promise to users is 200 ms. Here the collector works on the arguments of all calls, and a
// sanitizer slows everything down tenfold. A call that does not look runs for minutes.
const stopped = 30 * time.Second

// busy returns the processor time of this process: other processes do not count.
func busy() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestCallsStop: a call ends soon after its caller gave up, whatever work is left.
func TestCallsStop(t *testing.T) {
	gone := errs.New(errs.Canceled, "the caller is gone")
	for name, do := range slow() {
		began := busy()
		looks := 0
		longest, last := time.Duration(0), began
		var end time.Duration
		w := array.NewWork(name, func() error {
			now := busy()
			longest, last = max(longest, now-last), now
			looks++
			if now-began > 30*time.Millisecond {
				end = now
				return gone
			}
			return nil
		}, func(int64) error { return nil })
		_, err := do(w)
		if w.Err() == nil {
			t.Logf("%s ended by itself: %v", name, err)
			if took := busy() - began; took > stopped {
				t.Errorf("%s took %s and never looked whether its caller is there", name, took)
			}
			continue
		}
		if took := busy() - end; w.Err() != gone || took > stopped || longest > stopped {
			t.Errorf("%s: %v, %s after its caller was gone, with %s between two looks", name, w.Err(), took, longest)
		} else if took+longest > 100*time.Millisecond {
			t.Logf("%s: %s after, %s between two looks", name, took, longest)
		}
	}
}

// large returns columns of every kind whose rows, or whose number of rows, are large.
func large() []*array.Column {
	const rows = 1 << 16
	many := func(c *array.Column) *array.Column { return c.Take(make([]int, rows)) }
	one := func(t array.Type, shape tensor.Shape) *array.Column {
		return array.FromArrays(t, shape, array.NewVector(t.DType, array.SizeOf(shape)).Data(), nil)
	}
	items := array.FromStrings([]string{"abc", "b"}, nil)
	document := `{"a": [` + strings.Repeat(`{"b": "c"}, `, 1<<12) + `1]}`
	return []*array.Column{
		many(array.FromStrings([]string{strings.Repeat("ab ", 1<<12)}, nil)),
		array.Constant(array.Of(tensor.String), "(a|b)*", rows),
		array.Constant(array.Of(tensor.Int64), int64(1), rows),
		array.Constant(array.Of(tensor.Float64), 0.5, rows),
		many(array.FromInts([]int64{5}, nil)),
		many(array.From(array.OfUnit(array.Timestamp), []int64{1}, nil)),
		many(array.From(array.Of(tensor.JSON), []string{document}, nil)),
		one(array.Type{DType: tensor.Float32}, tensor.Shape{1 << 21, 4}),
		one(array.Type{DType: tensor.Int8}, tensor.Shape{1 << 23}),
		one(array.Type{DType: tensor.Int16, HType: "bbox", Boxes: "LTRB"}, tensor.Shape{1 << 14, 4}),
		many(array.FromLists(items, []int{2}, nil)),
		array.Constant(array.Type{DType: tensor.Float64, Dims: 1, Shape: tensor.Shape{4}}, []float64{0, 0, 1, 1}, rows),
	}
}

// TestEveryFunctionStops interrupts each function, with large arguments of every kind it takes.
func TestEveryFunctionStops(t *testing.T) {
	all := large()
	gone := errs.New(errs.Canceled, "the caller is gone")
	for _, f := range everything() {
		var args []*array.Column
		var try func()
		called := 0
		try = func() {
			if n := len(args); n >= f.Least && n > 0 && called < 12 {
				if _, err := f.Accepts(typesOf(args)); err == nil {
					called++
					began, end := time.Now(), time.Duration(0)
					w := array.NewWork(f.Name, func() error {
						if time.Since(began) < 5*time.Millisecond {
							return nil
						}
						if end == 0 {
							end = busy()
						}
						return gone
					}, nil)
					before := busy()
					_, _ = f.Call(w, args)
					if took := busy() - max(before, end); took > stopped {
						t.Errorf("%s of %d arguments, the first of type %s, ended %s after its caller was gone", f.Name, n, args[0].Type, took)
					}
				}
			}
			if n := len(args); n < 3 && (f.Most < 0 || n < f.Most) && called < 12 {
				for _, a := range all {
					if n == 0 || a.N == args[0].N || a.Const {
						if args = append(args, a); a.Const && a.N != args[0].N {
							args[n] = a.Slice(0, args[0].N)
						}
						try()
						args = args[:n]
					}
				}
			}
		}
		if try(); called == 0 && f.Most != 0 {
			t.Errorf("%s took none of the arguments", f.Name)
		}
	}
}
