package viz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/media"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// shown stands for the videos of a view.
type shown struct {
	poster Poster
	times  Times
	err    error
	closed int
}

func (s *shown) Poster(_ context.Context, column string, row int64, ref *chunk.Ref, pixels int) (Poster, error) {
	if column != "film" || row != 0 || ref.Hole() || pixels != 64 {
		return Poster{}, errors.New("another sample")
	}
	return s.poster, s.err
}

func (s *shown) Times(_ context.Context, column string, row int64, at float64) (Times, error) {
	if column != "film" || row != 0 || at != 2.5 {
		return Times{}, errors.New("another time")
	}
	return s.times, s.err
}

func (s *shown) Close() { s.closed++ }

// newFilms makes a dataset of a video and a row without one, with boxes.
func newFilms(t *testing.T) (*dataset.Env, *dataset.Dataset, []byte) {
	t.Helper()
	env := &dataset.Env{
		Stores: storage.Registry{"mem": (&mem.Space{}).Open}, Codecs: all.All(), Writer: "test", Containers: media.Containers{mp4.File{}},
	}
	ds, err := dataset.Create(t.Context(), env, "mem://films", dataset.CreateOptions{Tensors: []dataset.TensorSpec{
		{Name: "film", HType: "video"}, {Name: "boxes", HType: "bbox"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	file := mediatest.Fixture(t, "gop250.mp4")
	rows := []tensor.Rows{
		{Tensor: "film", Samples: []tensor.Sample{{Form: tensor.FormEncoded, Data: file}, {Form: tensor.FormHole}}},
		{Tensor: "boxes", Samples: []tensor.Sample{array(tensor.Float32, little(make([]float32, 4)), 1, 4), {Form: tensor.FormHole}}},
	}
	if err := ds.Append(t.Context(), rows, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return env, ds, file
}

// TestVideoWithoutDecoders: what an exported page gets. A small picture is the size of the file,
// and the whole sample is the file.
func TestVideoWithoutDecoders(t *testing.T) {
	t.Parallel()
	env, ds, file := newFilms(t)
	f := serve(t, env, ds)
	v := f.open(map[string]string{})
	if film, boxes := &v.Tensors[0], &v.Tensors[1]; v.Videos || film.Draw != video || film.Role != primary || boxes.Over != "film" {
		t.Errorf("%t %+v %+v", v.Videos, film, boxes)
	}
	if status, why := f.refused("times", map[string]any{"view": v.View, "column": "film", "row": 0, "at": 0}); status != 400 || why.Kind != "unsupported" {
		t.Errorf("times without tables: %d %+v", status, why)
	}
	small := f.read(f.view, []int64{0, 1}, wanted{Name: "film", Pixels: 64})
	if r := small["film 0"]; r.Kind != kindLarge || r.Size != int64(len(file)) || len(r.body) > 0 {
		t.Errorf("a small one is %+v", r.header)
	}
	if r := small["film 1"]; r.Kind != kindMissing {
		t.Errorf("none is %+v", r.header)
	}
	if r := f.read(f.view, []int64{0}, wanted{Name: "film"})["film 0"]; r.Kind != kindFile || r.Media != "" || !bytes.Equal(r.body, file) {
		t.Errorf("the whole is %+v with %d bytes", r.header, len(r.body))
	}
}

// TestVideoRecords: the facts and the picture of a video in a record; and its end with the view.
func TestVideoRecords(t *testing.T) {
	t.Parallel()
	env, ds, _ := newFilms(t)
	v, err := ds.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, of := session.NewView(v), &shown{poster: Poster{Codec: "vp9", Height: 64, Width: 96, Frames: 48, Bytes: 1234, Seconds: 2.5, File: []byte("picture"), Media: "image/jpeg"}}
	t.Cleanup(first.Close)
	s := New(Options{Session: session.New(env), Codecs: all.All(), Dataset: ds, View: first, Videos: func(*session.View) Videos { return of }})
	f := &fixture{Service: s, t: t, ds: ds}
	opened := f.open(map[string]string{})
	if !opened.Videos {
		t.Error("the view has no videos")
	}
	read := func() record {
		t.Helper()
		return f.read(opened.View, []int64{0}, wanted{Name: "film", Pixels: 64})["film 0"]
	}
	if r := read(); r.Kind != kindVideo || r.Codec != "vp9" || r.Height != 64 || r.Width != 96 || r.Frames != 48 || r.Size != 1234 || r.Seconds != 2.5 ||
		r.Media != "image/jpeg" || string(r.body) != "picture" || r.Message != "" {
		t.Errorf("%+v %q", r.header, r.body)
	}
	of.poster.File, of.poster.Media, of.poster.Reason = nil, "", "no decoder"
	if r := read(); r.Kind != kindVideo || r.Message != "no decoder" || r.Media != "" || len(r.body) > 0 {
		t.Errorf("%+v %q", r.header, r.body)
	}
	of.err = errors.New("no table")
	if r := read(); r.Kind != kindError || r.Message != "no table" || r.Codec != "" {
		t.Errorf("%+v", r.header)
	}
	body := map[string]any{"view": opened.View, "column": "film", "row": 0, "at": 2.5}
	if status, why := f.refused("times", body); status != 500 || why.Message != "no table" {
		t.Errorf("%d %+v", status, why)
	}
	var got map[string]any
	of.err = nil
	if f.call("times", body, &got); fmt.Sprint(got) != "map[duration:0 first:0 frames:0 height:0 times:[] width:0]" {
		t.Errorf("a video without frames: %v", got)
	}
	of.times = Times{First: 3, Times: []float64{2.25, 2.5}, Frames: 9, Duration: 4, Width: 96, Height: 64}
	if f.call("times", body, &got); fmt.Sprint(got) != "map[duration:4 first:3 frames:9 height:64 times:[2.25 2.5] width:96]" {
		t.Errorf("times are %v", got)
	}
	s.Close()
	if of.closed != 1 {
		t.Errorf("the videos are closed %d times", of.closed)
	}
}
