package episodes

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// episodesOf makes a maker of n episodes of one frame each.
func episodesOf(version string, n int) *maker {
	m := newMaker(version)
	m.lengths = slices.Repeat([]int{1}, n)
	return m
}

// TestContinue: a run that was stopped after a commit is continued, at any episode.
func TestContinue(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v3.0", "v2.1"} {
		for stop := range 6 {
			t.Run(fmt.Sprintf("%s stopped at %d", version, stop), func(t *testing.T) {
				t.Parallel()
				lake := episodesOf(version, 6).write(t)
				env := testEnv(lake)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				source, _ := lake.Open(ctx, "set", storage.Options{})
				r, err := Run(ctx, env, "mem://d", source, Options{Checkpoint: 2}, func(p Progress) {
					if p.Rows == int64(stop) {
						cancel()
					}
				})
				if !errs.Is(err, errs.Canceled) {
					t.Fatal(err)
				}
				left := int64(0)
				if stop > 0 {
					left = r.Rows
					if r.Complete || left < int64(stop) {
						t.Errorf("the first run: %+v", r)
					}
				}
				r = good(t, env, lake, Options{Checkpoint: 2})
				if r.Rows != 6 || r.Added != 6-left || r.Resumed != left || !r.Complete || r.Unchanged != 0 {
					t.Errorf("%d rows before: %+v", left, r)
				}
				if got := numbersOf(t, env); !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5}) {
					t.Errorf("episodes %v", got)
				}
			})
		}
	}
}

// TestFailure: a store that fails ends the run, and a later one continues it.
func TestFailure(t *testing.T) {
	t.Parallel()
	lake := episodesOf("v2.1", 6).write(t)
	env := testEnv(lake)
	lake.Fail = func(key string, _, _ int64) error {
		if strings.HasSuffix(key, "episode_000004.mp4") {
			return errs.New(errs.Storage, "the cable is out")
		}
		return nil
	}
	if _, err := run(t, env, lake, Options{Checkpoint: 2}); !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "the cable is out") {
		t.Fatal(err)
	}
	if _, v := opened(t, env); v.Len() != 4 {
		t.Errorf("%d rows are committed", v.Len())
	}
	if _, err := run(t, env, lake, Options{Once: true}); !errs.Is(err, errs.Exists) {
		t.Errorf("once more as a new dataset: %v", err)
	}
	if _, err := run(t, testEnv(lake), lake, Options{Once: true}); !errs.Is(err, errs.Storage) {
		t.Errorf("in one commit: %v", err)
	}
	lake.Fail = nil
	if r := good(t, env, lake, Options{}); r.Rows != 6 || r.Resumed != 4 || r.Added != 2 {
		t.Errorf("%+v", r)
	}
}

// TestGrowth: a later run takes episodes that are new, and those whose files came late.
func TestGrowth(t *testing.T) {
	t.Parallel()
	m := episodesOf("v2.1", 4)
	late := "videos/chunk-000/observation.images.top/episode_000001.mp4"
	m.files[late] = []byte{}
	lake := m.write(t)
	env := testEnv(lake)
	if r := good(t, env, lake, Options{}); r.Rows != 3 || r.Skipped != 1 || !r.Complete {
		t.Fatalf("%+v", r)
	}
	grown := episodesOf("v2.1", 6).write(t)
	env.Sources["lake"] = grown.Open
	r := good(t, env, grown, Options{})
	if r.Rows != 6 || r.Added != 3 || r.Unchanged != 3 || r.Skipped != 0 {
		t.Errorf("%+v\n%s", r, said(r))
	}
	if got := numbersOf(t, env); !slices.Equal(got, []int64{0, 2, 3, 1, 4, 5}) {
		t.Errorf("episodes %v", got)
	}
	if _, err := run(t, env, lake, Options{}); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), "2 of the 6 episodes") {
		t.Errorf("a set that shrank: %v", err)
	}
	for _, o := range []Options{{Link: true}, {Columns: []string{"note"}}} {
		if _, err := run(t, env, grown, o); !errs.Is(err, errs.Exists) || !strings.Contains(err.Error(), "continue it so, or overwrite it") {
			t.Errorf("with %+v: %v", o, err)
		}
	}
	if r := good(t, env, grown, Options{Columns: []string{"note"}, Overwrite: true}); r.Rows != 6 || r.Added != 6 {
		t.Errorf("overwritten: %+v", r)
	}
}

// TestSomeEpisodes: a run takes the episodes that it names, and reads no files of others. Later
// runs add more.
func TestSomeEpisodes(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v3.0", "v2.1"} {
		for _, link := range []bool{false, true} {
			m := newMaker(version)
			m.lengths = []int{3, 2, 4, 1, 2, 3}
			lake := m.write(t)
			env := testEnv(lake)
			lake.Fail = func(key string, _, _ int64) error {
				if strings.Contains(key, "episode_000002") {
					return errs.New(errs.Internal, "%s is read", key)
				}
				return nil
			}
			r := good(t, env, lake, Options{Episodes: []int64{4, 1, 5, 1}, Link: link})
			if r.Rows != 3 || r.Added != 3 || !r.Complete || r.Skipped != 0 || r.Warned != 0 {
				t.Errorf("%s link=%t: %+v\n%s", version, link, r, said(r))
			}
			if got := numbersOf(t, env); !slices.Equal(got, []int64{1, 4, 5}) {
				t.Errorf("%s link=%t: episodes %v", version, link, got)
			}
			if r := good(t, env, lake, Options{Episodes: []int64{1, 0}, Link: link}); r.Rows != 4 || r.Added != 1 || r.Unchanged != 3 {
				t.Errorf("%s link=%t, one more: %+v", version, link, r)
			}
			lake.Fail = nil
			if r := good(t, env, lake, Options{Link: link}); r.Rows != 6 || r.Added != 2 || r.Unchanged != 4 || r.Warned != 0 {
				t.Errorf("%s link=%t, the others: %+v\n%s", version, link, r, said(r))
			}
			if got := numbersOf(t, env); !slices.Equal(got, []int64{1, 4, 5, 0, 2, 3}) {
				t.Errorf("%s link=%t, the others: episodes %v", version, link, got)
			}
			_, v := opened(t, env)
			for row, n := range []int{1, 4, 5, 0, 2, 3} {
				state, p := ref(t, v, "observation.state", int64(row))
				if want := fmt.Sprintf("(%d, 2)", m.lengths[n]); state.Shape.String() != want || math.Float32frombits(binary.LittleEndian.Uint32(p)) != float32(n) {
					t.Errorf("%s: row %d has a state of shape %s, want %s of episode %d: % x", version, row, state.Shape, want, n, p)
				}
			}
			for want, o := range map[string]Options{
				"there is no episode 6; the 6 episodes have numbers from 0 to 5": {Episodes: []int64{2, 6}, Link: link},
				"there is no episode -1": {Episodes: []int64{-1}, Link: link},
				"episodes is empty":      {Episodes: []int64{}, Link: link},
			} {
				if _, err := run(t, testEnv(lake), lake, o); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v: %v", o.Episodes, err)
				}
			}
		}
	}
}

// TestFilmsThatGrow: a later run says that links lead to a file that is another one now.
func TestFilmsThatGrow(t *testing.T) {
	t.Parallel()
	m := newMaker("v3.0")
	lake := m.write(t)
	env := testEnv(lake)
	good(t, env, lake, Options{Link: true})
	source, _ := lake.Open(t.Context(), "set", storage.Options{})
	body, err := source.Range(t.Context(), filmFile0, 0, -1, "")
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, body.Len())
	if _, err := body.Read(data); err != nil {
		t.Fatal(err)
	}
	lake.Put(filmFile0, data) // with another tag
	if r := good(t, env, lake, Options{Link: true}); r.Warned != 1 || !strings.Contains(said(r), filmFile0+": it has changed since it was linked") {
		t.Errorf("%+v", r)
	}
	if _, err := run(t, env, lake, Options{Link: true, Raise: true}); !errs.Is(err, errs.Conflict) {
		t.Errorf("raised: %v", err)
	}
}

// TestConverted: the program of LeRobot that converts version 2 names the file before the right one
// for the first episode of each. Such episodes are found by the numbers of their frames.
func TestConverted(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(e int) int64{
		"two a file": func(e int) int64 { return int64(e / 2) }, "the last one alone": func(e int) int64 { return int64(e / 5) },
	} {
		for stop := range 6 {
			t.Run(fmt.Sprintf("%s, stopped at %d", name, stop), func(t *testing.T) {
				t.Parallel()
				m := episodesOf("v3.0", 6)
				m.place = place
				m.named = func(e int) int64 { return place(max(0, e-1)) }
				lake := m.write(t)
				env := testEnv(lake)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				source, _ := lake.Open(ctx, "set", storage.Options{})
				_, _ = Run(ctx, env, "mem://d", source, Options{Checkpoint: 1}, func(p Progress) {
					if p.Rows == int64(stop) {
						cancel()
					}
				})
				r := good(t, env, lake, Options{})
				if r.Rows != 6 || r.Skipped != 0 || r.Warned > 1 || stop == 0 && !strings.Contains(said(r), "episodes lie in other data files than these say") {
					t.Errorf("%+v", r)
				}
				if got := numbersOf(t, env); !slices.Equal(got, []int64{0, 1, 2, 3, 4, 5}) {
					t.Errorf("episodes %v", got)
				}
			})
		}
	}
}

// TestColumns: features are chosen by name.
func TestColumns(t *testing.T) {
	t.Parallel()
	lake := newMaker("v3.0").write(t)
	env := testEnv(lake)
	good(t, env, lake, Options{Columns: []string{"next.done", timestamp}})
	d, _ := opened(t, env)
	desc, err := d.Describe()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tensor := range desc.Tensors {
		names = append(names, tensor.Name)
	}
	if fmt.Sprint(names) != "[episode_index task next.done timestamp]" {
		t.Errorf("tensors %v", names)
	}
	for text, o := range map[string]Options{
		`there is no feature "next.don"; did you mean "next.done"?`: {Columns: []string{"next.don"}}, `columns names "note" twice`: {Columns: []string{"note", "note"}},
		"columns is empty": {Columns: []string{}}, "no feature is a video": {Columns: []string{"note"}, Link: true},
	} {
		o.Overwrite = true
		if _, err := run(t, env, lake, o); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

// TestSplits: several splits become labels, one does not.
func TestSplits(t *testing.T) {
	t.Parallel()
	m := newMaker("v2.1")
	m.info["splits"] = map[string]any{"train": "0:2", "val": "2:3", "odd": "all"}
	lake := m.write(t)
	env := testEnv(lake)
	r := good(t, env, lake, Options{})
	if fmt.Sprint(r.Parts) != "[train val]" || !strings.Contains(said(r), `splits has ["odd"]`) {
		t.Errorf("%+v\n%s", r, said(r))
	}
	_, v := opened(t, env)
	for row, want := range []uint64{0, 0, 1} {
		if _, p := ref(t, v, splitTensor, int64(row)); binary.LittleEndian.Uint64(p) != want {
			t.Errorf("row %d: split % x", row, p)
		}
	}
	if r := good(t, env, lake, Options{}); r.Unchanged != 3 {
		t.Errorf("again: %+v", r)
	}
}

// TestRequests: the tables of a file of video are read once for all of its episodes.
func TestRequests(t *testing.T) {
	t.Parallel()
	lake := newMaker("v3.0").write(t)
	films := 0
	lake.Fail = func(key string, _, _ int64) error {
		if strings.HasSuffix(key, ".mp4") {
			films++
		}
		return nil
	}
	good(t, testEnv(lake), lake, Options{Link: true, Workers: 1})
	if films > 2 {
		t.Errorf("%d requests for a file", films)
	}
}

// TestNothing: a set without a usable episode leaves the former dataset.
func TestNothing(t *testing.T) {
	t.Parallel()
	lake := newMaker("v3.0").write(t)
	env := testEnv(lake)
	good(t, env, lake, Options{})
	m := newMaker("v3.0")
	m.files[filmFile0] = nil
	broken := m.write(t)
	for _, o := range []Options{{Overwrite: true}, {Overwrite: true, Raise: true}} {
		if _, err := run(t, env, broken, o); !errs.Is(err, errs.Invalid) {
			t.Errorf("%v", err)
		}
	}
	if got := numbersOf(t, env); len(got) != 3 {
		t.Errorf("rows %v", got)
	}
	for text, change := range map[string]func(lake *storagetest.Lake){
		"there is no file meta/info.json":                       func(l *storagetest.Lake) { l.Remove(infoKey) },
		"there is no file meta/episodes/chunk-000":              func(l *storagetest.Lake) { l.Remove(metaFile0) },
		metaFile0 + ": it does not end as a Parquet file":       func(l *storagetest.Lake) { l.Put(metaFile0, make([]byte, 100)) },
		metaFile0 + `: it has no column "episode_index"`:        func(l *storagetest.Lake) { l.Put(metaFile0, newTable().ints("a", 1).file(t)) },
		"meta/tasks.parquet has the columns a, want task_index": func(l *storagetest.Lake) { l.Put("meta/tasks.parquet", newTable().ints("a", 1).file(t)) },
		"meta/tasks.parquet: task -1, or the text of all": func(l *storagetest.Lake) {
			l.Put("meta/tasks.parquet", newTable().ints(taskIndex, -1).texts("task", "x").file(t))
		},
		"meta/tasks.parquet: task 99999999999, or the text of all": func(l *storagetest.Lake) {
			l.Put("meta/tasks.parquet", newTable().ints(taskIndex, 99999999999).texts("task", "x").file(t))
		},
	} {
		lake := newMaker("v3.0").write(t)
		change(lake)
		if _, err := run(t, testEnv(lake), lake, Options{}); !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

// TestRanges: numbers are added in any order.
func TestRanges(t *testing.T) {
	t.Parallel()
	var r ranges
	in := []int64{5, 3, 4, 9, 0, 7, 8, 1}
	for i, n := range in {
		if r.has(n) {
			t.Errorf("%v has %d before it came", r, n)
		}
		if r.add(n); !r.has(n) || r.count() != int64(i+1) || !r.isSound() {
			t.Errorf("%v after %d", r, n)
		}
	}
	if fmt.Sprint(r) != "[[0 2] [3 6] [7 10]]" || r.has(2) || r.has(6) || r.has(10) || r.has(-1) {
		t.Errorf("%v", r)
	}
	for _, bad := range []ranges{{{2, 2}}, {{0, 2}, {2, 3}}, {{0, 3}, {1, 5}}, {{-1, 2}}, {{0, 1 << 60}}} {
		if bad.isSound() {
			t.Errorf("%v is sound", bad)
		}
	}
}
