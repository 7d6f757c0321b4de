package table

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
)

// arrowOf is a file of core/arrow/ipc/testdata, with the rows that a file of Parquet has.
func arrowOf(t testing.TB, name string) []byte {
	t.Helper()
	p, err := os.ReadFile("../../arrow/ipc/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFeather takes in files and streams of Arrow, whichever request fails. Each row comes once.
func TestFeather(t *testing.T) {
	t.Parallel()
	failures := 0
	for skip := range int64(24) {
		w := newWorld(t)
		w.lake.Put("a.feather", arrowOf(t, "plain.arrow"))
		w.lake.Put("b.arrow", arrowOf(t, "zstd.stream"))
		w.lake.Put("c.ipc", arrowOf(t, "lz4.arrow"))
		o := some()
		o.Checkpoint = 10
		if w.interrupted(t, o, skip, 3) {
			failures++
		}
	}
	if failures < 5 {
		t.Errorf("%d requests failed", failures)
	}
	w := newWorld(t)
	w.lake.Put("a.feather", arrowOf(t, "plain.arrow"))
	if _, err := w.run(t.Context(), Options{Columns: []string{"int", "none"}}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), `no column "none"`) {
		t.Error(err)
	}
	w.lake.Put("b.feather", arrowOf(t, "plain.arrow")[:5000])
	o := some()
	o.LeaveOut = true
	if r, err := w.run(t.Context(), o); err != nil || r.Added != rowsOf || r.Skipped != 1 || r.Skips[0].Path != "b.feather" {
		t.Error(r, err)
	}
}

// valuesOf is the columns "int" and "text" as comma-separated values, with a line that has another
// number of them where broken.
func valuesOf(comma string, broken bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "int%stext%slist\n", comma, comma)
	for row := range rowsOf {
		fmt.Fprintf(&b, "%d%s\"text of\nrow %d\"%s\n", row*row-50, comma, row, comma)
		if broken && row == 20 {
			b.WriteString("half a line\n")
		}
	}
	return b.String()
}

// TestValues takes in comma-separated values, plain and compressed, whichever request fails. Each
// row comes once, and a line that is no row is left out where that is wanted.
func TestValues(t *testing.T) {
	t.Parallel()
	failures := 0
	for skip := range int64(10) {
		for _, broken := range []bool{false, true} {
			w := newWorld(t)
			w.lake.Put("a.csv", []byte(valuesOf(",", broken)))
			w.lake.Put("b.csv.gz", compressed(t, "gz", valuesOf(",", broken)))
			w.lake.Put("c.tsv.zst", compressed(t, "zst", valuesOf("\t", broken)))
			w.lake.Put("d.CSV.lz4", compressed(t, "lz4", valuesOf(";", broken)))
			o := some()
			o.Checkpoint, o.LeaveOut = 10, broken
			if w.interrupted(t, o, skip, 4) {
				failures++
			}
		}
	}
	if failures < 6 {
		t.Errorf("%d requests failed", failures)
	}
	w := newWorld(t)
	w.lake.Put("a.csv", []byte(valuesOf(",", true)))
	if _, err := w.run(t.Context(), some()); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "a.csv") || !strings.Contains(err.Error(), "line 44 ") {
		t.Fatal(err)
	}
	o := some()
	o.LeaveOut = true
	if r, err := w.run(t.Context(), o); err != nil || r.Added != rowsOf || r.Skipped != 1 || !strings.Contains(r.Skips[0].Reason, "line 44 ") {
		t.Fatal(r, err)
	}
}

// TestTextOfOneFile: a column that is text in one file is text in all, before and after it.
func TestTextOfOneFile(t *testing.T) {
	t.Parallel()
	for _, files := range [][]string{
		{"n,zip\n1,10115\n", "n,zip\n2,K1A 0B1\n", "n,zip\n3,01067\n"},
		{"n,zip\n1,K1A 0B1\n", "n,zip\n2,10115\n", "n,zip\n3,5\n"},
	} {
		w := newWorld(t)
		for i, p := range files {
			w.lake.Put(fmt.Sprintf("%d.csv", i), []byte(p))
		}
		o := Options{}
		r, err := w.run(t.Context(), o)
		if err != nil || r.Added != 3 {
			t.Fatal(r, err)
		}
		w.lake.Put("9.csv", []byte("n,zip\n4,00000\n")) // of a later run
		if r, err := w.run(t.Context(), o); err != nil || r.Added != 1 {
			t.Fatal(r, err)
		}
		got := w.texts(t, "zip")
		for i, p := range append(files, "n,zip\n4,00000\n") {
			if want := strings.TrimSpace(p[strings.LastIndex(p, ",")+1:]); got[i] != want {
				t.Errorf("row %d has %q, want %q", i, got[i], want)
			}
		}
	}
}

// TestLinesAsStated: lines of any kind suit htype json, and integers dtype float64, whatever the
// first ones are.
func TestLinesAsStated(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{
		`{"a": "x"}`, "{\"a\": \"x\"}\n{\"a\": {\"y\": 1}}", "{\"a\": 1}\n{\"a\": \"x\"}", `{"a": [[1, 2], [3]]}`, `{"a": 123456789012345678901234567890}`,
	} {
		w := newWorld(t)
		w.lake.Put("a.jsonl", []byte(lines))
		r, err := w.run(t.Context(), Options{Schema: map[string]dataset.TensorSpec{"a": {HType: "json"}}})
		if err != nil || r.Rows != int64(strings.Count(lines, "\n")+1) {
			t.Errorf("%s: %+v, %v", lines, r, err)
		}
	}
	w := newWorld(t)
	w.lake.Put("a.jsonl", []byte("{\"a\": 9007199254740993}\n{\"a\": 0.5}\n"))
	if _, err := w.run(t.Context(), Options{}); !errs.Is(err, errs.Type) {
		t.Error(err)
	}
	if r, err := w.run(t.Context(), Options{Schema: map[string]dataset.TensorSpec{"a": {DType: "float64"}}}); err != nil || r.Rows != 2 {
		t.Error(r, err)
	}
}

// TestColumnsOfLaterFiles: rows of a file without the chosen columns are holes, those of the first
// file too.
func TestColumnsOfLaterFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lake.Put("a.jsonl", []byte("{\"b\": 1}\n{\"b\": 2}\n"))
	w.lake.Put("b.jsonl", []byte("{\"a\": 1}\n"))
	if r, err := w.run(t.Context(), Options{Columns: []string{"a"}}); err != nil || r.Rows != 3 {
		t.Error(r, err)
	}
}

// TestLateKinds: values behind the first megabyte of a file decide about its columns, too.
func TestLateKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pad := strings.Repeat("p", 100)
	w.lake.Put("a.jsonl", []byte(strings.Repeat("{\"a\": [1], \"pad\": \""+pad+"\"}\n", 20_000)+"{\"a\": [\"x\"]}\n"))
	if r, err := w.run(t.Context(), Options{}); err != nil || r.Rows != 20_001 {
		t.Error(r, err)
	}
	w = newWorld(t)
	w.lake.Put("a.csv", []byte("a,pad\n"+strings.Repeat("1,"+pad+"\n", 20_000)+"1.5,x\n"))
	if r, err := w.run(t.Context(), Options{}); err != nil || r.Rows != 20_001 {
		t.Error(r, err)
	}
}

// TestStatedSeparator: a separator that the user states is used by all runs.
func TestStatedSeparator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lake.Put("a.csv", []byte("Name, Vorname;Ort\nMueller, Hans;Berlin\n"))
	if _, err := w.run(t.Context(), Options{}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "a.csv") || !strings.Contains(err.Error(), "--separator") {
		t.Error(err)
	}
	o := Options{Separator: ";"}
	if r, err := w.run(t.Context(), o); err != nil || r.Rows != 1 {
		t.Fatal(r, err)
	}
	w.lake.Put("b.csv", []byte("Name, Vorname;Ort\nMaier, Eva;Bonn\n"))
	if r, err := w.run(t.Context(), o); err != nil || r.Rows != 2 {
		t.Error(r, err)
	}
	if _, err := w.run(t.Context(), Options{}); !errs.Is(err, errs.Exists) || !strings.Contains(err.Error(), `separator=";"`) {
		t.Error(err)
	}
	for by, want := range map[string]string{"tab": "", `\t`: "", ";;": "want one character", "\"": "want one character", "\n": "want one character", "ü": "want one character"} {
		w := newWorld(t)
		w.lake.Put("a.csv", []byte("a\tb\n1\t2\n"))
		if r, err := w.run(t.Context(), Options{Separator: by}); want == "" && (err != nil || r.Rows != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", by, err)
		}
	}
	w = newWorld(t)
	w.lake.Put("a.jsonl", []byte("{\"a\": 1}\n"))
	if _, err := w.run(t.Context(), o); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "separator is of CSV") {
		t.Error(err)
	}
	// A column without a name is left out by naming the others.
	w = newWorld(t)
	w.lake.Put("a.csv", []byte("a,b,\n1,x,\n2,y,\n"))
	if _, err := w.run(t.Context(), Options{}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "column 3 has no name") {
		t.Error(err)
	}
	if r, err := w.run(t.Context(), Options{Columns: []string{"a", "b"}}); err != nil || r.Rows != 2 {
		t.Error(r, err)
	}
}
