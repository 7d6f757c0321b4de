package episodes

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

const (
	infoKey = "meta/info.json"
	// maxInfo bounds info.json and stats.json.
	maxInfo = 64 << 20
	// maxFeatures bounds the features, maxAxes the axes of one, maxFrame the bytes of one frame.
	maxFeatures = 10_000
	maxAxes     = 16
	maxFrame    = 256 << 20
	// maxAbout bounds a value in the info of a tensor, as JSON.
	maxAbout = 1 << 20
	// maxEpisodes bounds the episodes of a set, whose metadata are in memory.
	maxEpisodes = 1 << 22
	maxFPS      = 1e6
	// maxNumber bounds numbers of chunks, files and frames.
	maxNumber = 1 << 48
)

// otherData is the way out if a set is none.
const otherData = "; --format images or --format videos (format=...) takes the files of the folder as such"

// info is the content of meta/info.json.
type info struct {
	version  string // "v3.0"
	isThree  bool
	fps      float64
	features []feature
	episodes int64 // -1: not stated
	frames   int64 // -1: not stated
	chunk    int64 // episodes in a folder, of version 2
	data     template
	video    template // nil: there are no videos
	robot    any
	splits   []split
	wrong    []string // of the splits
}

// kind is the way in which a feature is stored.
type kind int

const (
	numbers kind = iota
	text
	picture
	video
	unknown
)

// feature is a feature of info.json.
type feature struct {
	name  string
	named string // its dtype, as info.json has it
	kind  kind
	dtype tensor.DType // of numbers
	shape tensor.Shape // of a frame of numbers; a single number has none
	names any          // of its axes; nil: none
	about map[string]any
}

// split is a part of the episodes.
type split struct {
	name     string
	from, to int64
}

// hasVersion reports whether the content of info.json is of LeRobot.
func hasVersion(data []byte) bool {
	var raw map[string]json.RawMessage
	err := json.Unmarshal(data, &raw)
	_, has := raw["codebase_version"]
	return err == nil && has
}

// parseInfo reads info.json.
func parseInfo(data []byte) (*info, error) {
	var raw struct {
		Version  *string         `json:"codebase_version"`
		Storage  string          `json:"storage_format"`
		FPS      *float64        `json:"fps"`
		Features json.RawMessage `json:"features"`
		Episodes *int64          `json:"total_episodes"`
		Frames   *int64          `json:"total_frames"`
		Chunk    *int64          `json:"chunks_size"`
		Data     string          `json:"data_path"`
		Video    *string         `json:"video_path"`
		Robot    any             `json:"robot_type"`
		Splits   map[string]any  `json:"splits"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, unreadable(err)
	}
	if raw.Version == nil {
		return nil, errs.New(errs.Invalid, "it has no codebase_version, so it is not of LeRobot%s", otherData)
	}
	in := &info{version: *raw.Version, episodes: -1, frames: -1, chunk: 1000}
	in.isThree = strings.HasPrefix(in.version, "v3.") || in.version == "v3"
	switch {
	case !in.isThree && !strings.HasPrefix(in.version, "v2."):
		return nil, errs.New(errs.Unsupported, "codebase_version is %q, want v2.0, v2.1 or v3.0; convert the dataset by the scripts of the package lerobot", short(in.version))
	case raw.Storage != "" && raw.Storage != "parquet":
		return nil, errs.New(errs.Unsupported, "storage_format is %q, want files of Parquet; write the dataset as such by the package lerobot", short(raw.Storage))
	case raw.FPS == nil:
		return nil, errs.New(errs.Invalid, "it has no fps, want the frames a second")
	case !(*raw.FPS > 0 && *raw.FPS <= maxFPS):
		return nil, errs.New(errs.Invalid, "fps is %v, want a number above 0, and at most %v", *raw.FPS, maxFPS)
	}
	in.fps = *raw.FPS
	for _, n := range []struct {
		name  string
		value *int64
		to    *int64
		most  int64
	}{
		{"total_episodes", raw.Episodes, &in.episodes, maxEpisodes}, {"total_frames", raw.Frames, &in.frames, maxNumber},
		{"chunks_size", raw.Chunk, &in.chunk, maxNumber},
	} {
		if n.value == nil {
			continue
		}
		if *n.value < 0 || *n.value > n.most {
			return nil, errs.New(errs.Invalid, "%s is %d, want 0 to %d", n.name, *n.value, n.most)
		}
		*n.to = *n.value
	}
	in.chunk = max(in.chunk, 1)
	in.robot = small(raw.Robot)
	var err error
	if in.data, err = parseTemplate("data_path", raw.Data); err != nil {
		return nil, err
	}
	if raw.Video != nil {
		if in.video, err = parseTemplate("video_path", *raw.Video); err != nil {
			return nil, err
		}
	}
	if in.features, err = parseFeatures(raw.Features); err != nil {
		return nil, err
	}
	for _, f := range in.features {
		if f.kind == video && in.video == nil {
			return nil, errs.New(errs.Invalid, "feature %q is a video, and there is no video_path", short(f.name))
		}
	}
	in.parseSplits(raw.Splits)
	return in, nil
}

// unreadable makes the error of a file whose JSON cannot be read.
func unreadable(err error) error {
	var other *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &other):
		return errs.New(errs.Invalid, "it is no JSON as LeRobot writes it: %w%s", err, otherData)
	case other.Field == "":
		return errs.New(errs.Invalid, "it is no JSON as LeRobot writes it: it has the type %s, want an object%s", other.Value, otherData)
	}
	return errs.New(errs.Invalid, "it is no JSON as LeRobot writes it: %s has the type %s%s", short(other.Field), other.Value, otherData)
}

// parseFeatures reads the features, in the order of the file.
func parseFeatures(data []byte) ([]feature, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errs.New(errs.Invalid, "it has no features, want an object with them")
	}
	var out []feature
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		var raw json.RawMessage
		if err == nil {
			err = d.Decode(&raw)
		}
		if err != nil || !isName {
			return nil, errs.New(errs.Invalid, "its features are no JSON")
		}
		switch {
		case seen[name]:
			return nil, errs.New(errs.Invalid, "it has two features %q", short(name))
		case len(out) == maxFeatures:
			return nil, errs.New(errs.Invalid, "it has more than %d features", maxFeatures)
		}
		seen[name] = true
		f, err := parseFeature(name, raw)
		if err != nil {
			return nil, errs.New(errs.KindOf(err), "feature %q %w", short(name), err)
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, errs.New(errs.Invalid, "its features are empty, want one at least")
	}
	return out, nil
}

// parseFeature reads a feature.
func parseFeature(name string, data []byte) (feature, error) {
	var raw struct {
		DType string         `json:"dtype"`
		Shape []int64        `json:"shape"`
		Names any            `json:"names"`
		Info  map[string]any `json:"info"`
		Video map[string]any `json:"video_info"` // of version 2
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		var other *json.UnmarshalTypeError
		if errors.As(err, &other) && other.Field != "" {
			return feature{}, errs.New(errs.Invalid, "is described otherwise than LeRobot does: its %s has the type %s", short(other.Field), other.Value)
		}
		return feature{}, errs.New(errs.Invalid, "is described otherwise than LeRobot does: %w", err)
	}
	f := feature{name: name, named: raw.DType, names: small(raw.Names)}
	if f.about = raw.Info; f.about == nil {
		f.about = raw.Video
	}
	if small(f.about) == nil {
		f.about = nil
	}
	switch raw.DType {
	case "string":
		f.kind = text
	case "image":
		f.kind = picture
	case "video":
		f.kind = video
	default:
		f.kind = unknown
		if d, err := tensor.ParseDType(raw.DType); err == nil && d.Fixed() {
			f.kind, f.dtype = numbers, d
		}
	}
	if f.kind != numbers {
		return f, nil
	}
	// LeRobot stores a number a frame as such, though its shape is [1].
	if f.shape = raw.Shape; len(f.shape) == 1 && f.shape[0] == 1 {
		f.shape = nil
	}
	for _, axis := range f.shape {
		if axis < 0 {
			return f, errs.New(errs.Invalid, "has shape %v, want axes of 0 or more", raw.Shape)
		}
	}
	if len(f.shape) > maxAxes {
		return f, errs.New(errs.Invalid, "has %d axes, want at most %d", len(f.shape), maxAxes)
	}
	if n, err := f.shape.Bytes(f.dtype); err != nil || n > maxFrame {
		return f, errs.New(errs.Invalid, "has shape %v, whose frames have more than %d bytes", raw.Shape, maxFrame)
	}
	return f, nil
}

// parseSplits reads splits such as {"train": "0:50"}, in the order of their episodes.
func (in *info) parseSplits(raw map[string]any) {
	for name, value := range raw {
		text, _ := value.(string)
		first, last, _ := strings.Cut(text, ":")
		from, err := strconv.ParseInt(first, 10, 64)
		to, failed := strconv.ParseInt(last, 10, 64)
		if err != nil || failed != nil || from < 0 || to < from || to > math.MaxInt32 || name == "" {
			in.wrong = append(in.wrong, name)
			continue
		}
		in.splits = append(in.splits, split{name, from, to})
	}
	slices.SortFunc(in.splits, func(a, b split) int {
		if a.from != b.from {
			return int(a.from - b.from)
		}
		return strings.Compare(a.name, b.name)
	})
	slices.Sort(in.wrong)
}

// small returns a value if its JSON is short enough for the info of a tensor, else nil.
func small(value any) any {
	p, err := json.Marshal(value)
	if err != nil || len(p) > maxAbout || string(p) == "null" {
		return nil
	}
	return value
}
