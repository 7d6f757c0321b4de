package episodes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// TestHostilePaths: templates and names of videos lead to files below the root of the set alone.
// No other file is requested.
func TestHostilePaths(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet": "data/chunk-002/file-030.parquet",
		"{episode_chunk}/{episode_index:06d}":                        "2/000400",
		"videos/{video_key}/x.mp4":                                   "videos/a.b/x.mp4",
	} {
		one, err := parseTemplate("data_path", pattern)
		if err != nil {
			t.Fatal(err)
		}
		if key, err := one.key(fields{video: "a.b", chunk: 2, file: 30, index: 400}); key != want || err != nil {
			t.Errorf("%s makes %q, want %q: %v", pattern, key, want, err)
		}
	}
	for _, pattern := range []string{
		"", "/etc/passwd", "../x", "a/../../x", "a/..", "..", ".", "./a", "a//b", "a/", "s3://other/x", "http://169.254.169.254/x", `a\..\b`, "a\x00b", "a\nb", "\xff",
		"{other}", "{chunk_index.__class__}", "{chunk_index!r}", "{chunk_index:>99}", "{chunk_index:99d}", "{chunk_index:-3d}", "{chunk_index:xd}", "{video_key:03d}", "{", "}", "a{{b}}", "{}", "a}b{file_index}",
		strings.Repeat("x", maxKey+1), "/{video_key}", "{video_key}/../../x",
	} {
		if one, err := parseTemplate("data_path", pattern); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "data_path") {
			t.Errorf("%q is %v: %v", pattern, one, err)
		}
	}
	for _, name := range []string{"..", "../..", "../../../etc/passwd", "/etc", "a/../../../..", "x\x00", "a\\b"} {
		m := newMaker("v3.0")
		m.features[name] = m.features["observation.images.top"]
		m.features["observation.images.top"] = map[string]any{"dtype": "string", "shape": []int{1}}
		lake := m.write(t)
		var asked []string
		lake.Fail = func(key string, _, _ int64) error {
			asked = append(asked, key)
			return nil
		}
		if _, err := run(t, testEnv(lake), lake, Options{Workers: 1}); !errs.Is(err, errs.Invalid) {
			t.Errorf("a video of name %q: %v", name, err)
		}
		for _, key := range asked {
			if checkKey(key) != nil || strings.Contains(key, "etc") {
				t.Errorf("a video of name %q: %q was asked for", name, key)
			}
		}
	}
}

// TestHostileInfo: what info.json may not say is an error that says why.
func TestHostileInfo(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		`"codebase_version": "v1.6"`:         `codebase_version is "v1.6", want v2.0, v2.1 or v3.0`,
		`"codebase_version": "v4.0"`:         "codebase_version",
		`"codebase_version": null`:           "it has no codebase_version",
		`"storage_format": "lance"`:          `storage_format is "lance"`,
		`"fps": 0`:                           "fps is 0",
		`"fps": -5`:                          "fps is -5",
		`"fps": 1e300`:                       "fps is 1e+300",
		`"fps": "25"`:                        "it is no JSON as LeRobot writes it",
		`"total_episodes": -1`:               "total_episodes is -1",
		`"total_episodes": 1e18`:             "total_episodes",
		`"total_frames": 999999999999999999`: "total_frames is",
		`"chunks_size": -3`:                  "chunks_size is -3",
		`"features": []`:                     "it has no features",
		`"features": {"a": 5}`:               `feature "a" is described otherwise`,
		`"features": {"a": {"dtype": "int8", "shape": [-1]}}`:                                      "has shape [-1]",
		`"features": {"a": {"dtype": "int8", "shape": [2147483647, 2147483647, 2147483647]}}`:      "frames have more than",
		`"features": {"a": {"dtype": "int8", "shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}`:       "has 17 axes",
		`"features": {"a": {"dtype": "int8", "shape": [1]}, "a": {"dtype": "int8", "shape": [1]}}`: `it has two features "a"`,
		`"features": {"v": {"dtype": "video", "shape": [1]}}`:                                      `feature "v" is a video, and there is no video_path`,
		`"data_path": "../{file_index}"`:                                                           "data_path",
		`"video_path": "../{file_index}"`:                                                          "video_path",
		`"x": `:                                                                                    "it is no JSON",
	} {
		text := `{"codebase_version": "v3.0", "fps": 25, "data_path": "data/{file_index}.parquet", "features": {}, ` + change + `}`
		in, err := parseInfo([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", change, in, err)
		}
	}
	var many strings.Builder
	for i := range maxFeatures + 1 {
		fmt.Fprintf(&many, `"f%d": {"dtype": "int8", "shape": [1]},`, i)
	}
	if _, err := parseFeatures([]byte("{" + strings.TrimSuffix(many.String(), ",") + "}")); err == nil {
		t.Error("no bound of features")
	}
	lake := &storagetest.Lake{}
	lake.Put(infoKey, make([]byte, maxInfo+1))
	source, _ := lake.Open(t.Context(), "set", storage.Options{})
	if _, err := Run(t.Context(), testEnv(lake), "mem://d", source, Options{}, func(Progress) {}); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "has 67108865 bytes, want at most") {
		t.Errorf("an endless info.json: %v", err)
	}
}

// TestHostileEpisodes: numbers of episodes that no set has cost the episodes alone.
func TestHostileEpisodes(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"a length below 0": `{"episode_index": 2, "length": -5}`, "no length": `{"episode_index": 2, "length": 0}`,
		"a length beyond all": `{"episode_index": 2, "length": 9223372036854775807}`, "a number below 0": `{"episode_index": -2, "length": 6}`,
		"a number beyond all": `{"episode_index": 9223372036854775807, "length": 6}`,
	} {
		m := newMaker("v2.1")
		m.files["meta/episodes.jsonl"] = []byte("{\"episode_index\": 0, \"length\": 8}\n{\"episode_index\": 1, \"length\": 6}\n" + line + "\n")
		lake := m.write(t)
		if r, err := run(t, testEnv(lake), lake, Options{}); err != nil || r.Rows < 1 || r.Skipped != 3-r.Rows {
			t.Errorf("%s: %+v: %v", name, r, err)
		}
	}
	for _, from := range []float64{-1, 1e300} {
		m := newMaker("v3.0")
		m.from = func(e int) float64 { return from * float64(e%2) }
		lake := m.write(t)
		if r, err := run(t, testEnv(lake), lake, Options{}); err != nil || r.Rows != 2 {
			t.Errorf("from %v: %+v: %v", from, r, err)
		}
	}
}

// FuzzMetadata tries forged metadata of version 2 and info.json of both: an import ends with rows
// or with an error of its own, and asks for files below the root alone.
func FuzzMetadata(f *testing.F) {
	two, three := newMaker("v2.1"), newMaker("v3.0")
	base := map[bool]*storagetest.Lake{false: two.write(f), true: three.write(f)}
	read := func(lake *storagetest.Lake, key string) string {
		body, err := lake.Range(f.Context(), key, 0, -1, "")
		if err != nil {
			f.Fatal(err)
		}
		data := make([]byte, body.Len())
		_, _ = body.Read(data)
		return string(data)
	}
	f.Add(false, read(base[false], infoKey), read(base[false], "meta/episodes.jsonl"), read(base[false], "meta/tasks.jsonl"))
	f.Add(true, read(base[true], infoKey), "", "")
	f.Fuzz(func(t *testing.T, isThree bool, info, episodes, tasks string) {
		lake := &storagetest.Lake{}
		from := base[isThree]
		_ = from.Objects(t.Context(), "", "", func(e storage.Entry) bool {
			body, err := from.Range(t.Context(), e.Key, 0, -1, "")
			if err == nil {
				data := make([]byte, body.Len())
				_, _ = body.Read(data)
				lake.Put(e.Key, data)
			}
			return true
		})
		lake.Put(infoKey, []byte(info))
		if !isThree {
			lake.Put("meta/episodes.jsonl", []byte(episodes))
			lake.Put("meta/tasks.jsonl", []byte(tasks))
		}
		lake.Fail = func(key string, _, _ int64) error {
			if err := checkKey(key); err != nil {
				panic(err)
			}
			return nil
		}
		source, _ := lake.Open(t.Context(), "set", storage.Options{})
		_, err := Run(context.Background(), testEnv(lake), "mem://d", source, Options{Workers: 1}, func(Progress) {})
		if err != nil && errs.Is(err, errs.Internal) {
			t.Fatal(err)
		}
	})
}
