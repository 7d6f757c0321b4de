package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// TensorSpec describes a new tensor. Zero values mean the default of the htype.
type TensorSpec struct {
	Name        string       `json:"name"`
	HType       string       `json:"htype"`
	DType       string       `json:"dtype"`
	Shape       tensor.Shape `json:"shape"`
	Compression string       `json:"compression"`
	Quality     int          `json:"quality"`
	Subsampling string       `json:"subsampling"`
	ClassNames  []string     `json:"class_names"`
	// AddClasses lets labels by other names add classes to ClassNames; without, these are all.
	AddClasses bool  `json:"add_classes"`
	ChunkBytes int64 `json:"chunk_bytes"`
	// Upright turns image files as the orientation in their Exif data says, whenever they are read.
	Upright bool           `json:"apply_exif_orientation"`
	ExistOK bool           `json:"exist_ok"`
	Info    map[string]any `json:"info"`
	// Downsample is a factor and a number of levels: the tensor gets hidden tensors with its
	// pictures made smaller by the factor, its square and so on. nil: none
	Downsample []int64 `json:"downsample"`
	// Hidden tensors have names that begin with "_". Views and descriptions do not list them, and
	// rows may be appended without them. A caller with their name reads them like others.
	Hidden bool `json:"-"`
	// of a tensor that is made like another one
	files format.Files
}

// SchemaFile is the name of a file that exports write, with the tensors of what lies beside it.
// Imports read it, so that class names and htypes come back which the other files do not hold.
const SchemaFile = "schema.json"

// maxSchemaFile bounds such a file.
const maxSchemaFile = 16 << 20

// schemaFile is its content.
type schemaFile struct {
	Schema  int          `json:"deeplake_schema"` // a version
	Tensors []TensorSpec `json:"tensors"`
}

// EncodeSchema returns the content of a SchemaFile: of each tensor what differs from the default.
func EncodeSchema(tensors []TensorSpec) ([]byte, error) {
	short := make([]map[string]any, len(tensors))
	for i := range tensors {
		whole, err := json.Marshal(&tensors[i])
		if err == nil {
			err = json.Unmarshal(whole, &short[i])
		}
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(short[i], func(_ string, v any) bool {
			return v == nil || v == "" || v == false || v == 0.0
		})
	}
	return json.MarshalIndent(map[string]any{"deeplake_schema": 1, "tensors": short}, "", " ")
}

// ReadSchema reads the SchemaFile of a place. Another file of that name, or none, gives no tensors.
func ReadSchema(ctx context.Context, from storage.Ranger) ([]TensorSpec, error) {
	body, err := from.Range(ctx, SchemaFile, 0, -1, "")
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Corrupt) { // an empty file is the latter
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, maxSchemaFile+1))
	if err != nil {
		return nil, err
	}
	var f schemaFile
	if len(data) > maxSchemaFile || json.Unmarshal(data, &f) != nil || f.Schema != 1 {
		return nil, nil
	}
	return f.Tensors, nil
}

// hidden reports whether a tensor of this name is hidden.
func hidden(name string) bool { return strings.HasPrefix(name, "_") }

// columnType is a tensor's schema with its names resolved.
type columnType struct {
	schema      *format.TensorSchema
	htype       tensor.HType
	list        bool         // htype.List(), which every lookup of a chunk asks for
	dtype       tensor.DType // 0: the first samples decide
	open        bool         // the first samples may decide another dtype
	time        tensor.Time  // unit and zone, if the numbers are times
	files       format.Files // how files are stored if no one chose the compression
	sampleCodec codec.SampleCodec
	packs       bool // its decoder is a codec.Packer
	blockCodec  codec.Codec
	channels    codec.Channels
}

// resolve reads a tensor's schema, which may come from a newer version of the library.
func resolve(ts *format.TensorSchema, reg *codec.Registry) (*columnType, error) {
	fail := func(err error) (*columnType, error) {
		return nil, errs.New(errs.Unsupported, "tensor %q: %w; a newer version of this library may know it", ts.Name, err)
	}
	ct := &columnType{schema: ts, files: ts.Files}
	var err error
	if ct.htype, err = tensor.ParseHType(ts.HType); err != nil {
		return fail(err)
	}
	ct.list = ct.htype.List()
	if ts.DType != "" {
		if ct.dtype, err = tensor.ParseDType(ts.DType); err != nil {
			return fail(err)
		}
	}
	ct.open = ts.Open || ts.DType == ""
	if ts.Time != "" {
		if ct.time, err = tensor.ParseTime(ts.Time); err != nil {
			return fail(err)
		}
	}
	id, _, err := reg.Parse(ts.Compression)
	if err == nil {
		err = ct.setCompression(id, reg)
	}
	if err != nil {
		return fail(err)
	}
	switch ct.htype.Base {
	case "image.rgb":
		ct.channels = codec.RGB
	case "image.gray":
		ct.channels = codec.Gray
	case "binary_mask":
		ct.channels = codec.Binary
	case "segment_mask", "instance_label":
		ct.channels = codec.Labels
	}
	if ts.Upright {
		ct.channels |= codec.Upright
	}
	return ct, nil
}

// setCompression resolves the codec of the samples or of the blocks.
func (ct *columnType) setCompression(id codec.ID, reg *codec.Registry) (err error) {
	ct.sampleCodec, ct.blockCodec, ct.packs = nil, nil, false
	switch {
	case id == codec.None:
	case !id.PerSample():
		ct.blockCodec, err = reg.Bytes(id)
	default:
		if ct.sampleCodec, err = reg.Sample(id); err != nil {
			return err
		}
		d := ct.sampleCodec.NewDecoder()
		_, ct.packs = d.(codec.Packer)
		d.Close()
	}
	return err
}

// ofArrays returns the type that stores arrays: PNG if files have decided on a lossy codec.
func (ct *columnType) ofArrays(reg *codec.Registry) (*columnType, error) {
	if ct.files != format.FilesOwn || ct.sampleCodec == nil || ct.sampleCodec.Describe().Lossless {
		return ct, nil
	}
	of := *ct
	return &of, of.setCompression(codec.PNG, reg)
}

func (ct *columnType) spec() *chunk.Spec {
	s := &chunk.Spec{
		Tensor: ct.schema.ID, DType: ct.dtype, BlockCodec: ct.blockCodec, Sequence: ct.list, Target: ct.schema.ChunkBytes,
	}
	if ct.sampleCodec != nil {
		s.SampleCodec = ct.sampleCodec.Describe().ID
	}
	return s
}

func (ct *columnType) options() codec.Options {
	return codec.Options{Quality: ct.schema.Quality, Subsampling: ct.schema.Subsampling}
}

// newTensor checks a spec and makes the schema of the tensor.
func newTensor(spec TensorSpec, reg *codec.Registry) (format.TensorSchema, error) {
	var none format.TensorSchema
	fail := func(err error) (format.TensorSchema, error) {
		return none, errs.Wrap(errs.Invalid, "create tensor", spec.Name, err)
	}
	if err := checkName(strings.TrimPrefix(spec.Name, hiddenPrefix(&spec))); err != nil {
		return fail(err)
	}
	if spec.HType == "" {
		spec.HType = "generic"
	}
	htype, err := tensor.ParseHType(spec.HType)
	if err != nil {
		return fail(err)
	}
	dtype, counts, err := dtypeOf(&spec, htype)
	if err != nil {
		return fail(err)
	}
	if err := checkShape(spec.Shape, htype, dtype); err != nil {
		return fail(err)
	}
	files := spec.files
	if spec.Compression == "" && files == "" {
		spec.Compression = defaultCompression(htype, dtype).Name()
		if (htype.IsImage() || htype.IsMask()) && !htype.List() && spec.Downsample == nil {
			files = format.FilesOpen
		}
	}
	if err := checkCompression(&spec, htype, dtype, reg); err != nil {
		return fail(err)
	}
	if err := checkClassNames(spec.ClassNames, htype); err != nil {
		return fail(err)
	}
	if spec.Upright && !htype.IsImage() {
		return fail(errs.New(errs.Invalid, "apply_exif_orientation is for images, the htype is %s; leave it out", htype))
	}
	if spec.ChunkBytes == 0 {
		spec.ChunkBytes = format.DefaultChunk
	}
	if spec.ChunkBytes < format.MinChunkBytes || spec.ChunkBytes > format.MaxChunkBytes {
		return fail(errs.New(errs.Invalid, "chunk_bytes is %d, want %d to %d", spec.ChunkBytes, format.MinChunkBytes, format.MaxChunkBytes))
	}
	if _, err := json.Marshal(spec.Info); err != nil {
		return fail(errs.New(errs.Invalid, "info is not JSON: %w", err))
	}
	ts := format.TensorSchema{
		ID: format.NewUUID(), Name: spec.Name, HType: htype.String(), Shape: spec.Shape, Compression: spec.Compression,
		Quality: spec.Quality, Subsampling: spec.Subsampling, ChunkBytes: spec.ChunkBytes, ClassNames: spec.ClassNames, Info: spec.Info, Files: files,
		Upright: spec.Upright, Closed: len(spec.ClassNames) > 0 && !spec.AddClasses,
	}
	if dtype != 0 {
		ts.DType, ts.Time = dtype.String(), counts.String()
		ts.Open = spec.DType == "" && spec.Downsample == nil && htype.Decides()
	}
	if htype.Base == "class_label" && ts.ClassNames == nil {
		ts.ClassNames = []string{}
	}
	if ts.Info == nil {
		ts.Info = map[string]any{}
	}
	if ts.Shape == nil {
		ts.Shape = htype.Shape()
	}
	return ts, nil
}

// defaultCompression returns the compression of a tensor whose creator chose none, by the measures
// in docs/htypes.md. Arrays of no stated meaning stay as they are, and are read in place.
func defaultCompression(htype tensor.HType, d tensor.DType) codec.ID {
	switch htype.Base {
	case "class_label", "instance_label", "segment_mask", "binary_mask", "bbox", "point", "polygon", "keypoints_coco":
		return codec.Shuffle
	}
	if d == tensor.String || d == tensor.JSON {
		return codec.Zstd
	}
	return codec.None
}

// dtypeOf returns the dtype of a new tensor, and what its numbers count. A spec without a dtype has
// the default of the htype.
func dtypeOf(spec *TensorSpec, htype tensor.HType) (tensor.DType, tensor.Time, error) {
	var none tensor.Time
	switch {
	case spec.DType == "":
		if htype.IsMask() && htype.Decides() && spec.Compression == codec.PNG.Name() {
			return tensor.Uint8, none, nil // PNG does not hold the default of masks
		}
		return htype.DefaultDType(), none, nil
	case tensor.IsTime(spec.DType):
		t, err := tensor.ParseTime(spec.DType)
		if err == nil && htype.Base != "generic" {
			err = errs.New(errs.Type, "htype %s cannot have dtype %s; times are of htype generic", htype.Base, t)
		}
		return tensor.Int64, t, err
	}
	d, err := tensor.ParseDType(spec.DType)
	if err == nil {
		err = htype.CheckDType(d)
	}
	return d, none, err
}

// hiddenPrefix begins the names of hidden tensors, and of no others.
func hiddenPrefix(spec *TensorSpec) string {
	if spec.Hidden {
		return "_"
	}
	return ""
}

func checkName(name string) error {
	if name == "" || len(name) > format.MaxTensorNameLen {
		return errs.New(errs.Invalid, "the name has %d bytes, want 1 to %d", len(name), format.MaxTensorNameLen)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" {
			return errs.New(errs.Invalid, "a part of the name is empty; want \"tensor\" or \"group/tensor\"")
		}
		if strings.HasPrefix(part, "_") {
			return errs.New(errs.Invalid, "names that begin with \"_\" are for the columns that a batch adds, like \"_index\"; take another")
		}
		for _, r := range part {
			if r < ' ' || r == 0x7f || r == 0xfffd {
				return errs.New(errs.Invalid, "the name has a control character or is not UTF-8")
			}
		}
	}
	return nil
}

func checkShape(shape tensor.Shape, htype tensor.HType, dtype tensor.DType) error {
	if shape == nil {
		return nil
	}
	if dtype != 0 && !dtype.Fixed() {
		return errs.New(errs.Invalid, "dtype %s has no shape (got %s)", dtype, shape)
	}
	probe := shape.Clone()
	for i, d := range probe {
		if d < -1 {
			return errs.New(errs.Invalid, "shape %v has a negative axis; -1 or None stands for an axis that varies", []int64(shape))
		}
		if d == -1 {
			probe[i] = max(0, axisOf(htype, i))
		}
	}
	if _, err := probe.Elements(); err != nil {
		return err
	}
	for i, d := range htype.Shape() {
		if i >= len(shape) || len(shape) != len(htype.Shape()) || (d >= 0 && shape[i] != d && shape[i] != -1) {
			return errs.New(errs.Type, "shape %s does not suit htype %s, whose samples are %s", shape, htype.Base, htype.Shape())
		}
	}
	return nil
}

func axisOf(htype tensor.HType, i int) int64 {
	if s := htype.Shape(); i < len(s) {
		return s[i]
	}
	return -1
}

func checkCompression(spec *TensorSpec, htype tensor.HType, dtype tensor.DType, reg *codec.Registry) error {
	id, sample, err := reg.Parse(spec.Compression)
	if err != nil {
		return err
	}
	spec.Compression = id.Name()
	switch {
	case htype.IsVideo() && id != codec.None:
		return errs.New(errs.Invalid, "compression %q is for samples that are not compressed yet, as videos are; leave it out", spec.Compression)
	case sample && htype.IsMask() && id != codec.PNG:
		return errs.New(errs.Invalid, "compression %q is for images, the htype is %s; use \"png\" or \"shuffle\"", spec.Compression, htype)
	case sample && !htype.IsImage() && !htype.IsMask():
		return errs.New(errs.Invalid, "compression %q is for images, the htype is %s; use \"lz4\", \"zstd\" or \"shuffle\"", spec.Compression, htype)
	case id == codec.Shuffle && dtype != 0 && !dtype.Fixed():
		return errs.New(errs.Invalid, "compression \"shuffle\" is for numbers, the dtype is %s; use \"zstd\"", dtype)
	}
	o := codec.Options{Quality: spec.Quality, Subsampling: spec.Subsampling}
	if sample {
		sc, err := reg.Sample(id)
		if err != nil {
			return err
		}
		d := sc.Describe()
		if err := d.CheckDType(dtype); err != nil {
			return err
		}
		if d.CheckOptions != nil {
			return d.CheckOptions(o)
		}
	}
	if o.IsZero() {
		return nil
	}
	var with []string
	for _, d := range reg.Samples() {
		if d.CheckOptions != nil {
			with = append(with, d.Name())
		}
	}
	return errs.New(errs.Invalid, "quality and subsampling are settings of %s, the compression is %q", quoted(with), spec.Compression)
}

func checkClassNames(names []string, htype tensor.HType) error {
	if names == nil {
		return nil
	}
	if htype.Base != "class_label" && htype.Base != "segment_mask" {
		return errs.New(errs.Invalid, "class_names are for htypes class_label and segment_mask, the htype is %s", htype)
	}
	seen := make(map[string]int, len(names))
	for i, n := range names {
		if j, ok := seen[n]; ok {
			return errs.New(errs.Invalid, "class_names has %q twice, at %d and %d", n, j, i)
		}
		seen[n] = i
	}
	return nil
}

// names lists the tensors of a schema.
func names(s *format.Schema) []string {
	out := make([]string, len(s.Tensors))
	for i := range s.Tensors {
		out[i] = s.Tensors[i].Name
	}
	return out
}

// visible lists the tensors of a schema that are not hidden.
func visible(s *format.Schema) []string {
	return slices.DeleteFunc(names(s), hidden)
}

// create adds a tensor with those that are made of it.
func (w *writer) create(all []format.TensorSchema) error {
	name := all[0].Name
	if w.d.task != nil {
		w.d.task.number(all)
	}
	if n, ok := w.groupClash(name); ok {
		return errs.Op("create tensor", name).New(errs.Exists, "%q exists, and a name cannot be both a tensor and a group", n)
	}
	for i := range all {
		if err := w.txn.MayAdd(&all[i]); err != nil {
			return err
		}
	}
	for _, one := range all {
		w.addTensor(one)
	}
	return nil
}

// infer creates the tensors of columns of so many rows in a dataset without tensors. back takes
// them away.
func (w *writer) infer(cols []tensor.Rows, rows int64) (back func() error, err error) {
	before := w.txn.Schema().Clone()
	back = func() error {
		version.Cut(w.txn, w.txn.Rows(), before)
		return w.renamed()
	}
	for i := range cols {
		in := cols[i].Infer()
		time := ""
		if rows == 0 && in.DType == 0 && strings.HasSuffix(strings.TrimSuffix(in.HType, "]"), "generic") {
			of := cols[i].Foreign // no sample will decide it
			in.DType, time = of.Number(), of.Time()
		}
		spec := SpecOf(in, w.d.env)
		if time != "" {
			spec.DType = time
		}
		spec.Name = cols[i].Tensor
		ts, err := newTensor(spec, w.d.env.Codecs)
		var made []format.TensorSchema
		if err == nil {
			made, err = newMade(&ts, nil)
		}
		if err == nil {
			err = w.create(append([]format.TensorSchema{ts}, made...))
		}
		if err != nil {
			if again := back(); again != nil {
				err = again
			}
			return back, err
		}
	}
	return back, nil
}

// SpecOf returns the tensor of samples that were looked at, without a name.
func SpecOf(in tensor.Inferred, env *Env) TensorSpec {
	spec := TensorSpec{HType: in.HType, ClassNames: in.ClassNames, AddClasses: true}
	if in.File != nil {
		if spec.HType == "" {
			spec.HType = "generic"
		}
		if _, ok := env.Codecs.Sniff(in.File); ok {
			spec.HType = "image"
		} else if env.Containers.Of(in.File) != nil {
			spec.HType = "video"
		}
	}
	// Links to images are looked at later, when their codec is needed. A name is enough here.
	if l := in.Link; l != nil && (l.Part != nil || env.Containers.Named(path.Ext(strings.SplitN(l.URL, "?", 2)[0]))) {
		spec.HType = "video"
	}
	if in.DType != 0 {
		spec.DType = in.DType.String()
	}
	return spec
}

// unknownTensor returns the error for a name that a schema does not have.
func unknownTensor(s *format.Schema, name string) error {
	all := visible(s)
	for _, n := range all {
		if strings.HasPrefix(n, name+"/") {
			return errs.New(errs.NotFound, "%q is a group, not a tensor; its tensors begin with %q", name, name+"/")
		}
	}
	what := "the dataset has no tensors yet"
	if len(all) > 0 {
		what = fmt.Sprintf("the tensors are %s", quoted(all))
	}
	return errs.New(errs.NotFound, "there is no tensor %q; %s%s", name, what, errs.Suggest(name, all))
}

// quoted lists names for a message, the first sixteen of them.
func quoted(list []string) string {
	q := make([]string, 0, len(list))
	for i, n := range list {
		if i == 16 {
			q = append(q, fmt.Sprintf("... (%d in all)", len(list)))
			break
		}
		q = append(q, fmt.Sprintf("%q", n))
	}
	return strings.Join(q, ", ")
}
