package ingest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// gzipped compresses a file.
func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCopiedShards: without links, shards with and without compression give the rows that links
// give, with every image stored byte for byte. Changed shards replace their rows.
func TestCopiedShards(t *testing.T) {
	t.Parallel()
	a, b, p := picture(t, 1, "jpeg"), picture(t, 2, "jpeg"), picture(t, 3, "png")
	gray := drawn(t, image.NewGray(image.Rect(0, 0, 7, 5)))
	first := archive(t, tar.FormatPAX, entry{"1.jpg", a}, entry{"1.cls", []byte("3")}, entry{"1.seg.png", gray}, entry{"1.v.npy", floats(1)},
		entry{"2.png", p}, entry{"2.seg.jpg", b}, entry{"3.txt", []byte("t")}, entry{"3.mp4", make([]byte, 3<<20)}, entry{"4.jpg", a[:len(a)/2]}, entry{"4.cls", []byte("5")})
	second := archive(t, tar.FormatGNU, entry{"5.jpg", b})
	for _, name := range []string{"s.tar", "s.tar.gz", "s.tgz", "S.TAR.GZ"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			pack := func(data []byte) []byte {
				if compressed(name) {
					return gzipped(t, data)
				}
				return data
			}
			lake.Put(name, pack(first))
			r := run(t, env, "mem://d", "lake://b", Options{})
			if r.Rows != 4 || r.Converted != 0 || !strings.Contains(reasons(r), "4.jpg: its beginning does not tell its shape") || !strings.Contains(reasons(r), "1 members .mp4") || r.Skipped != 2 {
				t.Fatalf("report: %+v\n%s", r, reasons(r))
			}
			for tensor, want := range map[string][][]byte{
				"images": {a, p, nil, nil}, "seg": {gray, b, nil, nil}, "v": {{0, 0, 128, 63}, nil, nil, nil}, "text": {nil, nil, []byte("t"), nil},
				"labels": {{3, 0, 0, 0, 0, 0, 0, 0}, nil, nil, {5, 0, 0, 0, 0, 0, 0, 0}},
			} {
				if got := stored(t, env, "mem://d", tensor); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
					t.Errorf("%s has other content: %d rows", tensor, len(got))
				}
			}
			if pixels := decoded(t, env, "mem://d"); len(pixels[0]) != 21*16*3 || len(pixels[1]) != 23*16*3 {
				t.Errorf("pixels have %d and %d bytes", len(pixels[0]), len(pixels[1]))
			}
			if again := run(t, env, "mem://d", "lake://b", Options{}); again.Unchanged != 1 || again.Version != r.Version {
				t.Errorf("again: %+v", again)
			}
			lake.Put(name, pack(second))
			r = run(t, env, "mem://d", "lake://b", Options{})
			if got := stored(t, env, "mem://d", "images"); r.Rows != 1 || r.Removed != 4 || r.Converted != 0 || len(got) != 1 || !bytes.Equal(got[0], b) {
				t.Errorf("a changed shard: %+v", r)
			}
		})
	}
}

// TestOptionsOfCopiedShards: options of images and classes hold for shards, too.
func TestOptionsOfCopiedShards(t *testing.T) {
	t.Parallel()
	a, p := picture(t, 1, "jpeg"), picture(t, 3, "png")
	shard := archive(t, tar.FormatPAX, entry{"1.jpg", a}, entry{"1.cls", []byte("1")}, entry{"2.png", p}, entry{"2.seg.png", p}, entry{"2.cls", []byte("ant")})
	for name, c := range map[string]struct {
		o         Options
		shapes    string
		converted int64
		verbatim  bool // the second image
		labels    string
	}{
		"auto":        {Options{}, "(16, 21, 3) (16, 23, 3)", 0, true, ""},
		"compression": {Options{Compression: "jpeg"}, "(16, 21, 3) (16, 23, 3)", 1, false, ""},
		"size":        {Options{Size: 8}, "(8, 8, 3) (8, 8, 3)", 0, false, ""},
		"classes":     {Options{Classes: []string{"ant", "bee"}}, "(16, 21, 3) (16, 23, 3)", 0, true, "10"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, root := testEnv(), t.TempDir()
			data := shard
			if c.labels == "" {
				data = archive(t, tar.FormatPAX, entry{"1.jpg", a}, entry{"2.png", p}, entry{"2.seg.png", p})
			}
			write(t, root, map[string][]byte{"in/s.tar.gz": gzipped(t, data)})
			r := run(t, env, "mem://d", root, c.o)
			if got := shapes(t, env, "mem://d", "images"); got != c.shapes || r.Converted != c.converted {
				t.Fatalf("shapes %s, want %s; %d converted, want %d\n%s", got, c.shapes, r.Converted, c.converted, reasons(r))
			}
			if got := stored(t, env, "mem://d", "images")[1]; bytes.Equal(got, p) != c.verbatim {
				t.Errorf("the image is stored byte for byte: %v, want %v", !c.verbatim, c.verbatim)
			}
			if got := stored(t, env, "mem://d", "seg")[1]; !bytes.Equal(got, p) {
				t.Error("the named image is not stored byte for byte")
			}
			if c.labels != "" {
				if got := stored(t, env, "mem://d", "labels"); fmt.Sprint(got[0][0], got[1][0]) != "1 0" {
					t.Errorf("labels are %v", got)
				}
			}
		})
	}
}

// TestLinksIntoCompressedShards leaves compressed shards out, and says how to read them.
func TestLinksIntoCompressedShards(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	shard := archive(t, tar.FormatPAX, entry{"1.jpg", picture(t, 1, "jpeg")})
	lake.Put("a.tar", shard)
	lake.Put("b.tar.gz", gzipped(t, shard))
	lake.Put("c.tgz", gzipped(t, shard))
	r := run(t, env, "mem://d", "lake://b", Options{Link: true})
	if r.Rows != 1 || r.Skipped != 2 || strings.Count(reasons(r), "leave out --link to copy them, or decompress it") != 2 {
		t.Errorf("report: %+v\n%s", r, reasons(r))
	}
}

// TestDamagedCompressedShards: rows before the damage are taken in, and the report gives its offset
// in the content. A wrong checksum is told behind all rows.
func TestDamagedCompressedShards(t *testing.T) {
	t.Parallel()
	a := picture(t, 1, "jpeg")
	plain := archive(t, tar.FormatUSTAR, entry{"1.jpg", a}, entry{"2.jpg", a}, entry{"3.jpg", a})
	member := 512 + (len(a)+511)/512*512
	whole := gzipped(t, plain)
	flipped := bytes.Clone(whole)
	flipped[len(whole)-6] ^= 1
	// Members of gzip that end where the tar archive goes on.
	parts := slices.Concat(gzipped(t, plain[:2*member]), gzipped(t, plain[2*member:]))
	for _, c := range []struct {
		name string
		data []byte
		rows int64
		want string
	}{
		{"whole", whole, 3, ""},
		{"parts", parts, 3, ""},
		{"cut between parts", gzipped(t, plain[:2*member]), 2, "without an end mark"},
		{"cut in the second part", parts[:len(gzipped(t, plain[:2*member]))+40], 1, "at byte " + fmt.Sprint(2*member) + " of its decompressed content"},
		{"cut in the padding", gzipped(t, plain[:3*member-5]), 2, "5 bytes behind the last member are missing"},
		{"cut in the checksum", whole[:len(whole)-4], 3, "unexpected EOF"},
		{"other checksum", flipped, 3, "checksum"},
		{"garbage behind", append(bytes.Clone(whole), "garbage"...), 3, "cut or damaged"},
		{"not compressed", plain, 0, "at byte 0 of its decompressed content"},
		{"no tar", gzipped(t, []byte("hello")), 0, "at byte 0"},
		{"empty", nil, 0, "at byte 0"},
		{"empty content", gzipped(t, nil), 0, "without an end mark"},
	} {
		env, lake := lakeEnv()
		lake.Put("a.tar.gz", c.data)
		lake.Put("b.tar", archive(t, tar.FormatUSTAR, entry{"1.jpg", a}))
		r := run(t, env, "mem://d", "lake://b", Options{})
		if r.Rows != c.rows+1 || !strings.Contains(reasons(r), c.want) || (c.want == "") != (r.Skipped == 0) {
			t.Errorf("%s: %d rows, want %d, skipped:\n%s", c.name, r.Rows-1, c.rows, reasons(r))
		}
	}
}

// TestCompressedBomb: members that are far larger than their archive cost no memory.
func TestCompressedBomb(t *testing.T) {
	t.Parallel()
	a := picture(t, 1, "jpeg")
	huge := append(bytes.Clone(a), make([]byte, maxSample)...)
	env, lake := lakeEnv()
	lake.Put("a.tar.gz", gzipped(t, archive(t, tar.FormatUSTAR, entry{"1.jpg", huge}, entry{"2.mp4", huge}, entry{"3.jpg", a}, entry{"3.v.npy", huge}, entry{"3.txt", huge[:maxCopied+1]})))
	r := run(t, env, "mem://d", "lake://b", Options{})
	if r.Rows != 1 || r.Skipped != 4 || strings.Count(reasons(r), "want at most") != 3 || lake.Bytes.Load() > 1<<20 {
		t.Errorf("report: %+v\n%s", r, reasons(r))
	}
}

// TestInflatedStops: content without an end stops with its context.
func TestInflatedStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	data := gzipped(t, make([]byte, 1<<20))
	r := &inflated{alive: ctx.Err, from: newReread(int64(len(data)), func(int64) (storage.Body, error) { return fakeBody{bytes.NewReader(data)}, nil })}
	defer r.close()
	if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil || r.offset() != 1000 || r.failed() != nil {
		t.Fatalf("at %d: %v, %v", r.offset(), err, r.failed())
	}
	cancel()
	if n, err := r.Read(make([]byte, 1000)); n != 0 || err == nil || r.failed() == nil {
		t.Errorf("%d bytes after the end of its context: %v, %v", n, err, r.failed())
	}
}

// TestWaitingSamplesAreBounded: the samples of an archive that wait for the writer have a bound,
// however few portions they are.
func TestWaitingSamplesAreBounded(t *testing.T) {
	t.Parallel()
	rows := []row{{values: []value{{Sample: tensor.Sample{Data: make([]byte, 60)}}}}}
	o := &object{out: make(chan []row, 3), room: newBudget(100)}
	ctx, cancel := context.WithCancel(context.Background())
	if err := o.send(ctx, rows); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := o.send(ctx, rows); err == nil || len(o.out) != 1 {
		t.Fatalf("%d portions of 60 bytes wait, want 1: %v", len(o.out), err)
	}
	o.room.give(size(<-o.out))
	if err := o.send(context.Background(), rows); err != nil || len(o.out) != 1 {
		t.Errorf("%d portions wait, want 1: %v", len(o.out), err)
	}
}

// TestInterruptedCompressedShard: an import that fails within a shard reads it again.
func TestInterruptedCompressedShard(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	var entries []entry
	for i := range 40 {
		entries = append(entries, entry{fmt.Sprintf("%05d.jpg", i), picture(t, i, "jpeg")})
	}
	lake.Put("a.tar", archive(t, tar.FormatUSTAR, entries[:3]...))
	lake.Put("b.tar.gz", gzipped(t, archive(t, tar.FormatUSTAR, entries...)))
	outage := true
	lake.Fail = func(key string, _, _ int64) error {
		if outage && key == "b.tar.gz" {
			return errs.Op("read", key).New(errs.Storage, "the network is gone")
		}
		return nil
	}
	fail(t, env, "mem://d", "lake://b", Options{Checkpoint: 1}, errs.Storage)
	outage = false
	r := run(t, env, "mem://d", "lake://b", Options{Checkpoint: 1})
	if got := origins(t, env, "mem://d"); r.Rows != 43 || r.Resumed != 3 || r.Added != 40 || len(got) != 43 || got[3] != "b.tar.gz" {
		t.Errorf("report: %+v", r)
	}
	if there, err := dataset.Exists(context.Background(), env, "mem://d", storage.Options{}); !there || err != nil {
		t.Error(err)
	}
}

// FuzzCompressedShard has compressed archives of any bytes, also ones whose content is any bytes.
func FuzzCompressedShard(f *testing.F) {
	small := []byte("\xff\xd8\xff\xc0\x00\x0b\x08\x00\x10\x00\x10\x01\x01\x11\x00\xff\xda\x00\x02")
	plain := archive(f, tar.FormatPAX, entry{"a/1.jpg", small}, entry{"a/1.v.npy", floats(1)}, entry{"b.meta.json", []byte("{}")})
	f.Add(gzipped(f, plain), false)
	f.Add(plain, true)
	env := testEnv()
	f.Fuzz(func(t *testing.T, data []byte, pack bool) {
		if pack {
			data = gzipped(t, data)
		}
		from := newReread(int64(len(data)), func(off int64) (storage.Body, error) { return fakeBody{bytes.NewReader(data[off:])}, nil })
		s := newShard(&importer{env: env}, "lake://b/a.tgz", origin.Origin{Path: "a.tgz", Size: int64(len(data))}, &inflated{from: from, alive: func() error { return nil }})
		s.size, s.packed = 1<<62, true
		s.send = func(rows []row) error {
			if n := size(rows); n > portionBytes+maxSample {
				t.Fatalf("%d bytes in one portion", n)
			}
			return nil
		}
		if err := s.scan(context.Background()); err != nil && !errs.Is(err, errs.Storage) {
			t.Fatal(err)
		}
	})
}
