package episodes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/parquet"
	"deeplake/core/storage"
)

const (
	// maxLine bounds a line of the metadata of version 2.
	maxLine = 16 << 20
	// maxMetaFiles bounds the files with metadata of episodes.
	maxMetaFiles = 1 << 17
	// maxTasks bounds the tasks, and maxTaskBytes their texts together.
	maxTasks     = 1 << 20
	maxTaskBytes = 64 << 20
)

// metaEpisodes names the metadata of episodes in reports.
const metaEpisodes = "meta/episodes"

// place is the numbers of a file.
type place struct{ chunk, file int64 }

// episode is an episode as the metadata describe it.
type episode struct {
	index    int64
	from, to int64 // numbers of its frames in the set
	data     place
	videos   []clip // by videos of the set
	wrong    string // why the metadata cannot be believed; "": they can
}

// clip is the place of an episode in a file of video.
type clip struct {
	place
	from, to float64 // seconds; of version 2 the file has the episode alone
}

// length is the number of frames.
func (e *episode) length() int64 { return e.to - e.from }

// set is the metadata of a dataset of LeRobot.
type set struct {
	*info
	episodes []episode // in the order of their numbers
	tasks    []string
	hasTasks bool
	videos   []string // names of the features whose places the episodes have
	warnings []Skip
}

// warn notes a fault that leaves no episode out.
func (s *set) warn(path, format string, args ...any) {
	if len(s.warnings) < shownNames {
		s.warnings = append(s.warnings, Skip{Path: path, Reason: fmt.Sprintf(format, args...)})
	}
}

// readSet reads the metadata, with the places of some videos.
func readSet(ctx context.Context, f *files, in *info, videos []string) (*set, error) {
	s := &set{info: in, videos: videos}
	read, tasks := s.readTwo, s.tasksTwo
	if in.isThree {
		read, tasks = s.readThree, s.tasksThree
	}
	if err := read(ctx, f); err != nil {
		return nil, err
	}
	s.hasTasks = true
	err := tasks(ctx, f)
	if errs.Is(err, errs.NotFound) {
		s.hasTasks = false
		s.warn("meta", "there is no file with tasks, so rows have no text of their task")
		err = nil
	}
	if err != nil {
		return nil, err
	}
	s.check()
	return s, nil
}

// metaFiles lists the files with the episodes of version 3.
func (s *set) metaFiles(ctx context.Context, f *files) (keys []string, err error) {
	const folder = "meta/episodes/"
	if f.isWeb { // numbers go on until a file is missing
		for n := int64(0); n < maxMetaFiles; n++ {
			key := fmt.Sprintf("%schunk-%03d/file-%03d.parquet", folder, n/s.chunk, n%s.chunk)
			body, err := f.request(ctx, key, 0, 1, "")
			if errs.Is(err, errs.NotFound) {
				break
			}
			if err != nil {
				return nil, err
			}
			_ = body.Close()
			keys = append(keys, key)
		}
		return keys, nil
	}
	err = f.Objects(ctx, folder, "", func(e storage.Entry) bool {
		if path.Ext(e.Key) == ".parquet" && strings.HasPrefix(e.Key, folder) {
			keys = append(keys, e.Key)
		}
		return len(keys) < maxMetaFiles
	})
	slices.Sort(keys)
	return keys, err
}

// readThree reads the episodes of version 3, from files of Parquet.
func (s *set) readThree(ctx context.Context, f *files) error {
	keys, err := s.metaFiles(ctx, f)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return errs.New(errs.Invalid, "there is no file meta/episodes/chunk-000/file-000.parquet, which names the episodes")
	}
	for _, key := range keys {
		if err := s.readEpisodes(ctx, f, key); err != nil {
			return errs.New(errs.KindOf(err), "%s: %w", key, err)
		}
	}
	return nil
}

// readEpisodes reads a file with episodes of version 3.
func (s *set) readEpisodes(ctx context.Context, f *files, key string) error {
	table, _, err := openTable(ctx, f, key)
	if err != nil {
		return err
	}
	if table.Rows() > maxEpisodes-int64(len(s.episodes)) {
		return errs.New(errs.Invalid, "there are more than %d episodes", maxEpisodes)
	}
	names := []string{"episode_index", "length", "dataset_from_index", "dataset_to_index", "data/chunk_index", "data/file_index"}
	whole := len(names)
	for _, video := range s.videos {
		names = append(names, "videos/"+video+"/chunk_index", "videos/"+video+"/file_index")
	}
	numbers := len(names)
	for _, video := range s.videos {
		names = append(names, "videos/"+video+"/from_timestamp", "videos/"+video+"/to_timestamp")
	}
	return eachBatch(ctx, table, parquet.Options{Columns: names}, func(b *batch) error {
		ints, floats := make([][]int64, numbers), make([][]float64, 2*len(s.videos))
		var err error
		for i, name := range names[:numbers] {
			if ints[i], err = b.ints(name); err != nil {
				return err
			}
		}
		for i, name := range names[numbers:] {
			if floats[i], err = b.floats(name); err != nil {
				return err
			}
		}
		for row := range ints[0] {
			at := func(column int) int64 { return ints[column][row] }
			e := episode{index: at(0), from: at(2), to: at(3), data: place{at(4), at(5)}, videos: make([]clip, len(s.videos))}
			for k := range e.videos {
				e.videos[k] = clip{place{at(whole + 2*k), at(whole + 2*k + 1)}, floats[2*k][row], floats[2*k+1][row]}
			}
			e.plausible(at(1))
			s.episodes = append(s.episodes, e)
		}
		return nil
	})
}

// plausible notes numbers that no episode of some frames has.
func (e *episode) plausible(length int64) {
	isNumber := func(n int64) bool { return n >= 0 && n <= maxNumber }
	switch {
	case !isNumber(e.index) || !isNumber(e.from) || !isNumber(e.to) || !isNumber(e.data.chunk) || !isNumber(e.data.file):
		e.wrong = "its metadata have numbers below 0, or too large ones"
		e.from, e.to = 0, 0
	case length < 1 || e.length() != length:
		e.wrong = fmt.Sprintf("its length is %d, and its frames are %d to %d", length, e.from, e.to)
		e.to = max(e.from, e.to)
	}
	for k := range e.videos {
		c := &e.videos[k]
		if e.wrong == "" && (!isNumber(c.chunk) || !isNumber(c.file) || !(c.from >= 0 && c.from <= maxSeconds && c.to >= c.from && c.to <= maxSeconds)) {
			e.wrong = fmt.Sprintf("its metadata place it at %v to %v s of a video, want times from 0 on", c.from, c.to)
		}
	}
}

// maxSeconds bounds times in videos.
const maxSeconds = 1e9

// lines calls each with the lines of a file that are not empty.
func lines(ctx context.Context, f *files, key string, each func(line []byte) error) error {
	body, err := f.request(ctx, key, 0, -1, "")
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	in := bufio.NewScanner(body)
	in.Buffer(make([]byte, 64<<10), maxLine)
	for number := 1; in.Scan(); number++ {
		if bytes.HasPrefix(in.Bytes(), []byte("\ufeff")) {
			return errs.New(errs.Invalid, "%s, line %d: it begins with the mark of UTF-8 (BOM); write the file without", key, number)
		}
		if len(strings.TrimSpace(in.Text())) == 0 {
			continue
		}
		if err := each(in.Bytes()); err != nil {
			return errs.New(errs.KindOf(err), "%s, line %d: %w", key, number, err)
		}
	}
	if in.Err() == bufio.ErrTooLong {
		return errs.New(errs.Invalid, "%s has a line of more than %d bytes", key, maxLine)
	}
	return errs.Wrap(errs.Storage, "read", key, in.Err())
}

// wholeOf returns a whole number of a line.
func wholeOf(raw map[string]json.RawMessage, name string) (int64, error) {
	var n *int64
	if err := json.Unmarshal(raw[name], &n); err != nil || n == nil {
		return 0, errs.New(errs.Invalid, "its %s is %s, want a whole number", name, orNone(raw[name]))
	}
	return *n, nil
}

// orNone shows a value of a line.
func orNone(value json.RawMessage) string {
	if value == nil {
		return "missing"
	}
	return short(string(value))
}

// readTwo reads the episodes of version 2, from lines of JSON.
func (s *set) readTwo(ctx context.Context, f *files) error {
	err := lines(ctx, f, "meta/episodes.jsonl", func(line []byte) error {
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(line, &raw); err != nil {
			return errs.New(errs.Invalid, "it is no JSON of an episode with episode_index and length: %w", err)
		}
		index, err := wholeOf(raw, "episode_index")
		if err != nil {
			return err
		}
		length, err := wholeOf(raw, "length")
		if err != nil {
			return err
		}
		if len(s.episodes) == maxEpisodes {
			return errs.New(errs.Invalid, "there are more than %d episodes", maxEpisodes)
		}
		s.episodes = append(s.episodes, episode{index: index, to: length})
		return nil
	})
	if errs.Is(err, errs.NotFound) {
		return errs.New(errs.Invalid, "there is no file meta/episodes.jsonl, which names the episodes")
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(s.episodes, byIndex)
	at := int64(0)
	for i := range s.episodes {
		e := &s.episodes[i]
		length := e.to
		if length < 0 || length > maxNumber || at > maxNumber {
			length = 0
		}
		e.from, e.to = at, at+length
		e.data = place{chunk: max(0, e.index) / s.chunk}
		e.videos = make([]clip, len(s.videos))
		for k := range e.videos {
			e.videos[k].chunk = e.data.chunk
		}
		e.plausible(length)
		at = e.to
	}
	return nil
}

// tasksTwo reads the tasks of version 2.
func (s *set) tasksTwo(ctx context.Context, f *files) error {
	size := 0
	return lines(ctx, f, "meta/tasks.jsonl", func(line []byte) error {
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(line, &raw); err != nil {
			return errs.New(errs.Invalid, "it is no JSON of a task with task_index and task: %w", err)
		}
		index, err := wholeOf(raw, taskIndex)
		if err != nil {
			return err
		}
		var text *string
		if err := json.Unmarshal(raw["task"], &text); err != nil || text == nil {
			return errs.New(errs.Invalid, "its task is %s, want a text", orNone(raw["task"]))
		}
		return s.task(index, *text, &size)
	})
}

// tasksThree reads the tasks of version 3: their texts are the index of a data frame.
func (s *set) tasksThree(ctx context.Context, f *files) error {
	const key, number = "meta/tasks.parquet", "task_index"
	table, _, err := openTable(ctx, f, key)
	if errs.Is(err, errs.NotFound) {
		return err
	}
	if err != nil {
		return errs.New(errs.KindOf(err), "%s: %w", key, err)
	}
	names := table.Columns()
	text := slices.IndexFunc(names, func(name string) bool { return name == "task" || name == "__index_level_0__" })
	if text < 0 && len(names) == 2 {
		text = slices.IndexFunc(names, func(name string) bool { return name != number })
	}
	if text < 0 || !slices.Contains(names, number) {
		return errs.New(errs.Invalid, "%s has the columns %s, want task_index and task", key, short(strings.Join(names, ", ")))
	}
	bytes := 0
	err = eachBatch(ctx, table, parquet.Options{Columns: []string{number, names[text]}}, func(b *batch) error {
		indices, err := b.ints(number)
		if err != nil {
			return err
		}
		texts, err := b.texts(names[text])
		if err != nil {
			return err
		}
		for i, index := range indices {
			if err := s.task(index, texts[i], &bytes); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return errs.New(errs.KindOf(err), "%s: %w", key, err)
	}
	return nil
}

// task notes the text of a task.
func (s *set) task(index int64, text string, bytes *int) error {
	if *bytes += len(text); index < 0 || index >= maxTasks || *bytes > maxTaskBytes {
		return errs.New(errs.Invalid, "task %d, or the text of all, is larger than any of LeRobot; want %d tasks and %d bytes at most", index, maxTasks, maxTaskBytes)
	}
	for int64(len(s.tasks)) <= index {
		s.tasks = append(s.tasks, "")
	}
	s.tasks[index] = text
	return nil
}

func byIndex(a, b episode) int {
	switch {
	case a.index < b.index:
		return -1
	case a.index > b.index:
		return 1
	}
	return 0
}
