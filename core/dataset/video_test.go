package dataset

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/media"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// moving is a container of the tests: a file of "MOVING", and a packet for each byte behind it.
type moving struct{}

func (moving) Name() string        { return "MOVING" }
func (moving) Is(head []byte) bool { return bytes.HasPrefix(head, []byte("MOVING")) }

func (moving) Extensions() []string    { return []string{".moving"} }
func (moving) Extension([]byte) string { return ".moving" }
func (moving) Index(ctx context.Context, r media.Reader, size int64) (*media.Video, error) {
	file := make([]byte, size)
	if err := r.ReadAt(ctx, file, 0); err != nil {
		return nil, err
	}
	v := &media.Video{Codec: "vp9", Width: 16, Height: 16, Ticks: 30, End: size - 6}
	for i := int64(6); i < size; i++ {
		if file[i] == 0xff {
			return nil, errs.New(errs.Invalid, "byte %d is damaged", i)
		}
		v.Packets = append(v.Packets, media.Packet{Offset: i, Bytes: 1, Time: i - 6, Key: file[i]%8 == 0})
	}
	return v, nil
}

// movie makes a file from a seed.
func movie(r *rand.Rand, most int) []byte {
	file := []byte("MOVING")
	for range r.IntN(most) {
		file = append(file, byte(r.IntN(255)))
	}
	return file
}

func movieSample(r *rand.Rand) tensor.Sample {
	file := movie(r, 300)
	if r.IntN(2) == 0 {
		return tensor.Sample{Form: tensor.FormEncoded, Data: file}
	}
	return tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: file}
}

// checkTables compares the table of each row with its file.
func checkTables(t *testing.T, d *Dataset, name string) {
	t.Helper()
	v := must[*View](t)(d.View(t.Context()))
	tables := must[*Column](t)(v.Column(name)).Access().Tables
	if tables != "_"+name+"_frames" {
		t.Fatalf("the tables are %q", tables)
	}
	for row := range v.Len() {
		file, raw := sampleOf(t, v, name, row), sampleOf(t, v, tables, row)
		if (file == nil) != (raw == nil) {
			t.Fatalf("row %d: the table is %v of %v", row, raw, file)
		}
		if file == nil {
			continue
		}
		table := must[*format.VideoTable](t)(format.DecodeVideo(raw.Data))
		if table.Bytes != int64(len(file.Data)) || len(table.Video.Packets) != len(file.Data)-6 {
			t.Fatalf("row %d: the table is of a file of %d bytes and %d packets, it has %d", row, table.Bytes, len(table.Video.Packets), len(file.Data))
		}
		rest := file.Data
		for i, p := range table.Parts {
			if format.CRC(rest[:p.Bytes]) != p.CRC {
				t.Fatalf("row %d: part %d has another checksum", row, i)
			}
			rest = rest[p.Bytes:]
		}
	}
}

// TestTablesFollowTheirVideos appends, updates, deletes, branches, merges, renames and rechunks at
// random, and compares each table with its file.
func TestTablesFollowTheirVideos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			ctx, r := context.Background(), rand.New(rand.NewPCG(seed, 7))
			d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://videos", CreateOptions{}))
			defer func() { _ = d.Close() }()
			try := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			try(d.CreateTensor(ctx, TensorSpec{Name: "x", HType: "video", ChunkBytes: format.MinChunkBytes}))
			column := func(n int) tensor.Rows {
				out := tensor.Rows{Tensor: "x"}
				for range n {
					one := movieSample(r)
					if r.IntN(5) == 0 {
						one = tensor.Sample{Form: tensor.FormHole}
					}
					out.Samples = append(out.Samples, one)
				}
				return out
			}
			rows := int64(0)
			for range 30 {
				switch k := r.IntN(6); {
				case k < 2 || rows < 4:
					n := 1 + r.IntN(20)
					try(d.Append(ctx, []tensor.Rows{column(n)}, int64(n)))
					rows += int64(n)
				case k == 2:
					at := slices.Compact([]int64{r.Int64N(rows), r.Int64N(rows)})
					try(d.Update(ctx, at, []tensor.Rows{column(len(at))}))
				case k == 3:
					try(d.DeleteRows(ctx, []int64{r.Int64N(rows)}))
					rows--
				case k == 4: // one piece of memory, as columns of other programs come
					texts := &tensor.Texts{DType: tensor.Bytes}
					for range 3 {
						file := movie(r, 50)
						texts.Starts = append(texts.Starts, int64(len(texts.Data)))
						texts.Data = append(texts.Data, file...)
						texts.Ends = append(texts.Ends, int64(len(texts.Data)))
					}
					try(d.Append(ctx, []tensor.Rows{{Tensor: "x", Texts: texts, Missing: []bool{false, true, false, false}}}, 4))
					rows += 4
				default:
					_, err := d.Commit(ctx, "")
					try(err)
				}
			}
			_, err := d.Commit(ctx, "")
			try(err)
			checkTables(t, d, "x")
			try(d.Checkout(ctx, "other", true))
			try(d.Update(ctx, []int64{0}, []tensor.Rows{column(1)}))
			try(d.Append(ctx, []tensor.Rows{column(2)}, 2))
			_, err = d.Commit(ctx, "")
			try(err)
			try(d.Checkout(ctx, "main", false))
			try(d.Update(ctx, []int64{0, 1}, []tensor.Rows{column(2)}))
			try(d.RenameTensor(ctx, "x", "y"))
			_, err = d.Commit(ctx, "")
			try(err)
			checkTables(t, d, "y")
			_, _, err = d.Merge(ctx, "other", version.OnConflictTheirs, "")
			try(err)
			checkTables(t, d, "y")
			_, err = d.Rechunk(ctx, RechunkOptions{})
			try(err)
			checkTables(t, d, "y")
		})
	}
}

// TestVideosAreGuarded holds that tables are hidden and change with their tensor alone, and that
// files which are no videos leave nothing behind.
func TestVideosAreGuarded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://guarded-videos", CreateOptions{}))
	defer func() { _ = d.Close() }()
	for _, bad := range []TensorSpec{
		{Name: "a", HType: "video", Compression: "zstd"}, {Name: "a", HType: "video", Compression: "jpeg"}, {Name: "a", HType: "video", DType: "uint8"},
		{Name: "a", HType: "sequence[video]"}, {Name: "a", HType: "video", Shape: tensor.Shape{3}},
	} {
		if err := d.CreateTensor(ctx, bad); !errs.Is(err, errs.Invalid) && !errs.Is(err, errs.Type) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	spec := TensorSpec{Name: "x", HType: "video"}
	for range 2 {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
		spec.ExistOK = true
	}
	whole := tensor.Sample{Form: tensor.FormText, DType: tensor.Bytes, Data: []byte("MOVING123")}
	text := func(d tensor.DType, s string) tensor.Sample {
		return tensor.Sample{Form: tensor.FormText, DType: d, Data: []byte(s)}
	}
	for want, bad := range map[errs.Kind][]tensor.Sample{
		errs.Invalid: {text(tensor.Bytes, ""), text(tensor.Bytes, "GIF89a..."), text(tensor.Bytes, "MOVING1\xff3"), {Form: tensor.FormEncoded, Data: []byte("MOVING\xff")}},
		errs.Type:    {text(tensor.String, "movie.mp4"), {Form: tensor.FormArray, DType: tensor.Uint8, Shape: tensor.Shape{3}, Data: []byte("abc")}},
	} {
		for _, s := range bad {
			if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{whole, s}}}, 2); !errs.Is(err, want) {
				t.Errorf("%.20q: got %v, want %v", s.Data, err, want)
			}
		}
	}
	if n := must[Description](t)(d.Describe()).Rows; n != 0 {
		t.Fatalf("%d rows are left behind", n)
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{whole}}, {Tensor: "_x_frames", Samples: []tensor.Sample{whole}}}, 1); !errs.Is(err, errs.Invalid) {
		t.Errorf("an append to the tables: %v", err)
	}
	if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{whole}}}, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v := must[*View](t)(d.View(ctx))
	if got := v.snap.Record.Features; !slices.Equal(got, []string{format.FeatureVideos}) || !slices.Equal(v.Names(), []string{"x"}) {
		t.Errorf("the record has features %v, the view tensors %v", got, v.Names())
	}
	for verb, err := range map[string]error{"deleting": d.DeleteTensor(ctx, "_x_frames"), "renaming": d.RenameTensor(ctx, "_x_frames", "z")} {
		if !errs.Is(err, errs.Invalid) {
			t.Errorf("%s the tables: %v", verb, err)
		}
	}
	if err := d.DeleteTensor(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	if v = must[*View](t)(d.View(ctx)); len(v.snap.Schema.Tensors) != 0 {
		t.Errorf("behind the end: %+v", v.snap.Schema.Tensors)
	}
}

// TestPartsOfAVideo reads parts of a stored file by their places, and tests how files are divided.
func TestPartsOfAVideo(t *testing.T) {
	t.Parallel()
	ctx, r := context.Background(), rand.New(rand.NewPCG(1, 2))
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://parts", CreateOptions{Tensors: []TensorSpec{{Name: "x", HType: "video"}}}))
	defer func() { _ = d.Close() }()
	files := [][]byte{movie(r, 10), append(movie(r, 1), bytes.Repeat([]byte{1}, 300_000)...), append(movie(r, 1), bytes.Repeat([]byte{8}, 100_000)...)}
	for _, f := range files {
		if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: []tensor.Sample{{Form: tensor.FormEncoded, Data: f}}}}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	v := must[*View](t)(d.View(ctx))
	refs := make([]chunk.Ref, len(files))
	if err := must[*Column](t)(v.Column("x")).Resolve(ctx, []int64{0, 1, 2}, refs); err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		for range 50 {
			off := r.IntN(len(f))
			n := 1 + r.IntN(len(f)-off)
			got := make([]byte, n)
			if err := must[chunk.Span](t)(refs[i].Part(int64(off), int64(n))).Read(ctx, got); err != nil || !bytes.Equal(got, f[off:off+n]) {
				t.Fatalf("file %d: %d bytes at %d differ, or %v", i, n, off, err)
			}
		}
		for _, bad := range [][2]int64{{-1, 1}, {0, 0}, {0, int64(len(f)) + 1}, {int64(len(f)), 1}} {
			if _, err := refs[i].Part(bad[0], bad[1]); !errs.Is(err, errs.Internal) {
				t.Errorf("bytes %v of a file of %d: %v", bad, len(f), err)
			}
		}
	}
	var sizes [3][]int64
	for row := range files {
		table := must[*format.VideoTable](t)(format.DecodeVideo(sampleOf(t, v, "_x_frames", int64(row)).Data))
		for _, p := range table.Parts {
			sizes[row] = append(sizes[row], p.Bytes)
		}
	}
	if len(sizes[0]) != 1 || sizes[1][0] != 64<<10 || len(sizes[1]) != 300_006>>16+1 || sizes[2][0] != 16<<10 || len(sizes[2]) != 100_006>>14+1 {
		t.Errorf("the parts are %v", sizes)
	}
}
