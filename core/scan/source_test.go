package scan

import (
	"context"
	"slices"
	"strings"
	"testing"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// imported makes a dataset of rows 0 to 3 from files; row 2 is from none, row 3 from an archive.
func imported(t *testing.T, env *dataset.Env, uri string) *dataset.View {
	t.Helper()
	ctx := context.Background()
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, uri, dataset.CreateOptions{}))
	t.Cleanup(func() { _ = d.Close() })
	for _, s := range []dataset.TensorSpec{{Name: "x", DType: "int64"}, dataset.OriginSpec()} {
		if err := d.CreateTensor(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	files := tensor.Rows{Tensor: origin.Tensor}
	for _, o := range []origin.Origin{{Path: "train/b.jpg", Size: -1}, {Path: "val/a.jpg", Size: -1}, {}, {Path: "val/0.tar", Member: "c", Size: 3}} {
		s := tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: o.Encode()}
		if o.Path == "" {
			s = tensor.Sample{Form: tensor.FormHole}
		}
		files.Samples = append(files.Samples, s)
	}
	x := tensor.Rows{Tensor: "x", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes([]int64{0, 1, 2, 3})}}
	if err := d.Append(ctx, []tensor.Rows{x, files}, 4); err != nil {
		t.Fatal(err)
	}
	must[any](t)(d.Commit(ctx, ""))
	return must[*dataset.View](t)(d.View(ctx))
}

func TestSourceFunction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := imported(t, env, "mem://files")
	imported(t, env, "mem://others")
	for text, want := range map[string]string{
		"SELECT SOURCE() AS s":                                                             "train/b.jpg val/a.jpg null val/0.tar/c",
		"SELECT source() AS s WHERE SOURCE() LIKE 'val/%'":                                 "val/a.jpg val/0.tar/c",
		"SELECT SOURCE() AS s WHERE SOURCE() IS NULL":                                      "null",
		"SELECT SOURCE() AS s ORDER BY SOURCE() DESC LIMIT 2":                              "val/a.jpg val/0.tar/c",
		"SELECT SOURCE() || '!' AS s WHERE x = 1":                                          "val/a.jpg!",
		"SELECT COUNT(*) AS s GROUP BY SUBSTR(SOURCE(), 1, 3) ORDER BY 1":                  "1 1 2",
		"SELECT s FROM (SELECT SOURCE() AS s, x) WHERE x > 0":                              "val/a.jpg null val/0.tar/c",
		"SELECT SOURCE() AS s FROM (SELECT x)":                                             "null null null null",
		`SELECT SOURCE(a) AS s FROM dataset a JOIN "mem://others" b ON a.x = b.x`:          "train/b.jpg val/a.jpg null val/0.tar/c",
		`SELECT SOURCE(b) AS s FROM dataset a LEFT JOIN "mem://others" b ON a.x + 2 = b.x`: "null val/0.tar/c null null",
	} {
		if got := says(t, ask(t, env, v, text), "s"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if names := ask(t, env, v, "SELECT *").Names(); !slices.Equal(names, []string{"x"}) {
		t.Errorf("* is %q", names)
	}
	tables := NewTables(env, "", false, storage.Options{})
	defer func() { _ = tables.Close() }()
	for text, says := range map[string]string{
		"SELECT _source":      "there is no column",
		"SELECT source":       "there is no column",
		"SELECT SOURCE(1)":    "takes the name of a table",
		"SELECT SOURCE(a, b)": "takes the name of a table",
		"SELECT SOURCE(*)":    "has 1 arguments, want none",
		"SELECT SOURCE(zoo)":  `there is no source "zoo"`,
		`SELECT SOURCE() FROM dataset a JOIN "mem://others" b ON a.x = b.x`: "as in SOURCE(b)",
	} {
		_, err := query.Prepare(ctx, text, Of(v), tables, query.Options{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// TestSourceStays: parts of results, results of results, saved views and copies keep the files.
func TestSourceStays(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := imported(t, env, "mem://files")
	of := func(a *Result) string { return says(t, resultOf(t, env, a, "SELECT SOURCE() AS s"), "s") }
	last := ask(t, env, v, "SELECT x * 2 AS twice, x WHERE x != 0 ORDER BY x DESC")
	if got := of(last); got != "val/0.tar/c null val/a.jpg" {
		t.Errorf("a result: %s", got)
	}
	part := must[*Result](t)(last.Select([]int64{2, 0}))
	if got := of(part); got != "val/a.jpg val/0.tar/c" {
		t.Errorf("a part: %s", got)
	}
	if err := part.Materialize(ctx, env, Copy{URI: "mem://copy"}); err != nil {
		t.Fatal(err)
	}
	d := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://copy", dataset.OpenOptions{}))
	defer func() { _ = d.Close() }()
	copied := must[*dataset.View](t)(d.View(ctx))
	found := must[[]*origin.Origin](t)(dataset.Origins(ctx, copied, []int64{1, 0}))
	if *found[0] != (origin.Origin{Path: "val/0.tar", Member: "c", Size: 3}) || found[1].Path != "val/a.jpg" || len(copied.Names()) != 2 {
		t.Errorf("a copy: %v, tensors %q", found, copied.Names())
	}
	if _, err := dataset.Origins(ctx, copied, []int64{2}); !errs.Is(err, errs.Range) {
		t.Errorf("a row behind the last: %v", err)
	}
}
