package viz

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/tensor"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	v := f.open(map[string]string{})
	if v.Rows != zooRows || v.Branch != "main" || v.Message != "the zoo" || v.Version == 0 || len(v.Tensors) != 12 {
		t.Errorf("the view is %+v", v)
	}
	if _, why := f.refused("open", map[string]string{"at": "nowhere"}); why.Kind != "not found" {
		t.Errorf("another branch: %+v", why)
	}
	at := f.open(map[string]string{"at": "1"})
	if at.Version != 1 {
		t.Errorf("version 1 is %d", at.Version)
	}
	f.call("close", map[string]string{"view": at.View}, &struct{}{})
	if status, _ := f.refused("stats", map[string]string{"view": at.View, "column": "label"}); status != 404 {
		t.Errorf("a closed view: %d", status)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := map[string]string{
		"image": "primary image", "raw": "primary image", "label": "overlay label image", "boxes": "overlay boxes image",
		"mask": "overlay mask image", "outline": "overlay polygons image", "caption": "overlay text image", "meta": "side json",
		"score": "side number", "night": "side number", "truth/tags": "overlay label image", "clip": "primary image",
	}
	for _, tn := range f.open(map[string]string{}).Tensors {
		if got := strings.TrimSpace(tn.Role + " " + tn.Draw + " " + tn.Over); got != want[tn.Name] {
			t.Errorf("%s is %q, want %q", tn.Name, got, want[tn.Name])
		}
		if tn.Name == "boxes" && (tn.Boxes != "LTWH" || !tn.Fractional) {
			t.Errorf("boxes are %q, fractional %v", tn.Boxes, tn.Fractional)
		}
		if tn.Name == "clip" && (!tn.Sequence || tn.List) || tn.Name == "outline" && (tn.Sequence || !tn.List) {
			t.Errorf("%s: sequence %v, list %v", tn.Name, tn.Sequence, tn.List)
		}
		if tn.Name == "truth/tags" && tn.Group != "truth" {
			t.Errorf("the group of %s is %q", tn.Name, tn.Group)
		}
	}
}

func TestGroupsOfPictures(t *testing.T) {
	t.Parallel()
	var all []dataset.TensorDescription
	for _, name := range []string{"a/image", "a/bbox", "b/bbox", "b/image", "c/bbox"} {
		_, htype, _ := strings.Cut(name, "/")
		all = append(all, dataset.TensorDescription{Name: name, HType: htype})
	}
	over := map[string]string{"a/bbox": "a/image", "b/bbox": "b/image", "c/bbox": "a/image"}
	for _, tn := range layout(all) {
		if tn.Over != over[tn.Name] {
			t.Errorf("%s lies over %q, want %q", tn.Name, tn.Over, over[tn.Name])
		}
	}
	if alone := layout(all[1:2]); alone[0].Role != side || alone[0].Over != "" {
		t.Errorf("boxes without pictures: %+v", alone[0])
	}
}

// Annotations with items belong to a picture with items: a film, or a sequence of pictures.
func TestGroupsOfFilms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ tensors, over string }{
		"its group":          {"a/video b/video b/sequence[bbox]", "b/video"},
		"the only film":      {"image video sequence[bbox]", "video"},
		"not the picture":    {"a/image a/video a/sequence[bbox]", "a/video"},
		"a picture's boxes":  {"image video bbox", "image"},
		"the first film":     {"a/image b/video c/video d/sequence[bbox]", "b/video"},
		"its group's image":  {"a/image a/sequence[bbox] b/video", "a/image"},
		"a list of pictures": {"image sequence[image] video sequence[polygon]", "sequence[image]"},
		"names too":          {"image video sequence[class_label]", "video"},
		"no list of films":   {"sequence[video] image sequence[point]", "image"},
	} {
		var all []dataset.TensorDescription
		for _, tensor := range strings.Fields(tc.tensors) {
			all = append(all, dataset.TensorDescription{Name: tensor, HType: tensor[strings.LastIndexByte(tensor, '/')+1:]})
		}
		for _, tn := range layout(all) {
			if tn.Role == overlay && tn.Over != tc.over {
				t.Errorf("%s: %s lies over %q, want %q", name, tn.Name, tn.Over, tc.over)
			}
		}
	}
}

func TestQueryErrors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for text, want := range map[string]struct{ position, line, column int }{
		"SELECT * WHERE scre > 1":         {15, 1, 16},
		"SELECT *\n  WHERE ä = 'é' AND (": {-1, 2, 0},
	} {
		status, why := f.refused("query", map[string]string{"view": f.view, "text": text})
		if status != 400 && status != 404 || why.Position == nil || why.Line != want.line || want.column > 0 && why.Column != want.column {
			t.Errorf("%q: %d %+v", text, status, why)
			continue
		}
		if n := len([]rune(text)); *why.Position < 0 || *why.Position > n || want.position >= 0 && *why.Position != want.position {
			t.Errorf("%q: position %d of %d", text, *why.Position, n)
		}
	}
	if got := position("ab\ncdé\nfg", 3, 2); got != 8 {
		t.Errorf("position of line 3, column 2: %d", got)
	}
}

func TestExplainAndWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var plan struct{ Text string }
	f.call("explain", map[string]string{"view": f.view, "text": "SELECT image WHERE label = 'cat'"}, &plan)
	if !strings.Contains(plan.Text, "label") {
		t.Errorf("the plan is %q", plan.Text)
	}
	var w struct{ Keywords, Functions []string }
	f.call("words", map[string]string{}, &w)
	if !slices.Contains(w.Keywords, "WHERE") || !slices.Contains(w.Functions, "IOU") {
		t.Errorf("the words are %v", w)
	}
}

func TestVersionsAndDiff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	column := tensor.Rows{Tensor: "label", Samples: []tensor.Sample{array(tensor.Int64, little(int64(0))), array(tensor.Int64, little(int64(1)))}}
	if err := f.ds.Update(t.Context(), []int64{4, 8}, []tensor.Rows{column}); err != nil {
		t.Fatal(err)
	}
	if err := f.ds.DeleteRows(t.Context(), []int64{0}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ds.Commit(t.Context(), "changed"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ds.Versions().CreateTag(t.Context(), "v1", "", "first"); err != nil {
		t.Fatal(err)
	}
	var v versionsInfo
	f.call("versions", map[string]string{}, &v)
	if len(v.Branches) != 1 || len(v.Tags) != 1 || v.Tags[0].Name != "v1" || len(v.Commits) < 2 || v.Commits[0].Message != "changed" || v.Branch != "main" {
		t.Errorf("the versions are %+v", v)
	}
	for _, on := range []struct {
		name   string
		create bool
	}{{"fix", true}, {"main", false}} {
		if err := f.ds.Checkout(t.Context(), on.name, on.create); err != nil {
			t.Fatal(err)
		}
		if on.create {
			if err := f.ds.DeleteRows(t.Context(), []int64{0}); err != nil {
				t.Fatal(err)
			}
			if _, err := f.ds.Commit(t.Context(), "fixed"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for branch, want := range map[string][2]string{"": {"main", "changed"}, "main": {"main", "changed"}, "fix": {"fix", "fixed"}, "gone": {"main", "changed"}} {
		var v versionsInfo
		f.call("versions", map[string]string{"branch": branch}, &v)
		if len(v.Branches) != 2 || v.Branch != want[0] || len(v.Commits) < 2 || v.Commits[0].Message != want[1] {
			t.Errorf("the versions of %q are %+v", branch, v)
		}
	}
	fixed, err := f.ds.At(t.Context(), "fix")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fixed.Close() }()
	about, err := fixed.Describe()
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"fix": "fix", "fix@1": "fix", about.Head.Commit: "fix", "fix@0": "fix", "v1": "main", "1": "main"} {
		v := f.open(map[string]string{"at": at})
		var q viewInfo
		f.call("query", map[string]string{"view": v.View, "text": "SELECT * LIMIT 1"}, &q)
		if v.Branch != want || q.Branch != want {
			t.Errorf("%q is of branch %q, a query of it of %q, want %q", at, v.Branch, q.Branch, want)
		}
	}
	var d diffInfo
	f.call("diff", map[string]string{"from": v.Commits[1].Commit, "to": "main"}, &d)
	if d.Rows != (diffRows{Removed: 1, Updated: 2}) || !slices.Equal(d.Changed, []int64{3, 7}) || !slices.Equal(d.Removed, []int64{0}) || len(d.Added) != 0 {
		t.Errorf("the diff is %+v", d)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stats := func(column string) statsInfo {
		t.Helper()
		var s statsInfo
		f.call("stats", map[string]string{"view": f.view, "column": column}, &s)
		return s
	}
	s := stats("label")
	if s.Kind != "classes" || len(s.Classes) != 3 || s.Classes[2] != (classRows{2, "owl's", 4}) || s.Filters[2] != `"label" = 'owl''s'` {
		t.Errorf("label: %+v", s)
	}
	s = stats("truth/tags")
	if s.Kind != "classes" || fmt.Sprint(s.Classes) != "[{7 7 12} {0 0 6} {1 1 6}]" {
		t.Errorf("tags: %+v", s)
	}
	if s.Unit != "instances" || stats("label").Unit != "rows" {
		t.Errorf("counts are of %s", s.Unit)
	}
	s = stats("score")
	if s.Kind != "histogram" || s.Missing != 1 || !near(*s.Min, 0) || !near(*s.Max, 1.1) || !near(*s.Mean, 6.1/11) {
		t.Errorf("score: %+v", s)
	}
	for _, name := range []string{"meta", "mask", "outline"} {
		if s := stats(name); s.Kind != "none" && name != "outline" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	// The filter of each class or bin must find as many rows as were counted.
	for _, name := range []string{"label", "truth/tags", "score", "night", "boxes", "caption", "image", "clip"} {
		s := stats(name)
		var rows []int64
		for _, c := range s.Classes {
			rows = append(rows, c.Rows)
		}
		for _, b := range s.Bins {
			rows = append(rows, b.Rows)
		}
		if len(rows) == 0 || len(rows) != len(s.Filters) {
			t.Errorf("%s: %d counts, %d filters", name, len(rows), len(s.Filters))
		}
		for i, filter := range s.Filters {
			if v := f.query("SELECT * WHERE " + filter); v.Rows != rows[i] {
				t.Errorf("%s: %q finds %d rows, counted were %d", name, filter, v.Rows, rows[i])
			}
		}
	}
}

// TestStatsOfWholeFloats counts floats that are whole numbers: no bin lies between two of them.
func TestStatsOfWholeFloats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value func(row int) float64
		bins  int
		width float64
	}{
		"small":        {func(row int) float64 { return float64(row) - 3 }, 12, 1},
		"one value":    {func(int) float64 { return 7 }, 1, 0},
		"wider":        {func(row int) float64 { return float64(row) * 5 }, 28, 2},
		"not whole":    {func(row int) float64 { return float64(row) + 0.5 }, 40, 11. / 40},
		"some whole":   {func(row int) float64 { return float64(row) / 2 }, 40, 5.5 / 40},
		"beyond 2**53": {func(row int) float64 { return float64(row) * 1e300 }, 40, 0},
	} {
		env, ds := newZoo(t)
		if err := ds.CreateTensor(t.Context(), dataset.TensorSpec{Name: "x", DType: "float64"}); err != nil {
			t.Fatal(err)
		}
		column := tensor.Rows{Tensor: "x"}
		rows := make([]int64, zooRows)
		for i := range rows {
			rows[i] = int64(i)
			column.Samples = append(column.Samples, array(tensor.Float64, little(c.value(i))))
		}
		if err := ds.Update(t.Context(), rows, []tensor.Rows{column}); err != nil {
			t.Fatal(err)
		}
		if _, err := ds.Commit(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		f := serve(t, env, ds)
		var s statsInfo
		f.call("stats", map[string]any{"view": f.view, "column": "x"}, &s)
		if s.Kind != "histogram" || len(s.Bins) != c.bins || c.width > 0 && !near(s.Bins[0].To-s.Bins[0].From, c.width) {
			t.Errorf("%s: %s of %d bins: %+v", name, s.Kind, len(s.Bins), s.Bins)
			continue
		}
		counted := int64(0)
		for i, b := range s.Bins {
			counted += b.Rows
			if name == "small" && b.Rows != 1 {
				t.Errorf("%s: bin %d has %d rows", name, i, b.Rows)
			}
			if v := f.query("SELECT * WHERE " + s.Filters[i]); v.Rows != b.Rows {
				t.Errorf("%s: %q finds %d rows, counted were %d", name, s.Filters[i], v.Rows, b.Rows)
			}
		}
		if counted != zooRows {
			t.Errorf("%s: %d rows are counted", name, counted)
		}
	}
}

// TestStatsOfSequences counts the items of a sequence, also if they are labels.
func TestStatsOfSequences(t *testing.T) {
	t.Parallel()
	env, ds := newZoo(t)
	if err := ds.CreateTensor(t.Context(), dataset.TensorSpec{Name: "track", HType: "sequence[class_label]", ClassNames: []string{"ball"}}); err != nil {
		t.Fatal(err)
	}
	items := tensor.Rows{Tensor: "track"}
	for i := range zooRows {
		items.RowItems = append(items.RowItems, int64(i%3))
		for range i % 3 {
			items.Samples = append(items.Samples, array(tensor.Int64, little(int64(0))))
		}
	}
	if err := ds.Update(t.Context(), []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, []tensor.Rows{items}); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), "tracks"); err != nil {
		t.Fatal(err)
	}
	f := serve(t, env, ds)
	var s statsInfo
	f.call("stats", map[string]string{"view": f.view, "column": "track"}, &s)
	if s.What != "items" || fmt.Sprint(s.Classes) != "[{0 0 4} {1 1 4} {2 2 4}]" {
		t.Errorf("%+v", s)
	}
	for i, filter := range s.Filters {
		if v := f.query("SELECT * WHERE " + filter); v.Rows != s.Classes[i].Rows {
			t.Errorf("%q finds %d rows, want %d", filter, v.Rows, s.Classes[i].Rows)
		}
	}
}

// TestStatsOfSamples counts a part of the rows.
func TestStatsOfSamples(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for sample, want := range map[int64]int64{0: 0, 4: 4, 11: 11, 12: 0, 1 << 40: 0} {
		var s statsInfo
		f.call("stats", map[string]any{"view": f.view, "column": "label", "sample": sample}, &s)
		counted := s.Missing
		for _, c := range s.Classes {
			counted += c.Rows
		}
		if s.Rows != zooRows || s.Sampled != want || counted < zooRows-2 || counted > zooRows+2 {
			t.Errorf("a sample of %d rows: %+v", sample, s)
		}
	}
	for _, c := range [][2]int64{{10, 1}, {10, 9}, {1000, 256}, {1000, 257}, {10_000_000, 20_000}, {3_000_000, 1 << 20}} {
		rows := spread(c[0], c[1])
		if int64(len(rows)) != c[1] || rows[0] != 0 || rows[len(rows)-1] >= c[0] || !slices.IsSorted(rows) || len(slices.Compact(rows)) != len(rows) {
			t.Errorf("%d of %d rows are spread as %d from %d to %d", c[1], c[0], len(rows), rows[0], rows[len(rows)-1])
		}
	}
}

// TestMostViews opens more views than a server keeps.
func TestMostViews(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.query("SELECT * WHERE label = 1")
	for range mostViews + 5 {
		f.query("SELECT * LIMIT 3")
		f.read(f.view, []int64{0}, wanted{Name: "label"}) // the first view is in use
	}
	if len(f.views.all) > mostViews {
		t.Errorf("%d views are open", len(f.views.all))
	}
	if status, _ := f.refused("samples", map[string]any{"view": first.View, "rows": []int64{0}}); status != 404 {
		t.Errorf("the oldest view: %d", status)
	}
}

// Pages save views only where the service allows it, and never over one of the same name unasked.
func TestSave(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	save := func(view, name string, replace bool) map[string]any {
		return map[string]any{"view": view, "name": name, "replace": replace}
	}
	if status, why := f.refused("save", save(f.view, "cats", false)); status != 400 || why.Kind != "read-only" {
		t.Errorf("a service that only reads: %d %+v", status, why)
	}
	f.o.SaveViews = true
	var cats viewInfo
	f.call("query", map[string]string{"view": f.view, "text": "SELECT * WHERE label = 'cat'"}, &cats)
	if !cats.Saves {
		t.Error("the page is not told that it may save")
	}
	f.call("save", save(cats.View, "cats", false), &struct{}{})
	for name, c := range map[string]struct {
		body any
		kind string
	}{
		"the same name":   {save(cats.View, "cats", false), "exists"},
		"no name":         {save(cats.View, "", false), "invalid"},
		"another view":    {save("v99", "dogs", false), "not found"},
		"an unknown part": {map[string]any{"view": cats.View, "name": "x", "branch": "main"}, "invalid"},
	} {
		if _, why := f.refused("save", c.body); why.Kind != c.kind {
			t.Errorf("%s: %+v, want %s", name, why, c.kind)
		}
	}
	f.call("save", save(cats.View, "cats", true), &struct{}{})
	f.call("save", save(cats.View, "../log/0", false), &struct{}{}) // no path, but a name
	var v versionsInfo
	f.call("versions", map[string]string{}, &v)
	if len(v.Commits) != 2 || len(v.Saved) != 2 || v.Saved[0].Name != "../log/0" || v.Saved[1].Name != "cats" || v.Saved[0].Rows != cats.Rows {
		t.Errorf("the saved views are %+v", v.Saved)
	}
	if again := f.open(map[string]string{"saved": "cats"}); again.Rows != cats.Rows {
		t.Errorf("the saved view has %d rows, want %d", again.Rows, cats.Rows)
	}
}
