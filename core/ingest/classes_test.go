package ingest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
)

func TestNaturalOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"", "-1", "0", "00", "01", "1", "2", "9", "10", "10a", "10b", "99999999999999999998", "99999999999999999999", "A", "a", "a1", "a1b9", "a1b10",
		"a2", "a10", "class 9", "class 10", "n01440764", "n02102040", "z", "ä1", "ä10",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		got := slices.Clone(want)
		r.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		if slices.SortFunc(got, natural); !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
	for _, a := range want {
		for _, b := range want {
			if natural(a, b) != -natural(b, a) || (natural(a, b) == 0) != (a == b) {
				t.Errorf("%q and %q: %d and %d", a, b, natural(a, b), natural(b, a))
			}
		}
	}
}

// TestClassesInOrder: 10 comes after 9, unless the caller gives the order.
func TestClassesInOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	files := map[string][]byte{}
	for i := 1; i <= 11; i++ {
		files[fmt.Sprintf("%d/x.png", i)] = picture(t, i, "png")
	}
	write(t, root, files)
	env := testEnv()
	if r := run(t, env, "mem://natural", root, Options{}); fmt.Sprint(r.Classes) != "[1 2 3 4 5 6 7 8 9 10 11]" {
		t.Errorf("classes = %q", r.Classes)
	}
	given := Options{Classes: []string{"7", "absent", "10", "1"}}
	r := run(t, env, "mem://given", root, given)
	if fmt.Sprint(r.Classes) != "[7 absent 10 1]" || r.Rows != 3 || r.Skipped != 8 || !strings.Contains(r.Skips[0].Reason, "none of the 4 given classes") {
		t.Errorf("report = %+v", r)
	}
	labels := stored(t, env, "mem://given", "labels")
	if labels[0][0] != 3 || labels[1][0] != 2 || labels[2][0] != 0 {
		t.Errorf("labels = %v, want 3, 2, 0", labels)
	}
	if r := run(t, env, "mem://given", root, given); r.Added != 0 || r.Rows != 3 {
		t.Errorf("the second run: %+v", r)
	}
	fail(t, env, "mem://given", root, Options{Classes: []string{"1", "10"}}, errs.Exists)
	for name, bad := range map[string][]string{"none": {}, "empty": {"a", ""}, "twice": {"a", "b", "a"}, "not text": {"\xff"}} {
		if _, err := Start(env, "mem://bad", root, Options{Classes: bad}); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Start(env, "mem://bad", root, Options{Classes: []string{"1"}, Labels: "none"}); !errs.Is(err, errs.Invalid) {
		t.Errorf("with labels none: %v", err)
	}
	flat := t.TempDir()
	write(t, flat, map[string][]byte{"x.png": picture(t, 1, "png")})
	if text := fail(t, env, "mem://flat", flat, given, errs.Invalid); !strings.Contains(text, "class folder") {
		t.Error(text)
	}
}

// TestClassesOfShards: labels of shards name given classes by number and by name.
func TestClassesOfShards(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		labels, classes []string
		want            []byte
		out             []string
	}{
		"numbers":       {[]string{"2", "0", "3"}, []string{"ant", "bee", "cat"}, []byte{2, 0}, []string{"the number 3, and 3 classes"}},
		"names":         {[]string{"cat", "cow", "ant"}, []string{"ant", "bee", "cat"}, []byte{2, 0}, []string{`"cow", which is none of the 3 given classes`}},
		"both":          {[]string{"cat", "1"}, []string{"ant", "bee", "cat"}, []byte{2, 1}, nil},
		"numeric names": {[]string{"9", "10", "1"}, []string{"10", "9"}, []byte{1, 0, 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			lake.Put("a.tar", labelled(t, c.labels...))
			r := run(t, env, "mem://d", "lake://b", Options{Link: true, Classes: c.classes})
			if r.Rows != int64(len(c.want)) || r.Skipped != int64(len(c.out)) || !slices.Equal(r.Classes, c.classes) {
				t.Fatalf("report: %+v\n%s", r, reasons(r))
			}
			for _, want := range c.out {
				if !strings.Contains(reasons(r), want) {
					t.Errorf("%s is not in:\n%s", want, reasons(r))
				}
			}
			for i, label := range stored(t, env, "mem://d", "labels") {
				if label[0] != c.want[i] {
					t.Errorf("label %d = %v, want %d", i, label, c.want[i])
				}
			}
		})
	}
}
