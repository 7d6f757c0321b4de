package loader

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/order"
	"deeplake/core/read"
	"deeplake/core/samplecache"
	"deeplake/core/tensor"
	"deeplake/core/transform"
)

// The ways to make one array, or several, of the samples of a batch.
const (
	Stack = "stack" // one array; every sample must have the same shape
	// one array of the largest shape, zeros at the end of each axis, and "<name>_shape"
	Pad  = "pad"
	List = "list" // one array per row; a row without a sample is null
	// as List, for other processes: arrays of one shape lie end to end if Options.Shareable is set
	Rows = "rows"
)

// Padding is the way in which Pad fills up the samples of one tensor.
type Padding struct {
	// the number that fills, as text: "-1", "0.5", "NaN"; "": 0
	Value string `json:"value"`
	// of the first axes after padding; 0, and that of further axes: the largest in the batch
	Length []int64 `json:"length"`
	// cut off the end of a sample that exceeds Length; otherwise it is an error
	Truncate bool `json:"truncate"`
}

// The ways to deliver a tensor.
const (
	Decoded = ""      // arrays, strings
	Raw     = "bytes" // as stored: the JPEG file, the bytes of the array
)

// The ways to treat a sample that cannot be read.
const (
	Raise = "raise" // the batch is an error, and the epoch ends
	Skip  = "skip"  // the row is left out of its batch, counted and reported
	// the pixels of a damaged JPEG file are delivered as far as they can be read, and the row is
	// counted and reported; other errors are treated as by Raise
	Accept = "accept"
)

// IndexName is the column that ReturnIndex adds, ShapeSuffix ends the name of the column that Pad
// adds.
const (
	IndexName   = "_index"
	ShapeSuffix = "_shape"
)

// The defaults and bounds of Options.
const (
	DefaultPrefetch     = 2
	DefaultShuffleBytes = 512 << 20
	DefaultSlabBytes    = 256 << 20
	MaxBatchSize        = 1 << 24
	MaxWorkers          = 1024
	MaxPrefetch         = 1024
)

// Options are the wishes of a user. BatchSize must be given; the zero value of every other field is
// its default.
type Options struct {
	BatchSize int    `json:"batch_size"`
	Shuffle   string `json:"shuffle"` // Sequential, Window or Full
	Seed      uint64 `json:"seed"`
	// decode threads; 0: as many as Go runs at once
	Workers int `json:"num_workers"`
	// make each batch on one thread while Next waits for it; replaces Workers and Prefetch by 1
	OnDemand bool `json:"on_demand"`
	DropLast bool `json:"drop_last"` // the same as TailDrop
	// TailExact (also ""), TailDrop or TailPad
	Tail    string   `json:"tail"`
	Tensors []string `json:"tensors"` // nil: all of the view
	Collate string   `json:"collate"` // Stack (also "") , Pad or List
	// Tensors that differ from Collate. A sequence that it names to Stack or Pad becomes one array,
	// with an axis of its items; all others are delivered as lists of items.
	CollateOf map[string]string  `json:"collate_of"`
	Padding   map[string]Padding `json:"padding"` // of tensors that Pad is for
	Decode    map[string]string  `json:"decode"`  // tensors delivered Raw
	// batches in the making or ready; 0: 2
	Prefetch int `json:"prefetch"`
	// stored bytes of a window; 0: 512 MiB
	ShuffleBytes int64 `json:"shuffle_bytes"`
	// free memory for reuse while no batch is in use; 0: 256 MiB, more when batches need it
	SlabBytes int64 `json:"slab_bytes"`
	// memory for bytes prefetched over a network, which the next epoch reuses if all of them fit;
	// 0: two and a half windows
	FetchBytes int64 `json:"fetch_bytes"`
	blockBytes int64 // for tests: windows slide over blocks of so many bytes
	// Batches are files that other processes may map, and Loader.Memory gives more such memory.
	// Those of Rows lie end to end where their arrays have one shape, aligned to their dtype.
	Shareable bool `json:"shareable"`
	// batches that the consumer holds at once, beside the newest
	Held int `json:"held"`
	// add IndexName: the rows in the dataset
	ReturnIndex bool   `json:"return_index"`
	OnError     string `json:"on_error"` // Raise (also ""), Skip or Accept
	// record a timeline, for Loader.Trace
	Trace bool `json:"trace"`
	// rows of an epoch that Weights draw; 0: as many as there are
	Length   int64 `json:"length"`
	Distinct bool  `json:"distinct"` // draw every row once at most
	// of the rows; nil: every row comes once
	Weights   *order.Weights            `json:"-"`
	Cache     samplecache.Options       `json:"cache"`     // of decoded samples; zero: none
	Transform map[string]transform.Spec `json:"transform"` // of the pictures of a tensor
	// tensors whose image files are turned as the orientation in their Exif data says
	Upright []string `json:"apply_exif_orientation"`
	// of pictures and their annotations
	Joint []Joint `json:"together"`
	// opens the device of the batches; nil: they stay on the CPU
	Stager func() (Stager, error) `json:"-"`
	// the device may decode files by itself, to pixels that differ a little
	Inexact bool `json:"inexact"`
	// names of dtypes whose arrays stay on the CPU though others go to a device
	HostDTypes []string `json:"host_dtypes"`
}

// field is one tensor as a loader delivers it.
type field struct {
	col     read.Column
	name    string
	dtype   tensor.DType // as delivered
	collate string
	padding Padding
	fill    []byte // the element that Pad fills up with; nil: zeros
	joined  bool   // its sequences become one array each
	stored  bool   // deliver the stored bytes
	text    bool   // items vary in bytes and have no shape: string, json, bytes, or stored
	seq     bool
	encoded bool
	access  read.Access
	dense   bool     // a list whose arrays lie end to end, if they can
	runs    bool     // decode several samples at once
	staged  bool     // a device finishes the samples
	files   bool     // it may decode their files alone
	augment *augment // transforms samples before delivery; nil: none
	upright bool     // its images are turned as their Exif data says
}

// normal fills in the defaults and refuses contradictions.
func (o Options) normal() (Options, error) {
	if o.BatchSize < 1 || o.BatchSize > MaxBatchSize {
		return o, errs.New(errs.Invalid, "batch_size is %d, want 1 to %d", o.BatchSize, MaxBatchSize)
	}
	o.Collate = cmp.Or(o.Collate, Stack)
	o.OnError = cmp.Or(o.OnError, Raise)
	if o.DropLast && o.Tail == order.TailPad {
		return o, errs.New(errs.Invalid, "drop_last is true and tail is %q: the last rows cannot be dropped and filled up; choose one", o.Tail)
	}
	if o.DropLast {
		o.Tail = order.TailDrop
	}
	o.Tail = cmp.Or(o.Tail, order.TailExact)
	if err := errs.OneOf("tail", o.Tail, order.TailExact, order.TailDrop, order.TailPad); err != nil {
		return o, err
	}
	if o.OnDemand {
		o.Workers, o.Prefetch = 1, 1
	}
	o.Prefetch = cmp.Or(o.Prefetch, DefaultPrefetch)
	o.Workers = cmp.Or(o.Workers, task.Cores())
	o.ShuffleBytes = cmp.Or(o.ShuffleBytes, DefaultShuffleBytes)
	o.SlabBytes = cmp.Or(o.SlabBytes, DefaultSlabBytes)
	o.FetchBytes = cmp.Or(o.FetchBytes, min(o.ShuffleBytes, 1<<58)*5/2)
	for _, c := range []struct {
		name  string
		value int64
		most  int64
	}{
		{"num_workers", int64(o.Workers), MaxWorkers}, {"prefetch", int64(o.Prefetch), MaxPrefetch},
		{"shuffle_bytes", o.ShuffleBytes, 1 << 60}, {"slab_bytes", o.SlabBytes, 1 << 60},
		{"fetch_bytes", o.FetchBytes, 1 << 60},
	} {
		if c.value < 1 || c.value > c.most {
			return o, errs.New(errs.Invalid, "%s is %d, want 0 (the default) to %d", c.name, c.value, c.most)
		}
	}
	if err := errs.OneOf("shuffle", o.Shuffle, order.Sequential, order.Window, order.Full); err != nil {
		return o, err
	}
	if err := errs.OneOf("on_error", o.OnError, Raise, Skip, Accept); err != nil {
		return o, err
	}
	return o, errs.OneOf("collate", o.Collate, Stack, Pad, List)
}

// fields finds the tensors that o names, and the delivery of each.
func (o Options) fields(src Source) ([]field, error) {
	all := src.Names()
	names := o.Tensors
	if names == nil {
		names = all
	}
	if len(names) == 0 {
		if len(all) == 0 {
			return nil, errs.New(errs.Invalid, "the rows have no tensors to load")
		}
		return nil, errs.New(errs.Invalid, "no tensors to load; name at least one of %q", all)
	}
	for _, given := range []map[string]string{o.CollateOf, o.Decode} {
		for name := range given {
			if !slices.Contains(names, name) {
				return nil, unknown(name, names)
			}
		}
	}
	fields := make([]field, 0, len(names))
	for i, name := range names {
		if !slices.Contains(all, name) {
			return nil, unknown(name, all)
		}
		if slices.Contains(names[:i], name) {
			return nil, errs.New(errs.Invalid, "tensor %q is named twice", name)
		}
		f, err := o.field(src, name)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	if err := turnUpright(fields, o.Upright); err != nil {
		return nil, err
	}
	return fields, o.checkNames(fields, isMix(src))
}

// turnUpright marks the fields whose images are turned.
func turnUpright(fields []field, names []string) error {
	for _, name := range names {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			all := make([]string, len(fields))
			for k := range fields {
				all[k] = fields[k].name
			}
			return errs.Wrap(errs.NotFound, "apply_exif_orientation", "", unknown(name, all))
		}
		f := &fields[i]
		if h, err := tensor.ParseHType(f.access.HType); err != nil || !h.IsImage() {
			return errs.Op("apply_exif_orientation", name).New(errs.Invalid, "the tensor has htype %s; want one of images", f.access.HType)
		}
		f.upright = !f.stored && f.access.TurnUpright != nil
	}
	return nil
}

func (o Options) field(src Source, name string) (field, error) {
	col, err := src.Column(name)
	if err != nil {
		return field{}, err
	}
	collate, how := cmp.Or(o.CollateOf[name], o.Collate), o.Decode[name]
	dense := o.Shareable && collate == Rows
	if collate == Rows {
		collate = List
	}
	if err := errs.OneOf("collate", collate, Stack, Pad, List); err != nil {
		return field{}, errs.Wrap(errs.Invalid, "load tensor", name, err)
	}
	if err := errs.OneOf("decode", how, Decoded, Raw); err != nil {
		return field{}, errs.Wrap(errs.Invalid, "load tensor", name, err)
	}
	f := field{col: col, access: col.Access(), name: name, dtype: col.DType(), collate: collate, stored: how == Raw, seq: col.Sequence(), encoded: col.Encoded()}
	f.dense, f.padding = dense, o.Padding[name]
	for _, n := range f.padding.Length {
		if n < 0 || n > maxItems {
			return field{}, errs.Op("pad tensor", name).New(errs.Invalid, "a length is %d, want 1 to %d", n, int64(maxItems))
		}
	}
	if f.stored {
		f.dtype = tensor.Bytes
	} else if f.encoded || f.access.Clips {
		f.runs = f.access.DecodeRun != nil
	}
	// a dtype not decided yet is no text
	f.text = f.dtype == tensor.String || f.dtype == tensor.JSON || f.dtype == tensor.Bytes
	f.joined = f.seq && !f.text && f.collate != List && o.CollateOf[name] != ""
	if f.text && o.CollateOf[name] == Pad {
		return field{}, errs.Op("pad tensor", name).New(errs.Type, "its samples are %s, which come as a list and cannot be padded; leave it out of collate", f.dtype)
	}
	return f, nil
}

// fillAll finds the elements that fields are filled up with, once their dtypes are known.
func fillAll(fields []field) error {
	for i := range fields {
		f := &fields[i]
		if !f.padded() || f.dtype == 0 {
			continue
		}
		var err error
		if f.fill, err = f.padding.element(f.dtype); err != nil {
			return errs.Wrap(errs.Type, "pad tensor", f.name, err)
		}
	}
	return nil
}

// element returns the value that fills as one element of d, nil if it is 0.
func (p Padding) element(d tensor.DType) ([]byte, error) {
	if p.Value == "" {
		return nil, nil
	}
	data, from := make([]byte, 8), tensor.Float64
	number, err := strconv.ParseFloat(p.Value, 64)
	if err != nil {
		return nil, errs.New(errs.Invalid, "the value is %q, want a number", p.Value)
	}
	binary.NativeEndian.PutUint64(data, math.Float64bits(number))
	if whole, err := strconv.ParseInt(p.Value, 10, 64); err == nil {
		from = tensor.Int64
		binary.NativeEndian.PutUint64(data, uint64(whole))
	} else if whole, err := strconv.ParseUint(p.Value, 10, 64); err == nil {
		from = tensor.Uint64
		binary.NativeEndian.PutUint64(data, whole)
	}
	if from == tensor.Float64 && d.IsInteger() && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
		from = tensor.Int64
		binary.NativeEndian.PutUint64(data, uint64(int64(number)))
	}
	if d == tensor.Bool && (number == 0 || number == 1) {
		return []byte{byte(number)}, nil
	}
	if !d.Takes(from) {
		return nil, errs.New(errs.Type, "its dtype %s does not hold the value %s; give another value, or a transform that changes the dtype", d, p.Value)
	}
	out, bad := tensor.Convert(d, from, data)
	if bad >= 0 {
		return nil, errs.New(errs.Type, "its dtype %s does not hold the value %s; give another value, or a transform that changes the dtype", d, p.Value)
	}
	if bytes.Count(out, []byte{0}) == len(out) {
		return nil, nil
	}
	return out, nil
}

// checkNames refuses tensors with names of the loader's own columns.
func (o Options) checkNames(fields []field, mixed bool) error {
	added := map[string]string{}
	if o.ReturnIndex {
		added[IndexName] = "return_index"
		if mixed {
			added[SourceName] = "return_index"
		}
	}
	for _, f := range fields {
		if f.padded() {
			added[f.name+ShapeSuffix] = "collate=\"pad\""
		}
	}
	for _, f := range fields {
		if by, ok := added[f.name]; ok {
			return errs.New(errs.Invalid, "tensor %q has the name of the column that %s adds; leave it out by tensors=, or do without %s", f.name, by, by)
		}
	}
	return nil
}

// padded reports whether the field may come with a column of shapes.
func (f *field) padded() bool { return f.collate == Pad && !f.text && (!f.seq || f.joined) }

// needsAll reports whether every row must have a sample.
func (f *field) needsAll() bool { return f.collate != List }

func unknown(name string, names []string) error {
	return errs.New(errs.NotFound, "no tensor %q (want one of %q)%s", name, names, errs.Suggest(name, names))
}
