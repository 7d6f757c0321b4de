package episodes

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"

	"deeplake/core/arrow"
	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
	"deeplake/core/parquet"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/storagetest"
)

// maker makes a dataset of LeRobot: episodes of 8, 6 and 6 frames at 25 frames a second, which are
// the 20 of gop2.mp4. Tests change it before it is written.
type maker struct {
	version  string
	lengths  []int
	info     map[string]any
	features map[string]any
	tasks    []string
	files    map[string][]byte
	index    func(e, f int) int64   // of frame f of episode e
	episode  func(e, f int) int64   // its episode_index
	time     func(e, f int) float64 // its timestamp
	task     func(e, f int) int64
	from, to func(e int) float64 // in the video
	extra    int                 // rows behind the last episode
	// the data file of an episode, and the one that the metadata name
	place, named func(e int) int64
}

const fps = 25

func newMaker(version string) *maker {
	m := &maker{version: version, lengths: []int{8, 6, 6}, tasks: []string{"push the cube", "lift it"}, files: map[string][]byte{}}
	one := func(dtype string, shape ...int) map[string]any {
		return map[string]any{"dtype": dtype, "shape": shape, "names": nil}
	}
	m.features = map[string]any{
		"observation.state": map[string]any{"dtype": "float32", "shape": []int{2}, "names": []string{"x", "y"}}, "next.done": one("bool", 1),
		"observation.images.top": map[string]any{"dtype": "video", "shape": []int{48, 64, 3}, "names": []string{"height", "width", "channels"}, "info": map[string]any{"video.fps": 25}},
		"note":                   one("string", 1), "wrist": one("image", 4, 4, 3),
		timestamp: one("float32", 1), frameIndex: one("int64", 1), episodeIndex: one("int64", 1), globalIndex: one("int64", 1), taskIndex: one("int64", 1),
	}
	m.index = func(e, f int) int64 { return m.first(e) + int64(f) }
	m.episode = func(e, _ int) int64 { return int64(e) }
	m.time = func(_, f int) float64 { return float64(f) / fps }
	m.task = func(e, _ int) int64 { return int64(e % 2) }
	m.from = func(e int) float64 { return float64(m.first(e)) / fps }
	m.to = func(e int) float64 { return float64(m.first(e+1)) / fps }
	m.place = func(int) int64 { return 0 }
	m.named = func(e int) int64 { return m.place(e) }
	m.info = map[string]any{"codebase_version": version, "robot_type": "so100", "fps": fps, "total_tasks": 2, "chunks_size": 1000, "splits": map[string]any{"train": "0:3"}}
	if m.isThree() {
		m.info["data_path"] = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
		m.info["video_path"] = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
	} else {
		m.info["data_path"] = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
		m.info["video_path"] = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
	}
	return m
}

func (m *maker) isThree() bool { return strings.HasPrefix(m.version, "v3") }

// first is the number of the first frame of an episode.
func (m *maker) first(e int) (n int64) {
	for _, length := range m.lengths[:e] {
		n += int64(length)
	}
	return n
}

// write returns the set.
func (m *maker) write(t testing.TB) *storagetest.Lake {
	t.Helper()
	if m.info["features"] == nil {
		m.info["features"] = m.features
	}
	for name, value := range map[string]int64{"total_episodes": int64(len(m.lengths)), "total_frames": m.first(len(m.lengths))} {
		if m.info[name] == nil {
			m.info[name] = value
		}
	}
	files := map[string][]byte{infoKey: asJSON(t, m.info), statsKey: []byte(`{"observation.state": {"mean": [0.5, 1.5], "count": [20]}}`)}
	if m.isThree() {
		m.three(t, files)
	} else {
		m.two(t, files)
	}
	lake := &storagetest.Lake{}
	for key, data := range files {
		if changed, is := m.files[key]; is {
			data = changed
		}
		if data != nil {
			lake.Put(key, data)
		}
	}
	for key, data := range m.files {
		if _, is := files[key]; !is && data != nil {
			lake.Put(key, data)
		}
	}
	return lake
}

const (
	dataFile0 = "data/chunk-000/file-000.parquet"
	filmFile0 = "videos/observation.images.top/chunk-000/file-000.mp4"
	metaFile0 = "meta/episodes/chunk-000/file-000.parquet"
)

func (m *maker) three(t testing.TB, files map[string][]byte) {
	data := map[int64]*sheet{}
	meta := newTable()
	for e, n := range m.lengths {
		if data[m.place(e)] == nil {
			data[m.place(e)] = newTable()
		}
		m.frames(t, data[m.place(e)], e, n)
		meta.ints("episode_index", int64(e)).ints("length", int64(n)).ints("dataset_from_index", m.first(e)).ints("dataset_to_index", m.first(e+1))
		meta.ints("data/chunk_index", 0).ints("data/file_index", m.named(e))
		const video = "videos/observation.images.top/"
		meta.ints(video+"chunk_index", 0).ints(video+"file_index", 0).floats("g", video+"from_timestamp", m.from(e)).floats("g", video+"to_timestamp", m.to(e))
	}
	if m.extra > 0 {
		m.frames(t, data[0], len(m.lengths), m.extra)
	}
	for n, one := range data {
		files[fmt.Sprintf("data/chunk-000/file-%03d.parquet", n)] = one.file(t)
	}
	tasks := newTable()
	for i, task := range m.tasks {
		tasks.ints(taskIndex, int64(i)).texts("__index_level_0__", task)
	}
	files[metaFile0], files["meta/tasks.parquet"] = meta.file(t), tasks.file(t)
	files[filmFile0] = mediatest.Fixture(t, "gop2.mp4")
}

func (m *maker) two(t testing.TB, files map[string][]byte) {
	var meta, tasks bytes.Buffer
	for e, n := range m.lengths {
		data := newTable()
		m.frames(t, data, e, n)
		files[fmt.Sprintf("data/chunk-000/episode_%06d.parquet", e)] = data.file(t)
		files[fmt.Sprintf("videos/chunk-000/observation.images.top/episode_%06d.mp4", e)] = mediatest.Fixture(t, "gop2.mp4")
		meta.Write(asJSON(t, map[string]any{"episode_index": e, "tasks": []string{m.tasks[m.task(e, 0)]}, "length": n}))
		meta.WriteByte('\n')
	}
	for i, task := range m.tasks {
		tasks.Write(append(asJSON(t, map[string]any{"task_index": i, "task": task}), '\n'))
	}
	files["meta/episodes.jsonl"], files["meta/tasks.jsonl"] = meta.Bytes(), tasks.Bytes()
}

// frames adds n rows of an episode.
func (m *maker) frames(t testing.TB, to *sheet, e, n int) {
	for f := range n {
		to.pair("observation.state", float32(e), float32(f)).bools("next.done", f == n-1).texts("note", fmt.Sprintf("%d/%d", e, f))
		to.files("wrist", dot(t, e, f))
		to.floats("f", timestamp, m.time(e, f)).ints(frameIndex, int64(f)).ints(episodeIndex, m.episode(e, f)).ints(globalIndex, m.index(e, f)).ints(taskIndex, m.task(e, f))
	}
}

// dot is a PNG file of a frame.
func dot(t testing.TB, e, f int) []byte {
	img := image.NewRGBA(image.Rect(0, 0, 4, 4))
	for i := range img.Pix {
		img.Pix[i] = byte(10*e + f)
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJSON(t testing.TB, value any) []byte {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sheet is a table in the making.
type sheet struct {
	types []*arrow.Type
	data  map[string]*arrow.Data
}

func newTable() *sheet { return &sheet{data: map[string]*arrow.Data{}} }

// column returns a column, and counts a row of it.
func (s *sheet) column(t *arrow.Type) *arrow.Data {
	d := s.data[t.Name]
	if d == nil {
		d = &arrow.Data{}
		for range t.Children {
			d.Children = append(d.Children, &arrow.Data{})
		}
		s.data[t.Name], s.types = d, append(s.types, t)
	}
	d.Rows++
	return d
}

func (s *sheet) ints(name string, n int64) *sheet {
	d := s.column(&arrow.Type{Name: name, Format: "l"})
	d.Values = binary.LittleEndian.AppendUint64(d.Values, uint64(n))
	return s
}

func (s *sheet) floats(format, name string, x float64) *sheet {
	d := s.column(&arrow.Type{Name: name, Format: format})
	if format == "f" {
		d.Values = binary.LittleEndian.AppendUint32(d.Values, math.Float32bits(float32(x)))
	} else {
		d.Values = binary.LittleEndian.AppendUint64(d.Values, math.Float64bits(x))
	}
	return s
}

func (s *sheet) bools(name string, is bool) *sheet {
	d := s.column(&arrow.Type{Name: name, Format: "b"})
	if row := d.Rows - 1; row%8 == 0 {
		d.Values = append(d.Values, 0)
	}
	if is {
		d.Values[(d.Rows-1)/8] |= 1 << ((d.Rows - 1) % 8)
	}
	return s
}

func (s *sheet) texts(name, text string) *sheet { return s.bytes(name, "u", []byte(text)) }

func (s *sheet) bytes(name, format string, data []byte) *sheet {
	addBytes(s.column(&arrow.Type{Name: name, Format: format}), data)
	return s
}

func addBytes(d *arrow.Data, data []byte) {
	if d.Ends == nil {
		d.Ends = []int64{0}
	}
	d.Values = append(d.Values, data...)
	d.Ends = append(d.Ends, int64(len(d.Values)))
}

// pair adds a list of two numbers, of no fixed size.
func (s *sheet) pair(name string, a, b float32) *sheet {
	d := s.column(&arrow.Type{Name: name, Format: "+l", Children: []*arrow.Type{{Name: "element", Format: "f"}}})
	if d.Ends == nil {
		d.Ends = []int64{0}
	}
	c := d.Children[0]
	c.Rows += 2
	c.Values = binary.LittleEndian.AppendUint32(c.Values, math.Float32bits(a))
	c.Values = binary.LittleEndian.AppendUint32(c.Values, math.Float32bits(b))
	d.Ends = append(d.Ends, c.Rows)
	return s
}

// files adds a struct with the bytes of a file.
func (s *sheet) files(name string, data []byte) *sheet {
	d := s.column(&arrow.Type{Name: name, Format: "+s", Children: []*arrow.Type{{Name: "bytes", Format: "z"}, {Name: "path", Format: "u"}}})
	for i, one := range [][]byte{data, []byte("frame.png")} {
		d.Children[i].Rows++
		addBytes(d.Children[i], one)
	}
	return s
}

// file writes the table, in row groups of a few rows.
func (s *sheet) file(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := parquet.NewWriter(&b, &arrow.Type{Format: "+s", Children: s.types}, parquet.WriterOptions{GroupBytes: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	all := &arrow.Data{}
	for _, c := range s.types {
		all.Rows = s.data[c.Name].Rows
		all.Children = append(all.Children, s.data[c.Name])
	}
	if err := w.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// testEnv has datasets in memory, and a lake.
func testEnv(lake *storagetest.Lake) *dataset.Env {
	space := &mem.Space{}
	return &dataset.Env{
		Stores: storage.Registry{"mem": space.Open}, Sources: storage.Sources{"lake": lake.Open}, Codecs: all.All(), Writer: "test",
		Containers: media.Containers{mp4.File{}},
	}
}

// run imports a lake.
func run(t testing.TB, env *dataset.Env, lake *storagetest.Lake, o Options) (*Report, error) {
	t.Helper()
	source, err := lake.Open(t.Context(), "set", storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), env, "mem://d", source, o, func(Progress) {})
}

// good imports a lake without an error.
func good(t testing.TB, env *dataset.Env, lake *storagetest.Lake, o Options) *Report {
	t.Helper()
	r, err := run(t, env, lake, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// said lists the skips and the warnings of a report.
func said(r *Report) string {
	out := ""
	for _, s := range append(append([]Skip{}, r.Skips...), r.Warnings...) {
		out += s.Path + ": " + s.Reason + "\n"
	}
	return out
}

// opened opens the dataset, whose links may be followed.
func opened(t testing.TB, env *dataset.Env) (*dataset.Dataset, *dataset.View) {
	t.Helper()
	links := storage.Options{Links: []storage.LinkRule{{Prefix: "lake://", Settings: &storage.Settings{}}}}
	d, err := dataset.Open(context.Background(), env, "mem://d", dataset.OpenOptions{Storage: links})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	v, err := d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return d, v
}

// ref returns a stored sample of the dataset.
func ref(t testing.TB, v *dataset.View, name string, row int64) (chunk.Ref, []byte) {
	t.Helper()
	col, err := v.Column(name)
	if err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	refs := make([]chunk.Ref, 1)
	if err := col.Resolve(t.Context(), []int64{row}, refs); err != nil {
		t.Fatalf("%s of row %d: %v", name, row, err)
	}
	if refs[0].Hole() {
		return refs[0], nil
	}
	p := make([]byte, refs[0].Stored)
	if err := col.Stored(t.Context(), &refs[0], p, w); err != nil {
		t.Fatalf("%s of row %d: %v", name, row, err)
	}
	return refs[0], p
}

// numbersOf returns the numbers of the episodes of all rows.
func numbersOf(t testing.TB, env *dataset.Env) (out []int64) {
	t.Helper()
	_, v := opened(t, env)
	for row := range v.Len() {
		_, p := ref(t, v, episodeIndex, row)
		out = append(out, int64(binary.LittleEndian.Uint64(p)))
	}
	return out
}
