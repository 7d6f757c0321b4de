package ingest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// entry is a member of an archive to be.
type entry struct {
	name string
	data []byte
}

func archive(t testing.TB, format tar.Format, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.data)), Mode: 0o644, Format: format}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reasons(r *Report) string {
	var b strings.Builder
	for _, s := range r.Skips {
		fmt.Fprintf(&b, "%s: %s\n", s.Path, s.Reason)
	}
	return b.String()
}

// TestShards indexes archives of every format in place: names, labels and texts, long names,
// members that are no part of a sample, large members that are not read.
func TestShards(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		format tar.Format
	}{{"ustar", tar.FormatUSTAR}, {"gnu", tar.FormatGNU}, {"pax", tar.FormatPAX}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			long := "train/" + strings.Repeat("long/", 20) + "name"
			if c.format != tar.FormatUSTAR {
				long += strings.Repeat("x", 200)
			}
			a, b, d := picture(t, 1, "jpeg"), picture(t, 2, "jpeg"), picture(t, 3, "png")
			bulk := bytes.Repeat([]byte{7}, 5<<20)
			shard := archive(t, c.format,
				entry{"x/0001.jpg", a}, entry{"x/0001.cls", []byte(" 3\n")}, entry{"x/0001.json", []byte(`{"k": 1}`)},
				entry{"x/0002.npy", []byte("not an array")}, entry{"x/0002.mp4", bulk},
				entry{long + ".JPEG", b}, entry{long + ".txt", []byte("a text")},
				entry{"x/0003.png", d}, entry{"x/0003.seg.png", d}, entry{"x/0003.cls", []byte("5")},
				entry{"README", []byte("no dot")}, entry{"x/0004.cls", []byte("1")}, entry{"x/0005.jpg", []byte("broken")},
			)
			lake.Put("s/a.tar", shard)
			lake.Put("s/b.tar", archive(t, c.format, entry{"y.jpg", b}))
			r := run(t, env, "mem://d", "lake://b/s", Options{Link: true})
			if r.Rows != 5 || r.Added != 5 || r.Classes != nil {
				t.Fatalf("report: %+v\n%s", r, reasons(r))
			}
			for _, want := range []string{"x/0002.npy: not an NPY file", "1 members .mp4", "without a name before a dot", "x/0005.jpg: not a JPEG"} {
				if !strings.Contains(reasons(r), want) {
					t.Errorf("%q is not in:\n%s", want, reasons(r))
				}
			}
			images := stored(t, env, "mem://d", "images")
			for i, want := range map[int][]byte{0: a, 1: b, 2: d, 4: b} {
				if !bytes.Equal(images[i], want) {
					t.Errorf("image %d is another", i)
				}
			}
			if images[3] != nil {
				t.Error("row 3 has a picture")
			}
			labels := stored(t, env, "mem://d", "labels")
			for i, want := range map[int]byte{0: 3, 2: 5, 3: 1} {
				if len(labels[i]) != 8 || labels[i][0] != want {
					t.Errorf("label %d = %v, want %d", i, labels[i], want)
				}
			}
			if labels[1] != nil || string(stored(t, env, "mem://d", "text")[1]) != "a text" || string(stored(t, env, "mem://d", "json")[0]) != `{"k": 1}` {
				t.Error("texts are others")
			}
			if read := lake.Bytes.Load(); read > 6<<20 {
				t.Errorf("%d bytes read", read)
			}
			if pixels := decoded(t, env, "mem://d"); len(pixels[0]) == 0 || len(pixels[2]) == 0 {
				t.Error("nothing was decoded")
			}
			if again := run(t, env, "mem://d", "lake://b/s", Options{Link: true}); again.Unchanged != 2 || again.Rows != 5 || again.Version != r.Version {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// TestLargeMembersAreNotRead: a new request leaves out the bytes of a large member.
func TestLargeMembersAreNotRead(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	var entries []entry
	a := picture(t, 1, "jpeg")
	for i := range 4 {
		entries = append(entries, entry{fmt.Sprintf("%d.mp4", i), bytes.Repeat([]byte{1}, 3<<20)}, entry{fmt.Sprintf("%d.jpg", i), a})
	}
	lake.Put("a.tar", archive(t, tar.FormatPAX, entries...))
	counted := &counting{Lake: lake}
	env.Sources["lake"] = func(context.Context, string, storage.Options) (storage.Source, error) { return counted, nil }
	r := run(t, env, "mem://d", "lake://b", Options{Link: true})
	if r.Rows != 4 || counted.read > 2<<20 {
		t.Fatalf("%d rows, %d bytes read", r.Rows, counted.read)
	}
}

// counting counts the bytes that are taken, not those that are offered.
type counting struct {
	*storagetest.Lake
	read int64
}

type countingBody struct {
	storage.Body
	c *counting
}

func (b countingBody) Read(p []byte) (int, error) {
	n, err := b.Body.Read(p)
	b.c.read += int64(n)
	return n, err
}

func (c *counting) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	b, err := c.Lake.Range(ctx, key, off, n, tag)
	if err != nil {
		return nil, err
	}
	return countingBody{b, c}, nil
}

// TestDamagedShards: samples before the damage become rows, and the report gives its offset.
func TestDamagedShards(t *testing.T) {
	t.Parallel()
	a := picture(t, 1, "jpeg")
	whole := archive(t, tar.FormatUSTAR, entry{"1.jpg", a}, entry{"2.jpg", a}, entry{"3.jpg", a}, entry{"3.cls", []byte("1")})
	member := 512 + (len(a)+511)/512*512
	flipped := bytes.Clone(whole)
	flipped[2*member+5] ^= 1
	for _, c := range []struct {
		name string
		data []byte
		rows int64
		want string
	}{
		{"cut in a picture", whole[:2*member-600], 1, "byte " + fmt.Sprint(member) + " of"},
		{"cut in a header", whole[:2*member+100], 1, "byte " + fmt.Sprint(2*member)},
		{"flipped bit in a header", flipped, 1, "byte " + fmt.Sprint(2*member)},
		{"cut before the end marks", whole[:3*member+1024], 3, "without an end mark"},
		{"cut in the end marks", whole[:3*member+1024+512], 3, ""},
		{"no archive at all", []byte("hello"), 0, "byte 0 of 5"},
		{"empty", nil, 0, "at byte 0 without an end mark"},
	} {
		env, lake := lakeEnv()
		lake.Put("a.tar", c.data)
		lake.Put("b.tar", archive(t, tar.FormatUSTAR, entry{"1.jpg", a}))
		r := run(t, env, "mem://d", "lake://b", Options{Link: true})
		if r.Rows != c.rows+1 || !strings.Contains(reasons(r), c.want) || (c.want == "") != (r.Skipped == 0) {
			t.Errorf("%s: %d rows, want %d, skipped:\n%s", c.name, r.Rows-1, c.rows, reasons(r))
		}
		if got := stored(t, env, "mem://d", "images"); int64(len(got)) != c.rows+1 || !bytes.Equal(got[len(got)-1], a) {
			t.Errorf("%s: %d images", c.name, len(got))
		}
	}
}

// TestChangedShard: the rows of a new version of an archive replace those of the old one. Reading
// rows of an older commit reports the change.
func TestChangedShard(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	shard := func(seed, n int) []byte {
		var entries []entry
		for i := range n {
			entries = append(entries, entry{fmt.Sprintf("%04d.jpg", i), picture(t, seed+i, "jpeg")})
		}
		return archive(t, tar.FormatUSTAR, entries...)
	}
	for i := range 3 {
		lake.Put(fmt.Sprintf("%d.tar", i), shard(i, 10))
	}
	run(t, env, "mem://d", "lake://b", Options{Link: true})
	lake.Put("0.tar", shard(50, 4))
	lake.Put("2.tar", shard(60, 12))
	r := run(t, env, "mem://d", "lake://b", Options{Link: true, Checkpoint: 1})
	if r.Removed != 20 || r.Added != 16 || r.Rows != 26 || r.Unchanged != 1 {
		t.Fatalf("report: %+v", r)
	}
	images := stored(t, env, "mem://d", "images")
	for i, seed := range map[int]int{0: 1, 9: 10, 10: 50, 13: 53, 14: 60, 25: 71} {
		if !bytes.Equal(images[i], picture(t, seed, "jpeg")) {
			t.Errorf("image %d is another", i)
		}
	}
	ctx := context.Background()
	d, err := dataset.Open(ctx, env, "mem://d", dataset.OpenOptions{At: "1", Storage: sourceLinks()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	col, err := v.Column("images")
	if err != nil {
		t.Fatal(err)
	}
	refs := make([]chunk.Ref, 1)
	if err := col.Resolve(ctx, []int64{0}, refs); err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	if err := col.Decode(ctx, &refs[0], make([]byte, refs[0].Size), w); !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "0.tar\": it has changed") {
		t.Errorf("a row of an archive that is no longer: %v", err)
	}
}

// TestInterruptedShardIsTakenAnew: an import that stops within an archive leaves no gap there.
func TestInterruptedShardIsTakenAnew(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	var entries []entry
	for i := range 3000 {
		entries = append(entries, entry{fmt.Sprintf("%05d.jpg", i), picture(t, i%40, "jpeg")})
	}
	lake.Put("a.tar", archive(t, tar.FormatUSTAR, entries[:2]...))
	lake.Put("b.tar", archive(t, tar.FormatUSTAR, entries...))
	j, err := Start(env, "mem://d", "lake://b", Options{Link: true})
	if err != nil {
		t.Fatal(err)
	}
	for p, _ := j.Poll(context.Background()); !p.Done && p.Rows < 600; p, _ = j.Poll(context.Background()) {
	}
	j.Cancel()
	if r, err := j.Wait(context.Background()); err == nil {
		t.Skipf("it was faster than its cancellation: %d rows", r.Rows)
	}
	r := run(t, env, "mem://d", "lake://b", Options{Link: true})
	if r.Rows != 3002 || !r.Complete {
		t.Fatalf("report: %+v", r)
	}
	if got := origins(t, env, "mem://d"); len(got) != 3002 {
		t.Fatalf("%d rows", len(got))
	}
}

// FuzzShard has archives of any bytes: no panic, no endless loop, and links that lie within the
// archive.
func FuzzShard(f *testing.F) {
	small := []byte("\xff\xd8\xff\xc0\x00\x0b\x08\x00\x10\x00\x10\x01\x01\x11\x00\xff\xda\x00\x02")
	for _, format := range []tar.Format{tar.FormatUSTAR, tar.FormatGNU, tar.FormatPAX} {
		f.Add(archive(f, format, entry{"a/1.jpg", small}, entry{"a/1.cls", []byte("1")}, entry{"a/1.txt", []byte("t")}, entry{"b.json", []byte("{}")}))
	}
	f.Add(archive(f, tar.FormatGNU, entry{strings.Repeat("n", 300) + ".jpg", small}))
	codecs := all.All()
	f.Fuzz(func(t *testing.T, data []byte) {
		im := &importer{env: &dataset.Env{Codecs: codecs}}
		r := newReread(int64(len(data)), func(off int64) (storage.Body, error) {
			return fakeBody{bytes.NewReader(data[off:])}, nil
		})
		defer r.close()
		s := newShard(im, "lake://b/a.tar", origin.Origin{Path: "a.tar", Size: int64(len(data))}, r)
		s.head = make([]byte, 512)
		s.send = func(rows []row) error {
			for i := range rows {
				for _, v := range rows[i].values {
					if l := v.Link; l != nil && (l.Offset < 512 || l.Length < 1 || l.Offset+l.Length > int64(len(data))) {
						t.Fatalf("link to %d bytes at %d of %d", l.Length, l.Offset, len(data))
					}
				}
			}
			return nil
		}
		if err := s.scan(context.Background()); err != nil && !errs.Is(err, errs.Storage) {
			t.Fatal(err)
		}
	})
}

type fakeBody struct{ io.Reader }

func (fakeBody) Close() error { return nil }
func (fakeBody) Len() int64   { return 0 }
func (fakeBody) Size() int64  { return 0 }
func (fakeBody) Tag() string  { return "" }

// TestCutShards: the report says of an archive that it ends before its end mark. Complete samples
// before the cut become rows.
func TestCutShards(t *testing.T) {
	t.Parallel()
	a := picture(t, 1, "jpeg")
	whole := archive(t, tar.FormatUSTAR, entry{"0.jpg", a}, entry{"1.jpg", a}, entry{"2.jpg", a})
	padded := (len(a) + 511) / 512 * 512
	third := 2*(512+padded) + 512 // where the bytes of the last member begin
	end := third + padded         // of the last member
	cuts := []int{third + 1, third + len(a) - 1, third + len(a), third + len(a) + 5, end - 1, end, end + 512, end + 1024, 512, 511, 1, third - 1, third - 512}
	for _, cut := range cuts {
		env, lake := lakeEnv()
		lake.Put("a.tar", whole[:cut])
		r, err := tried(t, env, "mem://d", "lake://b", Options{Link: true})
		rows := 0
		for i := range 3 {
			// The header of the next member tells that a sample is complete.
			if at := (i + 1) * (512 + padded); cut == at || cut >= min(at+512, end) {
				rows++
			}
		}
		if rows == 0 {
			if err == nil || !strings.Contains(err.Error()+reasons(r), "cut") {
				t.Errorf("cut at %d: %v, %s", cut, err, reasons(r))
			}
			continue
		}
		told := strings.Contains(reasons(r), "cut")
		if err != nil || r.Rows != int64(rows) || told != (cut < end+512) {
			t.Errorf("cut at %d of %d: %d rows, want %d; said so %v; %v\n%s", cut, len(whole), r.Rows, rows, told, err, reasons(r))
		}
	}
}

// TestTextOfShards: a text that cannot be read never drops the picture.
func TestTextOfShards(t *testing.T) {
	t.Parallel()
	utf16 := func(order string, text string) []byte {
		out := []byte(order)
		for _, c := range []byte(text) {
			if order == "\xff\xfe" {
				out = append(out, c, 0)
			} else {
				out = append(out, 0, c)
			}
		}
		return out
	}
	for _, c := range []struct {
		name, kind string
		data       []byte
		want       string // the stored text; "": none
		reason     string
	}{
		{"plain", "json", []byte(`{"score": 1}`), `{"score": 1}`, ""},
		{"BOM", "json", []byte("\xef\xbb\xbf{\"score\": 1}"), `{"score": 1}`, ""},
		{"UTF-16", "json", utf16("\xff\xfe", `{"score": 1}`), `{"score": 1}`, ""},
		{"UTF-16, high byte first", "json", utf16("\xfe\xff", `{"score": 1}`), `{"score": 1}`, ""},
		{"UTF-16, cut", "json", utf16("\xff\xfe", `{}`)[:5], "", "not UTF-8"},
		{"NaN", "json", []byte(`{"score": NaN}`), "", "JSON has no NaN"},
		{"Infinity", "json", []byte(`{"a": [1, -Infinity]}`), "", "JSON has no NaN"},
		{"cut", "json", []byte(`{"score": `), "", "not JSON"},
		{"two values", "json", []byte(`{} {}`), "", "not JSON"},
		{"empty", "json", nil, "", "not JSON"},
		{"Latin-1", "json", []byte("{\"name\": \"\xe9\"}"), "", "not UTF-8"},
		{"BOM", "txt", []byte("\xef\xbb\xbfa text"), "a text", ""},
		{"UTF-16", "txt", utf16("\xff\xfe", "a text"), "a text", ""},
		{"Latin-1", "txt", []byte("caf\xe9"), "", "not UTF-8"},
	} {
		t.Run(c.kind+" "+c.name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			a, good := picture(t, 1, "jpeg"), map[string]string{"json": "{}", "txt": "x"}[c.kind]
			lake.Put("a.tar", archive(t, tar.FormatPAX, entry{"a.jpg", a}, entry{"a." + c.kind, []byte(good)}, entry{"b.jpg", a}, entry{"b." + c.kind, c.data}))
			r := run(t, env, "mem://d", "lake://b", Options{Link: true})
			if r.Rows != 2 || stored(t, env, "mem://d", "images")[1] == nil {
				t.Fatalf("%d rows, want 2\n%s", r.Rows, reasons(r))
			}
			name := map[string]string{"json": "json", "txt": "text"}[c.kind]
			if got := string(stored(t, env, "mem://d", name)[1]); got != c.want || !strings.Contains(reasons(r), c.reason) {
				t.Errorf("stored %q, want %q; reasons %q, want %q", got, c.want, reasons(r), c.reason)
			}
		})
	}
}

// tried is run for an import that may fail; then the report is empty.
func tried(t *testing.T, env *dataset.Env, uri, source string, o Options) (*Report, error) {
	t.Helper()
	j, err := Start(env, uri, source, o)
	if err != nil {
		return &Report{}, err
	}
	defer j.Close()
	r, err := j.Wait(context.Background())
	if r == nil {
		r = &Report{}
	}
	return r, err
}
