package ingest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// labelled has a shard of samples 0.jpg, 0.cls, ... with these labels.
func labelled(t *testing.T, labels ...string) []byte {
	t.Helper()
	var entries []entry
	for i, label := range labels {
		entries = append(entries, entry{fmt.Sprintf("%d.jpg", i), picture(t, i, "jpeg")}, entry{fmt.Sprintf("%d.cls", i), []byte(label)})
	}
	return archive(t, tar.FormatUSTAR, entries...)
}

// TestLabelsAreNumbersOrNames: rows with the other kind of label, and with numbers that are none of
// a class, are left out with a reason.
func TestLabelsAreNumbersOrNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels []string
		more   map[string][]byte
		want   []byte // labels of the rows of the shard
		out    []string
	}{
		"numbers":       {[]string{"3", "0", "12"}, nil, []byte{3, 0, 12}, nil},
		"names":         {[]string{"rose", "tulip", "rose"}, nil, []byte{0, 1, 0}, nil},
		"number, name":  {[]string{"1", "rose", "2"}, nil, []byte{1, 2}, []string{`name "rose"`}},
		"name, number":  {[]string{"rose", "1", "rose"}, nil, []byte{0, 0}, []string{"the number 1"}},
		"other numbers": {[]string{"01", "3.0", "-1", "+1", "9223372036854775808", "1e3", "4"}, nil, []byte{4}, []string{`"01"`, `"3.0"`, `"-1"`, `"+1"`, `"9223372036854775808"`, `"1e3"`}},
		"like numbers":  {[]string{"1st", "nan", "001.bird"}, nil, []byte{0, 1, 2}, nil},
		"class folders": {[]string{"1", "rose"}, map[string][]byte{"b/x.jpg": picture(t, 9, "jpeg")}, []byte{0}, []string{"the number 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			lake.Put("a.tar", labelled(t, c.labels...))
			for key, data := range c.more {
				lake.Put(key, data)
			}
			for again := range 2 {
				r := run(t, env, "mem://d", "lake://b", Options{Link: true})
				if r.Rows != int64(len(c.want)+len(c.more)) || again == 0 && r.Skipped != int64(len(c.out)) {
					t.Fatalf("report: %+v\n%s", r, reasons(r))
				}
				for _, want := range c.out {
					if again == 0 && !strings.Contains(reasons(r), want) {
						t.Errorf("%s is not in:\n%s", want, reasons(r))
					}
				}
			}
			got := stored(t, env, "mem://d", "labels")
			for i, want := range c.want {
				if !bytes.Equal(got[i][:1], []byte{want}) {
					t.Errorf("label %d = %v, want %d", i, got[i], want)
				}
			}
		})
	}
}

// TestLaterLabelsAreOfTheSameKind: the labels of the dataset decide in later imports, and shards
// with labels do not make folders classes.
func TestLaterLabelsAreOfTheSameKind(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	lake.Put("a.tar", labelled(t, "3"))
	run(t, env, "mem://d", "lake://b", Options{Link: true})
	lake.Put("b.tar", labelled(t, "rose"))
	lake.Put("c.jpg", picture(t, 1, "jpeg"))
	if r := run(t, env, "mem://d", "lake://b", Options{Link: true}); r.Rows != 2 || r.Skipped != 1 || !strings.Contains(reasons(r), `name "rose"`) {
		t.Errorf("report: %+v\n%s", r, reasons(r))
	}
}

// TestMembersOfOneSample: a second member of a kind, and members behind those of another sample,
// are left out and reported. A picture never gets the label of another one.
func TestMembersOfOneSample(t *testing.T) {
	t.Parallel()
	a, b, c := picture(t, 1, "jpeg"), picture(t, 2, "jpeg"), picture(t, 3, "jpeg")
	one, two := []byte("1"), []byte("2")
	for name, test := range map[string]struct {
		members []entry
		images  [][]byte
		labels  string
		out     []string
	}{
		"twice":          {[]entry{{"a.jpg", a}, {"a.cls", one}, {"a.jpg", b}, {"a.cls", two}}, [][]byte{a}, "1", []string{"a.jpg: a second image", "a.cls: a second cls"}},
		"first broken":   {[]entry{{"a.jpg", []byte("x")}, {"a.cls", one}, {"a.png", b}, {"a.cls", two}}, [][]byte{nil}, "1", []string{"a.jpg: not a", "a.png: a second image", "a.cls: a second cls"}},
		"behind another": {[]entry{{"a.jpg", a}, {"a.cls", one}, {"b.jpg", b}, {"b.cls", two}, {"a.jpg", c}, {"a.cls", two}}, [][]byte{a, b}, "12", []string{"a.jpg: other samples", "a.cls: other samples"}},
		"by kind":        {[]entry{{"a.jpg", a}, {"b.jpg", b}, {"a.cls", one}, {"b.cls", two}, {"c.cls", one}}, [][]byte{a, b, nil}, "--1", []string{"a.cls: other samples", "b.cls: other samples"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			lake.Put("s.tar", archive(t, tar.FormatPAX, test.members...))
			r := run(t, env, "mem://d", "lake://b", Options{Link: true})
			images, labels := stored(t, env, "mem://d", "images"), ""
			for _, label := range stored(t, env, "mem://d", "labels") {
				if label == nil {
					labels += "-"
				} else {
					labels += fmt.Sprint(label[0])
				}
			}
			if len(images) != len(test.images) || labels != test.labels || r.Skipped != int64(len(test.out)) {
				t.Fatalf("%d images, labels %s, left out:\n%s", len(images), labels, reasons(r))
			}
			for i, want := range test.images {
				if !bytes.Equal(images[i], want) {
					t.Errorf("image %d is another", i)
				}
			}
			for _, want := range test.out {
				if !strings.Contains(reasons(r), want) {
					t.Errorf("%q is not in:\n%s", want, reasons(r))
				}
			}
		})
	}
}
