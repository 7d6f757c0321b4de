package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/codec/all"
	"deeplake/core/codec/lz4"
	"deeplake/core/codec/zstd"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/query"
	"deeplake/core/samplecache"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/transform"
	"deeplake/core/version"
)

// liar says of every file that it holds an array of this dtype and shape, and makes the same file
// of every array: so a dataset gets a directory that its files contradict.
type liar struct {
	codec.SampleCodec
	header codec.Header
	file   []byte
}

func (l *liar) Header([]byte, codec.Channels) (codec.Header, error) { return l.header, nil }

func (l *liar) Encode(dst, _ []byte, _ tensor.DType, _ tensor.Shape, _ codec.Options) ([]byte, error) {
	return append(dst, l.file...), nil
}

// lie is one row: a file, and a false directory entry.
type lie struct {
	name   string
	file   []byte
	dtype  tensor.DType
	shape  tensor.Shape
	honest bool
	pix    []byte // of an honest one
}

// someFiles are pictures of every codec and number of channels.
func someFiles(t *testing.T) map[string][]byte {
	rng := rand.New(rand.NewPCG(7, 7))
	reg := all.All()
	files := map[string][]byte{"raw": arrayOf(tensor.Uint8, tensor.Shape{32, 48, 3}, rng).Data}
	add := func(id codec.ID, d tensor.DType, s tensor.Shape) {
		sc := must[codec.SampleCodec](t)(reg.Sample(id))
		files[fmt.Sprint(sc.Describe().Name(), " ", d, " ", s)] = must[[]byte](t)(sc.Encode(nil, arrayOf(d, s, rng).Data, d, s, codec.Options{}))
	}
	for _, c := range []int64{1, 3} {
		add(codec.JPEG, tensor.Uint8, tensor.Shape{32, 48, c})
	}
	for _, c := range []int64{1, 3, 4} {
		add(codec.PNG, tensor.Uint8, tensor.Shape{32, 48, c})
	}
	add(codec.PNG, tensor.Uint16, tensor.Shape{32, 48, 1})
	add(codec.WebP, tensor.Uint8, tensor.Shape{32, 48, 3})
	add(codec.WebP, tensor.Uint8, tensor.Shape{32, 48, 4})
	files["cmyk"] = must[[]byte](t)(os.ReadFile("../codec/testdata/cmyk.jpg"))
	return files
}

// someLies returns all combinations of files and directories for a tensor.
func someLies(t *testing.T, id codec.ID, d tensor.DType, want codec.Channels) []lie {
	reg := all.All()
	sc := must[codec.SampleCodec](t)(reg.Sample(id))
	files := someFiles(t)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []lie
	for _, name := range names {
		file := files[name]
		h, w := int64(32), int64(48)
		real, err := sc.Header(file, want)
		if err == nil {
			h, w = real.Shape[0], real.Shape[1]
		}
		for _, side := range [][2]int64{{h, w}, {w, h}, {h - 8, w}, {h + 8, w}, {h, w - 8}, {h, w + 8}, {2 * h, w / 2}, {20 * h, 20 * w}, {1, 1}} {
			for _, c := range []int64{1, 3, 4} {
				l := lie{name: name, file: file, dtype: d, shape: tensor.Shape{side[0], side[1], c}}
				if l.honest = err == nil && real.DType == d && real.Shape.Equal(l.shape); l.honest {
					dec := sc.NewDecoder()
					n := must[int64](t)(l.shape.Bytes(d))
					l.pix = make([]byte, n)
					if err := dec.Decode(l.pix, file, want); err != nil {
						t.Fatal(err)
					}
					dec.Close()
				}
				out = append(out, l)
			}
		}
	}
	return out
}

// tellLies makes a dataset of rows with these false directories.
func tellLies(t *testing.T, env *dataset.Env, uri, htype string, id codec.ID, d tensor.DType, lies []lie) {
	ctx := context.Background()
	told := &liar{}
	var samples []codec.SampleCodec
	for _, one := range []codec.ID{codec.JPEG, codec.PNG, codec.WebP} {
		l := &liar{SampleCodec: must[codec.SampleCodec](t)(env.Codecs.Sample(one))}
		if samples = append(samples, l); one == id {
			told = l
		}
	}
	lying := *env
	lying.Codecs = codec.NewRegistry([]codec.Codec{lz4.New(), zstd.New()}, samples)
	ds := must[*dataset.Dataset](t)(dataset.Create(ctx, &lying, uri, dataset.CreateOptions{}))
	defer func() { _ = ds.Close() }()
	if err := ds.CreateTensor(ctx, dataset.TensorSpec{Name: "x", HType: htype, DType: d.String(), Compression: told.Describe().Name()}); err != nil {
		t.Fatal(err)
	}
	for _, l := range lies {
		s := tensor.Sample{Form: tensor.FormEncoded, Data: l.file}
		if of, _ := env.Codecs.Sniff(l.file); of != id {
			s = tensor.Sample{Form: tensor.FormArray, DType: d, Shape: l.shape, Data: make([]byte, must[int64](t)(l.shape.Bytes(d)))}
			if id == codec.JPEG && l.shape[2] == 4 || htype == "image.rgb" && l.shape[2] != 3 || htype == "image.gray" && l.shape[2] != 1 {
				// a writer that checks shapes does not let this lie through
				s = tensor.Sample{Form: tensor.FormHole}
			}
		}
		told.header, told.file = codec.Header{DType: d, Shape: l.shape}, l.file
		err := ds.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{s}}}, 1)
		if err != nil && errs.Is(err, errs.Type) {
			err = ds.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{{Form: tensor.FormHole}}}}, 1)
		}
		if err != nil {
			t.Fatalf("%s as %s: %v", l.name, l.shape, err)
		}
	}
	_ = must[version.Committed](t)(ds.Commit(ctx, "lies"))
}

// TestDirectoryAgainstFile reads files that contradict their directories, whole, in parts, by
// queries and by loaders. Such a row is an error that names it; all other rows have the right
// pixels. `make sanitize` runs this under the address sanitizer.
func TestDirectoryAgainstFile(t *testing.T) {
	t.Parallel()
	for _, htype := range []string{"image", "image.rgb", "image.gray"} {
		for _, of := range []struct {
			id    codec.ID
			dtype tensor.DType
		}{{codec.JPEG, tensor.Uint8}, {codec.PNG, tensor.Uint8}, {codec.PNG, tensor.Uint16}, {codec.WebP, tensor.Uint8}} {
			if htype != "image" && of.dtype != tensor.Uint8 {
				continue
			}
			t.Run(fmt.Sprint(htype, of.id, of.dtype), func(t *testing.T) {
				t.Parallel()
				ctx := context.Background()
				want := map[string]codec.Channels{"image": codec.AsStored, "image.rgb": codec.RGB, "image.gray": codec.Gray}[htype]
				lies := someLies(t, of.id, of.dtype, want)
				env := testEnv()
				tellLies(t, env, "mem://lies", htype, of.id, of.dtype, lies)
				ds := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://lies", dataset.OpenOptions{ReadOnly: true}))
				defer func() { _ = ds.Close() }()
				c := &contradicted{lies: lies, env: env, view: must[*dataset.View](t)(ds.View(ctx)), want: want, dtype: of.dtype}
				c.column = must[*dataset.Column](t)(c.view.Column("x"))
				c.refs = make([]chunk.Ref, len(lies))
				rows := make([]int64, len(lies))
				for i := range rows {
					rows[i] = int64(i)
				}
				if err := c.column.Resolve(ctx, rows, c.refs); err != nil {
					t.Fatal(err)
				}
				t.Run("whole", c.whole)
				t.Run("run", c.run)
				t.Run("region", c.region)
				t.Run("query", c.query)
				t.Run("loader", c.loader)
			})
		}
	}
}

// contradicted is a dataset of lies, open.
type contradicted struct {
	lies   []lie
	env    *dataset.Env
	view   *dataset.View
	column *dataset.Column
	refs   []chunk.Ref
	want   codec.Channels
	dtype  tensor.DType
}

// holds checks the outcome of row i: an error, or pixels. Pixels are nil if other checks cover
// them.
func (c *contradicted) holds(t *testing.T, i int, pix []byte, err error, words ...string) {
	t.Helper()
	l := &c.lies[i]
	if (err == nil) != l.honest {
		t.Errorf("row %d, %s as %s: %v, want an error: %v", i, l.name, l.shape, err, !l.honest)
		return
	}
	if err == nil && pix != nil && !bytes.Equal(pix, l.pix) {
		t.Errorf("row %d, %s as %s: other pixels", i, l.name, l.shape)
	}
	for _, w := range words {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("row %d, %s as %s: %v does not say %q", i, l.name, l.shape, err, w)
		}
	}
}

func (c *contradicted) whole(t *testing.T) {
	w := c.view.NewWorker()
	defer w.Close()
	for i := range c.refs {
		r := &c.refs[i]
		if r.Hole() {
			continue
		}
		dst := make([]byte, r.Size)
		c.holds(t, i, dst, c.column.Decode(context.Background(), r, dst, w))
	}
}

func (c *contradicted) run(t *testing.T) {
	w := c.view.NewWorker()
	defer w.Close()
	var refs []*chunk.Ref
	var dst [][]byte
	var of []int
	for i := range c.refs {
		if r := &c.refs[i]; !r.Hole() {
			refs, dst, of = append(refs, r), append(dst, make([]byte, r.Size)), append(of, i)
		}
	}
	errors := make([]error, len(refs))
	c.column.Access().DecodeRun(context.Background(), refs, dst, w, func(k int, err error) { errors[k] = err })
	for k, i := range of {
		c.holds(t, i, dst[k], errors[k])
	}
}

// keeper keeps the rows of a region.
type keeper struct {
	row, rows int
	pix       []byte
}

func (k *keeper) Deliver(pix []byte, stride int) error {
	for y := range k.rows {
		k.pix = append(k.pix, pix[y*stride:][:k.row]...)
	}
	return nil
}

func (*keeper) Native() (call, arg unsafe.Pointer) { return nil, nil }

func (c *contradicted) region(t *testing.T) {
	w := c.view.NewWorker()
	defer w.Close()
	for i := range c.refs {
		r := &c.refs[i]
		if r.Hole() {
			continue
		}
		height, width, pixel := int(r.Shape[0]), int(r.Shape[1]), int(r.Shape[2])*c.dtype.Size()
		at := codec.Region{X: width / 3, Y: height / 3, Width: width - width/3, Height: height - height/3}
		k := &keeper{row: at.Width * pixel, rows: at.Height}
		var err error
		c.column.Access().DecodeROIs(context.Background(), []*chunk.Ref{r}, []codec.ROI{{Region: at, To: k}}, w, func(_ int, e error) { err = e })
		c.holds(t, i, nil, err)
		if err == nil {
			pix, _, _ := sliced(c.lies[i].pix, r.Shape, []query.Span{{Low: number(int64(at.Y))}, {Low: number(int64(at.X))}}, c.dtype.Size())
			if !bytes.Equal(pix, k.pix) {
				t.Errorf("row %d, %s: other pixels", i, c.lies[i].name)
			}
		}
	}
}

func (c *contradicted) query(t *testing.T) {
	ctx := context.Background()
	r := Of(c.view).Reader()
	defer r.Close()
	cut := []query.Span{{Low: number(0), High: number(5)}, {Low: number(-7)}}
	tables := NewTables(c.env, "", false, storage.Options{})
	defer func() { _ = tables.Close() }()
	for i := range c.refs {
		if c.refs[i].Hole() {
			continue
		}
		row := fmt.Sprintf("row %d", i)
		for _, spans := range [][]query.Span{nil, cut} {
			col, err := r.Read(ctx, 0, query.Rows{List: []int64{int64(i)}, N: 1}, query.Values, spans)
			c.holds(t, i, nil, err, row)
			if err == nil && c.lies[i].honest {
				pix, shape, _ := sliced(c.lies[i].pix, c.lies[i].shape, spans, c.dtype.Size())
				sameCell(t, col, 0, cell{data: [][]byte{pix}, shapes: []tensor.Shape{shape}}, false)
			}
		}
		if i%5 != 0 && !c.lies[i].honest || c.lies[i].shape[0] < 4 {
			continue // preparing a query takes longest here, and a slice of nothing reads nothing
		}
		for _, text := range []string{"SELECT MEAN(x) AS z FROM dataset LIMIT 1 OFFSET %d", "SELECT MAX(x[1:3, 0:2, 0]) AS z FROM dataset LIMIT 1 OFFSET %d"} {
			p, err := query.Prepare(ctx, fmt.Sprintf(text, i), Plain(c.view).Table(), tables, query.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := p.Run(ctx)
			if err == nil {
				a := must[*Result](t)(NewResult(ctx, c.env, Plain(c.view).Base(), nil, result, text))
				var b *loader.Batch
				r := loader.NewReader(a)
				if b, err = r.Read(ctx, []int64{0}, loader.ReadOptions{}); err == nil {
					b.Release()
				}
				r.Close()
			}
			c.holds(t, i, nil, err, row, `"x"`)
		}
	}
}

// honestOnes returns a dataset of the honest pictures without compression, which are read by
// another way.
func (c *contradicted) honestOnes(t *testing.T) *dataset.View {
	ctx := context.Background()
	ds := must[*dataset.Dataset](t)(dataset.Create(ctx, c.env, "mem://honest", dataset.CreateOptions{Overwrite: true}))
	t.Cleanup(func() { _ = ds.Close() })
	if err := ds.CreateTensor(ctx, dataset.TensorSpec{Name: "x", HType: "image", DType: c.dtype.String()}); err != nil {
		t.Fatal(err)
	}
	for i := range c.lies {
		s := tensor.Sample{Form: tensor.FormHole}
		if l := &c.lies[i]; l.honest {
			s = tensor.Sample{Form: tensor.FormArray, DType: l.dtype, Shape: l.shape, Data: l.pix}
		}
		if err := ds.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{s}}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	return must[*dataset.View](t)(ds.View(ctx))
}

// deliver runs epochs and returns the pixels of every delivered row, and the error of the first
// missing one.
func deliver(t *testing.T, v *dataset.View, o loader.Options, epochs int64) (rows map[int64][]byte, notes []loader.SkipNote) {
	ctx := context.Background()
	o.Collate, o.ReturnIndex, o.OnError, o.BatchSize = loader.List, true, loader.Skip, 7
	l := must[*loader.Loader](t)(loader.Open(ctx, Plain(v), o))
	defer l.Close()
	rows = map[int64][]byte{}
	for epoch := range epochs {
		e := must[*loader.Epoch](t)(l.Start(ctx, order.Pass{Epoch: epoch}))
		for {
			b, err := e.Next(ctx)
			if err != nil && !strings.Contains(err.Error(), "were skipped") { // no row is sound
				t.Fatal(err)
			}
			if b == nil {
				break
			}
			x, at := &b.Columns[0], &b.Columns[1]
			for k := range x.Count {
				if x.Null != nil && x.Null[k] {
					continue
				}
				row := int64(binary.NativeEndian.Uint64(b.Data(at)[8*k:]))
				pix := bytes.Clone(b.Item(x, k))
				if old, ok := rows[row]; ok && !bytes.Equal(old, pix) {
					t.Errorf("row %d differs in epoch %d", row, epoch)
				}
				rows[row] = pix
			}
			b.Release()
		}
		notes = append(notes, e.Stats().FirstSkips...)
		e.Close()
	}
	return rows, notes
}

func (c *contradicted) loader(t *testing.T) {
	plain := c.honestOnes(t)
	for _, o := range []struct {
		spec, name string
		options    loader.Options
		epochs     int64
		inexact    bool
	}{
		{name: "plain", epochs: 1},
		{name: "cache", options: loader.Options{Cache: samplecache.Options{Bytes: 64 << 20}}, epochs: 2},
		{name: "files", options: loader.Options{Cache: samplecache.Options{Bytes: 64 << 20, Dir: t.TempDir()}}, epochs: 2},
		{name: "crop", spec: `[{"op":"CenterCrop","size":[11,9]}]`, epochs: 1},
		{name: "resize", spec: `[{"op":"Resize","size":[20,24]}]`, epochs: 1},
		{name: "fast", spec: `[{"op":"Resize","size":[6,8],"fast":true}]`, epochs: 1, inexact: true},
		{name: "floats", spec: `[{"op":"Resize","size":[31,17]},{"op":"HorizontalFlip","p":1},{"op":"Normalize","mean":[0.4],"std":[0.2]},{"op":"CHW"}]`, epochs: 1},
		{name: "kept and cropped", spec: `[{"op":"CenterCrop","size":[11,9]}]`, options: loader.Options{Cache: samplecache.Options{Bytes: 64 << 20}}, epochs: 2},
	} {
		if o.spec != "" {
			if c.dtype != tensor.Uint8 {
				continue
			}
			var spec transform.Spec
			if err := json.Unmarshal([]byte(o.spec), &spec); err != nil {
				t.Fatal(err)
			}
			o.options.Transform = map[string]transform.Spec{"x": spec}
		}
		t.Run(o.name, func(t *testing.T) {
			got, notes := deliver(t, c.view, o.options, o.epochs)
			o.options.Cache = samplecache.Options{}
			want, _ := deliver(t, plain, o.options, 1)
			for i := range c.lies {
				pix, came := got[int64(i)]
				if came != c.lies[i].honest {
					t.Errorf("row %d, %s as %s came: %v, want %v", i, c.lies[i].name, c.lies[i].shape, came, c.lies[i].honest)
				} else if came && !o.inexact && !bytes.Equal(pix, want[int64(i)]) {
					t.Errorf("row %d, %s: other pixels", i, c.lies[i].name)
				}
			}
			if len(notes) == 0 {
				t.Error("no row was left out")
			}
			for _, n := range notes {
				if n.Tensor != "x" || c.lies[n.Row].honest || n.Error == "" {
					t.Errorf("row %d was left out: %+v", n.Row, n)
				}
			}
		})
	}
}

// tileLiar encodes an array of another shape than the one it is given.
type tileLiar struct {
	codec.SampleCodec
	lie func(s tensor.Shape) tensor.Shape
}

func (l *tileLiar) Encode(dst, pix []byte, d tensor.DType, s tensor.Shape, o codec.Options) ([]byte, error) {
	other := l.lie(s)
	n, err := other.Bytes(d)
	if err != nil {
		return dst, err
	}
	out := make([]byte, n)
	copy(out, pix)
	return l.SampleCodec.Encode(dst, out, d, other, o)
}

// TestTilesAgainstFiles reads a sample in tiles, of which the files are smaller, larger, or of
// other channels.
func TestTilesAgainstFiles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(8, 8))
	shape := tensor.Shape{1024, 1200, 3}
	for name, lie := range map[string]func(s tensor.Shape) tensor.Shape{
		"as they are":   func(s tensor.Shape) tensor.Shape { return s },
		"grey":          func(s tensor.Shape) tensor.Shape { return tensor.Shape{s[0], s[1], 1} },
		"lower":         func(s tensor.Shape) tensor.Shape { return tensor.Shape{s[0] / 2, s[1], 3} },
		"wider":         func(s tensor.Shape) tensor.Shape { return tensor.Shape{s[0], 2 * s[1], 3} },
		"on their side": func(s tensor.Shape) tensor.Shape { return tensor.Shape{s[1], s[0], 3} },
	} {
		good := name == "as they are"
		for _, id := range []codec.ID{codec.JPEG, codec.PNG} {
			t.Run(fmt.Sprint(name, id), func(t *testing.T) {
				env := testEnv()
				sc := must[codec.SampleCodec](t)(env.Codecs.Sample(id))
				lying := *env
				lying.Codecs = codec.NewRegistry(nil, []codec.SampleCodec{&tileLiar{SampleCodec: sc, lie: lie}})
				ds := must[*dataset.Dataset](t)(dataset.Create(ctx, &lying, "mem://tiles", dataset.CreateOptions{}))
				if err := ds.CreateTensor(ctx, dataset.TensorSpec{Name: "x", HType: "image", Compression: sc.Describe().Name(), ChunkBytes: 64 << 10}); err != nil {
					t.Fatal(err)
				}
				if err := ds.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{arrayOf(tensor.Uint8, shape, rng)}}}, 1); err != nil {
					t.Fatal(err)
				}
				_ = must[version.Committed](t)(ds.Commit(ctx, "tiles"))
				_ = ds.Close()
				ds = must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://tiles", dataset.OpenOptions{ReadOnly: true}))
				defer func() { _ = ds.Close() }()
				v := must[*dataset.View](t)(ds.View(ctx))
				refs := make([]chunk.Ref, 1)
				if err := must[*dataset.Column](t)(v.Column("x")).Resolve(ctx, []int64{0}, refs); err != nil || len(refs[0].Tiles) < 2 {
					t.Fatalf("%d tiles, %v", len(refs[0].Tiles), err)
				}
				r := Of(v).Reader()
				defer r.Close()
				for _, spans := range [][]query.Span{nil, {{Low: number(100), High: number(300)}, {Low: number(-200)}}} {
					_, err := r.Read(ctx, 0, query.Rows{N: 1}, query.Values, spans)
					if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "row 0") {
						t.Errorf("%s: %v, want an error with its row: %v", showSpans(spans), err, !good)
					}
				}
				for _, text := range []string{"", `[{"op":"CenterCrop","size":[50,60]}]`} {
					o := loader.Options{}
					if text != "" {
						var spec transform.Spec
						if err := json.Unmarshal([]byte(text), &spec); err != nil {
							t.Fatal(err)
						}
						o.Transform = map[string]transform.Spec{"x": spec}
					}
					if rows, notes := deliver(t, v, o, 1); (len(rows) == 1) != good || (len(notes) == 0) != good {
						t.Errorf("loader %s: %d rows, %v", text, len(rows), notes)
					}
				}
			})
		}
	}
}
