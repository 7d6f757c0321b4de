package episodes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media/mediatest"
)

// TestOtherInfo: metadata that make other values of the same files end the import before it writes.
func TestOtherInfo(t *testing.T) {
	t.Parallel()
	lake := episodesOf("v2.1", 4).write(t)
	env := testEnv(lake)
	first := good(t, env, lake, Options{})
	for text, change := range map[string]func(m *maker){
		"fps was 25, and is 12 now": func(m *maker) { m.info["fps"] = 12 },
		`feature "observation.state" was float32 of shape (2,), and is float64 of shape (2,) now`: func(m *maker) {
			m.features["observation.state"] = map[string]any{"dtype": "float64", "shape": []int{2}}
		},
		`feature "next.done" was bool, and is bool of shape (3,) now`: func(m *maker) { m.features["next.done"] = map[string]any{"dtype": "bool", "shape": []int{3}} },
		`feature "wrist" was image, and is video now`:                 func(m *maker) { m.features["wrist"] = map[string]any{"dtype": "video", "shape": []int{4, 4, 3}} },
	} {
		m := episodesOf("v2.1", 6)
		change(m)
		other := m.write(t)
		if _, err := run(t, env, other, Options{}); !errs.Is(err, errs.Conflict) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "--overwrite") {
			t.Errorf("%v, want %s", err, text)
		}
	}
	if r := good(t, env, lake, Options{}); r.Version != first.Version || r.Unchanged != 4 {
		t.Errorf("%+v", r)
	}
	m := episodesOf("v2.1", 6)
	m.features["next.done"] = map[string]any{"dtype": "bool", "shape": []int{}}
	if r := good(t, env, m.write(t), Options{}); r.Rows != 6 {
		t.Errorf("another word for the same shape: %+v", r)
	}
	m.info["fps"] = 12
	m.time = func(_, f int) float64 { return float64(f) / 12 }
	if r := good(t, env, m.write(t), Options{Overwrite: true}); r.Added != 6 {
		t.Errorf("overwritten: %+v", r)
	}
}

// TestDeletedRows: rows that were deleted do not come again, and new ones do.
func TestDeletedRows(t *testing.T) {
	t.Parallel()
	lake := episodesOf("v2.1", 4).write(t)
	env := testEnv(lake)
	good(t, env, lake, Options{})
	d, _ := opened(t, env)
	if err := d.DeleteRows(t.Context(), []int64{1}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(t.Context(), "fewer"); err != nil {
		t.Fatal(err)
	}
	if r := good(t, env, lake, Options{}); r.Added != 0 || r.Rows != 3 {
		t.Errorf("%+v", r)
	}
	grown := episodesOf("v2.1", 6).write(t)
	env.Sources["lake"] = grown.Open
	if r := good(t, env, grown, Options{}); r.Added != 2 || r.Rows != 5 {
		t.Errorf("grown: %+v", r)
	}
	if got := numbersOf(t, env); !slices.Equal(got, []int64{0, 2, 3, 4, 5}) {
		t.Errorf("episodes %v", got)
	}
	env.Sources["lake"] = lake.Open
	if r := good(t, env, lake, Options{Overwrite: true}); r.Rows != 4 {
		t.Errorf("%+v", r)
	}
}

// TestMessages: errors about metadata name the value and the way out.
func TestMessages(t *testing.T) {
	t.Parallel()
	line := func(text string) func(m *maker) {
		return func(m *maker) { m.files["meta/episodes.jsonl"] = []byte(text + "\n") }
	}
	for text, change := range map[string]func(m *maker){
		infoKey + ": it has no fps, want the frames a second":              func(m *maker) { m.info["fps"] = nil },
		infoKey + ": fps is 0, want a number above 0":                      func(m *maker) { m.info["fps"] = 0 },
		infoKey + ": it is no JSON as LeRobot writes it: fps has the type": func(m *maker) { m.info["fps"] = "25" },
		infoKey + ": its features are empty":                               func(m *maker) { m.info["features"] = map[string]any{} },
		`it has no column "extra", which info.json has as a feature; --columns`: func(m *maker) {
			m.features["extra"] = map[string]any{"dtype": "float32", "shape": []int{1}}
		},
		`it has no column "", which info.json has as a feature; --columns`: func(m *maker) { m.features[""] = map[string]any{"dtype": "float32", "shape": []int{1}} },
		"feature \"" + strings.Repeat("x", 100): func(m *maker) {
			m.features[strings.Repeat("x", 300)] = map[string]any{"dtype": "video", "shape": []int{48, 64, 3}}
			for e := range m.lengths {
				m.files[videoOf(strings.Repeat("x", 300), e)] = mediatest.Fixture(t, "gop2.mp4")
			}
		},
		"meta/episodes.jsonl, line 1: it begins with the mark of UTF-8":                                   line("\ufeff{\"episode_index\": 0, \"length\": 1}"),
		"meta/episodes.jsonl, line 1: its length is 9.0, want a whole number":                             line(`{"episode_index": 0, "length": 9.0}`),
		"meta/episodes.jsonl, line 1: its episode_index is 1000000000000000000000000000000, want a whole": line(`{"episode_index": 1000000000000000000000000000000, "length": 1}`),
		"meta/episodes.jsonl, line 1: its length is missing, want a whole number":                         line(`{"episode_index": 0}`),
		"meta/episodes.jsonl, line 1: its length is null, want a whole number":                            line(`{"episode_index": 0, "length": null}`),
		"meta/episodes.jsonl, line 1: it is no JSON of an episode with episode_index and length":          line(`{"episode_index": 0, "len`),
		"meta/tasks.jsonl, line 1: its task is 5, want a text":                                            func(m *maker) { m.files["meta/tasks.jsonl"] = []byte(`{"task_index": 0, "task": 5}`) },
	} {
		m := episodesOf("v2.1", 1)
		change(m)
		lake := m.write(t)
		if _, err := run(t, testEnv(lake), lake, Options{}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

// videoOf is the file of a video of version 2.
func videoOf(name string, e int) string {
	return fmt.Sprintf("videos/chunk-000/%s/episode_%06d.mp4", name, e)
}
