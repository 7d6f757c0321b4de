package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// TensorSchema describes one tensor. ID stays through renames.
type TensorSchema struct {
	ID          UUID         `json:"id"`
	Name        string       `json:"name"`
	HType       string       `json:"htype"`       // with "sequence[...]" around it for sequences
	DType       string       `json:"dtype"`       // "": no sample has decided it yet
	Shape       tensor.Shape `json:"shape"`       // nil: any; -1: an axis that varies
	Compression string       `json:"compression"` // a name of a codec.ID
	Quality     int          `json:"quality"`     // encoder setting, 0: its default
	Subsampling string       `json:"subsampling"` // encoder setting, "": its default
	ChunkBytes  int64        `json:"chunk_bytes"` // target, MinChunkBytes to MaxChunkBytes
	// nil: the tensor has none; not the same as an empty list
	ClassNames []string `json:"class_names"`
	// nil is stored as an empty object; decoded numbers are json.Number
	Info map[string]any `json:"info"`
	// a level of a pyramid: its source; nil: an ordinary tensor. Records of schemas with
	// levels have FeatureLevels
	Reduces *Reduction `json:"reduces,omitempty"`
	// the tensor of videos whose tables these samples are; zero: an ordinary tensor
	FramesOf UUID `json:"frames_of,omitzero"`
	// what int64 numbers count, as tensor.ParseTime reads it; "": no time. Records of schemas with
	// times have FeatureTimes
	Time string `json:"time,omitempty"`
	// no sample has decided DType yet, which is the default of the htype
	Open bool `json:"open,omitempty"`
	// how files are stored if no one chose Compression: a value of Files; "": as Compression says.
	// Records of such schemas have FeatureFiles
	Files Files `json:"files,omitempty"`
	// image files are turned as their Exif data says; Shape and all shapes in chunks are those of
	// the turned images. Records of such schemas have FeatureUpright
	Upright bool `json:"exif_orientation,omitempty"`
	// writers refuse labels by other names than ClassNames. Records of such schemas have
	// FeatureClosed
	Closed bool `json:"closed_classes,omitempty"`
	// the last change of ClassNames besides additions; zero: there was none. Names of lists with
	// the same value mean the same classes. Records of such schemas have FeatureChanged
	ClassChange UUID `json:"class_change,omitzero"`
}

// Files says how a tensor stores files whose codec no one chose.
type Files string

// The values of Files.
const (
	// FilesOpen: no sample has decided Compression yet: a file decides it by its codec.
	FilesOpen Files = "open"
	// FilesOwn: Compression is the codec of the first file. Each chunk has its own codec: files of
	// other codecs stay unchanged, and arrays lose nothing.
	FilesOwn Files = "own"
)

// Reduction says that the samples of a tensor are those of another one, made smaller.
type Reduction struct {
	Tensor UUID  `json:"tensor"`
	Factor int64 `json:"factor"` // of each side, rounded up
}

// Bounds of a Reduction.
const (
	MinFactor = 2
	MaxFactor = 16
)

// The features of records, in the order that a record lists them. A writer that does not know one
// refuses the record. Without FeatureLevels and FeatureVideos it would leave tensors behind those
// that they are made of. Without the others it would forget what numbers count, which class names
// are all, which dtypes are open and which files are turned.
const (
	FeatureChanged = "class_change"     // classes of a tensor were renamed, merged or removed
	FeatureClosed  = "closed_classes"   // the class names of a tensor are all that it has
	FeatureUpright = "exif_orientation" // image files of a tensor are turned
	FeatureFiles   = "files"            // a tensor takes the codec of its files
	FeatureLevels  = "levels"           // a tensor is a level of another one
	FeatureOpen    = "open"             // a tensor with a dtype has an open one
	FeatureTimes   = "times"            // the numbers of a tensor count time
	FeatureVideos  = "videos"           // a tensor has the tables of the videos of another one
	FeatureKeyed   = "idempotency_key"  // of the record, not of its schema
)

func knownFeatures() []string {
	return []string{FeatureChanged, FeatureClosed, FeatureUpright, FeatureFiles, FeatureLevels, FeatureOpen, FeatureTimes, FeatureVideos, FeatureKeyed}
}

// Features returns the features that a record with the schema has.
func (s *Schema) Features() []string {
	var has [8]bool
	for i := range s.Tensors {
		t := &s.Tensors[i]
		for k, is := range [...]bool{!t.ClassChange.IsZero(), t.Closed, t.Upright, t.Files != "", t.Reduces != nil, t.Open, t.Time != "", !t.FramesOf.IsZero()} {
			has[k] = has[k] || is
		}
	}
	var out []string
	for i, is := range has {
		if is {
			out = append(out, knownFeatures()[i])
		}
	}
	return out
}

// Schema lists the tensors of a commit, in order of creation.
type Schema struct {
	Tensors []TensorSchema `json:"tensors"`
	Info    map[string]any `json:"info"`
}

// Clone is a deep copy; of nil it is nil.
func (s *Schema) Clone() *Schema {
	if s == nil {
		return nil
	}
	c := &Schema{Tensors: slices.Clone(s.Tensors), Info: cloneInfo(s.Info)}
	for i := range c.Tensors {
		t := &c.Tensors[i]
		t.Shape = slices.Clone(t.Shape)
		t.ClassNames = slices.Clone(t.ClassNames)
		t.Info = cloneInfo(t.Info)
		if t.Reduces != nil {
			of := *t.Reduces
			t.Reduces = &of
		}
	}
	return c
}

// Find returns the tensor of that name, nil if there is none. It points into s.
func (s *Schema) Find(name string) *TensorSchema {
	for i := range s.Tensors {
		if s.Tensors[i].Name == name {
			return &s.Tensors[i]
		}
	}
	return nil
}

// Index is ByID for many lookups. It points into s, and holds as long as the tensors of s stay
// where they are.
func (s *Schema) Index() map[UUID]*TensorSchema {
	m := make(map[UUID]*TensorSchema, len(s.Tensors))
	for i := range s.Tensors {
		m[s.Tensors[i].ID] = &s.Tensors[i]
	}
	return m
}

// Bytes returns the encoded size of a schema, before compression.
func (s *Schema) Bytes() (int64, error) {
	payload, err := marshal(s.stored())
	return int64(len(payload)), err
}

// ByID returns the tensor of that id, nil if there is none. It points into s.
func (s *Schema) ByID(id UUID) *TensorSchema {
	for i := range s.Tensors {
		if s.Tensors[i].ID == id {
			return &s.Tensors[i]
		}
	}
	return nil
}

// EncodeSchema makes a page of kind C. A schema that DecodeSchema would not take is errs.Invalid.
func EncodeSchema(s *Schema) ([]byte, error) {
	payload, err := s.payload()
	if err != nil {
		return nil, err
	}
	return EncodeFrame(KindSchema, payload)
}

func (s *Schema) payload() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, refused("schema", err)
	}
	payload, err := marshal(s.stored())
	if err == nil {
		err = strictJSON(payload)
	}
	if err != nil {
		return nil, refused("schema", err)
	}
	return payload, nil
}

// AsStored returns the schema that DecodeSchema makes of what EncodeSchema has made of s.
func (s *Schema) AsStored() (*Schema, error) {
	payload, err := s.payload()
	if err != nil {
		return nil, err
	}
	return decodeSchema(payload)
}

// DecodeSchema is the strict inverse of EncodeSchema.
func DecodeSchema(data []byte) (*Schema, error) {
	payload, err := DecodeFrame(KindSchema, data)
	if err != nil {
		return nil, err
	}
	s, err := decodeSchema(payload)
	return s, damaged("schema", err)
}

func decodeSchema(payload []byte) (*Schema, error) {
	if err := strictJSON(payload); err != nil {
		return nil, err
	}
	return parseSchema(payload)
}

// stored is a shallow copy in which no object is null.
func (s *Schema) stored() *Schema {
	c := &Schema{Tensors: append([]TensorSchema{}, s.Tensors...), Info: orEmpty(s.Info)}
	for i := range c.Tensors {
		c.Tensors[i].Info = orEmpty(c.Tensors[i].Info)
	}
	return c
}

func parseSchema(raw json.RawMessage) (*Schema, error) {
	m := open("schema", raw)
	tensors := list[json.RawMessage](m, "tensors")
	s := &Schema{Tensors: make([]TensorSchema, len(tensors)), Info: m.object("info")}
	if err := m.end(); err != nil {
		return nil, err
	}
	if tensors == nil {
		return nil, errors.New(`schema: member "tensors": is null`)
	}
	for i, raw := range tensors {
		t, err := parseTensor(raw)
		if err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, err)
		}
		s.Tensors[i] = t
	}
	return s, s.check()
}

func parseTensor(raw json.RawMessage) (TensorSchema, error) {
	m := open("schema", raw)
	var t TensorSchema
	m.value("id", &t.ID)
	m.value("name", &t.Name)
	m.value("htype", &t.HType)
	m.value("dtype", &t.DType)
	t.Shape = m.shape("shape")
	m.value("compression", &t.Compression)
	m.value("quality", &t.Quality)
	m.value("subsampling", &t.Subsampling)
	m.value("chunk_bytes", &t.ChunkBytes)
	t.ClassNames = list[string](m, "class_names")
	t.Info = m.object("info")
	if _, ok := m.left["time"]; ok {
		m.value("time", &t.Time)
		if t.Time == "" {
			return t, errors.New("time is empty")
		}
	}
	if _, ok := m.left["open"]; ok {
		if t.Open = string(m.take("open")) == "true"; !t.Open {
			return t, errors.New("open is no true")
		}
	}
	if _, ok := m.left["class_change"]; ok {
		m.value("class_change", &t.ClassChange)
		if t.ClassChange.IsZero() {
			return t, errors.New("class_change is zero")
		}
	}
	if _, ok := m.left["closed_classes"]; ok {
		if t.Closed = string(m.take("closed_classes")) == "true"; !t.Closed {
			return t, errors.New("closed_classes is no true")
		}
	}
	if _, ok := m.left["exif_orientation"]; ok {
		if t.Upright = string(m.take("exif_orientation")) == "true"; !t.Upright {
			return t, errors.New("exif_orientation is no true")
		}
	}
	if _, ok := m.left["files"]; ok {
		m.value("files", (*string)(&t.Files))
		if t.Files != FilesOpen && t.Files != FilesOwn {
			return t, errs.New(errs.Unsupported, "files are stored %q; a newer version of this library may read it", clip(string(t.Files)))
		}
	}
	if _, ok := m.left["reduces"]; ok {
		of := open("reduces", m.take("reduces"))
		t.Reduces = &Reduction{}
		of.value("tensor", &t.Reduces.Tensor)
		of.value("factor", &t.Reduces.Factor)
		if err := of.end(); err != nil {
			return t, err
		}
	}
	if _, ok := m.left["frames_of"]; ok {
		m.value("frames_of", &t.FramesOf)
		if t.FramesOf.IsZero() {
			return t, errors.New("frames_of is no tensor")
		}
	}
	return t, m.end()
}

// check validates a schema. Encoder and decoder call it.
func (s *Schema) check() error {
	if s == nil {
		return errors.New("schema is nil")
	}
	if err := checkInfo(s.Info, 0); err != nil {
		return err
	}
	ids, names := map[UUID]*TensorSchema{}, map[string]bool{}
	for i := range s.Tensors {
		t := &s.Tensors[i]
		if err := t.check(); err != nil {
			return fmt.Errorf("tensor %q: %w", clip(t.Name), err)
		}
		if ids[t.ID] != nil || names[t.Name] {
			return fmt.Errorf("tensor %q: its name or id stands twice", clip(t.Name))
		}
		ids[t.ID], names[t.Name] = t, true
	}
	for i := range s.Tensors {
		t := &s.Tensors[i]
		if err := t.checkMade(ids); err != nil {
			return fmt.Errorf("tensor %q: %w", clip(t.Name), err)
		}
	}
	return nil
}

// checkMade refuses a tensor that is made of itself, through others, and tables of no videos.
func (t *TensorSchema) checkMade(ids map[UUID]*TensorSchema) error {
	if of := ids[t.FramesOf]; of != nil && of.HType != "video" {
		return fmt.Errorf("it has tables of videos, and is made of %q, whose htype is %q", clip(of.Name), clip(of.HType))
	}
	for at, steps := t, 0; at != nil; at, steps = ids[at.MadeOf()], steps+1 {
		if steps == len(ids) {
			return errors.New("it is made of itself")
		}
	}
	return nil
}

// MadeOf returns the tensor that a tensor is made of: one of larger pictures, or of the videos
// whose tables it has. Zero: none.
func (t *TensorSchema) MadeOf() UUID {
	if t.Reduces != nil {
		return t.Reduces.Tensor
	}
	return t.FramesOf
}

func (t *TensorSchema) check() error {
	switch {
	case t.ID.IsZero():
		return errors.New("its id is zero")
	case t.Name == "" || len(t.Name) > MaxTensorNameLen:
		return fmt.Errorf("its name has %d bytes, want 1 to %d", len(t.Name), MaxTensorNameLen)
	case t.HType == "":
		return errors.New("it has no htype")
	case t.Quality < 0 || t.Quality > 100:
		return fmt.Errorf("quality is %d, want 0 to 100", t.Quality)
	case t.ChunkBytes < MinChunkBytes || t.ChunkBytes > MaxChunkBytes:
		return fmt.Errorf("chunk_bytes is %d, want %d to %d", t.ChunkBytes, MinChunkBytes, MaxChunkBytes)
	case t.Time != "" && t.DType != tensor.Int64.String():
		return fmt.Errorf("its numbers count %q and have dtype %q, want int64", clip(t.Time), clip(t.DType))
	case t.Open && t.DType == "":
		return errors.New("it is open and has no dtype")
	case len(t.Shape) > tensor.MaxDims:
		return fmt.Errorf("shape has %d axes, want at most %d", len(t.Shape), tensor.MaxDims)
	}
	if r := t.Reduces; r != nil {
		switch {
		case r.Tensor.IsZero() || r.Tensor == t.ID:
			return errors.New("it reduces no other tensor")
		case r.Factor < MinFactor || r.Factor > MaxFactor:
			return fmt.Errorf("it reduces by %d, want %d to %d", r.Factor, MinFactor, MaxFactor)
		case t.Name[0] != '_':
			return errors.New("the name of a level does not begin with \"_\"")
		}
	}
	if of := t.FramesOf; !of.IsZero() {
		switch {
		case of == t.ID || t.Reduces != nil:
			return errors.New("it has the tables of itself, or of smaller pictures")
		case t.DType != tensor.Bytes.String():
			return fmt.Errorf("it has tables of videos and dtype %q, want bytes", clip(t.DType))
		case t.Name[0] != '_':
			return errors.New("the name of a tensor of tables does not begin with \"_\"")
		}
	}
	for _, d := range t.Shape {
		if d < -1 {
			return fmt.Errorf("shape has an axis of %d", d)
		}
	}
	for _, text := range append([]string{t.Name, t.HType}, t.ClassNames...) {
		if err := checkText("a name", text); err != nil {
			return err
		}
	}
	return first(t.checkKnown(), checkInfo(t.Info, 0))
}

// checkKnown refuses names that a newer version may have added.
func (t *TensorSchema) checkKnown() error {
	if _, err := tensor.ParseDType(t.DType); err != nil && t.DType != "" {
		return errs.New(errs.Unsupported, "dtype %q is not known; a newer version of this library may read it", clip(t.DType))
	}
	if at, err := tensor.ParseTime(t.Time); t.Time != "" && (err != nil || at.String() != t.Time) {
		return errs.New(errs.Unsupported, "time %q is not known; a newer version of this library may read it", clip(t.Time))
	}
	if !codec.Reserved(t.Compression) {
		return errs.New(errs.Unsupported, "compression %q is not known; a newer version of this library may read it", clip(t.Compression))
	}
	switch t.Subsampling {
	case "", "4:4:4", "4:2:2", "4:2:0":
	default:
		return errs.New(errs.Unsupported, "subsampling %q is not known; a newer version of this library may read it", clip(t.Subsampling))
	}
	return nil
}
