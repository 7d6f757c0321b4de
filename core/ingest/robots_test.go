package ingest

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/arrow"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/episodes"
	"deeplake/core/media/mediatest"
	"deeplake/core/parquet"
)

// robots writes a dataset of LeRobot 2.1 below a folder: two episodes of three frames.
func robots(t *testing.T, root string) {
	t.Helper()
	files := map[string][]byte{
		"meta/info.json": []byte(`{"codebase_version": "v2.1", "robot_type": "so100", "fps": 10, "total_episodes": 2, "total_frames": 6, "chunks_size": 1000,
			"data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet", "features": {
			"action": {"dtype": "float32", "shape": [1], "names": null}, "timestamp": {"dtype": "float32", "shape": [1]}, "frame_index": {"dtype": "int64", "shape": [1]},
			"episode_index": {"dtype": "int64", "shape": [1]}, "index": {"dtype": "int64", "shape": [1]}, "task_index": {"dtype": "int64", "shape": [1]}}}`),
		"meta/episodes.jsonl": []byte("{\"episode_index\": 0, \"length\": 3}\n{\"episode_index\": 1, \"length\": 3}\n"),
		"meta/tasks.jsonl":    []byte("{\"task_index\": 0, \"task\": \"push\"}\n"),
	}
	for e := range 2 {
		all := &arrow.Type{Format: "+s"}
		data := &arrow.Data{Rows: 3}
		column := func(name, format string, value func(f int) uint64) {
			d := &arrow.Data{Rows: 3}
			for f := range 3 {
				if format == "f" {
					d.Values = binary.LittleEndian.AppendUint32(d.Values, uint32(value(f)))
				} else {
					d.Values = binary.LittleEndian.AppendUint64(d.Values, value(f))
				}
			}
			all.Children, data.Children = append(all.Children, &arrow.Type{Name: name, Format: format}), append(data.Children, d)
		}
		column("action", "f", func(f int) uint64 { return uint64(math.Float32bits(float32(10*e + f))) })
		column("timestamp", "f", func(f int) uint64 { return uint64(math.Float32bits(float32(f) / 10)) })
		column("frame_index", "l", func(f int) uint64 { return uint64(f) })
		column("episode_index", "l", func(int) uint64 { return uint64(e) })
		column("index", "l", func(f int) uint64 { return uint64(3*e + f) })
		column("task_index", "l", func(int) uint64 { return 0 })
		var b bytes.Buffer
		w, err := parquet.NewWriter(&b, all, parquet.WriterOptions{})
		if err == nil {
			err = w.Write(data)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		files["data/chunk-000/episode_00000"+string(rune('0'+e))+".parquet"] = b.Bytes()
	}
	write(t, root, files)
}

// TestRobots: a dataset of LeRobot is known by its metadata, and its episodes are rows.
func TestRobots(t *testing.T) {
	t.Parallel()
	env, root := withVideos(testEnv()), t.TempDir()
	robots(t, root)
	for _, format := range []string{"", episodes.Format} {
		r := run(t, env, "mem://d"+format, root, Options{Format: format})
		if r.Format != episodes.Format || r.Rows != 2 || r.Added != 2 || r.Skipped+r.Warned != 0 || !r.Complete {
			t.Fatalf("format %q: %+v", format, r)
		}
		got := stored(t, env, "mem://d"+format, "action")
		if want := binary.LittleEndian.AppendUint32(nil, math.Float32bits(11)); len(got) != 2 || !bytes.Equal(got[1][4:8], want) {
			t.Errorf("format %q: actions % x", format, got)
		}
		if again := run(t, env, "mem://d"+format, root, Options{}); again.Unchanged != 2 || again.Version != r.Version {
			t.Errorf("format %q again: %+v", format, again)
		}
	}
	write(t, root, map[string][]byte{"videos/a.mp4": mediatest.Fixture(t, "gop2.mp4")})
	if text := fail(t, env, "mem://d", root, Options{Format: Videos}, errs.Exists); !strings.Contains(text, "an import with format=lerobot lies there, got videos") {
		t.Errorf("as videos: %s", text)
	}
	// As tables these are rows of frames, if the user says so.
	if r := run(t, env, "mem://table", filepath.Join(root, "data"), Options{}); r.Format != "parquet" || r.Rows != 6 {
		t.Errorf("%+v", r)
	}
	if text := fail(t, env, "mem://none", filepath.Join(root, "data"), Options{Format: episodes.Format}, errs.Invalid); !strings.Contains(text, "there is no file meta/info.json") {
		t.Errorf("no metadata: %s", text)
	}
	write(t, root, map[string][]byte{"meta/info.json": []byte(`{"name": "no robot"}`)})
	if text := fail(t, env, "mem://none", root, Options{}, errs.Invalid); !strings.Contains(text, "json") {
		t.Errorf("another info.json: %s", text)
	}
}

// TestDamagedRobots: a set whose meta/info.json is damaged is no other data; a foreign one is.
func TestDamagedRobots(t *testing.T) {
	t.Parallel()
	env := withVideos(testEnv())
	picture := []byte("\x89PNG\r\n\x1a\n")
	for name, c := range map[string]struct {
		info, beside string
		want         string
	}{
		"empty": {"", "meta/tasks.parquet", "it is no JSON"}, "cut": {`{"codebase_version": "v3.0", `, "meta/episodes/chunk-000/file-000.parquet", "it is no JSON"},
		"a list": {"[1]", "meta/episodes.jsonl", "it is no JSON as LeRobot writes it"}, "binary": {"\x00\xff", "meta/tasks.jsonl", "it is no JSON"},
		"binary, alone": {"\x00\xff", "a.txt", "it is no JSON"}, "a number as version": {`{"codebase_version": 3}`, "a.txt", "it is no JSON as LeRobot writes it"},
		"no version": {`{"fps": 10}`, "meta/tasks.parquet", "it has no codebase_version"}, "foreign": {`{"fps": 10}`, "meta/notes.txt", ""}, "a foreign list": {"[]", "meta/notes.txt", ""},
	} {
		root := t.TempDir()
		write(t, root, map[string][]byte{"meta/info.json": []byte(c.info), c.beside: {}, "videos/a.png": picture})
		text := fail(t, env, "mem://damaged", root, Options{}, errs.Invalid)
		if has := strings.Contains(text, "meta/info.json: "); has != (c.want != "") || !strings.Contains(text, c.want) || has && !strings.Contains(text, "--format videos") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestRobotsOptions: options of images and of tables are refused with a word.
func TestRobotsOptions(t *testing.T) {
	t.Parallel()
	env, root := withVideos(testEnv()), t.TempDir()
	robots(t, root)
	for name, o := range map[string]Options{
		"schema": {Schema: map[string]dataset.TensorSpec{"action": {HType: "generic"}}}, "labels": {Labels: "none"}, "splits": {Splits: "none"}, "classes": {Classes: []string{"a"}},
		"masks": {Masks: true}, "annotations": {Annotations: "a.json"}, "size": {Size: 64}, "compression": {Compression: "png"}, "apply_exif_orientation": {Upright: true},
		"on_error": {OnError: Accept}, "no feature is a video": {Link: true},
	} {
		for _, format := range []string{"", episodes.Format} {
			o.Format = format
			text := ""
			if j, err := Start(env, "mem://d", root, o); err != nil {
				text = err.Error()
			} else {
				_, err = j.Wait(t.Context())
				j.Close()
				if err == nil {
					t.Errorf("%s is taken", name)
					continue
				}
				text = err.Error()
			}
			if !strings.Contains(text, name) || !strings.Contains(text, "leave") && !strings.Contains(text, "want skip or raise") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	if _, err := Start(env, "mem://d", "hf://datasets/lerobot/pusht", Options{Format: episodes.Format, Link: true}); !errs.Is(err, errs.Unsupported) {
		t.Errorf("links into Hugging Face: %v", err)
	}
	for _, o := range []Options{{Format: episodes.Format}, {Format: episodes.Format, Overwrite: true}} {
		if text := fail(t, env, root, root, o, errs.Invalid); !strings.Contains(text, "choose another place") {
			t.Errorf("in the place of the source: %s", text)
		}
	}
}

// TestRobotsBehindLinks: files that lie elsewhere, as in the cache of Hugging Face, are taken by a
// word of the user alone.
func TestRobotsBehindLinks(t *testing.T) {
	t.Parallel()
	env, root, place := withVideos(testEnv()), t.TempDir(), t.TempDir()
	robots(t, root)
	for _, folder := range []string{"meta", "data"} {
		if err := os.Symlink(filepath.Join(root, folder), filepath.Join(place, folder)); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"", episodes.Format} {
		if text := fail(t, env, "mem://d", place, Options{Format: format}, errs.Invalid); !strings.Contains(text, "--follow-links") {
			t.Errorf("format %q: %s", format, text)
		}
	}
	if r := run(t, env, "mem://d", place, Options{FollowLinks: true}); r.Rows != 2 {
		t.Errorf("%+v", r)
	}
}
