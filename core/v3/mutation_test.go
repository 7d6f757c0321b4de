package v3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// Bounds of memory and time for a damaged dataset.
const (
	mostMemory = 256 << 20
	mostTime   = 10 * time.Second // on a machine that does much else
)

// subject is a dataset for damages, and its undamaged content.
type subject struct {
	name  string
	files files
	keys  []string // that a reader looks at
	whole *content
	kinds map[string]kind // by key of the tensor
}

// subjects reads datasets that are small.
func subjects(t testing.TB, names ...string) []*subject {
	t.Helper()
	var out []*subject
	for _, name := range names {
		s := &subject{name: name, files: fixture(t, name), kinds: map[string]kind{}}
		p, err := presented(context.Background(), disk{s.files})
		if err != nil {
			t.Fatal(err)
		}
		s.whole = readAll(context.Background(), p)
		tensors := map[string]bool{}
		for _, state := range p.loader.states {
			for _, ts := range state.tensors {
				tensors[ts.key] = true
				if ts.kind.dtype != 0 {
					s.kinds[ts.key] = ts.kind
				}
			}
		}
		for key := range s.files {
			if of := tensorOf(key); of == "" || tensors[of] {
				s.keys = append(s.keys, key)
			}
		}
		slices.Sort(s.keys)
		out = append(out, s)
	}
	return out
}

// tensorOf is the key of the tensor that a file is of; "": of none.
func tensorOf(key string) string {
	if rest, ok := strings.CutPrefix(key, "versions/"); ok {
		_, key, _ = strings.Cut(rest, "/")
	}
	for _, end := range []string{"/tensor_meta.json", "/tensor_info.json", "/chunk_set", "/commit_diff", "_index/unsharded", "/chunks/"} {
		if i := strings.LastIndex(key, end); i >= 0 {
			if key = key[:i]; end == "_index/unsharded" {
				key = key[:strings.LastIndexByte(key, '/')]
			}
			return key
		}
	}
	return ""
}

// class tells the kinds of files apart.
func class(key string) string {
	if strings.Contains(key, "/chunks/") {
		return "chunk"
	}
	key = strings.TrimSuffix(key, "/unsharded")
	return key[strings.LastIndexByte(key, '/')+1:]
}

var numbers = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?`)

// mutate damages one file of a dataset. It returns its key, the file (nil: it is deleted) and what
// was done.
func (s *subject) mutate(r *rand.Rand) (key string, data []byte, what string) {
	// Kinds of files are as likely as others, though there are few of them.
	classes := map[string][]string{}
	for _, key := range s.keys {
		classes[class(key)] = append(classes[class(key)], key)
	}
	one := classes[pick(r, slices.Sorted(maps.Keys(classes)))]
	key = pick(r, one)
	old := s.files[key]
	data = bytes.Clone(old)
	head := len(data)
	if class(key) == "chunk" && r.IntN(4) > 0 {
		if h, err := decodeHeader(data); err == nil {
			head = int(h.bytes)
		}
	}
	isJSON := strings.HasSuffix(key, ".json")
	how := r.IntN(8)
	if isJSON && r.IntN(2) == 0 {
		how = 8
	}
	switch at := r.IntN(max(1, head)); {
	case how == 0:
		return key, nil, "deleted"
	case how == 1:
		return key, data[:r.IntN(len(data)+1)], "cut"
	case how == 2:
		other := pick(r, one)
		return key, bytes.Clone(s.files[other]), "in place of it: " + other
	case how == 3:
		return key, append(data, data[:r.IntN(min(len(data), 64)+1)]...), "longer"
	case how == 8:
		if all := numbers.FindAllIndex(data, -1); len(all) > 0 {
			place, now := pick(r, all), pick(r, []string{"-1", "0", "1", "4294967296", "1152921504606846976", "9223372036854775807", "99999999999999999999", "1e300", "null", "[]", `"x"`})
			return key, slices.Concat(data[:place[0]], []byte(now), data[place[1]:]), fmt.Sprintf("number %s at %d is %s", data[place[0]:place[1]], place[0], now)
		}
		return key, []byte("null"), "null"
	case len(data) == 0:
		return key, []byte{byte(r.Uint32())}, "a byte"
	case how < 6 || len(data) < 8:
		data[at] ^= 1 << r.IntN(8)
		return key, data, fmt.Sprintf("byte %d is %#x, not %#x", at, data[at], old[at])
	default:
		word := pick(r, []string{le(0), le(1), le(1 << 31), le(1<<31 - 1), le(1<<32 - 1), le(1 << 24), le64(1 << 40), le64(1<<63 - 1)})
		n := copy(data[min(at, len(data)-4):], word)
		return key, data, fmt.Sprintf("%d bytes from %d are %x", n, at, word)
	}
}

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// damaged reads the dataset with one other file. It reports what no damage may cause.
func (s *subject) damaged(t *testing.T, key string, data []byte, what string) *content {
	f := maps.Clone(s.files)
	if f[key] = data; data == nil {
		delete(f, key)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	var got *content
	func() {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("%s, %s: %s: it panics: %v", s.name, key, what, p)
			}
		}()
		p, err := presented(context.Background(), disk{f})
		if err != nil || p == nil {
			got = &content{failed: []error{err}}
			return
		}
		var only []string
		if of := tensorOf(key); of != "" {
			only = append(only, of)
		}
		got = readAll(context.Background(), p, only...)
		// Saved views are read too.
		_ = p.List(context.Background(), format.ViewsPrefix(), "", func(storage.Object) bool { return true })
		for name := range p.views {
			if _, err := p.Get(context.Background(), format.ViewKey(name, 0)); err != nil {
				got.failed = append(got.failed, err)
			}
		}
	}()
	runtime.ReadMemStats(&after)
	if took := time.Since(begin); took > mostTime {
		t.Errorf("%s, %s: %s: it takes %s", s.name, key, what, took)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > mostMemory {
		t.Errorf("%s, %s: %s: it takes %d MB", s.name, key, what, n>>20)
	}
	if got == nil {
		return nil
	}
	for _, err := range got.failed {
		var classified *errs.Error
		if err != nil && (errs.KindOf(err) == errs.Internal || !errors.As(err, &classified)) {
			t.Errorf("%s, %s: %s: %v", s.name, key, what, err)
		}
	}
	return got
}

// parallel calls fn with the numbers below n, on all cores.
func parallel(n int, fn func(i int)) {
	var next atomic.Int64
	var g sync.WaitGroup
	for range max(2, runtime.GOMAXPROCS(0)) {
		g.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				fn(i)
			}
		})
	}
	g.Wait()
}

// TestMutations damages datasets at random, and reads all of each. No damage may panic, take much
// memory or time, or be an error of this library.
func TestMutations(t *testing.T) {
	all := subjects(t, "sequences", "unequal", "late_values", "texts", "padded_tag", "failed_extend", "missing_chunk", "links", "empty_tensors", "empty_commits",
		"tiled", "rechunked", "views", "views.outside", "labels")
	each := 300
	if testing.Short() {
		each = 20
	}
	var failed atomic.Int64
	parallel(each*len(all), func(i int) {
		s := all[i%len(all)]
		key, data, what := s.mutate(rand.New(rand.NewPCG(3, uint64(i))))
		if got := s.damaged(t, key, data, what); got != nil && len(got.failed) > len(s.whole.failed) {
			failed.Add(1)
		}
	})
	t.Logf("%d damaged datasets, %d give errors", each*len(all), failed.Load())
}

// TestTables damages headers of chunks and index files. A read gives an error or the very same
// sample: counts and sizes that contradict each other are never resolved by a guess.
func TestTables(t *testing.T) {
	all := subjects(t, "sequences", "unequal", "late_values", "texts", "tiled", "rechunked", "labels", "images", "scalars", "media", "history")
	each := 300
	if testing.Short() {
		each = 20
	}
	var failed atomic.Int64
	parallel(each*len(all), func(i int) {
		s := all[i%len(all)]
		r := rand.New(rand.NewPCG(4, uint64(i)))
		key, data, what := s.damageTable(r)
		got := s.damaged(t, key, data, what)
		if got == nil {
			return
		}
		if len(got.failed) > 0 {
			failed.Add(1)
		}
		if wrong := s.differs(got, key); wrong != "" {
			t.Errorf("%s, %s: %s: %s", s.name, key, what, wrong)
		}
	})
	t.Logf("%d damaged tables, %d give errors", each*len(all), failed.Load())
}

// damageTable changes a number, a byte or a bit of a table, or cuts one.
func (s *subject) damageTable(r *rand.Rand) (key string, data []byte, what string) {
	var heads, indexes []string
	for _, key := range s.keys {
		switch class(key) {
		case "chunk":
			heads = append(heads, key)
		case "chunks_index", "tiles_index", "sequence_index":
			if len(s.files[key]) > 0 {
				indexes = append(indexes, key)
			}
		}
	}
	isHead := r.IntN(2) == 0
	if key = pick(r, indexes); isHead {
		key = pick(r, heads)
	}
	old := s.files[key]
	data = bytes.Clone(old)
	end := len(data)
	if isHead {
		h, err := decodeHeader(data)
		if err != nil {
			return key, data, "nothing"
		}
		end = int(h.bytes)
	}
	at := r.IntN(end)
	if table := 1 + int(data[0]); r.IntN(3) > 0 && end-table >= 4 { // a whole number of the tables
		at = table + r.IntN((end-table)/4)*4
		now := pick(r, []func(v uint32) uint32{
			func(v uint32) uint32 { return v + 1 }, func(v uint32) uint32 { return v - 1 }, func(uint32) uint32 { return 0 }, func(v uint32) uint32 { return 2 * v },
			func(uint32) uint32 { return r.Uint32() }, func(uint32) uint32 { return r.Uint32N(9) },
		})
		v := uint32(data[at]) | uint32(data[at+1])<<8 | uint32(data[at+2])<<16 | uint32(data[at+3])<<24
		copy(data[at:], le(now(v)))
		return key, data, fmt.Sprintf("the number at %d is %x, not %x", at, data[at:at+4], old[at:at+4])
	}
	if !isHead && r.IntN(6) == 0 {
		return key, data[:at], fmt.Sprintf("%d bytes are left", at)
	}
	data[at] ^= 1 << r.IntN(8)
	return key, data, fmt.Sprintf("byte %d is %#x, not %#x", at, data[at], old[at])
}

// differs compares read samples with the undamaged ones; "": no sample is wrong.
func (s *subject) differs(got *content, key string) string {
	of := tensorOf(key)
	id := idOf("tensor", of)
	k := s.kinds[of]
	// Nothing tells how high an image is that stands beside a higher one. Nor does a file of GIF or
	// BMP tell whether the colors of a palette, or a fourth channel, are wanted.
	channels := k.sample == "gif" || k.sample == "bmp"
	untold := class(key) == "chunk" && (rasters[k.chunk] || channels)
	for record, rec := range got.records {
		want, had := s.whole.values[record][id]
		rows, ok := got.values[record][id]
		if ok != had {
			return fmt.Sprintf("%s has the tensor: %v, and had it: %v", record, ok, had)
		}
		if a, b := rec.Rows, s.whole.records[record].Rows; a != b && !s.trailing(key) {
			return fmt.Sprintf("%s has %d rows, not %d", record, a, b)
		}
		for row, v := range rows {
			w, known := want[row]
			switch {
			case v.err != nil:
			case !known && s.trailing(key) && v.shapes == "0":
			case !known:
				return fmt.Sprintf("row %d is made up: %s", row, v.shapes)
			case w.err != nil && !errs.Is(w.err, errs.Unsupported):
				return fmt.Sprintf("row %d is %s, and was %v", row, v.shapes, w.err)
			case untold && sameBut(v.shapes, w.shapes, channels):
			case v.bytes != w.bytes:
				return fmt.Sprintf("row %d of shapes %s is another sample than that of shapes %s", row, v.shapes, w.shapes)
			case v.shapes != w.shapes && !sameProduct(v.shapes, w.shapes):
				return fmt.Sprintf("row %d has the shapes %s, not %s", row, v.shapes, w.shapes)
			}
		}
		for row := range want {
			if _, ok := rows[row]; !ok && !(s.trailing(key) && want[row].shapes == "0") {
				return fmt.Sprintf("row %d is gone", row)
			}
		}
	}
	return ""
}

// sameBut reports whether the shape of one image differs in one axis alone: its height, or its
// channels.
func sameBut(a, b string, channels bool) bool {
	x, y := numbers.FindAllString(a, -1), numbers.FindAllString(b, -1)
	if len(x) != 4 || len(y) != 4 {
		return false
	}
	axis := 1
	if channels {
		axis = 3
	}
	y[axis] = x[axis]
	return slices.Equal(x, y)
}

// trailing reports whether an index of sequences may lose or gain empty sequences at its end: no
// other file of the tensor counts them.
func (s *subject) trailing(key string) bool { return class(key) == "sequence_index" }

// sameProduct reports whether shapes have the same number of elements each: the bytes of a sample
// do not tell such shapes apart.
func sameProduct(a, b string) bool {
	products := func(s string) (out []string) {
		for _, shape := range shapes.FindAllString(s, -1) {
			n := 1
			for _, d := range numbers.FindAllString(shape, -1) {
				axis := 0
				fmt.Sscan(d, &axis)
				n *= axis
			}
			out = append(out, fmt.Sprint(n))
		}
		return out
	}
	return slices.Equal(products(a), products(b))
}

var shapes = regexp.MustCompile(`\([^)]*\)`)
