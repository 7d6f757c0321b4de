package episodes

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
)

// TestSets: a row has the values of an episode, and its part of the film, copied or linked.
func TestSets(t *testing.T) {
	t.Parallel()
	whole := mediatest.Fixture(t, "gop2.mp4")
	film, err := mp4.File{}.Index(t.Context(), media.Bytes(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	shown := film.Shown()
	for _, version := range []string{"v3.0", "v2.1"} {
		for _, link := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s link=%t", version, link), func(t *testing.T) {
				t.Parallel()
				m := newMaker(version)
				lake := m.write(t)
				env := testEnv(lake)
				r := good(t, env, lake, Options{Link: link})
				if r.Format != Format || r.Rows != 3 || r.Added != 3 || r.Skipped+r.Warned != 0 || !r.Complete || r.Version == 0 {
					t.Fatalf("%+v\n%s", r, said(r))
				}
				if got := numbersOf(t, env); !slices.Equal(got, []int64{0, 1, 2}) {
					t.Fatalf("rows are episodes %v", got)
				}
				d, v := opened(t, env)
				for e, n := range m.lengths {
					row := int64(e)
					state, p := ref(t, v, "observation.state", row)
					if state.Shape.String() != fmt.Sprintf("(%d, 2)", n) || math.Float32frombits(uint32(p[12])|uint32(p[13])<<8|uint32(p[14])<<16|uint32(p[15])<<24) != 1 {
						t.Errorf("episode %d: state of shape %s: % x", e, state.Shape, p)
					}
					if done, p := ref(t, v, "next.done", row); done.Shape.String() != fmt.Sprintf("(%d,)", n) || p[n-1] != 1 || p[0] != 0 {
						t.Errorf("episode %d: next.done of shape %s: %v", e, done.Shape, p)
					}
					if _, p := ref(t, v, "task", row); string(p) != m.tasks[e%2] {
						t.Errorf("episode %d: task %q", e, p)
					}
					if note, _ := ref(t, v, "note", row); note.Items != int64(n) {
						t.Errorf("episode %d: %d notes", e, note.Items)
					}
					if wrist, _ := ref(t, v, "wrist", row); wrist.Items != int64(n) {
						t.Errorf("episode %d: %d pictures", e, wrist.Items)
					}
					_, file := ref(t, v, "observation.images.top", row)
					got, err := mp4.File{}.Index(t.Context(), media.Bytes(file), int64(len(file)))
					if err != nil {
						t.Fatal(err)
					}
					first := int(m.first(e))
					if !m.isThree() {
						first, n = 0, len(shown)
						if !bytes.Equal(file, whole) {
							t.Errorf("episode %d: the file has changed", e)
						}
					}
					frames := got.Shown()
					if len(frames) != n {
						t.Fatalf("episode %d: %d frames, want %d", e, len(frames), n)
					}
					for i, at := range frames {
						is, want := &got.Packets[at], &film.Packets[shown[first+i]]
						if is.Time != int64(i)*512 || !bytes.Equal(file[is.Offset:][:is.Bytes], whole[want.Offset:][:want.Bytes]) {
							t.Errorf("episode %d: frame %d is shown at %d, and has %d bytes", e, i, is.Time, is.Bytes)
						}
					}
				}
				desc, err := d.Describe()
				if err != nil {
					t.Fatal(err)
				}
				if info := fmt.Sprint(desc.Info["fps"], desc.Info["robot_type"], desc.Info["codebase_version"]); info != "25so100"+version {
					t.Errorf("info: %s", info)
				}
				var about []string
				for _, tensor := range desc.Tensors {
					about = append(about, fmt.Sprintf("%s %s %v %v", tensor.Name, tensor.HType, tensor.Shape, tensor.Info))
				}
				for _, want := range []string{
					"observation.state generic (?, 2) map[names:[x y] stats:map[count:[20] mean:[0.5 1.5]]]", "wrist sequence[image]", "note sequence[text]", "next.done generic (?,)",
					"observation.images.top video", "task_index generic (?,) map[tasks:[push the cube lift it]]", "episode_index generic ()",
				} {
					if !slices.ContainsFunc(about, func(one string) bool { return strings.HasPrefix(one, want) }) {
						t.Errorf("no tensor %s in\n%s", want, strings.Join(about, "\n"))
					}
				}
				again := good(t, env, lake, Options{Link: link})
				if again.Added != 0 || again.Unchanged != 3 || again.Version != r.Version {
					t.Errorf("again: %+v", again)
				}
			})
		}
	}
}

// TestDamage: an episode that its files contradict is left out, and the others are taken.
func TestDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		change  func(m *maker)
		rows    string // episodes that are taken
		says    []string
	}{
		"no film":           {"v3.0", func(m *maker) { m.files[filmFile0] = nil }, "", []string{filmFile0 + ": episode 0: the file is missing"}},
		"an empty film":     {"v3.0", func(m *maker) { m.files[filmFile0] = []byte{} }, "", []string{"the file is empty"}},
		"a film that lies":  {"v3.0", func(m *maker) { m.files[filmFile0] = []byte("no film at all, but text") }, "", []string{"no video of MP4"}},
		"a film of two":     {"v2.1", func(m *maker) { m.files["videos/chunk-000/observation.images.top/episode_000001.mp4"] = []byte{} }, "[0 2]", []string{"episode 1: the file is empty"}},
		"no data file":      {"v3.0", func(m *maker) { m.files[dataFile0] = nil }, "", []string{dataFile0 + ": episode 0: the file is missing"}},
		"a data file less":  {"v2.1", func(m *maker) { m.files["data/chunk-000/episode_000002.parquet"] = nil }, "[0 1]", []string{"episode 2: the file is missing"}},
		"data that lie":     {"v2.1", func(m *maker) { m.files["data/chunk-000/episode_000000.parquet"] = bytes.Repeat([]byte("x"), 99) }, "[1 2]", []string{"episode 0: it does not end as a Parquet file"}},
		"a short film":      {"v3.0", func(m *maker) { m.lengths = []int{8, 6, 7} }, "[0 1]", []string{"episode 2: the video has 6 frames from 0.56 s on, and the episode has 7"}},
		"another rate":      {"v3.0", func(m *maker) { m.info["fps"] = 30; m.time = func(_, f int) float64 { return float64(f) / 30 } }, "", []string{"it has 25 frames a second, and info.json says 30"}},
		"times of rows":     {"v3.0", func(m *maker) { m.time = func(e, f int) float64 { return float64(f)/fps + 0.001*float64(e*f) } }, "[0]", []string{"episode 1: frame 1 has timestamp"}},
		"times in the film": {"v3.0", func(m *maker) { m.from = func(e int) float64 { return float64(m.first(e))/fps + 0.01*float64(e%2) } }, "[0 2]", []string{"episode 1: frame 0 is shown at 0.360000 s of the video, want 0.330000 s"}},
		"a film too short":  {"v3.0", func(m *maker) { m.to = func(e int) float64 { return float64(m.first(e))/fps + 0.2 } }, "", []string{"give it 0.2 s of the video, and its 8 frames take 0.32 s"}},
		"another episode": {"v3.0", func(m *maker) {
			m.episode = func(e, f int) int64 {
				if e == 1 && f == 3 {
					return 7
				}
				return int64(e)
			}
		}, "[0 2]", []string{"episode 1: frame 3 has episode_index 7"}},
		"rows out of order": {"v3.0", func(m *maker) {
			m.index = func(e, f int) int64 { return m.first(e) + int64(f^e&1) }
		}, "[0 2]", []string{"episode 1: frame 0 has index 9, want 8"}},
		"orphans": {"v3.0", func(m *maker) { m.extra = 5 }, "[0 1 2]", []string{"5 rows belong to no episode"}},
		"a lost row": {"v2.1", func(m *maker) {
			m.files["meta/episodes.jsonl"] = []byte("{\"episode_index\":0,\"length\":8}\n\n{\"episode_index\":1,\"length\":7}\n{\"episode_index\":2,\"length\":5}\n")
		}, "[0]", []string{"episode 1: the file has 6 rows of it, and the metadata say 7", "episode 2: the file has more rows of it than the 5"}},
		"gaps": {"v2.1", func(m *maker) {
			m.files["meta/episodes.jsonl"] = []byte("{\"episode_index\":0,\"length\":8}\n{\"episode_index\":2,\"length\":6}\n")
		}, "[0 2]",
			[]string{"1 numbers below 3 have no episode", "6 frames belong to no episode, the first of them 14 to 19", "total_episodes is 3, and the metadata have 2"}},
		"twins": {"v2.1", func(m *maker) {
			m.files["meta/episodes.jsonl"] = []byte("{\"episode_index\":0,\"length\":8}\n{\"episode_index\":1,\"length\":6}\n{\"episode_index\":1,\"length\":6}\n")
		}, "[0]", []string{"the metadata have two episodes 1"}},
		"other tasks":   {"v3.0", func(m *maker) { m.task = func(e, _ int) int64 { return int64(e) } }, "[0 1]", []string{"episode 2: its frames have task_index 2, and there are 2 tasks"}},
		"two tasks":     {"v3.0", func(m *maker) { m.task = func(e, f int) int64 { return int64(e * f / 5 % 2) } }, "[0 1 2]", []string{"episode 1: its frames have several tasks"}},
		"no tasks":      {"v3.0", func(m *maker) { m.files["meta/tasks.parquet"] = nil }, "[0 1 2]", []string{"there is no file with tasks"}},
		"unknown dtype": {"v3.0", func(m *maker) { m.features["sound"] = map[string]any{"dtype": "audio", "shape": []int{1}} }, "[0 1 2]", []string{`feature "sound" has dtype "audio"`}},
		"a lost column": {"v2.1", func(m *maker) { m.features["more"] = map[string]any{"dtype": "int64", "shape": []int{1}} }, "", []string{`it has no column "more"`}},
		"another shape": {"v2.1", func(m *maker) {
			m.features["observation.state"] = map[string]any{"dtype": "float32", "shape": []int{3}}
		}, "", []string{`column "observation.state" has a value of shape (2,), want (3,)`}},
		"another dtype": {"v2.1", func(m *maker) { m.features["observation.state"] = map[string]any{"dtype": "int64", "shape": []int{2}} }, "", []string{`column "observation.state" has type`}},
		"stats":         {"v3.0", func(m *maker) { m.files[statsKey] = []byte(`{"a": NaN}`) }, "[0 1 2]", []string{"meta/stats.json: it is no JSON"}},
		"another file": {"v3.0", func(m *maker) {
			m.files["data/chunk-000/file-007.parquet"] = newTable().ints("a", 1).ints("a", 2).file(t)
		}, "[0 1 2]", []string{"1 data files with 2 rows belong to no episode"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaker(c.version)
			c.change(m)
			lake := m.write(t)
			env := testEnv(lake)
			r, err := run(t, env, lake, Options{})
			if c.rows == "" {
				if err == nil || !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.says[0]) {
					t.Fatalf("%v, want %q", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(numbersOf(t, env)); got != c.rows {
				t.Errorf("episodes %s, want %s", got, c.rows)
			}
			if r.Rows+r.Skipped < 2 || r.Warned != int64(len(r.Warnings)) || r.Skipped != int64(len(r.Skips)) {
				t.Errorf("%+v", r)
			}
			for _, want := range c.says {
				if !strings.Contains(said(r), want) {
					t.Errorf("%q is not in\n%s", want, said(r))
				}
			}
			if r.Skipped > 0 {
				if _, err := run(t, env, lake, Options{Raise: true, Overwrite: true}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), `on_error="skip"`) {
					t.Errorf("raised: %v", err)
				}
			}
		})
	}
}
