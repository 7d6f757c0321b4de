package dataset

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
)

// lakeEnv is testEnv with a lake at lake://test.
func lakeEnv() (*Env, *storagetest.Lake) {
	env, lake := testEnv(), &storagetest.Lake{}
	env.Sources = storage.Sources{"lake": lake.Open, "file": local.OpenSource}
	return env, lake
}

// linksTo returns the options by which links below the prefixes are read.
func linksTo(prefixes ...string) (o storage.Options) {
	for _, p := range prefixes {
		o.Links = append(o.Links, storage.LinkRule{Prefix: p, Settings: &storage.Settings{}})
	}
	return o
}

// colourFile returns a file of one colour, and its pixels.
func colourFile(t *testing.T, env *Env, name string, h, w int64, colour byte) (file, pixels []byte) {
	t.Helper()
	id, _, err := env.Codecs.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	sc := must[codec.SampleCodec](t)(env.Codecs.Sample(id))
	pixels = bytes.Repeat([]byte{colour}, int(h*w*3))
	return must[[]byte](t)(sc.Encode(nil, pixels, tensor.Uint8, tensor.Shape{h, w, 3}, codec.Options{})), pixels
}

func linkRows(links ...tensor.Link) []tensor.Rows {
	r := tensor.Rows{Tensor: "images"}
	for i := range links {
		r.Samples = append(r.Samples, tensor.Sample{Form: tensor.FormLink, Link: &links[i]})
	}
	return []tensor.Rows{r}
}

// TestLinks appends links to two kinds of files and to a part of an object, beside a stored file.
// It opens the dataset again and reads them all back. The bytes stay where they are.
func TestLinks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, lake := lakeEnv()
	a, wantA := colourFile(t, env, "png", 4, 5, 10)
	b, wantB := colourFile(t, env, "jpeg", 8, 8, 200)
	lake.Put("a.png", a)
	lake.Put("dir/b.jpg", b)
	lake.Put("shard.tar", append(append([]byte("head"), a...), "tail"...))
	d := must[*Dataset](t)(Create(ctx, env, "mem://links", CreateOptions{}))
	if err := d.CreateTensor(ctx, TensorSpec{Name: "images", HType: "image.rgb", Compression: "jpeg"}); err != nil {
		t.Fatal(err)
	}
	rows := linkRows(tensor.Link{URL: "lake://test/a.png"}, tensor.Link{URL: "lake://test/dir/b.jpg"},
		tensor.Link{URL: "lake://test/shard.tar", Offset: 4, Length: int64(len(a))})
	rows[0].Samples = append(rows[0].Samples, tensor.Sample{Form: tensor.FormEncoded, Data: b}, tensor.Sample{Form: tensor.FormHole})
	if err := d.Append(ctx, rows, 5); err != nil {
		t.Fatal(err)
	}
	if rows[0].Samples[0].Link.Codec != 0 || rows[0].Samples[0].Shape != nil {
		t.Error("the caller's samples were changed")
	}
	must[any](t)(d.Commit(ctx, "links"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = must[*Dataset](t)(Open(ctx, env, "mem://links", OpenOptions{Storage: linksTo("lake://test")}))
	defer func() { _ = d.Close() }()
	before := lake.Requests.Load()
	v := must[*View](t)(d.View(ctx))
	col := must[*Column](t)(v.Column("images"))
	refs := make([]chunk.Ref, 5)
	if err := col.Resolve(ctx, []int64{0, 1, 2, 3, 4}, refs); err != nil {
		t.Fatal(err)
	}
	if n := lake.Requests.Load(); n != before {
		t.Errorf("%d requests to know shapes and sizes", n-before)
	}
	if !refs[0].Shape.Equal(tensor.Shape{4, 5, 3}) || refs[2].Stored != int64(len(a)) || refs[1].Stored != int64(len(b)) {
		t.Errorf("refs = %+v", refs)
	}
	got := readAll(t, v, "images")
	if !bytes.Equal(got[0], wantA) || !bytes.Equal(got[2], wantA) || len(got[1]) != len(wantB) || !bytes.Equal(got[1], got[3]) || got[4] != nil {
		t.Error("the pixels are others")
	}
	w := v.NewWorker()
	defer w.Close()
	file := make([]byte, refs[2].Stored)
	if err := col.Stored(ctx, &refs[2], file, w); err != nil || !bytes.Equal(file, a) {
		t.Errorf("stored bytes: %v", err)
	}
	if n := lake.Requests.Load() - before; n != 4 {
		t.Errorf("%d requests for 4 reads of links", n)
	}
}

// TestLinkedObjectChanges: a changed object is an error that names it, and never other bytes.
func TestLinkedObjectChanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, lake := lakeEnv()
	file, _ := colourFile(t, env, "png", 4, 5, 10)
	other, _ := colourFile(t, env, "png", 4, 5, 11)
	for _, c := range []struct {
		name     string
		untagged bool
		change   func()
		want     string
	}{
		{"another tag", false, func() { lake.Put("x.png", other) }, "has changed since it was linked (tag \"\\\""},
		{"gone", false, func() { lake.Remove("x.png") }, "is gone"},
		{"longer, without tags", true, func() { lake.Put("x.png", append(bytes.Clone(file), 0)) }, "has changed since it was linked"},
		{"shorter, without tags", true, func() { lake.Put("x.png", file[:10]) }, "has changed since it was linked"},
	} {
		lake.Untagged = c.untagged
		lake.Put("x.png", file)
		d := must[*Dataset](t)(Create(ctx, env, "mem://changed", CreateOptions{Overwrite: true}))
		if err := d.CreateTensor(ctx, TensorSpec{Name: "images", HType: "image", Compression: "png"}); err != nil {
			t.Fatal(err)
		}
		if err := d.Append(ctx, linkRows(tensor.Link{URL: "lake://test/x.png"}), 1); err != nil {
			t.Fatal(err)
		}
		c.change()
		v := must[*View](t)(d.View(ctx))
		col := must[*Column](t)(v.Column("images"))
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{0}, refs); err != nil {
			t.Fatal(err)
		}
		w := v.NewWorker()
		err := col.Decode(ctx, &refs[0], make([]byte, refs[0].Size), w)
		if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "lake://test/x.png") {
			t.Errorf("%s: %v", c.name, err)
		}
		w.Close()
		_ = d.Close()
	}
}

// TestLinkRefused: links that cannot be appended are refused, and append nothing.
func TestLinkRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, lake := lakeEnv()
	file, _ := colourFile(t, env, "png", 4, 5, 10)
	lake.Put("x.png", file)
	lake.Put("text", []byte("no picture"))
	lake.Put("cut", file[:20])
	d := must[*Dataset](t)(Create(ctx, env, "mem://refused", CreateOptions{}))
	defer func() { _ = d.Close() }()
	for _, spec := range []TensorSpec{{Name: "images", HType: "image.rgb"}, {Name: "x", HType: "text"}} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		tensor string
		link   tensor.Link
		want   errs.Kind
	}{
		{"missing", "images", tensor.Link{URL: "lake://test/no.png"}, errs.NotFound},
		{"no picture", "images", tensor.Link{URL: "lake://test/text"}, errs.Corrupt},
		{"cut", "images", tensor.Link{URL: "lake://test/cut"}, errs.Corrupt},
		{"no URL", "images", tensor.Link{URL: "x.png"}, errs.Invalid},
		{"a bucket", "images", tensor.Link{URL: "lake://test"}, errs.Invalid},
		{"unknown scheme", "images", tensor.Link{URL: "ftp://test/x"}, errs.Unsupported},
		{"behind the end", "images", tensor.Link{URL: "lake://test/x.png", Offset: 3, Length: int64(len(file))}, errs.Range},
		{"another tag", "images", tensor.Link{URL: "lake://test/x.png", Tag: "old"}, errs.Conflict},
		{"text", "x", tensor.Link{URL: "lake://test/x.png"}, errs.Type},
	} {
		cols := linkRows(c.link)
		cols[0].Tensor = c.tensor
		other := map[string]string{"images": "x", "x": "images"}[c.tensor]
		cols = append(cols, tensor.Rows{Tensor: other, Samples: []tensor.Sample{{Form: tensor.FormHole}}})
		if err := d.Append(ctx, cols, 1); !errs.Is(err, c.want) || !strings.Contains(err.Error(), "row 0") {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// TestLinksReachTheirOwnStore: links of an opened dataset lead only into its own store. A handle
// reads the links that its user added. Other handles must name the place.
func TestLinksReachTheirOwnStore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, lake := lakeEnv()
	file, want := colourFile(t, env, "png", 4, 5, 10)
	lake.Put("x.png", file)
	d := must[*Dataset](t)(Create(ctx, env, "mem://own", CreateOptions{}))
	if err := d.CreateTensor(ctx, TensorSpec{Name: "images", HType: "image.rgb", Compression: "png"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, linkRows(tensor.Link{URL: "lake://test/x.png"}), 1); err != nil {
		t.Fatal(err)
	}
	must[any](t)(d.Commit(ctx, "link"))
	read := func(d *Dataset) ([]byte, error) {
		v := must[*View](t)(d.View(ctx))
		col := must[*Column](t)(v.Column("images"))
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{0}, refs); err != nil {
			return nil, err
		}
		w := v.NewWorker()
		defer w.Close()
		out := make([]byte, refs[0].Size)
		return out, col.Decode(ctx, &refs[0], out, w)
	}
	if got, err := read(d); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the handle that linked it: %v", err)
	}
	past := must[*Dataset](t)(d.At(ctx, "1"))
	if got, err := read(past); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the same commit, opened from it: %v", err)
	}
	if err := past.Close(); err != nil {
		t.Fatal(err)
	}
	if about := must[Description](t)(d.Describe()); len(about.Named) != 1 || about.Named[0] != "lake://test/" {
		t.Errorf("named %q", about.Named)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	refuse := linksTo("lake://test")
	refuse.Links[0].Settings = nil
	for name, c := range map[string]struct {
		o  storage.Options
		ok bool
	}{
		"default": {storage.Options{}, false}, "named": {storage.Options{Named: []string{"lake://test/"}}, true},
		"rule": {linksTo("lake://test"), true}, "scheme": {linksTo("lake://"), true}, "another": {linksTo("lake://other", "s3://test"), false},
		"refused": {refuse, false}, "a file": {linksTo("lake://test/x.png"), true}, "a sibling": {linksTo("lake://test/x"), false},
	} {
		d := must[*Dataset](t)(Open(ctx, env, "mem://own", OpenOptions{Storage: c.o}))
		before := lake.Requests.Load()
		_, err := read(d)
		if c.ok && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !c.ok && (!errs.Is(err, errs.Denied) || !strings.Contains(err.Error(), "link_storage") || lake.Requests.Load() != before) {
			t.Errorf("%s: %v after %d requests", name, err, lake.Requests.Load()-before)
		}
		_ = d.Close()
	}
}

// TestNoSignatureIsStored: a link would give every reader of the dataset the right that it carries.
func TestNoSignatureIsStored(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, _ := lakeEnv()
	d := must[*Dataset](t)(Create(ctx, env, "mem://signed", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "images", HType: "image.rgb"}); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		"https://b.s3.amazonaws.com/x.jpg?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=hunter2",
		"https://storage.googleapis.com/b/x.jpg?X-Goog-Signature=hunter2", "https://a.blob.core.windows.net/c/x.jpg?sv=1&sig=hunter2",
		"https://cdn.example/x.jpg?Expires=1&Signature=hunter2&Key-Pair-Id=k", "https://user:hunter2@example.com/x.jpg",
	} {
		err := d.Append(ctx, linkRows(tensor.Link{URL: url}), 1)
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "link_storage") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
		done := tensor.Link{URL: url, Codec: 1, Length: 1, Size: 1} // as an import gives them
		s := tensor.Sample{Form: tensor.FormLink, Link: &done, DType: tensor.Uint8, Shape: tensor.Shape{1, 1, 3}}
		err = d.Append(ctx, []tensor.Rows{{Tensor: "images", Samples: []tensor.Sample{s}}}, 1)
		if !errs.Is(err, errs.Invalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s, complete: %v", url, err)
		}
	}
}

// TestLinkLongHead links a file with a megabyte of profile before its shape.
func TestLinkLongHead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env, lake := lakeEnv()
	file, pixels := colourFile(t, env, "jpeg", 8, 8, 77)
	var long bytes.Buffer
	long.Write(file[:2])
	for range 20 {
		fmt.Fprintf(&long, "\xff\xe2%c%c%s", 0xff, 0xff, bytes.Repeat([]byte{1}, 0xffff-2))
	}
	long.Write(file[2:])
	lake.Put("x.jpg", long.Bytes())
	d := must[*Dataset](t)(Create(ctx, env, "mem://long", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "images", HType: "image.rgb"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, linkRows(tensor.Link{URL: "lake://test/x.jpg"}), 1); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, must[*View](t)(d.View(ctx)), "images"); len(got[0]) != len(pixels) {
		t.Fatalf("%d bytes", len(got[0]))
	}
}
