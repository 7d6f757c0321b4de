package dataset

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// upTo makes a dataset with the rows 0 to n-1 in the tensor x.
func upTo(t *testing.T, env *Env, uri string, n int) *Dataset {
	t.Helper()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, env, uri, CreateOptions{}))
	if err := d.CreateTensor(ctx, TensorSpec{Name: "x", DType: "int64"}); err != nil {
		t.Fatal(err)
	}
	appendUpTo(t, d, 0, n)
	return d
}

func appendUpTo(t *testing.T, d *Dataset, from, to int) {
	t.Helper()
	var data []byte
	for i := from; i < to; i++ {
		data = append(data, int64s(int64(i))...)
	}
	ctx := context.Background()
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: data}}}, int64(to-from)); err != nil {
		t.Fatal(err)
	}
	_ = must[version.Committed](t)(d.Commit(ctx, "more"))
}

func TestSavedViews(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"mem://d", "file://" + t.TempDir() + "/d"} {
		ctx := context.Background()
		d := upTo(t, testEnv(), uri, 20)
		base := must[*View](t)(d.View(ctx))
		lists := map[string][]int64{"one run": {3, 4, 5}, "none": {}, "all sorts": {7, 7, -1, -1, 9, 10, 2, 0, 19}, "missing": {-1}, "Groß": {1}}
		for name, rows := range lists {
			s := SavedView{Name: name, Query: "SELECT x AS y WHERE x > ?", Params: json.RawMessage("[2]"), Seed: 5, Columns: []format.ViewColumn{{Name: "y", Tensor: "x"}}}
			if err := d.Versions().SaveView(ctx, s, base, must[*View](t)(base.SelectOrMissing(ctx, rows)), false); err != nil {
				t.Fatal(err)
			}
			if err := d.Versions().SaveView(ctx, s, base, nil, false); !errs.Is(err, errs.Exists) {
				t.Fatalf("saved twice: %v", err)
			}
		}
		appendUpTo(t, d, 20, 30)
		if err := d.DeleteRows(ctx, []int64{4}); err != nil {
			t.Fatal(err)
		}
		_ = must[version.Committed](t)(d.Commit(ctx, "less"))
		for name, rows := range lists {
			l := must[*Loaded](t)(d.Versions().LoadView(ctx, name))
			got := make([]int64, l.Rows.Len())
			if l.Rows.Rows(got); !slices.Equal(got, rows) || l.Base.Len() != 20 || l.Saved.Rows != int64(len(rows)) || l.Saved.Seed != 5 || string(l.Saved.Params) != "[2]" {
				t.Errorf("%q: rows %v of %d, %+v", name, got, l.Base.Len(), l.Saved)
			}
			for i, data := range readAll(t, l.Rows, "x") {
				if rows[i] < 0 && data != nil || rows[i] >= 0 && string(data) != string(int64s(rows[i])) {
					t.Errorf("%q: row %d is %v, want %d", name, i, data, rows[i])
				}
			}
			if err := l.Dataset.Close(); err != nil {
				t.Error(err)
			}
		}
		listed := must[[]SavedView](t)(d.Versions().Views(ctx))
		if len(listed) != len(lists) || listed[0].Name != "Groß" {
			t.Errorf("views are %+v", listed)
		}
		if err := d.Versions().DeleteView(ctx, "none"); err != nil {
			t.Fatal(err)
		}
		for _, op := range []func() error{
			func() error { return d.Versions().DeleteView(ctx, "none") },
			func() error { _, err := d.Versions().LoadView(ctx, "none"); return err },
			func() error { _, err := d.Versions().LoadView(ctx, "never"); return err },
		} {
			if err := op(); !errs.Is(err, errs.NotFound) {
				t.Errorf("a view that is gone: %v", err)
			}
		}
		// A name may be given again, and a view replaced.
		now := must[*View](t)(d.View(ctx))
		for _, name := range []string{"none", "missing"} {
			if err := d.Versions().SaveView(ctx, SavedView{Name: name, Query: "SELECT 1"}, now, nil, name == "missing"); err != nil {
				t.Fatal(err)
			}
			l := must[*Loaded](t)(d.Versions().LoadView(ctx, name))
			if l.Rows != nil || l.Saved.Listed || l.Base.Len() != 29 {
				t.Errorf("%q: %+v", name, l.Saved)
			}
			_ = l.Dataset.Close()
		}
		for _, name := range []string{"", "a@b", "12", "-x"} {
			if err := d.Versions().SaveView(ctx, SavedView{Name: name, Query: "SELECT 1"}, now, nil, false); !errs.Is(err, errs.Invalid) {
				t.Errorf("name %q: %v", name, err)
			}
		}
		if err := d.DeleteRows(ctx, []int64{0}); err != nil {
			t.Fatal(err)
		}
		if err := d.Versions().SaveView(ctx, SavedView{Name: "dirty", Query: "SELECT 1"}, must[*View](t)(d.View(ctx)), nil, false); !errs.Is(err, errs.Invalid) {
			t.Errorf("uncommitted: %v", err)
		}
		_ = d.Close()
	}
}

// TestSavedViewOfNoCommit loads views without their commit, and checks that gc leaves views alone.
func TestSavedViewOfNoCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := upTo(t, env, "mem://d", 20)
	defer func() { _ = d.Close() }()
	for _, name := range []string{"old", "kept"} {
		v := must[*View](t)(d.View(ctx))
		if err := d.Versions().SaveView(ctx, SavedView{Name: name}, v, v, false); err != nil {
			t.Fatal(err)
		}
		appendUpTo(t, d, 0, 3)
	}
	if _, err := d.Versions().GC(ctx, maintain.GCOptions{Expire: &maintain.Retention{Last: 2}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Versions().LoadView(ctx, "old"); !errs.Is(err, errs.NotFound) {
		t.Errorf("a view of an expired commit: %v", err)
	} else {
		t.Log(err)
	}
	l := must[*Loaded](t)(d.Versions().LoadView(ctx, "kept"))
	defer func() { _ = l.Dataset.Close() }()
	if n := len(readAll(t, l.Rows, "x")); n != 23 {
		t.Errorf("%d rows, want 23", n)
	}
	if views := must[[]SavedView](t)(d.Versions().Views(ctx)); len(views) != 2 {
		t.Errorf("views are %+v", views)
	}
	if at, err := time.Parse(time.RFC3339Nano, l.Saved.Time); err != nil || time.Since(at) > time.Hour {
		t.Errorf("saved at %q: %v", l.Saved.Time, err)
	}
}

// TestSavedViewOfDeletedBranch: a view of a branch that was deleted can be loaded as long as a tag
// or a merge leads to its version. Else the error names the view, before a gc and after it.
func TestSavedViewOfDeletedBranch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := upTo(t, testEnv(), "mem://d", 20)
	defer func() { _ = d.Close() }()
	for _, name := range []string{"tagged", "merged", "lost"} {
		if err := d.Checkout(ctx, name, true); err != nil {
			t.Fatal(err)
		}
		appendUpTo(t, d, 0, 3)
		v := must[*View](t)(d.View(ctx))
		if err := d.Versions().SaveView(ctx, SavedView{Name: name}, v, must[*View](t)(v.Select([]int64{7, 3})), false); err != nil {
			t.Fatal(err)
		}
		if name == "tagged" {
			must[TagInfo](t)(d.Versions().CreateTag(ctx, "v1", "", ""))
		}
		if err := d.Checkout(ctx, "main", false); err != nil {
			t.Fatal(err)
		}
		if name == "merged" {
			if _, done, err := d.Merge(ctx, name, version.OnConflictError, ""); err != nil || !done {
				t.Fatal(done, err)
			}
		}
		if err := d.Versions().DeleteBranch(ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for _, name := range []string{"tagged", "merged"} {
			l := must[*Loaded](t)(d.Versions().LoadView(ctx, name))
			if rows := readAll(t, l.Rows, "x"); len(rows) != 2 || string(rows[0]) != string(int64s(7)) {
				t.Errorf("rows of %q are %v", name, rows)
			}
			_ = l.Dataset.Close()
			at := must[*Dataset](t)(d.At(ctx, l.Saved.Commit))
			_ = at.Close()
		}
		_, err := d.Versions().LoadView(ctx, "lost")
		wantError(t, err, errs.NotFound, `load view "lost"`, "branch was deleted")
		collect(t, d, maintain.GCOptions{})
	}
}

// TestSavedViewsAreCopied holds that a copy with history has the views, and that fsck finds a
// damaged one.
func TestSavedViewsAreCopied(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := upTo(t, env, "mem://d", 20)
	defer func() { _ = d.Close() }()
	v := must[*View](t)(d.View(ctx))
	for _, name := range []string{"one", "two"} {
		if err := d.Versions().SaveView(ctx, SavedView{Name: name}, v, must[*View](t)(v.Select([]int64{7, 3})), false); err != nil {
			t.Fatal(err)
		}
	}
	appendUpTo(t, d, 0, 3)
	_ = must[maintain.CopyReport](t)(Copy(ctx, env, "mem://d", "mem://c", CopyOptions{CopyOptions: maintain.CopyOptions{History: true}}))
	c := must[*Dataset](t)(Open(ctx, env, "mem://c", OpenOptions{}))
	defer func() { _ = c.Close() }()
	l := must[*Loaded](t)(c.Versions().LoadView(ctx, "two"))
	defer func() { _ = l.Dataset.Close() }()
	if rows := readAll(t, l.Rows, "x"); len(rows) != 2 || string(rows[0]) != string(int64s(7)) {
		t.Errorf("rows of the copy are %v", rows)
	}
	if r := must[maintain.FsckReport](t)(c.Versions().Fsck(ctx, maintain.FsckOptions{})); len(r.Problems) > 0 {
		t.Errorf("a copy has problems: %+v", r.Problems)
	}
	store := must[storage.Provider](t)(env.Stores.Open(ctx, "mem://c", storage.Options{}))
	key := format.ViewKey("one", 0)
	data := must[[]byte](t)(store.Get(ctx, key))
	data[len(data)-1] ^= 1
	if err := store.Put(ctx, key, data); err != nil {
		t.Fatal(err)
	}
	if r := must[maintain.FsckReport](t)(c.Versions().Fsck(ctx, maintain.FsckOptions{})); len(r.Problems) != 1 || r.Problems[0].Key != key {
		t.Errorf("problems are %+v, want one of %q", r.Problems, key)
	}
	if _, err := c.Versions().LoadView(ctx, "one"); !errs.Is(err, errs.Corrupt) {
		t.Errorf("a damaged view: %v", err)
	}
	if err := Delete(ctx, env, "mem://c", storage.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := store.List(ctx, "", "", func(o storage.Object) bool { t.Errorf("%q is left", o.Key); return true }); err != nil {
		t.Error(err)
	}
}

// TestSaveViewOfAnother: a view is saved in the dataset of its rows, which may be open by any path.
func TestSaveViewOfAnother(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	dir := t.TempDir()
	d, other := upTo(t, env, dir+"/d", 5), upTo(t, env, dir+"/other", 5)
	defer func() { _, _ = d.Close(), other.Close() }()
	v := must[*View](t)(other.View(ctx))
	s := SavedView{Name: "v", Query: "SELECT x"}
	for _, rows := range []*View{nil, v} {
		if err := d.Versions().SaveView(ctx, s, v, rows, false); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), dir+"/other") {
			t.Errorf("of another dataset: %v", err)
		}
	}
	if err := os.Symlink(dir+"/other", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	link := must[*Dataset](t)(Open(ctx, env, dir+"/link", OpenOptions{}))
	defer func() { _ = link.Close() }()
	if err := link.Versions().SaveView(ctx, s, v, v, false); err != nil {
		t.Errorf("by a link: %v", err)
	}
}

// TestRunsOfAll takes lists of runs that no view has saved.
func TestRunsOfAll(t *testing.T) {
	t.Parallel()
	d := upTo(t, testEnv(), "mem://d", 20)
	defer func() { _ = d.Close() }()
	base := must[*View](t)(d.View(t.Context()))
	for _, c := range []struct {
		runs []format.ViewRun
		want errs.Kind // 0: none
		rows int64
	}{
		{nil, 0, 0},
		{[]format.ViewRun{{Start: 0, Count: 20}}, 0, 20},
		{[]format.ViewRun{{Start: -1, Count: 3}, {Start: 19, Count: 1}}, 0, 4},
		{[]format.ViewRun{{Start: 19, Count: 2}}, errs.Corrupt, 0},
		{[]format.ViewRun{{Start: 1, Count: math.MaxInt64}}, errs.Corrupt, 0},
		{[]format.ViewRun{{Start: -1, Count: 1 << 50}}, errs.Unsupported, 0},
		{[]format.ViewRun{{Start: 0, Count: 20}, {Start: -1, Count: math.MaxInt64}}, errs.Unsupported, 0},
		{[]format.ViewRun{{Start: -1, Count: 1}, {Start: -1, Count: 1 << 30}}, errs.Unsupported, 0},
	} {
		v, err := base.ofRuns(t.Context(), c.runs)
		switch {
		case c.want == 0 && (err != nil || v.Len() != c.rows):
			t.Errorf("%v: %v, want %d rows", c.runs, err, c.rows)
		case c.want != 0 && !errs.Is(err, c.want):
			t.Errorf("%v: %v, want %v", c.runs, err, c.want)
		}
	}
}

// TestRunsThatListTooMuch gives runs of a few bytes that stand for gigabytes of row numbers.
func TestRunsThatListTooMuch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := upTo(t, testEnv(), "mem://d", 20)
	defer func() { _ = d.Close() }()
	base := must[*View](t)(d.View(ctx))
	twenty := slices.Repeat([]format.ViewRun{{Start: 0, Count: 20}}, 1000)
	for name, runs := range map[string][]format.ViewRun{
		"missing rows":      {{Start: -1, Count: 1 << 30}},
		"missing rows, two": {{Start: 0, Count: 20}, {Start: -1, Count: 1 << 28}},
		"all that there is": {{Start: -1, Count: format.MaxRows}},
		"in many runs":      slices.Repeat([]format.ViewRun{{Start: -1, Count: 1 << 20}}, 500),
	} {
		v, err := base.ofRuns(ctx, runs)
		if !errs.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "materialize") {
			t.Errorf("%s: got %v and %v, want Unsupported", name, v, err)
		}
	}
	for name, runs := range map[string][]format.ViewRun{"repeats": twenty, "missing rows": {{Start: -1, Count: 1 << 16}}, "all": {{Start: 0, Count: 20}}} {
		want := int64(0)
		for _, r := range runs {
			want += r.Count
		}
		if v, err := base.ofRuns(ctx, runs); err != nil || v.Len() != want {
			t.Errorf("%s: %v, want %d rows", name, err, want)
		}
	}
}

// TestRunsStop: rows of a saved view are not listed for a caller who has given up.
func TestRunsStop(t *testing.T) {
	t.Parallel()
	d := upTo(t, testEnv(), "mem://d", 20)
	defer func() { _ = d.Close() }()
	v := must[*View](t)(d.View(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	runs := []format.ViewRun{{Start: 0, Count: 1}, {Start: 0, Count: 20}}
	if _, err := v.ofRuns(ctx, runs); !errs.Is(err, errs.Canceled) {
		t.Errorf("load: %v", err)
	}
	if _, err := must[*View](t)(v.Select([]int64{3, 1})).runs(ctx); !errs.Is(err, errs.Canceled) {
		t.Errorf("save: %v", err)
	}
}
