package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
)

// savedSplits reads the saved views of a dataset, with the first source of each.
func savedSplits(t *testing.T, env *dataset.Env, uri string) string {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, env, uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	views, err := d.Versions().Views(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, v := range views {
		l, err := d.Versions().LoadView(ctx, v.Name)
		if err != nil {
			t.Fatal(err)
		}
		first, err := dataset.Origins(ctx, l.Rows, []int64{0})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %d %s", v.Name, v.Rows, first[0]))
		_ = l.Dataset.Close()
	}
	return strings.Join(out, ", ")
}

func TestSplits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys    string
		o       Options
		splits  string
		classes string
		skipped int64
	}{
		"classes in splits":     {keys: "train/cat/1 train/dog/1 train/dog/2 val/cat/1", splits: "[{train 3} {val 1}]", classes: "[cat dog]"},
		"another class in val":  {keys: "test/owl/1 train/cat/1", splits: "[{test 1} {train 1}]", classes: "[cat owl]"},
		"without classes":       {keys: "train2017/1 train2017/2 val2017/1", splits: "[{train2017 2} {val2017 1}]", classes: "[]"},
		"one split":             {keys: "Train/cat/1 Train/dog/1", splits: "[{Train 2}]", classes: "[cat dog]"},
		"a class of its own":    {keys: "train/1 train/2", splits: "[]", classes: "[train]"},
		"vehicles":              {keys: "bus/1 train/1", splits: "[]", classes: "[bus train]"},
		"one folder is none":    {keys: "train/cat/1 val/cat/1 zebra/1", splits: "[]", classes: "[train val zebra]"},
		"an image beside them":  {keys: "0 train/cat/1 val/cat/1", splits: "[{train 1} {val 1}]", classes: "[cat]", skipped: 1},
		"an image outside":      {keys: "train/cat/1 train/2 val/cat/1", splits: "[{train 1} {val 1}]", classes: "[cat]", skipped: 1},
		"unless told otherwise": {keys: "train/cat/1 val/cat/1", o: Options{Splits: "none"}, splits: "[]", classes: "[train val]"},
		"no labels":             {keys: "train/cat/1 val/cat/1", o: Options{Labels: "none"}, splits: "[{train 1} {val 1}]", classes: "[]"},
		"given classes":         {keys: "train/cat/1 val/dog/1", o: Options{Classes: []string{"dog", "cat"}}, splits: "[{train 1} {val 1}]", classes: "[dog cat]"},
	} {
		for _, of := range []string{"a folder", "a lake"} {
			t.Run(name+" of "+of, func(t *testing.T) {
				t.Parallel()
				env, lake := lakeEnv()
				source, dir := "lake://b/photos", t.TempDir()
				for i, key := range strings.Fields(c.keys) {
					key += ".jpg"
					lake.Put("photos/"+key, picture(t, i, "jpeg"))
					write(t, dir, map[string][]byte{key: picture(t, i, "jpeg")})
				}
				if of == "a folder" {
					source = dir
				}
				r := run(t, env, "mem://d", source, c.o)
				classes := fmt.Sprint(r.Classes)
				if of == "a lake" && name == "another class in val" {
					classes = c.classes // they have the order of the listing
				}
				if fmt.Sprint(r.Splits) != c.splits || classes != c.classes || r.Skipped != c.skipped {
					t.Errorf("splits %v, classes %v, %d skipped; want %s, %s, %d", r.Splits, r.Classes, r.Skipped, c.splits, c.classes, c.skipped)
				}
			})
		}
	}
}

// TestSplitsGrow: a repeated import keeps the splits, and saves their new rows.
func TestSplitsGrow(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	put := func(key string) { lake.Put("p/"+key, picture(t, len(key), "jpeg")) }
	put("train/cat/1.jpg")
	put("val/cat/1.jpg")
	run(t, env, "mem://d", "lake://b/p", Options{})
	if got := savedSplits(t, env, "mem://d"); got != "train 1 train/cat/1.jpg, val 1 val/cat/1.jpg" {
		t.Errorf("saved: %s", got)
	}
	put("train/dog/2.jpg")
	put("test/dog/20.jpg")
	put("zoo/1.jpg") // has no class, as the folders of splits have none beside them
	r := run(t, env, "mem://d", "lake://b/p", Options{})
	if fmt.Sprint(r.Splits) != "[{train 2} {val 1} {test 1}]" || r.Added != 2 || r.Skipped != 1 {
		t.Errorf("the second run: %+v", r)
	}
	if got := savedSplits(t, env, "mem://d"); got != "test 1 test/dog/20.jpg, train 2 train/cat/1.jpg, val 1 val/cat/1.jpg" {
		t.Errorf("saved: %s", got)
	}
	j, err := Start(env, "mem://d", "lake://b/p", Options{Splits: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Wait(context.Background()); !errs.Is(err, errs.Exists) || !strings.Contains(err.Error(), "splits=auto") {
		t.Errorf("another option: %v", err)
	}
}

// TestSplitsOfLargeLake: the folders behind the part of a listing that a probe reads are looked at.
func TestSplitsOfLargeLake(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{"val/cat/1.jpg": "[{train 1002} {val 1}]", "zebra/1.jpg": "[]"} {
		env, lake := lakeEnv()
		one := picture(t, 1, "jpeg")
		for i := range probedRows + 2 {
			lake.Put(fmt.Sprintf("p/train/cat/%04d.jpg", i), one)
		}
		lake.Put("p/"+last, one)
		if r := run(t, env, "mem://d", "lake://b/p", Options{}); fmt.Sprint(r.Splits) != want {
			t.Errorf("with %s: splits %v, want %s", last, r.Splits, want)
		}
	}
}
