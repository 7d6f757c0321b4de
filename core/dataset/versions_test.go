package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// numbered is a dataset with an int64 tensor x, and a text tensor t that says the same in words.
func numberedDataset(t *testing.T, env *Env, uri string) *Dataset {
	t.Helper()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, env, uri, CreateOptions{}))
	t.Cleanup(func() { _ = d.Close() })
	for _, spec := range []TensorSpec{{Name: "x", DType: "int64"}, {Name: "t", HType: "text"}} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, d, "create tensors")
	return d
}

func rowsOf(values []int64) []tensor.Rows {
	texts := make([]tensor.Sample, len(values))
	for i, v := range values {
		texts[i] = tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "row %d", v)}
	}
	return []tensor.Rows{
		{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(values...)}},
		{Tensor: "t", Samples: texts},
	}
}

func appendNumbers(t *testing.T, d *Dataset, values ...int64) {
	t.Helper()
	if err := d.Append(context.Background(), rowsOf(values), int64(len(values))); err != nil {
		t.Fatal(err)
	}
}

func updateNumbers(t *testing.T, d *Dataset, row, value int64) {
	t.Helper()
	if err := d.Update(context.Background(), []int64{row}, rowsOf([]int64{value})); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, d *Dataset, message string) {
	t.Helper()
	if _, err := d.Commit(context.Background(), message); err != nil {
		t.Fatal(err)
	}
}

// numbersIn reads x, and that t says the same.
func numbersIn(t *testing.T, d *Dataset) []int64 {
	t.Helper()
	v := must[*View](t)(d.View(context.Background()))
	out := []int64{}
	texts := readAll(t, v, "t")
	for i, b := range readAll(t, v, "x") {
		n := int64(binary.LittleEndian.Uint64(b))
		if want := fmt.Sprintf("row %d", n); string(texts[i]) != want {
			t.Fatalf("row %d of t is %q, want %q", i, texts[i], want)
		}
		out = append(out, n)
	}
	return out
}

func wantNumbers(t *testing.T, d *Dataset, want ...int64) {
	t.Helper()
	if got := numbersIn(t, d); !slices.Equal(got, want) {
		t.Fatalf("rows are %v, want %v", got, want)
	}
}

func wantError(t *testing.T, err error, kind errs.Kind, parts ...string) {
	t.Helper()
	if !errs.Is(err, kind) {
		t.Fatalf("got %v, want an error that is %q", err, kind)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("%q is not in %q", part, err)
		}
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := numberedDataset(t, env, "mem://d")
	appendNumbers(t, d, 1, 2)
	commit(t, d, "two")
	if err := d.Checkout(ctx, "work", true); err != nil {
		t.Fatal(err)
	}
	appendNumbers(t, d, 3)
	wantError(t, d.Checkout(ctx, "main", false), errs.Conflict, "commit() or discard()")
	commit(t, d, "three")
	wantNumbers(t, d, 1, 2, 3)
	if got := must[Description](t)(d.Describe()).Branch; got != "work" {
		t.Fatalf("described as on %q", got)
	}
	other := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{Branch: "work"}))
	defer other.Close()
	wantNumbers(t, other, 1, 2, 3)
	if err := d.Checkout(ctx, "main", false); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, d, 1, 2)
	if err := d.Versions().CreateBranch(ctx, "old", "1"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range must[[]BranchInfo](t)(d.Versions().Branches(ctx)) {
		names = append(names, fmt.Sprint(b.Name, " ", b.Head.Rows))
	}
	if want := []string{"main 2", "old 0", "work 3"}; !slices.Equal(names, want) {
		t.Fatalf("branches are %v, want %v", names, want)
	}
	wantError(t, other.Versions().DeleteBranch(ctx, "work"), errs.Invalid, "checkout another")
	if err := d.Versions().DeleteBranch(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.Checkout(ctx, "work", false), errs.NotFound, "work")
	for _, anew := range []bool{false, true} {
		if anew { // another branch of that name
			if err := d.Versions().CreateBranch(ctx, "work", "1"); err != nil {
				t.Fatal(err)
			}
		}
		appendNumbers(t, other, 4)
		_, err := other.Commit(ctx, "to nowhere")
		wantError(t, err, errs.NotFound, "the branch was deleted", "another branch")
		wantNumbers(t, other, 1, 2, 3, 4) // still there
		if err := other.Discard(ctx); err != nil {
			t.Fatal(err)
		}
		_, _, err = other.Merge(ctx, "main", "", "")
		wantError(t, err, errs.NotFound, "was deleted")
		_, err = other.Rechunk(ctx, RechunkOptions{})
		wantError(t, err, errs.NotFound, "was deleted")
	}
	if err := d.Versions().DeleteBranch(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	past := must[*Dataset](t)(d.At(ctx, "1"))
	defer past.Close()
	wantError(t, past.Checkout(ctx, "main", false), errs.ReadOnly)
	ro := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{ReadOnly: true}))
	defer ro.Close()
	wantError(t, ro.Versions().CreateBranch(ctx, "x", ""), errs.ReadOnly)
	wantError(t, ro.Checkout(ctx, "x", true), errs.ReadOnly)
	if err := ro.Checkout(ctx, "old", false); err != nil {
		t.Fatal(err)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := numberedDataset(t, testEnv(), "mem://d")
	appendNumbers(t, d, 1, 2)
	commit(t, d, "two")
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v1", "", "first release"))
	appendNumbers(t, d, 3)
	commit(t, d, "three")
	tags := must[[]TagInfo](t)(d.Versions().Tags(ctx))
	if len(tags) != 1 || tags[0].Name != "v1" || tags[0].Message != "first release" || tags[0].Commit.Rows != 2 {
		t.Fatalf("tags are %+v", tags)
	}
	past := must[*Dataset](t)(d.At(ctx, "v1"))
	defer past.Close()
	wantNumbers(t, past, 1, 2)
	if log := must[[]LogEntry](t)(d.Versions().Graph(ctx, 0, false)); len(log) != 4 || !slices.Equal(log[1].Names, []string{"v1"}) || !slices.Equal(log[0].Names, []string{"main"}) || !slices.Equal(log[0].Parents, []string{log[1].Commit}) {
		t.Fatalf("graph is %+v", log)
	}
	if err := d.Versions().DeleteTag(ctx, "v1"); err != nil {
		t.Fatal(err)
	}
	_, err := d.Versions().CreateTag(ctx, "v1", "", "")
	wantError(t, err, errs.Exists, "v1")
}

func TestRenameAndDeleteTensor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	d := numberedDataset(t, env, "mem://d")
	appendNumbers(t, d, 1, 2)
	commit(t, d, "two")
	appendNumbers(t, d, 3) // open chunks of both tensors
	if err := d.RenameTensor(ctx, "x", "g/y"); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.RenameTensor(ctx, "g/y", "t"), errs.Exists, "t")
	wantError(t, d.RenameTensor(ctx, "x", "z"), errs.NotFound, "x")
	wantError(t, d.RenameTensor(ctx, "g/y", ""), errs.Invalid)
	if err := d.DeleteTensor(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	wantError(t, d.DeleteTensor(ctx, "t"), errs.NotFound, "t")
	err := d.Append(ctx, []tensor.Rows{{Tensor: "g/y", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: int64s(4)}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	check := func(d *Dataset) {
		t.Helper()
		v := must[*View](t)(d.View(ctx))
		if !slices.Equal(v.Names(), []string{"g/y"}) {
			t.Fatalf("tensors are %q", v.Names())
		}
		got := readAll(t, v, "g/y")
		if len(got) != 4 || string(slices.Concat(got...)) != string(int64s(1, 2, 3, 4)) {
			t.Fatalf("g/y is %v", got)
		}
	}
	check(d)
	commit(t, d, "rename")
	again := must[*Dataset](t)(Open(ctx, env, "mem://d", OpenOptions{}))
	defer again.Close()
	check(again)
	past := must[*Dataset](t)(d.At(ctx, "2"))
	defer past.Close()
	wantNumbers(t, past, 1, 2)
}

func TestRechunk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := numberedDataset(t, testEnv(), "mem://d")
	want := []int64{}
	for i := range int64(20) { // a commit each: a chunk each
		appendNumbers(t, d, 10*i, 10*i+1, 10*i+2)
		commit(t, d, "three")
		want = append(want, 10*i, 10*i+1, 10*i+2)
	}
	updateNumbers(t, d, 7, 1000)
	want[7] = 1000
	if err := d.DeleteRows(ctx, []int64{3, 30}); err != nil {
		t.Fatal(err)
	}
	want = slices.Delete(slices.Delete(want, 30, 31), 3, 4)
	wantErr := func() {
		t.Helper()
		_, err := d.Rechunk(ctx, RechunkOptions{})
		wantError(t, err, errs.Conflict, "commit()")
	}
	wantErr()
	commit(t, d, "changes")
	report := must[RechunkReport](t)(d.Rechunk(ctx, RechunkOptions{Message: "tidy"}))
	if report.Commit == nil || report.Rows != 2*58 || report.Before < 42 || report.After != 6 {
		// each tensor is one chunk, in three pieces around the deleted rows
		t.Fatalf("report is %+v", report)
	}
	wantNumbers(t, d, want...)
	if again := must[RechunkReport](t)(d.Rechunk(ctx, RechunkOptions{})); again.Commit != nil || again.Rows != 0 {
		t.Fatalf("a second rechunk did %+v", again)
	}
	small := must[RechunkReport](t)(d.Rechunk(ctx, RechunkOptions{Tensors: []string{"t"}, ChunkBytes: 4096}))
	if small.Commit == nil || small.Rows != 58 {
		t.Fatalf("report is %+v", small)
	}
	wantNumbers(t, d, want...)
	// Writers still find the same rows.
	updateNumbers(t, d, 0, 77)
	want[0] = 77
	commit(t, d, "on")
	wantNumbers(t, d, want...)
	_, err := d.Rechunk(ctx, RechunkOptions{Tensors: []string{"nope"}})
	wantError(t, err, errs.NotFound, "nope")
	_, err = d.Rechunk(ctx, RechunkOptions{ChunkBytes: 1})
	wantError(t, err, errs.Invalid, "chunk_bytes")
}

// TestRechunkKeepsAll: holes, sequences, tiles, compressed blocks and pictures do not change.
func TestRechunkKeepsAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://d", CreateOptions{}))
	defer d.Close()
	specs := []TensorSpec{
		{Name: "a", DType: "uint8", ChunkBytes: 4096}, {Name: "z", DType: "uint8", Compression: "zstd", ChunkBytes: 4096},
		{Name: "s", HType: "sequence[generic]", DType: "uint8"}, {Name: "h", HType: "text"},
	}
	for _, spec := range specs {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	array := func(n int) tensor.Sample {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i * n)
		}
		return tensor.Sample{DType: tensor.Uint8, Shape: tensor.Shape{int64(n)}, Data: data}
	}
	for i := range 40 {
		size := 100 + 37*i
		if i == 20 {
			size = 50_000 // tiled
		}
		hole := tensor.Sample{Form: tensor.FormHole}
		text := tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: fmt.Appendf(nil, "%d", i)}
		if i%3 == 0 {
			text = hole
		}
		items := []tensor.Sample{}
		for k := range i % 4 {
			items = append(items, array(k+1))
		}
		if err := d.Append(ctx, []tensor.Rows{
			{Tensor: "a", Samples: []tensor.Sample{array(size)}}, {Tensor: "z", Samples: []tensor.Sample{array(size % 5000)}},
			{Tensor: "s", Samples: items, RowItems: []int64{int64(len(items))}}, {Tensor: "h", Samples: []tensor.Sample{text}},
		}, 1); err != nil {
			t.Fatal(err)
		}
		commit(t, d, "one")
	}
	read := func() map[string][][]byte {
		out := map[string][][]byte{}
		v := must[*View](t)(d.View(ctx))
		for _, s := range specs {
			out[s.Name] = readAll(t, v, s.Name)
		}
		return out
	}
	before := read()
	for _, o := range []RechunkOptions{{}, {All: true}, {ChunkBytes: 1 << 20}} {
		if r := must[RechunkReport](t)(d.Rechunk(ctx, o)); r.Commit == nil || r.After >= r.Before && o.All == false {
			t.Fatalf("%+v: report is %+v", o, r)
		}
		after := read()
		for name, rows := range before {
			for i := range rows {
				if string(rows[i]) != string(after[name][i]) || (rows[i] == nil) != (after[name][i] == nil) {
					t.Fatalf("%+v: row %d of %q has changed", o, i, name)
				}
			}
		}
	}
}
