package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// labelled makes a dataset with labels of two classes, in three forms, and masks.
func labelled(t *testing.T, env *Env, uri string) *Dataset {
	t.Helper()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, env, uri, CreateOptions{}))
	t.Cleanup(func() { _ = d.Close() })
	for _, s := range []TensorSpec{
		{Name: "one", HType: "class_label", ClassNames: []string{"cat", "dog"}, AddClasses: true},
		{Name: "small", HType: "class_label", DType: "uint8", ClassNames: []string{"cat", "dog"}, AddClasses: true},
		{Name: "list", HType: "sequence[class_label]", ClassNames: []string{"cat", "dog"}, AddClasses: true},
		{Name: "mask", HType: "segment_mask", DType: "uint8", Compression: "png", ClassNames: []string{"cat", "dog"}, AddClasses: true},
	} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func name(class string) tensor.Sample {
	return tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(class)}
}

// label appends or updates a row whose labels are all of one class. Masks are by number: those of
// the class in d.
func label(t *testing.T, d *Dataset, row int64, class string) {
	t.Helper()
	ctx := context.Background()
	if names := classesOf(t, d, "mask"); !slices.Contains(names, class) {
		must[*writer](t)(d.transaction()).txn.Schema().Find("mask").ClassNames = append(slices.Clone(names), class)
	}
	number := byte(slices.Index(classesOf(t, d, "mask"), class))
	cols := []tensor.Rows{
		{Tensor: "one", Samples: []tensor.Sample{name(class)}}, {Tensor: "small", Samples: []tensor.Sample{name(class)}},
		{Tensor: "list", Samples: []tensor.Sample{name(class), name("cat"), name(class)}, RowItems: []int64{3}},
		{Tensor: "mask", Samples: []tensor.Sample{{Form: tensor.FormArray, DType: tensor.Uint8, Shape: tensor.Shape{1, 3}, Data: []byte{0, number, 1}}}},
	}
	var err error
	if row < 0 {
		err = d.Append(ctx, cols, 1)
	} else {
		err = d.Update(ctx, []int64{row}, cols)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// classesOf returns the classes of a tensor, with those that are not committed.
func classesOf(t *testing.T, d *Dataset, name string) []string {
	t.Helper()
	for _, ts := range must[Description](t)(d.Describe()).Tensors {
		if ts.Name == name {
			return ts.ClassNames
		}
	}
	t.Fatalf("no tensor %q", name)
	return nil
}

// labelsOf reads the classes of all rows, which must agree in all tensors.
func labelsOf(t *testing.T, d *Dataset) []string {
	t.Helper()
	v := must[*View](t)(d.View(t.Context()))
	classes := map[string][]string{}
	for _, n := range v.Names() {
		classes[n] = must[*Column](t)(v.Column(n)).ClassNames()
	}
	class := func(name string, data []byte, at int) string {
		if at < len(data) && int(data[at]) < len(classes[name]) {
			return classes[name][data[at]]
		}
		return fmt.Sprintf("%v of %q", data, classes[name])
	}
	var out []string
	for row := range v.Len() {
		one := class("one", sampleOf(t, v, "one", row).Data, 0)
		small := class("small", sampleOf(t, v, "small", row).Data, 0)
		mask := sampleOf(t, v, "mask", row).Data
		items := itemsOf(t, v, "list", row)
		if got := []string{small, class("mask", mask, 1), class("list", items[0], 0), class("list", items[2], 0)}; slices.ContainsFunc(got, func(s string) bool { return s != one }) {
			t.Errorf("row %d is of class %q and %q", row, one, got)
		}
		if class("mask", mask, 0) != "cat" || class("mask", mask, 2) != "dog" || class("list", items[1], 0) != "cat" {
			t.Errorf("row %d has lost its other labels: mask %v, list %v", row, mask, items)
		}
		out = append(out, one)
	}
	return out
}

// itemsOf reads the items of a row of a sequence.
func itemsOf(t *testing.T, v *View, name string, row int64) [][]byte {
	t.Helper()
	c := must[*Column](t)(v.Column(name))
	var refs [1]chunk.Ref
	if err := c.Resolve(t.Context(), []int64{row}, refs[:]); err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	items := make([]chunk.Ref, refs[0].Items)
	if err := c.Items(t.Context(), &refs[0], items); err != nil {
		t.Fatal(err)
	}
	out := make([][]byte, len(items))
	for i := range items {
		out[i] = make([]byte, items[i].Size)
		if err := c.Decode(t.Context(), &items[i], out[i], w); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestClassesMeet: writers of one branch, and branches, that add classes meet by name. A list of
// names is the oracle.
func TestClassesMeet(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			ctx, env, r := context.Background(), testEnv(), rand.New(rand.NewPCG(seed, 1))
			d := labelled(t, env, "mem://d")
			want := []string{"cat", "dog", "dog", "cat"}
			for _, class := range want {
				label(t, d, -1, class)
			}
			must[version.Committed](t)(d.Commit(ctx, "first"))
			names := []string{"cat", "dog", "owl", "fox", "elk"}
			for range 4 {
				other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
				branch := r.IntN(2) == 0
				if branch {
					if err := other.Checkout(ctx, fmt.Sprintf("try-%d", r.Uint64()), true); err != nil {
						t.Fatal(err)
					}
				}
				if err := d.Refresh(ctx); err != nil {
					t.Fatal(err)
				}
				here := slices.Clone(want)
				change := func(d *Dataset, base []string, low int) (rows, added []string) {
					rows = slices.Clone(base)
					for range 1 + r.IntN(4) {
						class := names[r.IntN(len(names))]
						if at := low + 2*r.IntN(max(1, len(base)/2)); r.IntN(3) == 0 && at < len(base) {
							label(t, d, int64(at), class)
							rows[at] = class
							continue
						}
						label(t, d, -1, class)
						added = append(added, class)
					}
					return rows, added
				}
				updatedHere, addedHere := change(d, want, 0)
				updatedThere, addedThere := change(other, want, 1)
				for i := range here {
					if here[i] = updatedHere[i]; i%2 == 1 {
						here[i] = updatedThere[i]
					}
				}
				if n := len(addedHere); n > 1 { // this row is new in its own commit
					if err := d.DeleteRows(ctx, []int64{int64(len(want))}); err != nil {
						t.Fatal(err)
					}
					addedHere = addedHere[1:]
				}
				must[version.Committed](t)(d.Commit(ctx, "here"))
				made := must[version.Committed](t)(other.Commit(ctx, "there"))
				if branch {
					var err error
					if made, _, err = d.Merge(ctx, other.Branch(), version.OnConflictError, ""); err != nil {
						t.Fatal(err)
					}
				} else if err := d.Refresh(ctx); err != nil {
					t.Fatal(err)
				}
				want = slices.Concat(here, addedHere, addedThere)
				if got := labelsOf(t, d); !slices.Equal(got, want) {
					t.Fatalf("after %+v: %q, want %q", made, got, want)
				}
				_ = other.Close()
			}
			if r := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{})); len(r.Problems) > 0 {
				t.Errorf("fsck: %+v", r.Problems)
			}
		})
	}
}

// TestClassesReport: the commit that gives labels other numbers says so.
func TestClassesReport(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), testEnv()
	d := labelled(t, env, "mem://d")
	label(t, d, -1, "cat")
	must[version.Committed](t)(d.Commit(ctx, ""))
	other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer func() { _ = other.Close() }()
	label(t, other, -1, "owl")
	label(t, other, -1, "fox")
	label(t, other, -1, "dog")
	label(t, d, -1, "fox")
	must[version.Committed](t)(d.Commit(ctx, ""))
	made := must[version.Committed](t)(other.Commit(ctx, ""))
	if len(made.Renumbered) != 4 || fmt.Sprint(made.Renumbered[0]) != "{one [owl fox] 2}" {
		t.Errorf("reported %+v", made.Renumbered)
	}
	if got := classesOf(t, other, "one"); !slices.Equal(got, []string{"cat", "dog", "fox", "owl"}) {
		t.Errorf("the classes are %q", got)
	}
}

// TestClassesOverflow: a number that a dtype has no room for is an error, and nothing changes.
func TestClassesOverflow(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), testEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "x", HType: "class_label", DType: "uint8", ClassNames: []string{"a"}, AddClasses: true}); err != nil {
		t.Fatal(err)
	}
	must[version.Committed](t)(d.Commit(ctx, ""))
	other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer func() { _ = other.Close() }()
	add := func(d *Dataset, prefix string, n int) {
		rows := tensor.Rows{Tensor: "x"}
		for i := range n {
			rows.Samples = append(rows.Samples, name(fmt.Sprint(prefix, i)))
		}
		if err := d.Append(ctx, []tensor.Rows{rows}, int64(n)); err != nil {
			t.Fatal(err)
		}
	}
	add(d, "here", 200)
	add(other, "there", 200)
	must[version.Committed](t)(d.Commit(ctx, ""))
	_, err := other.Commit(ctx, "")
	if !errs.Is(err, errs.Type) || !strings.Contains(err.Error(), "does not fit dtype uint8") {
		t.Errorf("the commit: %v", err)
	}
	if err := other.Discard(ctx); err != nil {
		t.Fatal(err)
	}
	if err := other.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if n := must[*View](t)(other.View(ctx)).Len(); n != 200 {
		t.Errorf("%d rows, want those of the first commit", n)
	}
}

// TestClassesChange renames, merges and removes classes, and meets others that do not.
func TestClassesChange(t *testing.T) {
	t.Parallel()
	ctx, env := context.Background(), testEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "x", HType: "class_label", ClassNames: []string{"a", "b", "c", "d"}, AddClasses: true}); err != nil {
		t.Fatal(err)
	}
	add := func(d *Dataset, classes ...string) {
		t.Helper()
		rows := tensor.Rows{Tensor: "x"}
		for _, class := range classes {
			rows.Samples = append(rows.Samples, name(class))
		}
		if err := d.Append(ctx, []tensor.Rows{rows}, int64(len(classes))); err != nil {
			t.Fatal(err)
		}
	}
	says := func(d *Dataset) string {
		t.Helper()
		v := must[*View](t)(d.View(ctx))
		names, out := must[*Column](t)(v.Column("x")).ClassNames(), []string{}
		for _, p := range readAll(t, v, "x") {
			out = append(out, names[p[0]])
		}
		return strings.Join(names, "") + " " + strings.Join(out, "")
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func(d *Dataset) { t.Helper(); must[version.Committed](t)(d.Commit(ctx, "")) }
	add(d, "a", "d", "c", "b", "d")
	commit(d)
	open := func() *Dataset {
		other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
		t.Cleanup(func() { _ = other.Close() })
		return other
	}

	other := open()
	do(ClassesOf(d, "x").Rename(ctx, "b", "B"))
	commit(d)
	add(other, "b", "e") // of the old name
	if _, err := other.Commit(ctx, ""); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), `some were renamed, merged or removed`) {
		t.Errorf("labels of a renamed class: %v", err)
	}
	do(other.Discard(ctx))
	do(other.Refresh(ctx))
	add(other, "B", "e")
	commit(other)
	if got := says(other); got != "aBcde adcBdBe" {
		t.Errorf("after a renaming: %s", got)
	}
	do(d.Refresh(ctx))
	do(ClassesOf(d, "x").Merge(ctx, []string{"a", "d"}, "A"))
	if got := says(d); got != "ABce AAcBABe" {
		t.Errorf("after a merge of classes: %s", got)
	}
	other = open()
	add(other, "c", "f")
	commit(d)
	if _, err := other.Commit(ctx, ""); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), `some were renamed, merged or removed`) {
		t.Errorf("a commit over removed classes: %v", err)
	}
	err := ClassesOf(d, "x").Remove(ctx, "c")
	if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "row 2: a label of this row") || says(d) != "ABce AAcBABe" {
		t.Errorf("a class with labels: %v, %s", err, says(d))
	}
	do(ClassesOf(d, "x").Merge(ctx, []string{"c"}, "e"))
	commit(d)
	add(d, "g")
	do(d.DeleteRows(ctx, []int64{7}))
	if err := ClassesOf(d, "x").Remove(ctx, "g"); !errs.Is(err, errs.Invalid) {
		t.Errorf("a class with labels of deleted rows: %v", err)
	}
	do(d.Discard(ctx))
	do(ClassesOf(d, "x").Rename(ctx, "e", "E"))
	commit(d)
	if got := says(d); got != "ABE AAEBABE" {
		t.Errorf("in the end: %s", got)
	}
	for what, err := range map[string]error{
		`did you mean "A"`:           ClassesOf(d, "x").Rename(ctx, "a", "z"),
		`another class is named "B"`: ClassesOf(d, "x").Rename(ctx, "A", "B"),
		"want text":                  ClassesOf(d, "x").Rename(ctx, "A", ""),
		"0 classes are to":           ClassesOf(d, "x").Merge(ctx, nil, "A"),
		`no class "q"`:               ClassesOf(d, "x").Remove(ctx, "q"),
		`no tensor "nope"`:           ClassesOf(d, "nope").Remove(ctx, "q"),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q", err, what)
		}
	}

	// A branch that changes classes merges once the other one has made the same change.
	do(d.Checkout(ctx, "work", true))
	do(ClassesOf(d, "x").Merge(ctx, []string{"B"}, "E"))
	commit(d)
	do(d.Checkout(ctx, "main", false))
	if _, _, err := d.Merge(ctx, "work", version.OnConflictTheirs, ""); !errs.Is(err, errs.Conflict) || says(d) != "ABE AAEBABE" {
		t.Errorf("the merge: %v, %s", err, says(d))
	}
	do(ClassesOf(d, "x").Merge(ctx, []string{"B"}, "E"))
	commit(d)
	if _, _, err := d.Merge(ctx, "work", version.OnConflictTheirs, ""); err != nil || says(d) != "AE AAEEAEE" {
		t.Errorf("the merge after the same change: %v, %s", err, says(d))
	}
	do(d.Checkout(ctx, "more", true))
	do(ClassesOf(d, "x").Merge(ctx, []string{"A", "E"}, "A"))
	commit(d)
	do(d.Checkout(ctx, "main", false))
	add(d, "E")
	commit(d)
	if _, _, err := d.Merge(ctx, "more", version.OnConflictTheirs, ""); !errs.Is(err, errs.Conflict) {
		t.Errorf("a merge over labels of removed classes: %v", err)
	}
}

// TestClassesReverted: labels from before a reverted commit get the numbers that their classes have
// now, or the revert is refused.
func TestClassesReverted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(ctx context.Context, classes Classes) error
		want   string // the classes, and those of the rows; "": a conflict
		moved  string
	}{
		{func(ctx context.Context, c Classes) error { return nil }, "xauc caa", "[]"},
		{func(ctx context.Context, c Classes) error { return c.Add(ctx, []string{"d"}) }, "xaucd caa", "[]"},
		{func(ctx context.Context, c Classes) error { return c.Remove(ctx, "u") }, "", ""},
		{func(ctx context.Context, c Classes) error { return c.Merge(ctx, []string{"x", "a"}, "x") }, "", ""},
		{func(ctx context.Context, c Classes) error { return c.Rename(ctx, "c", "C") }, "", ""},
	} {
		ctx, env := t.Context(), testEnv()
		d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
		if err := d.CreateTensor(ctx, TensorSpec{Name: "l", HType: "class_label", ClassNames: []string{"x", "a", "u", "c"}}); err != nil {
			t.Fatal(err)
		}
		if err := d.Append(ctx, []tensor.Rows{{Tensor: "l", Samples: []tensor.Sample{name("c"), name("a"), name("a")}}}, 3); err != nil {
			t.Fatal(err)
		}
		must[version.Committed](t)(d.Commit(ctx, ""))
		if err := d.Update(ctx, []int64{0}, []tensor.Rows{{Tensor: "l", Samples: []tensor.Sample{name("x")}}}); err != nil {
			t.Fatal(err)
		}
		wrong := must[version.Committed](t)(d.Commit(ctx, "a mistake"))
		if err := c.change(ctx, ClassesOf(d, "l")); err != nil {
			t.Fatal(err)
		}
		must[version.Committed](t)(d.Commit(ctx, "other classes"))
		made, _, err := d.Versions().Revert(ctx, wrong.Commit, version.OnConflictError, "")
		if (c.want == "") != errs.Is(err, errs.Conflict) || c.want != "" && err != nil {
			t.Errorf("%q: the revert: %v", c.want, err)
		}
		if c.want != "" {
			v := must[*View](t)(d.View(ctx))
			names, out := must[*Column](t)(v.Column("l")).ClassNames(), ""
			for _, p := range readAll(t, v, "l") {
				out += names[p[0]]
			}
			if got := strings.Join(names, "") + " " + out; got != c.want || fmt.Sprint(made.Renumbered) != c.moved {
				t.Errorf("%s, %v, want %s, %s", got, made.Renumbered, c.want, c.moved)
			}
		}
		_ = d.Close()
	}
}

// TestClassesCross: branches that have taken each other in keep their numbers apart, also in a
// revert and for a row that a merge brings back.
func TestClassesCross(t *testing.T) {
	t.Parallel()
	ctx, env := t.Context(), testEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	for _, s := range []TensorSpec{{Name: "l", HType: "class_label"}, {Name: "z", DType: "int64"}} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	add := func(d *Dataset, class string) {
		t.Helper()
		z := tensor.Rows{Tensor: "z", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(0)}}
		if err := d.Append(ctx, []tensor.Rows{{Tensor: "l", Samples: []tensor.Sample{name(class)}}, z}, 1); err != nil {
			t.Fatal(err)
		}
		must[version.Committed](t)(d.Commit(ctx, class))
	}
	merge := func(d *Dataset, from string, on version.Strategy) {
		t.Helper()
		if _, _, err := d.Merge(ctx, from, on, ""); err != nil {
			t.Fatal(err)
		}
	}
	says := func(d *Dataset, want string) {
		t.Helper()
		v := must[*View](t)(d.View(ctx))
		names, got := must[*Column](t)(v.Column("l")).ClassNames(), ""
		for _, p := range readAll(t, v, "l") {
			got += names[p[0]]
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	add(d, "a")
	w := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer func() { _ = w.Close() }()
	if err := w.Checkout(ctx, "work", true); err != nil {
		t.Fatal(err)
	}
	add(w, "e")
	add(d, "b")
	merge(w, "main", version.OnConflictError)
	says(w, "aeb")
	merge(d, "work", version.OnConflictError)
	says(d, "abe")

	if err := d.Update(ctx, []int64{1}, []tensor.Rows{{Tensor: "l", Samples: []tensor.Sample{name("a")}}}); err != nil {
		t.Fatal(err)
	}
	wrong := must[version.Committed](t)(d.Commit(ctx, "a mistake"))
	merge(w, "main", version.OnConflictError)
	if _, _, err := w.Versions().Revert(ctx, wrong.Commit, version.OnConflictError, ""); err != nil {
		t.Fatal(err)
	}
	says(w, "aeb")

	if err := d.DeleteRows(ctx, []int64{2}); err != nil {
		t.Fatal(err)
	}
	must[version.Committed](t)(d.Commit(ctx, "without e"))
	z := tensor.Rows{Tensor: "z", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(9)}}
	if err := w.Update(ctx, []int64{1}, []tensor.Rows{z}); err != nil {
		t.Fatal(err)
	}
	must[version.Committed](t)(w.Commit(ctx, "e is needed"))
	merge(d, "work", version.OnConflictTheirs)
	says(d, "abe")
}

// TestClassesByNumber: labels by number and labels by name do not meet.
func TestClassesByNumber(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	number := tensor.Sample{Form: tensor.FormArray, DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(0)}
	for _, both := range [][2]tensor.Sample{{number, name("b")}, {name("b"), number}} {
		env := testEnv()
		d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
		if err := d.CreateTensor(ctx, TensorSpec{Name: "l", HType: "class_label"}); err != nil {
			t.Fatal(err)
		}
		must[version.Committed](t)(d.Commit(ctx, ""))
		w := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
		for i, d := range []*Dataset{d, w} {
			if err := d.Append(ctx, []tensor.Rows{{Tensor: "l", Samples: []tensor.Sample{both[i]}}}, 1); err != nil {
				t.Fatal(err)
			}
		}
		must[version.Committed](t)(d.Commit(ctx, ""))
		if _, err := w.Commit(ctx, ""); !errs.Is(err, errs.Conflict) {
			t.Errorf("the second commit: %v", err)
		}
		_, _ = w.Close(), d.Close()
	}
}

// TestClassesSwapped: names that a side has exchanged mean other classes, and nothing is lost.
func TestClassesSwapped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, c := range []struct {
		other  string // that another writer appends; "": a sample of another tensor
		before bool   // the other writer commits first
		want   string // "": a conflict
	}{{"", true, "ba ba"}, {"", false, "ba ba"}, {"a", true, ""}, {"a", false, ""}, {"q", true, ""}, {"q", false, ""}} {
		env := testEnv()
		d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
		for _, s := range []TensorSpec{{Name: "l", HType: "class_label"}, {Name: "z", DType: "int64"}} {
			if err := d.CreateTensor(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		z := tensor.Rows{Tensor: "z", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(0, 0)}}
		if err := d.Append(ctx, []tensor.Rows{{Tensor: "l", Samples: []tensor.Sample{name("a"), name("b")}}, z}, 2); err != nil {
			t.Fatal(err)
		}
		must[version.Committed](t)(d.Commit(ctx, ""))
		other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
		for _, names := range [][2]string{{"a", "t"}, {"b", "a"}, {"t", "b"}} {
			if err := ClassesOf(d, "l").Rename(ctx, names[0], names[1]); err != nil {
				t.Fatal(err)
			}
		}
		z.Array = &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(1)}
		var err error
		if c.other == "" {
			err = other.Update(ctx, []int64{0}, []tensor.Rows{z})
		} else {
			err = other.Append(ctx, []tensor.Rows{{Tensor: "l", Samples: []tensor.Sample{name(c.other)}}, z}, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		first, second := d, other
		if c.before {
			first, second = other, d
		}
		must[version.Committed](t)(first.Commit(ctx, ""))
		_, err = second.Commit(ctx, "")
		if (c.want == "") != errs.Is(err, errs.Conflict) || c.want != "" && err != nil {
			t.Errorf("%+v: the second commit: %v", c, err)
		}
		if c.want != "" {
			v := must[*View](t)(second.View(ctx))
			names, got := must[*Column](t)(v.Column("l")).ClassNames(), ""
			for _, p := range readAll(t, v, "l") {
				got += names[p[0]]
			}
			if got = strings.Join(names, "") + " " + got; got != c.want {
				t.Errorf("%+v: %s", c, got)
			}
		}
		_, _ = other.Close(), d.Close()
	}
}
