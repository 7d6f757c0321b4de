package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/media"
	"deeplake/core/media/ffmpeg"
	"deeplake/core/media/matroska"
	"deeplake/core/media/mediatest"
	"deeplake/core/media/mp4"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/viz"
	"deeplake/core/viz/film"
)

// filmStore counts the bytes of chunks that are read, and damages them once that is wanted.
type filmStore struct {
	storage.Provider
	mu      sync.Mutex
	bytes   int64
	damaged bool
}

func (f *filmStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	err := f.Provider.ReadAt(ctx, key, dst, off)
	if !strings.HasPrefix(key, "data/") {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += int64(len(dst))
	if f.damaged && err == nil {
		dst[len(dst)/2] ^= 1
	}
	return err
}

// take returns the bytes that were read since the last call.
func (f *filmStore) take() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.bytes
	f.bytes = 0
	return n
}

// films is a server of a dataset with a large MP4, a WebM, and a row without a video.
type films struct {
	*fixture
	store *filmStore
	files [][]byte
	view  string
}

// largeFilm is a film of three pieces and a bit: a box that players skip makes it large.
func largeFilm(t testing.TB) []byte {
	t.Helper()
	free := make([]byte, 3*pieceBytes+12345)
	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; i+8 <= len(free); i += 8 {
		binary.LittleEndian.PutUint64(free[i:], random.Uint64())
	}
	binary.BigEndian.PutUint32(free, uint32(len(free)))
	copy(free[4:], "free")
	return append(mediatest.Fixture(t, "gop250.mp4"), free...)
}

func serveFilms(t *testing.T) *films {
	t.Helper()
	webm, err := os.ReadFile("../../media/matroska/testdata/vp9.webm")
	if err != nil {
		t.Fatal(err)
	}
	space, f := &mem.Space{}, &films{store: &filmStore{}, files: [][]byte{largeFilm(t), webm}}
	env := &dataset.Env{
		Codecs: all.All(), Writer: "test", Containers: media.Containers{mp4.File{}, matroska.File{}},
		Stores: storage.Registry{"mem": func(ctx context.Context, uri string, o storage.Options) (storage.Provider, error) {
			p, err := space.Open(ctx, uri, o)
			f.store.Provider = p
			return f.store, err
		}},
	}
	ds, err := dataset.Create(t.Context(), env, "mem://films", dataset.CreateOptions{Tensors: []dataset.TensorSpec{
		{Name: "cam/front \"1\"", HType: "video"}, {Name: "label", HType: "class_label"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	rows := tensor.Rows{Tensor: "cam/front \"1\"", Samples: []tensor.Sample{
		{Form: tensor.FormEncoded, Data: f.files[0]}, {Form: tensor.FormEncoded, Data: f.files[1]}, {Form: tensor.FormHole},
	}}
	hole := tensor.Sample{Form: tensor.FormHole}
	labels := tensor.Rows{Tensor: "label", Samples: []tensor.Sample{hole, hole, hole}}
	if err := ds.Append(t.Context(), []tensor.Rows{rows, labels}, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := ds.Commit(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	none := func() (*ffmpeg.Library, error) { return nil, errs.New(errs.Unsupported, "no FFmpeg") }
	o := Options{}
	o.Videos = film.New(none, viz.JPEG(all.All()), env.Containers).Open
	f.fixture = show(t, o, env, ds)
	var v struct {
		View   string
		Videos bool
	}
	f.call("open", map[string]string{}, &v)
	if f.view = v.View; !v.Videos {
		t.Error("the view has no videos")
	}
	return f
}

// opened is an answer of api/video.
type opened struct {
	URL, Media, Name, Codec string
	Frames                  int
	Bytes                   int64
	Width, Height           int
	Duration                float64
}

func (f *films) of(row int) map[string]any {
	return map[string]any{"view": f.view, "column": "cam/front \"1\"", "row": row}
}

func (f *films) open(row int) opened {
	f.t.Helper()
	var v opened
	f.call("video", f.of(row), &v)
	return v
}

// get requests a file as a player does: without the token.
func (f *films) get(method, url string, header http.Header) (*http.Response, []byte) {
	f.t.Helper()
	if header == nil {
		header = http.Header{}
	}
	header["Authorization"] = nil
	return f.request(method, "/"+url, "", header)
}

func TestVideoInfo(t *testing.T) {
	t.Parallel()
	f := serveFilms(t)
	for row, want := range []opened{
		{Media: "video/mp4", Name: "cam-front--1-0.mp4", Codec: "h264"},
		{Media: "video/webm", Name: "cam-front--1-1.webm", Codec: "vp9"},
	} {
		v := f.open(row)
		if v.Media != want.Media || v.Name != want.Name || v.Codec != want.Codec || v.Bytes != int64(len(f.files[row])) || v.Frames < 2 || v.Width < 8 || v.Duration <= 0 {
			t.Errorf("row %d: %+v", row, v)
		}
		if again := f.open(row); again.URL == v.URL || len(v.URL) != len("api/video/")+43 {
			t.Errorf("row %d has the addresses %q and %q", row, v.URL, again.URL)
		}
	}
	for name, c := range map[string]struct {
		change map[string]any
		status int
		kind   string
	}{
		"no video":        {map[string]any{"row": 2}, 404, "not found"},
		"behind the end":  {map[string]any{"row": 3}, 400, "range"},
		"before them":     {map[string]any{"row": -1}, 400, "range"},
		"labels":          {map[string]any{"column": "label"}, 400, "type"},
		"no tensor":       {map[string]any{"column": "../x"}, 404, "not found"},
		"no view":         {map[string]any{"view": "v99"}, 404, "not found"},
		"another field":   {map[string]any{"key": "data/1"}, 400, "invalid"},
		"a row in quotes": {map[string]any{"row": "1"}, 400, "invalid"},
	} {
		for _, call := range []string{"video", "times"} {
			body := f.of(0)
			for k, v := range c.change {
				body[k] = v
			}
			if status, why := f.refused(call, body); status != c.status || why.Kind != c.kind {
				t.Errorf("%s of %s: %d %+v, want %d %s", call, name, status, why, c.status, c.kind)
			}
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	f := serveFilms(t)
	v := f.open(0)
	for _, at := range []float64{-1e300, 0, v.Duration / 2, 1e300} {
		var got struct {
			First, Frames, Width, Height int
			Duration                     float64
			Times                        []float64
		}
		body := f.of(0)
		body["at"] = at
		f.call("times", body, &got)
		if len(got.Times) == 0 || got.First+len(got.Times) > v.Frames || !slices.IsSorted(got.Times) {
			t.Errorf("at %v: %d times from %d on, of %d frames", at, len(got.Times), got.First, v.Frames)
		}
		if got.Frames != v.Frames || got.Width != v.Width || got.Height != v.Height || got.Duration != v.Duration {
			t.Errorf("the video is %+v, want %+v", got, v)
		}
	}
	for _, at := range []any{"0", nil, []int{1}, true, json.RawMessage("1e999"), json.RawMessage("-1e999")} {
		body := f.of(0)
		body["at"] = at
		if at == nil { // no number: that of the begin
			f.call("times", body, &struct{}{})
		} else if status, why := f.refused("times", body); status != 400 || why.Kind != "invalid" {
			t.Errorf("at %v: %d %+v", at, status, why)
		}
	}
}

// TestRanges holds the bytes of each range against the file.
func TestRanges(t *testing.T) {
	t.Parallel()
	f := serveFilms(t)
	file := f.files[0]
	size := len(file)
	url := f.open(0).URL
	f.store.take()
	for name, c := range map[string]struct {
		header   http.Header
		status   int
		from, to int
	}{
		"none":               {nil, 200, 0, size},
		"open":               {http.Header{"Range": {"bytes=0-"}}, 206, 0, pieceBytes},
		"one byte":           {http.Header{"Range": {"bytes=0-0"}}, 206, 0, 1},
		"some":               {http.Header{"Range": {"bytes=70000-70999"}}, 206, 70000, 71000},
		"a piece":            {http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", pieceBytes, 2*pieceBytes-1)}}, 206, pieceBytes, 2 * pieceBytes},
		"more than a piece":  {http.Header{"Range": {"bytes=5-3000000"}}, 206, 5, 5 + pieceBytes},
		"the end":            {http.Header{"Range": {fmt.Sprintf("bytes=%d-", 3*pieceBytes)}}, 206, 3 * pieceBytes, size},
		"the last byte":      {http.Header{"Range": {fmt.Sprintf("bytes=%d-", size-1)}}, 206, size - 1, size},
		"the last seven":     {http.Header{"Range": {"bytes=-7"}}, 206, size - 7, size},
		"more than all":      {http.Header{"Range": {"bytes=-99999999999"}}, 206, 0, pieceBytes},
		"a huge end":         {http.Header{"Range": {"bytes=0-99999999999999999999999"}}, 206, 0, pieceBytes},
		"the greatest end":   {http.Header{"Range": {"bytes=1-9223372036854775807"}}, 206, 1, 1 + pieceBytes},
		"a condition":        {http.Header{"Range": {"bytes=0-0"}, "If-Range": {`"x"`}}, 200, 0, size},
		"behind the end":     {http.Header{"Range": {fmt.Sprintf("bytes=%d-", size)}}, 416, 0, 0},
		"far behind it":      {http.Header{"Range": {"bytes=99999999999999999999999-"}}, 416, 0, 0},
		"the greatest":       {http.Header{"Range": {"bytes=9223372036854775807-9223372036854775807"}}, 416, 0, 0},
		"reversed":           {http.Header{"Range": {"bytes=9-5"}}, 416, 0, 0},
		"the last none":      {http.Header{"Range": {"bytes=-0"}}, 416, 0, 0},
		"several":            {http.Header{"Range": {"bytes=0-1,5-6"}}, 416, 0, 0},
		"several headers":    {http.Header{"Range": {"bytes=0-1", "bytes=5-6"}}, 416, 0, 0},
		"nothing":            {http.Header{"Range": {""}}, 416, 0, 0},
		"no numbers":         {http.Header{"Range": {"bytes=-"}}, 416, 0, 0},
		"no end":             {http.Header{"Range": {"bytes=5"}}, 416, 0, 0},
		"letters":            {http.Header{"Range": {"bytes=a-b"}}, 416, 0, 0},
		"signs":              {http.Header{"Range": {"bytes=+1-2"}}, 416, 0, 0},
		"below zero":         {http.Header{"Range": {"bytes=-5-9"}}, 416, 0, 0},
		"spaces":             {http.Header{"Range": {"bytes= 1-2"}}, 416, 0, 0},
		"another unit":       {http.Header{"Range": {"items=0-1"}}, 416, 0, 0},
		"digits of Arabic":   {http.Header{"Range": {"bytes=٠-١"}}, 416, 0, 0},
		"a text too long":    {http.Header{"Range": {"bytes=" + strings.Repeat("0", 4000) + "-1"}}, 416, 0, 0},
		"hundreds of ranges": {http.Header{"Range": {"bytes=" + strings.Repeat("0-,", 999)}}, 416, 0, 0},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			r, body := f.get(method, url, c.header.Clone())
			read := f.store.take()
			if r.StatusCode != c.status {
				t.Errorf("%s %s: %d %.80q, want %d", method, name, r.StatusCode, body, c.status)
				continue
			}
			if c.status == 416 {
				if got := r.Header.Get("Content-Range"); got != fmt.Sprintf("bytes */%d", size) || read > 0 {
					t.Errorf("%s %s: Content-Range %q, %d bytes are read", method, name, got, read)
				}
				continue
			}
			if want := file[c.from:c.to]; method == "GET" && !bytes.Equal(body, want) || r.ContentLength != int64(len(want)) {
				t.Errorf("%s %s: %d bytes of %d, want those from %d to %d", method, name, len(body), r.ContentLength, c.from, c.to)
			}
			if got, want := r.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-%d/%d", c.from, c.to-1, size); c.status == 206 && got != want {
				t.Errorf("%s %s: Content-Range %q, want %q", method, name, got, want)
			}
			// Parts with a checksum have at most 64 KiB here, and are read as a whole.
			if most := int64(c.to-c.from) + 2*(64<<10); method == "HEAD" && read > 0 || c.status == 206 && read > most {
				t.Errorf("%s %s: %d bytes are read, want at most %d", method, name, read, most)
			}
			if r.Header.Get("Accept-Ranges") != "bytes" {
				t.Errorf("%s %s: Accept-Ranges is %q", method, name, r.Header.Get("Accept-Ranges"))
			}
		}
	}
}

// TestVideoHeaders: nothing of a file becomes part of a header, and no answer becomes a page.
func TestVideoHeaders(t *testing.T) {
	t.Parallel()
	f := serveFilms(t)
	for row, want := range map[int][2]string{
		0: {"video/mp4", `attachment; filename="cam-front--1-0.mp4"`}, 1: {"video/webm", `attachment; filename="cam-front--1-1.webm"`},
	} {
		for _, header := range []http.Header{nil, {"Range": {"bytes=0-9"}}} {
			r, _ := f.get("GET", f.open(row).URL, header)
			h := r.Header
			if h.Get("Content-Type") != want[0] || h.Get("Content-Disposition") != want[1] || h.Get("X-Content-Type-Options") != "nosniff" ||
				h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
				!strings.Contains(h.Get("Content-Security-Policy"), "media-src 'self';") || h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("row %d: %v", row, h)
			}
		}
	}
}

// TestVideoStrangers tries all ways to a file without leave.
func TestVideoStrangers(t *testing.T) {
	t.Parallel()
	f := serveFilms(t)
	v := f.open(0)
	own := "http://" + f.Address()
	for name, c := range map[string]struct {
		url    string
		header http.Header
		want   int
	}{
		"a player":              {v.URL, nil, 206},
		"same origin":           {v.URL, http.Header{"Origin": {own}, "Sec-Fetch-Site": {"same-origin"}}, 206},
		"DNS rebinding":         {v.URL, http.Header{"Host": {"evil.example"}}, 403},
		"another origin":        {v.URL, http.Header{"Origin": {"http://evil.example"}}, 403},
		"another port's origin": {v.URL, http.Header{"Origin": {"http://127.0.0.1:1"}}, 403},
		"an opaque origin":      {v.URL, http.Header{"Origin": {"null"}}, 403},
		"another site":          {v.URL, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		"a sister site":         {v.URL, http.Header{"Sec-Fetch-Site": {"same-site"}}, 403},
		"a guess":               {"api/video/" + strings.Repeat("A", 43), nil, 403},
		"a part of it":          {v.URL[:len(v.URL)-1], nil, 403},
		"the token itself":      {"api/video/" + f.token, nil, 403},
		"a path":                {"api/video/..%2f..%2fetc%2fpasswd", nil, 403},
		"none":                  {"api/video/", nil, 404},
		"more behind it":        {v.URL + "/x", nil, 404},
	} {
		if c.header == nil {
			c.header = http.Header{}
		}
		c.header["Range"] = []string{"bytes=0-9"}
		if r, body := f.get("GET", c.url, c.header); r.StatusCode != c.want {
			t.Errorf("%s: %d %.100q, want %d", name, r.StatusCode, body, c.want)
		} else if c.want != 206 && (r.Header.Get("Content-Type") != "application/json" || bytes.Contains(body, f.files[0][:8])) {
			t.Errorf("%s: %s %.100q", name, r.Header.Get("Content-Type"), body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if r, _ := f.request(method, "/"+v.URL, "{}", nil); r.StatusCode != 404 {
			t.Errorf("%s: %d", method, r.StatusCode)
		}
	}
	f.token = ""
	for _, call := range []string{"video", "times"} {
		if status, why := f.refused(call, f.of(0)); status != 403 || why.Kind != "denied" {
			t.Errorf("%s without the token: %d %+v", call, status, why)
		}
	}
}

// TestGrants: an address ends when it is not used, with the view, and when there are many.
func TestGrants(t *testing.T) {
	t.Parallel()
	f := serveFilms(t)
	status := func(url string) int {
		r, _ := f.get("HEAD", url, nil)
		return r.StatusCode
	}
	begin := time.Now()
	var passed time.Duration
	f.now = func() time.Time { return begin.Add(passed) }
	url := f.open(0).URL
	for range 3 {
		if passed += grantLife - time.Second; status(url) != 200 {
			t.Fatal("an address in use has ended")
		}
	}
	if passed += grantLife + time.Second; status(url) != 403 {
		t.Error("an address that was not used has not ended")
	}
	first, kept := f.open(0).URL, f.open(0).URL
	for range mostGrants - 1 {
		passed += time.Millisecond
		if f.open(1); status(kept) != 200 {
			t.Fatal("an address in use was forgotten")
		}
	}
	if len(f.grants.all) > mostGrants || status(first) != 403 {
		t.Errorf("%d addresses are kept; the oldest is %d", len(f.grants.all), status(first))
	}
	url = f.open(0).URL
	f.call("close", map[string]string{"view": f.view}, &struct{}{})
	if status(url) != 404 {
		t.Errorf("behind the end of the view: %d", status(url))
	}
}

// TestDamagedVideo: bytes that do not have their checksum are an error, or the end of an answer.
func TestDamagedVideo(t *testing.T) {
	t.Parallel()
	f := serveFilms(t)
	url := f.open(0).URL
	f.store.mu.Lock()
	f.store.damaged = true
	f.store.mu.Unlock()
	r, body := f.get("GET", url, http.Header{"Range": {"bytes=0-99"}})
	if r.StatusCode != 500 || !bytes.Contains(body, []byte("checksum")) || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %.200q", r.StatusCode, body)
	}
}

// TestNoVideos: a server without them says so, and its pages too.
func TestNoVideos(t *testing.T) {
	t.Parallel()
	f := serve(t, Options{})
	var v struct {
		View   string
		Videos bool
	}
	if f.call("open", map[string]string{}, &v); v.Videos {
		t.Error("the view has videos")
	}
	if status, why := f.refused("video", map[string]any{"view": v.View, "column": "x", "row": 0}); status != 400 || why.Kind != "unsupported" {
		t.Errorf("%d %+v", status, why)
	}
}
