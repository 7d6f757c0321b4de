package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

func begin(t *testing.T, d *Dataset) []byte {
	t.Helper()
	return must[[]byte](t)(WritesTo(d).Begin(context.Background(), DefaultLease))
}

// inTask runs a task, and returns its fragment.
func inTask(t *testing.T, env *Env, uri string, token []byte, key string, work func(d *Dataset)) []byte {
	t.Helper()
	d := must[*Dataset](t)(OpenTask(context.Background(), env, uri, token, key, storage.Options{}))
	defer func() { _ = d.Close() }()
	work(d)
	return must[[]byte](t)(FragmentOf(context.Background(), d))
}

// TestFragments: tasks append, update and delete side by side, attempts run twice, others commit
// meanwhile, and one commit takes the fragments in.
func TestFragments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := numberedDataset(t, env, "mem://d")
	appendNumbers(t, d, 0, 1, 2, 3, 4, 5)
	commit(t, d, "six")
	token := begin(t, d)
	other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer func() { _ = other.Close() }()
	appendNumbers(t, other, 77)
	updateNumbers(t, other, 5, 55)
	commit(t, other, "meanwhile")

	var parts [][]byte
	for i := range int64(4) {
		for attempt := range 2 {
			if attempt == 1 && i%2 == 0 {
				continue
			}
			parts = append(parts, inTask(t, env, "mem://d", token, fmt.Sprint("task ", i), func(d *Dataset) {
				if want := []int64{0, 1, 2, 3, 4, 5}; !slices.Equal(numbersIn(t, d), want) {
					t.Errorf("a task sees the rows %v, want %v", numbersIn(t, d), want)
				}
				appendNumbers(t, d, 100+i, 200+i, 300+i)
				updateNumbers(t, d, 7, 1000+i) // a row of its own
				updateNumbers(t, d, i, 10+i)
				if i == 3 {
					if err := d.DeleteRows(ctx, []int64{4, 6}); err != nil {
						t.Error(err)
					}
				}
			}))
		}
	}
	// the order of the commit is the one given
	slices.Reverse(parts)
	report := must[WriteReport](t)(WritesTo(d).Commit(ctx, token, parts, CommitFragmentsOptions{Message: "tasks"}))
	if report.Fragments != 4 || !slices.Equal(report.Repeated, []string{"task 3", "task 1"}) || report.Message != "tasks" || report.Version != 4 {
		t.Errorf("the report is %+v", report)
	}
	want := []int64{10, 11, 12, 13, 55, 77, 1003, 303, 102, 1002, 302, 101, 1001, 301, 100, 1000, 300}
	if got := numbersIn(t, d); !slices.Equal(got, want) {
		t.Errorf("the rows are %v, want %v", got, want)
	}
	wantWhole(t, d)
	again := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer func() { _ = again.Close() }()
	if got := numbersIn(t, again); !slices.Equal(got, want) {
		t.Errorf("the rows are %v, want %v", got, want)
	}
	// The same commit once more is the same version.
	if twice := must[WriteReport](t)(WritesTo(d).Commit(ctx, token, parts, CommitFragmentsOptions{Message: "tasks"})); twice.Commit != report.Commit {
		t.Errorf("the second commit is %+v", twice)
	}
	// Others with one of these tasks are a conflict.
	late := inTask(t, env, "mem://d", token, "late", func(d *Dataset) { appendNumbers(t, d, 9) })
	for name, list := range map[string][][]byte{"one of them": parts[:1], "with another": {late, parts[2]}} {
		_, err := WritesTo(d).Commit(ctx, token, list, CommitFragmentsOptions{})
		if !errs.Is(err, errs.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r := must[WriteReport](t)(WritesTo(again).Commit(ctx, token, [][]byte{late}, CommitFragmentsOptions{})); r.Version != 5 {
		t.Errorf("the late one is %+v", r)
	}
	if got := numbersIn(t, again); !slices.Equal(got, append(want, 9)) {
		t.Errorf("the rows are %v", got)
	}
	if err := WritesTo(d).End(ctx, token); err != nil {
		t.Error(err)
	}
	// Without fragments the version stays.
	was := d.head.Record.UUID
	if r, err := WritesTo(d).Commit(ctx, token, nil, CommitFragmentsOptions{}); err != nil || r.Commit != was.String() {
		t.Errorf("no fragments: %+v, %v", r, err)
	}
}

// TestFragmentsAtRandom holds tasks against the same changes made one after the other.
func TestFragmentsAtRandom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 52))
		env := testEnv()
		d := numberedDataset(t, env, "mem://d")
		var rows []int64 // of the base
		for i := range r.Int64N(300) {
			rows = append(rows, i)
		}
		if len(rows) > 0 {
			appendNumbers(t, d, rows...)
			commit(t, d, "rows")
		}
		token := begin(t, d)
		var parts [][]byte
		values, gone, added := slices.Clone(rows), map[int64]bool{}, []int64{}
		tasks := r.Perm(r.IntN(6))
		for _, k := range tasks {
			parts = append(parts, inTask(t, env, "mem://d", token, fmt.Sprint(k), func(d *Dataset) {
				own := []int64{}
				for range r.IntN(4) {
					n := r.IntN(40)
					batch := make([]int64, n)
					for i := range batch {
						batch[i] = r.Int64N(1 << 40)
					}
					if n > 0 {
						appendNumbers(t, d, batch...)
						own = append(own, batch...)
					}
					if len(own) > 0 && r.IntN(2) == 0 {
						at, v := r.IntN(len(own)), r.Int64N(1<<40)
						updateNumbers(t, d, int64(len(rows)+at), v)
						own[at] = v
					}
				}
				// each task has rows of the base of its own
				var lost []int64
				for row := range int64(len(rows)) {
					switch {
					case row%6 != int64(k):
					case r.IntN(3) == 0:
						v := r.Int64N(1 << 40)
						updateNumbers(t, d, row, v)
						values[row] = v
					case r.IntN(4) == 0:
						gone[row], lost = true, append(lost, row)
					}
				}
				if err := d.DeleteRows(ctx, lost); err != nil {
					t.Fatal(err)
				}
				added = append(added, own...)
			}))
		}
		must[WriteReport](t)(WritesTo(d).Commit(ctx, token, parts, CommitFragmentsOptions{}))
		want := []int64{}
		for row, v := range values {
			if !gone[int64(row)] {
				want = append(want, v)
			}
		}
		want = append(want, added...)
		if got := numbersIn(t, d); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		wantWhole(t, d)
	}
}

// TestFragmentsOfColumns: tasks write a new tensor, each for a range of rows.
func TestFragmentsOfColumns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := numberedDataset(t, env, "mem://d")
	const n = 1000
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	appendNumbers(t, d, all...)
	commit(t, d, "rows")
	if err := d.DeleteRows(ctx, []int64{150, 151, 700}); err != nil {
		t.Fatal(err)
	}
	commit(t, d, "fewer")
	before := d.head.Record
	token := begin(t, d)
	fill := func(key string, from, to int64) []byte {
		return inTask(t, env, "mem://d", token, key, func(d *Dataset) {
			if err := d.CreateTensor(ctx, TensorSpec{Name: "e", DType: "int64"}); err != nil {
				t.Fatal(err)
			}
			for at := from; at < to; at += 100 {
				rows := make([]int64, min(100, to-at))
				for i := range rows {
					rows[i] = at + int64(i)
				}
				doubled := make([]int64, len(rows))
				for i := range rows {
					doubled[i] = 2 * rows[i]
				}
				column := tensor.Rows{Tensor: "e", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(doubled...)}}
				if err := d.Update(ctx, rows, []tensor.Rows{column}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	a, b, c := fill("a", 0, 400), fill("b", 400, 610), fill("c", 610, n-3)
	_, err := WritesTo(d).Commit(ctx, token, [][]byte{a, c}, CommitFragmentsOptions{})
	if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "210 rows, of which the first are [400 401") {
		t.Errorf("rows without a fragment: %v", err)
	}
	_, err = WritesTo(d).Commit(ctx, token, [][]byte{a, b, c, fill("d", 390, 500)}, CommitFragmentsOptions{})
	if !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "row") {
		t.Errorf("rows of two fragments: %v", err)
	}
	must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{c, a, b}, CommitFragmentsOptions{}))
	v := must[*View](t)(d.View(ctx))
	for row, got := range readAll(t, v, "e") {
		if !bytes.Equal(got, int64s(2*int64(row))) {
			t.Fatalf("row %d of the new tensor is %v", row, got)
		}
	}
	for _, ts := range d.head.Schema.Tensors {
		if old, ok := before.Columns[ts.ID]; ok && *old.Root != *d.head.Record.Columns[ts.ID].Root {
			t.Errorf("tensor %q has other pages than before", ts.Name)
		}
	}
	wantWhole(t, d)
}

// TestFragmentClasses: tasks that add classes in any order have the same classes after the commit.
func TestFragmentClasses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "l", HType: "class_label"}); err != nil {
		t.Fatal(err)
	}
	labels := func(d *Dataset, names ...string) {
		col := tensor.Rows{Tensor: "l"}
		for _, name := range names {
			col.Samples = append(col.Samples, tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: []byte(name)})
		}
		if err := d.Append(ctx, []tensor.Rows{col}, int64(len(names))); err != nil {
			t.Fatal(err)
		}
	}
	labels(d, "cat")
	commit(t, d, "first")
	token := begin(t, d)
	a := inTask(t, env, "mem://d", token, "a", func(d *Dataset) { labels(d, "dog", "cat", "cow") })
	b := inTask(t, env, "mem://d", token, "b", func(d *Dataset) { labels(d, "cow", "eel", "dog", "cat") })
	c := inTask(t, env, "mem://d", token, "c", func(d *Dataset) { labels(d, "cat") })
	must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{a, b, c}, CommitFragmentsOptions{}))
	if err := d.CreateTensor(ctx, TensorSpec{Name: "m", HType: "class_label"}); err != nil {
		t.Fatal(err)
	}
	commit(t, d, "another")
	second := begin(t, d)
	mixed := func(key string, col tensor.Rows) []byte {
		return inTask(t, env, "mem://d", second, key, func(d *Dataset) {
			col.Tensor = "m"
			l := tensor.Rows{Tensor: "l", Samples: []tensor.Sample{{Form: tensor.FormHole}}}
			if err := d.Append(ctx, []tensor.Rows{l, col}, 1); err != nil {
				t.Fatal(err)
			}
		})
	}
	number := mixed("number", tensor.Rows{Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(3)}})
	name := mixed("name", tensor.Rows{Samples: []tensor.Sample{{Form: tensor.FormText, DType: tensor.String, Data: []byte("cat")}}})
	for _, parts := range [][][]byte{{number, name}, {name, number}} {
		if _, err := WritesTo(d).Commit(ctx, second, parts, CommitFragmentsOptions{}); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "labels by number") {
			t.Errorf("numbers beside names: %v", err)
		}
	}
	names := d.head.Schema.Find("l").ClassNames
	var got []string
	for _, data := range readAll(t, must[*View](t)(d.View(ctx)), "l") {
		got = append(got, names[binary.LittleEndian.Uint64(data)])
	}
	if want := []string{"cat", "dog", "cat", "cow", "cow", "eel", "dog", "cat", "cat"}; !slices.Equal(got, want) {
		t.Errorf("the labels are %v, want %v", got, want)
	}
	wantWhole(t, d)
}

// TestFragmentSchemas: tasks may make the tensors, or decide their dtypes, and must agree.
func TestFragmentSchemas(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	token := begin(t, d)
	rows := func(dt tensor.DType, size int) func(d *Dataset) {
		return func(d *Dataset) {
			col := tensor.Rows{Tensor: "n", Array: &tensor.Array{DType: dt, Shape: tensor.Shape{}, Data: make([]byte, 3*size)}}
			if err := d.Append(ctx, []tensor.Rows{col}, 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, b := inTask(t, env, "mem://d", token, "a", rows(tensor.Int64, 8)), inTask(t, env, "mem://d", token, "b", rows(tensor.Int64, 8))
	f := inTask(t, env, "mem://d", token, "f", rows(tensor.Float32, 4))
	_, err := WritesTo(d).Commit(ctx, token, [][]byte{a, f}, CommitFragmentsOptions{})
	if !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), `tensor "n"`) || !strings.Contains(err.Error(), "float32") {
		t.Errorf("two dtypes: %v", err)
	}
	must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{a, b}, CommitFragmentsOptions{}))
	if v := must[*View](t)(d.View(ctx)); v.Len() != 6 || len(v.Names()) != 1 {
		t.Errorf("%d rows of %v", v.Len(), v.Names())
	}
	wantWhole(t, d)
}

func deleteRows(t *testing.T, d *Dataset, rows ...int64) {
	t.Helper()
	if err := d.DeleteRows(context.Background(), rows); err != nil {
		t.Fatal(err)
	}
}

// TestFragmentErrors: errors of tasks and commits name the way out, and nothing changes.
func TestFragmentErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := numberedDataset(t, env, "mem://d")
	appendNumbers(t, d, 1, 2, 3)
	commit(t, d, "three")
	token, second := begin(t, d), begin(t, d)
	e := numberedDataset(t, env, "mem://e")
	foreign := begin(t, e)

	task := must[*Dataset](t)(OpenTask(ctx, env, "mem://d", token, "k", storage.Options{}))
	appendNumbers(t, task, 4)
	for name, do := range map[string]func() error{
		"commit":  func() error { _, err := task.Commit(ctx, ""); return err },
		"refresh": func() error { return task.Refresh(ctx) },
		"branch":  func() error { return task.Checkout(ctx, "b", true) },
		"tag":     func() error { _, err := task.Versions().CreateTag(ctx, "v", "", ""); return err },
		"begin":   func() error { _, err := WritesTo(task).Begin(ctx, DefaultLease); return err },
	} {
		if err := do(); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "fragment()") {
			t.Errorf("%s in a task: %v", name, err)
		}
	}
	good := must[[]byte](t)(FragmentOf(ctx, task))
	if err := task.Append(ctx, rowsOf([]int64{5}), 1); !errs.Is(err, errs.Invalid) {
		t.Errorf("append behind the fragment: %v", err)
	}
	_ = task.Close()
	if _, err := FragmentOf(ctx, d); !errs.Is(err, errs.Invalid) {
		t.Errorf("a fragment without a task: %v", err)
	}
	for _, key := range []string{"", strings.Repeat("k", 257), "a\nb", "\xff"} {
		if _, err := OpenTask(ctx, env, "mem://d", token, key, storage.Options{}); !errs.Is(err, errs.Invalid) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if _, err := OpenTask(ctx, env, "mem://e", token, "k", storage.Options{}); !errs.Is(err, errs.Conflict) {
		t.Errorf("a write of another dataset: %v", err)
	}
	for name, c := range map[string]struct {
		token []byte
		parts [][]byte
		kind  errs.Kind
		want  string
	}{
		"another dataset": {token, [][]byte{inTask(t, env, "mem://e", foreign, "k", func(d *Dataset) { appendNumbers(t, d, 1) })}, errs.Invalid, "is of dataset"},
		"another write":   {second, [][]byte{good}, errs.Invalid, "is of write"},
		"no json":         {token, [][]byte{[]byte("{}")}, errs.Invalid, "fragment 0"},
		"cut":             {token, [][]byte{good, good[:len(good)/2]}, errs.Invalid, "fragment 1"},
		"no token":        {[]byte("x"), [][]byte{good}, errs.Invalid, "distributed write"},
		"a fragment":      {good, [][]byte{good}, errs.Invalid, "distributed write"},
		"update twice": {token, [][]byte{
			inTask(t, env, "mem://d", token, "u", func(d *Dataset) { updateNumbers(t, d, 1, 7) }),
			inTask(t, env, "mem://d", token, "v", func(d *Dataset) { updateNumbers(t, d, 1, 8) }),
		}, errs.Conflict, "row 1"},
		"update and delete": {token, [][]byte{
			inTask(t, env, "mem://d", token, "u", func(d *Dataset) { updateNumbers(t, d, 1, 7) }),
			inTask(t, env, "mem://d", token, "v", func(d *Dataset) { deleteRows(t, d, 0, 1) }),
		}, errs.Conflict, "row 1"},
		"delete and update": {token, [][]byte{
			inTask(t, env, "mem://d", token, "v", func(d *Dataset) { deleteRows(t, d, 2, 1) }),
			inTask(t, env, "mem://d", token, "u", func(d *Dataset) { updateNumbers(t, d, 1, 7) }),
		}, errs.Conflict, "row 1"},
	} {
		_, err := WritesTo(d).Commit(ctx, c.token, c.parts, CommitFragmentsOptions{})
		if !errs.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	appendNumbers(t, d, 6)
	if _, err := WritesTo(d).Commit(ctx, token, [][]byte{good}, CommitFragmentsOptions{}); !errs.Is(err, errs.Conflict) {
		t.Errorf("beside uncommitted changes: %v", err)
	}
	if err := d.Discard(ctx); err != nil {
		t.Fatal(err)
	}
	if got := numbersIn(t, d); !slices.Equal(got, []int64{1, 2, 3}) || d.head.Record.Version != 2 {
		t.Errorf("the rows are %v in version %d", got, d.head.Record.Version)
	}
	must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{good}, CommitFragmentsOptions{}))
	if got := numbersIn(t, d); !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Errorf("the rows are %v", got)
	}
}

// TestFragmentWithoutChunks: chunks that a gc has removed, or that have other sizes, are found
// before the commit.
func TestFragmentWithoutChunks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, space, clock := datedEnv()
	store := openedStore(t, space, "d")
	d := numberedDataset(t, env, "mem://d")
	token := begin(t, d)
	part := inTask(t, env, "mem://d", token, "k", func(d *Dataset) { appendNumbers(t, d, 1, 2) })
	// The lease keeps the chunks, whatever the gc is told.
	clock.days.Store(0)
	if r := must[maintain.GCReport](t)(d.Versions().GC(ctx, maintain.GCOptions{})); r.Objects != 0 {
		t.Errorf("a gc beside a write removed %+v", r)
	}
	chunk := keysBelow(t, store, "data/")[0]
	data := must[[]byte](t)(store.Get(ctx, chunk))
	if err := store.Put(ctx, chunk, append(slices.Clone(data), 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := WritesTo(d).Commit(ctx, token, [][]byte{part}, CommitFragmentsOptions{}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), chunk) {
		t.Errorf("a chunk of another size: %v", err)
	}
	if err := store.Put(ctx, chunk, data); err != nil {
		t.Fatal(err)
	}
	if err := WritesTo(d).End(ctx, token); err != nil {
		t.Fatal(err)
	}
	// Without its lease, a write has the grace period.
	clock.days.Store(6)
	if r := must[maintain.GCReport](t)(d.Versions().GC(ctx, maintain.GCOptions{OlderThan: 7 * 24 * time.Hour})); r.Objects != 0 {
		t.Errorf("a gc within the grace period removed %+v", r)
	}
	if _, err := WritesTo(d).Commit(ctx, token, [][]byte{part}, CommitFragmentsOptions{}); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "gc") {
		t.Errorf("chunks that a gc may remove soon: %v", err)
	}
	clock.days.Store(8)
	if r := must[maintain.GCReport](t)(d.Versions().GC(ctx, maintain.GCOptions{OlderThan: 7 * 24 * time.Hour})); r.Objects == 0 {
		t.Errorf("a gc left the chunks of a write that ended: %+v", r)
	}
	if _, err := WritesTo(d).Commit(ctx, token, [][]byte{part}, CommitFragmentsOptions{}); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("chunks that are gone: %v", err)
	}
	if got := numbersIn(t, d); len(got) != 0 {
		t.Errorf("the rows are %v", got)
	}
}

// TestLeases: a lease that is not renewed ends, and gc removes it.
func TestLeases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, space, clock := datedEnv()
	store := openedStore(t, space, "d")
	d := numberedDataset(t, env, "mem://d")
	token := begin(t, d)
	inTask(t, env, "mem://d", token, "k", func(d *Dataset) { appendNumbers(t, d, 1, 2) })
	if n := len(keysBelow(t, store, format.LeasePrefix())); n != 2 {
		t.Fatalf("%d objects of leases", n)
	}
	clock.days.Store(1)
	gc := maintain.GCOptions{OlderThan: time.Hour}
	gc.DryRun = true
	dry := must[maintain.GCReport](t)(d.Versions().GC(ctx, gc))
	gc.DryRun = false
	if r := must[maintain.GCReport](t)(d.Versions().GC(ctx, gc)); r.Objects < 4 || r.Objects != dry.Objects || len(keysBelow(t, store, format.LeasePrefix())) != 0 {
		t.Errorf("a gc after the lease removed %+v, and %+v if dry", r, dry)
	}
	wantWhole(t, d)
}

// TestFragmentsKilled stops tasks and the commit at every call, in every way. Work that is done
// again has every row once.
func TestFragmentsKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, do := range map[string]faultstore.Action{
		"fails": faultstore.Fail(errs.Storage), "crash": faultstore.Crash(), "crash after": faultstore.CrashAfter(), "lost answer": faultstore.LostAnswer(),
	} {
		for _, driver := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " driver ", driver), func(t *testing.T) {
				t.Parallel()
				for n := 0; ; n++ {
					space := &mem.Space{}
					env, store := faulty(t, space.Open)
					d := numberedDataset(t, env, "x://d")
					appendNumbers(t, d, 0, 1, 2)
					commit(t, d, "three")
					token := begin(t, d)
					var parts [][]byte
					task := func(key string, faults faultstore.Plan) (hit bool, err error) {
						d, err := OpenTask(ctx, env, "x://d", token, key, storage.Options{})
						if err != nil {
							return false, err
						}
						defer func() { _ = d.Close() }()
						s := store()
						called := len(s.Calls())
						s.SetPlan(faults)
						err = d.Append(ctx, rowsOf([]int64{10, 11}), 2)
						if err == nil {
							err = d.Update(ctx, []int64{1}, rowsOf([]int64{9}))
						}
						var part []byte
						if err == nil {
							part, err = FragmentOf(ctx, d)
						}
						if err == nil {
							parts = append(parts, part)
						}
						return len(s.Calls())-called > n, err
					}
					plan := faultstore.Plan{{Skip: n, Do: do}}
					hit := false
					if !driver {
						hit, _ = task("k", plan)
						if _, err := task("k", nil); err != nil {
							t.Fatal(err)
						}
					} else if _, err := task("k", nil); err != nil {
						t.Fatal(err)
					}
					if driver {
						broken := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{}))
						s := store()
						called := len(s.Calls())
						s.SetPlan(plan)
						_, _ = WritesTo(broken).Commit(ctx, token, parts, CommitFragmentsOptions{})
						hit = len(s.Calls())-called > n
						_ = broken.Close()
						now := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{}))
						if got := numbersIn(t, now); !slices.Equal(got, []int64{0, 1, 2}) && !slices.Equal(got, []int64{0, 9, 2, 10, 11}) {
							t.Fatalf("call %d: the rows are %v", n, got)
						}
						_ = now.Close()
					}
					now := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{}))
					must[WriteReport](t)(WritesTo(now).Commit(ctx, token, parts, CommitFragmentsOptions{}))
					if got := numbersIn(t, now); !slices.Equal(got, []int64{0, 9, 2, 10, 11}) || now.head.Record.Version != 3 {
						t.Fatalf("call %d: the rows are %v in version %d", n, got, now.head.Record.Version)
					}
					must[maintain.GCReport](t)(now.Versions().GC(ctx, maintain.GCOptions{}))
					wantWhole(t, now)
					_ = now.Close()
					if !hit {
						if n < 4 {
							t.Fatalf("the work made %d calls", n)
						}
						return
					}
				}
			})
		}
	}
}

// TestCommitOnce: a key stands for one commit of any program, at any place of the history.
func TestCommitOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := numberedDataset(t, env, "mem://d")
	appendNumbers(t, d, 1)
	first, err := CommitOnce(ctx, d, "job", "job 7")
	if err != nil {
		t.Fatal(err)
	}
	appendNumbers(t, d, 2)
	commit(t, d, "another")
	if err := d.Versions().CreateBranch(ctx, "b", ""); err != nil {
		t.Fatal(err)
	}
	for _, branch := range []string{"", "b"} {
		again := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{Branch: branch}))
		appendNumbers(t, again, 1)
		was := again.head.Record
		if made, err := CommitOnce(ctx, again, "job", "job 7"); err != nil || made.Commit != first.Commit {
			t.Errorf("again on %q: %+v, %v", branch, made, err)
		}
		// The dataset stays at its version, and goes on from there.
		if now := again.head.Record; now.UUID != was.UUID {
			t.Errorf("again on %q moved the dataset to version %d from %d", branch, now.Version, was.Version)
		}
		wantNumbers(t, again, 1, 2)
		if branch == "b" {
			appendNumbers(t, again, 7)
			commit(t, again, "of the branch")
			if got := again.head.Record; got.Branch != was.Branch || got.Version != was.Version+1 {
				t.Errorf("a commit on %q made version %d of branch %s, want %d of %s", branch, got.Version, got.Branch, was.Version+1, was.Branch)
			}
			wantNumbers(t, again, 1, 2, 7)
		}
		_ = again.Close()
	}
	// Two programs at a time: one of the two commits stands for both.
	a, b := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{})), must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	appendNumbers(t, a, 3)
	appendNumbers(t, b, 3)
	one, err := CommitOnce(ctx, a, "", "job 8")
	if err != nil {
		t.Fatal(err)
	}
	if two, err := CommitOnce(ctx, b, "", "job 8"); err != nil || two.Commit != one.Commit {
		t.Errorf("the second is %+v, %v", two, err)
	}
	wantNumbers(t, b, 1, 2, 3)
	for _, key := range []string{strings.Repeat("k", format.MaxKeyBytes+1), "\xff"} {
		appendNumbers(t, a, 9)
		if _, err := CommitOnce(ctx, a, "", key); !errs.Is(err, errs.Invalid) {
			t.Errorf("key %.9q: %v", key, err)
		}
		_ = a.Discard(ctx)
	}
	wantWhole(t, a)
}

// TestCommitOnceOnDeletedBranch: a keyed commit that runs again returns the one that stands, though
// the branch was deleted since, and the data may be gone.
func TestCommitOnceOnDeletedBranch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, removed := range []bool{false, true} {
		env := testEnv()
		d := numberedDataset(t, env, "mem://d")
		if err := d.Checkout(ctx, "work", true); err != nil {
			t.Fatal(err)
		}
		appendNumbers(t, d, 1)
		commit(t, d, "of work")
		again := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{Branch: "work"}))
		defer func() { _ = again.Close() }()
		token, other := begin(t, again), begin(t, d)
		part := inTask(t, env, "mem://d", token, "k", func(d *Dataset) { appendNumbers(t, d, 3) })
		late := inTask(t, env, "mem://d", other, "k", func(d *Dataset) { appendNumbers(t, d, 4) })
		appendNumbers(t, d, 2)
		job, err := CommitOnce(ctx, d, "job", "job 7")
		if err != nil {
			t.Fatal(err)
		}
		tasks := must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{part}, CommitFragmentsOptions{}))
		keyed := must[WriteReport](t)(WritesTo(d).Commit(ctx, other, [][]byte{late}, CommitFragmentsOptions{Key: "job 8"}))
		if err := d.Checkout(ctx, "main", false); err != nil {
			t.Fatal(err)
		}
		if err := d.Versions().DeleteBranch(ctx, "work"); err != nil {
			t.Fatal(err)
		}
		appendNumbers(t, again, 2)
		if removed {
			for _, w := range [][]byte{token, other} {
				if err := WritesTo(d).End(ctx, w); err != nil {
					t.Fatal(err)
				}
			}
			if r := must[maintain.GCReport](t)(d.Versions().GC(ctx, maintain.GCOptions{})); r.Objects == 0 {
				t.Errorf("%+v", r)
			}
		}
		// The programs that lost their answers run again.
		for _, c := range []struct {
			token []byte
			part  []byte
			key   string
			want  version.Committed
		}{{token, part, "", tasks.Committed}, {other, late, "job 8", keyed.Committed}, {other, part, "job 7", job}} {
			main := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
			got, err := WritesTo(main).Commit(ctx, c.token, [][]byte{c.part}, CommitFragmentsOptions{Key: c.key})
			if err != nil || got.Commit != c.want.Commit {
				t.Errorf("key %q by a fragment: %+v, %v", c.key, got, err)
			}
			_ = main.Close()
		}
		if got, err := CommitOnce(ctx, again, "job", "job 7"); err != nil || got.Commit != job.Commit {
			t.Errorf("the job again: %+v, %v", got, err)
		}
		if !removed {
			wantNumbers(t, again, 1, 2)
		}
		appendNumbers(t, again, 9)
		_, err = CommitOnce(ctx, again, "job", "job 9")
		wantError(t, err, errs.NotFound, "the branch was deleted")
		_, err = WritesTo(again).Commit(ctx, token, [][]byte{late}, CommitFragmentsOptions{})
		wantError(t, err, errs.Conflict, "uncommitted changes")
	}
}

// TestFragmentsCommittedInPart: a commit that has the appended rows of some fragments stands for
// these alone. One that updates or deletes rows besides is not lost without a word.
func TestFragmentsCommittedInPart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, work := range map[string]func(d *Dataset){
		"an update":  func(d *Dataset) { updateNumbers(t, d, 1, 9) },
		"a deletion": func(d *Dataset) { deleteRows(t, d, 1) },
		"a tensor": func(d *Dataset) {
			if err := d.CreateTensor(ctx, TensorSpec{Name: "more", DType: "int64"}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		env := testEnv()
		d := numberedDataset(t, env, "mem://d")
		appendNumbers(t, d, 0, 1, 2)
		commit(t, d, "three")
		token := begin(t, d)
		rows := inTask(t, env, "mem://d", token, "rows", func(d *Dataset) { appendNumbers(t, d, 10) })
		other := inTask(t, env, "mem://d", token, "other", work)
		must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{rows}, CommitFragmentsOptions{}))
		before := d.head.Record.Version
		_, err := WritesTo(d).Commit(ctx, token, [][]byte{rows, other}, CommitFragmentsOptions{})
		if !errs.Is(err, errs.Conflict) || !strings.Contains(fmt.Sprint(err), `task "rows"`) {
			t.Errorf("%s beside rows that are committed: %v", name, err)
		}
		if d.head.Record.Version != before {
			t.Errorf("%s: version %d, want %d", name, d.head.Record.Version, before)
		}
		if r := must[WriteReport](t)(WritesTo(d).Commit(ctx, token, [][]byte{other}, CommitFragmentsOptions{})); r.Fragments != 1 || r.Version != before+1 {
			t.Errorf("%s by itself: %+v", name, r)
		}
		wantWhole(t, d)
	}
}

// TestManyFragments: the requests of a commit do not grow with its fragments.
func TestManyFragments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	space := &mem.Space{}
	env, store := faulty(t, space.Open)
	d := numberedDataset(t, env, "x://d")
	token := begin(t, d)
	faults := store()
	const n = 600
	parts, want := make([][]byte, n), []int64{}
	for i := range parts {
		parts[i] = inTask(t, env, "x://d", token, fmt.Sprint(i), func(d *Dataset) { appendNumbers(t, d, int64(2*i), int64(2*i+1)) })
		want = append(want, int64(2*i), int64(2*i+1))
		if len(parts[i]) > 2<<10 {
			t.Fatalf("a fragment has %d bytes", len(parts[i]))
		}
	}
	called := len(faults.Calls())
	must[WriteReport](t)(WritesTo(d).Commit(ctx, token, parts, CommitFragmentsOptions{}))
	if calls := len(faults.Calls()) - called; calls > 20 {
		t.Errorf("the commit of %d fragments made %d calls", n, calls)
	}
	if got := numbersIn(t, d); !slices.Equal(got, want) {
		t.Error("rows are missing, or out of order")
	}
	if sides := len(keysBelow(t, openedStore(t, space, "d"), "map/")); sides > 60 {
		t.Errorf("the commit has %d pages", sides)
	}
	wantWhole(t, d)
}

// TestFragmentsOfRechunk: tasks give the rows of a dataset full chunks, each those of a range.
func TestFragmentsOfRechunk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := numberedDataset(t, env, "mem://d")
	for i := range int64(40) {
		appendNumbers(t, d, 10*i, 10*i+1, 10*i+2, 10*i+3, 10*i+4)
		commit(t, d, fmt.Sprint(i))
	}
	deleteRows(t, d, 7, 60, 61, 62, 63, 64, 199)
	commit(t, d, "fewer")
	for row := int64(3); row < 190; row += 9 {
		updateNumbers(t, d, row, 1000+row)
	}
	commit(t, d, "updated")
	want, before := numbersIn(t, d), d.head.Record.Columns
	token := begin(t, d)
	var parts [][]byte
	for start := int64(0); start < d.head.Rows(); start += 50 {
		parts = append(parts, inTask(t, env, "mem://d", token, fmt.Sprint(start), func(part *Dataset) {
			r := must[RechunkReport](t)(part.Rechunk(ctx, RechunkOptions{Start: start, Stop: min(start+50, d.head.Rows())}))
			if r.Rows == 0 || r.Commit != nil {
				t.Errorf("a task has the report %+v", r)
			}
			if got := numbersIn(t, part); !slices.Equal(got, want) {
				t.Errorf("a task sees the rows %v", got)
			}
		}))
	}
	other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer func() { _ = other.Close() }()
	updateNumbers(t, other, 20, 2020)
	commit(t, other, "meanwhile")
	want[20] = 2020
	must[WriteReport](t)(WritesTo(d).Commit(ctx, token, parts, CommitFragmentsOptions{}))
	if got := numbersIn(t, d); !slices.Equal(got, want) {
		t.Errorf("the rows are %v, want %v", got, want)
	}
	for id, col := range d.head.Record.Columns {
		if col.Chunks > 8 || before[id].Chunks < 40 {
			t.Errorf("%d pieces of chunks became %d", before[id].Chunks, col.Chunks)
		}
	}
	wantWhole(t, d)
	task := must[*Dataset](t)(OpenTask(ctx, env, "mem://d", begin(t, d), "k", storage.Options{}))
	defer func() { _ = task.Close() }()
	appendNumbers(t, task, 1)
	if _, err := task.Rechunk(ctx, RechunkOptions{}); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "a task of its own") {
		t.Errorf("a rechunk behind changes: %v", err)
	}
	for _, o := range []RechunkOptions{{Start: -1, Stop: 3}, {Start: 5, Stop: 5}, {Stop: 1000}} {
		if _, err := d.Rechunk(ctx, o); !errs.Is(err, errs.Range) {
			t.Errorf("rows %d to %d: %v", o.Start, o.Stop, err)
		}
	}
}
