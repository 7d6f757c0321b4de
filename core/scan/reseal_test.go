package scan

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// sealedObject is an object under map/, txn/, log/ or views/, taken apart.
type sealedObject struct {
	key     string
	kind    format.Kind
	salt    format.UUID
	payload []byte
}

// forger changes content under checksums and names, and corrects these: decoders see the change.
type forger struct {
	v       *victim
	sealed  map[string]*sealedObject
	parents map[string][]string // of a page: the keys of the objects that name it
	keys    []string            // of sealed, sorted
	chunks  []string
}

func newForger(t testing.TB, v *victim) *forger {
	t.Helper()
	f := &forger{v: v, sealed: map[string]*sealedObject{}, parents: map[string][]string{}}
	for _, key := range v.keys {
		data := v.all[key]
		switch prefix, _, _ := strings.Cut(key, "/"); prefix {
		case "map", "txn", "log", "views":
			payload, err := format.DecodeFrame(format.Kind(data[4]), data)
			if err != nil {
				t.Fatal(err)
			}
			f.sealed[key] = &sealedObject{key, format.Kind(data[4]), format.UUID(data[format.FrameSaltAt:]), payload}
			f.keys = append(f.keys, key)
		case "data":
			f.chunks = append(f.chunks, key)
		}
	}
	for _, key := range f.keys {
		raw, text := nameOf(key)
		if raw == nil {
			continue
		}
		for _, other := range f.keys {
			if p := f.sealed[other].payload; other != key && (bytes.Contains(p, raw) || bytes.Contains(p, text)) {
				f.parents[key] = append(f.parents[key], other)
			}
		}
	}
	return f
}

// nameOf returns the name of a page as it stands in other objects; nil for objects that have none.
func nameOf(key string) (raw, text []byte) {
	prefix, name, _ := strings.Cut(key, "/")
	if prefix != "map" && prefix != "txn" {
		return nil, nil
	}
	raw, _ = hex.DecodeString(name)
	return raw, []byte(name)
}

// forge replaces the payload of an object, and of every object that names it, up to the records.
func (f *forger) forge(over objects, changed map[string][]byte) {
	payloads := changed // of objects that are to be sealed again
	for len(payloads) > 0 {
		next := map[string][]byte{}
		for _, key := range slices.Sorted(maps.Keys(payloads)) {
			o := f.sealed[key]
			object, err := format.EncodeFrame(o.kind, payloads[key])
			if err != nil {
				continue
			}
			format.SetSalt(object, o.salt)
			raw, text := nameOf(key)
			if raw == nil {
				over[key] = object
				continue
			}
			name := format.ContentName(object)
			prefix, _, _ := strings.Cut(key, "/")
			over[prefix+"/"+name.String()] = object
			for _, parent := range f.parents[key] {
				p, ok := next[parent]
				if !ok {
					p = f.sealed[parent].payload
				}
				p = bytes.ReplaceAll(p, raw, name[:])
				next[parent] = bytes.ReplaceAll(p, text, []byte(name.String()))
			}
		}
		payloads = next
	}
}

// forgery returns one change of the dataset.
func (f *forger) forgery(seed uint64) (what string, over objects) {
	rng := rand.New(rand.NewPCG(seed, 5))
	over = objects{}
	if rng.IntN(4) == 0 {
		key := pick(rng, f.chunks)
		return "chunk " + key, f.chunk(rng, key)
	}
	key := pick(rng, f.keys)
	if rng.IntN(2) == 0 {
		kinds := []format.Kind{format.KindRecord, format.KindLeaf, format.KindPieces, format.KindInner, format.KindSide, format.KindBitmap, format.KindSchema, format.KindView}
		kind := kinds[rng.IntN(len(kinds))]
		if same := slices.DeleteFunc(slices.Clone(f.keys), func(k string) bool { return f.sealed[k].kind != kind }); len(same) > 0 {
			key = pick(rng, same)
		}
	}
	o := f.sealed[key]
	payload := garble(rng, o.payload)
	if o.kind == format.KindRecord || o.kind == format.KindSchema || o.kind == format.KindTxn {
		payload = garbleText(rng, o.payload)
	}
	f.forge(over, map[string][]byte{key: payload})
	return fmt.Sprintf("%s %q", o.kind, key), over
}

// chunk changes a chunk: its head, its directory, or a block under a right checksum.
func (f *forger) chunk(rng *rand.Rand, key string) objects {
	over, data := objects{}, f.v.all[key]
	tr, err := format.DecodeTrailer(data[len(data)-format.ChunkTrailerBytes:], int64(len(data)))
	if err != nil {
		return over
	}
	raw, err := tr.RawDirectory(data[tr.Offset : tr.Offset+tr.Stored])
	if err != nil {
		return over
	}
	body, dir := bytes.Clone(data[:tr.Offset]), raw
	if rng.IntN(2) == 0 {
		dir = garble(rng, raw)
	} else if d, err := format.DecodeDirectory(raw); err == nil && d.Index().Blocks() > 0 {
		at, n, _ := d.Index().BlockRange(rng.IntN(d.Index().Blocks()))
		if n > 0 {
			block := body[at : at+n]
			before := binary.LittleEndian.AppendUint32(nil, format.CRC(block))
			copy(block, garble(rng, block))
			dir = bytes.Replace(raw, before, binary.LittleEndian.AppendUint32(nil, format.CRC(block)), 1)
		}
	}
	if tail, err := format.EncodeChunkTail(tr.Offset, dir); err == nil {
		over[key] = append(body, tail...)
	}
	changed := map[string][]byte{}
	for _, k := range f.keys {
		if o := f.sealed[k]; o.kind == format.KindSide && bytes.Contains(o.payload, raw) && len(dir) == len(raw) {
			changed[k] = bytes.Replace(o.payload, raw, dir, 1)
		}
	}
	f.forge(over, changed)
	return over
}

// garble changes bytes here and there: bits, numbers at their limits, parts that are left out,
// doubled or put elsewhere.
func garble(rng *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	for range 1 + rng.IntN(3) {
		if len(out) == 0 {
			return out
		}
		at := rng.IntN(len(out))
		if rng.IntN(2) == 0 {
			at = min(at, rng.IntN(40)) // counts stand at the beginning
		}
		switch rng.IntN(7) {
		case 0:
			out[at] ^= 1 << rng.IntN(8)
		case 1:
			out[at] = []byte{0, 1, 0x7f, 0x80, 0xff}[rng.IntN(5)]
		case 2:
			n := min(1+rng.IntN(16), len(out)-at)
			out = slices.Delete(out, at, at+n)
		case 3:
			n := min(1+rng.IntN(16), len(out)-at)
			out = slices.Insert(out, at, bytes.Clone(out[at:at+n])...)
		case 4: // a large uvarint
			out = slices.Replace(out, at, at+1, binary.AppendUvarint(nil, 1<<rng.IntN(63))...)
		case 5:
			to := rng.IntN(len(out))
			out[at], out[to] = out[to], out[at]
		default:
			out = slices.Replace(out, at, at+1, binary.AppendUvarint(nil, rng.Uint64N(300))...)
		}
	}
	return out
}

// garbleText changes numbers, names and parts of JSON.
func garbleText(rng *rand.Rand, data []byte) []byte {
	digits := func(b byte) bool { return b >= '0' && b <= '9' }
	for range 50 {
		at := rng.IntN(len(data))
		switch {
		case rng.IntN(4) == 0:
			return garble(rng, data)
		case rng.IntN(4) == 0: // two strings change places
			words := bytes.Split(data, []byte(`"`))
			i, j := 1+2*rng.IntN(len(words)/2), 1+2*rng.IntN(len(words)/2)
			words[i], words[j] = words[j], words[i]
			return bytes.Join(words, []byte(`"`))
		case digits(data[at]) && at > 0 && (data[at-1] == ':' || data[at-1] == '[' || data[at-1] == ','):
			end := at
			for end < len(data) && digits(data[end]) {
				end++
			}
			numbers := []string{"0", "1", "2", "3", "255", "1024", "65536", "2147483648", "72057594037927936", "9223372036854775807", "-1", "null"}
			return slices.Concat(data[:at], []byte(numbers[rng.IntN(len(numbers))]), data[end:])
		}
	}
	return garble(rng, data)
}

// path is one way of using a dataset.
type path func(ctx context.Context, over objects) []error

// paths lists all code paths: reads, checks, collections, copies and writes.
func (f *forger) paths() []path {
	var out []path
	read := func(at string, ask func(q *questions) func(context.Context, string, *dataset.Dataset)) {
		out = append(out, func(ctx context.Context, over objects) (found []error) {
			env, _ := f.v.on(over)
			q := &questions{env: env, out: map[string]reply{}}
			q.open(ctx, at, ask(q))
			for name, r := range q.out {
				if r.err != nil {
					found = append(found, fmt.Errorf("%s: %w", name, r.err))
				}
			}
			return found
		})
	}
	type question = func(context.Context, string, *dataset.Dataset)
	for _, at := range victimRefs {
		read(at, func(q *questions) question { return q.rows })
	}
	read("", func(q *questions) question { return q.history })
	read("", func(q *questions) question { return q.saved })
	read("", func(q *questions) question { return q.query })
	read("", func(q *questions) question { return q.epoch })
	for _, change := range []func(context.Context, *dataset.Dataset) []error{
		func(ctx context.Context, d *dataset.Dataset) []error {
			_, err := d.Versions().Fsck(ctx, maintain.FsckOptions{Repair: true})
			return []error{err}
		},
		func(ctx context.Context, d *dataset.Dataset) []error {
			_, err := d.Versions().GC(ctx, maintain.GCOptions{DryRun: true})
			return []error{err}
		},
		func(ctx context.Context, d *dataset.Dataset) []error {
			_, err := d.Versions().Copy(ctx, "mem://copy", storage.Options{}, maintain.CopyOptions{History: true})
			return []error{err}
		},
		func(ctx context.Context, d *dataset.Dataset) []error {
			deleted := d.DeleteRows(ctx, []int64{0})
			_, err := d.Commit(ctx, "")
			return []error{deleted, err}
		},
		func(ctx context.Context, d *dataset.Dataset) []error {
			_, _, err := d.Merge(ctx, "try", version.OnConflictTheirs, "")
			return []error{err}
		},
		func(ctx context.Context, d *dataset.Dataset) []error {
			_, err := d.Rechunk(ctx, dataset.RechunkOptions{})
			return []error{err}
		},
	} {
		out = append(out, func(ctx context.Context, over objects) []error {
			env, _ := f.v.on(over)
			d, err := dataset.Open(ctx, env, victimURI, dataset.OpenOptions{Storage: reachLake()})
			if err != nil {
				return []error{err}
			}
			defer func() { _ = d.Close() }()
			return change(ctx, d)
		})
	}
	return out
}

// mostAllocated is the memory that all paths may take together.
const mostAllocated = 4 << 30

// suffer uses a forged dataset: no path may panic, hang or allocate memory out of proportion.
func suffer(over objects, paths []path) error {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	defer stop()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	for _, p := range paths {
		for _, err := range p(ctx, over) {
			if err != nil && (errs.KindOf(err) == errs.Internal || strings.Contains(err.Error(), "panic")) {
				return err
			}
		}
	}
	metrics.Read(sample)
	if n := sample[0].Value.Uint64() - before; n > mostAllocated {
		return fmt.Errorf("%d bytes are allocated", n)
	}
	return ctx.Err()
}

// TestForgeries damages a dataset under right checksums and names, and uses it by every path.
// DEEPLAKE_FORGERIES says how often, DEEPLAKE_SEED where to begin. With DEEPLAKE_PATHS=1 each
// forgery is used by one path, drawn by the seed: a million of them take hours, not days. Names of
// objects are random, so a seed alone does not repeat a failure: DEEPLAKE_KEEP is a folder for the
// forged datasets that fail.
func TestForgeries(t *testing.T) { // not parallel: it counts the process's allocations
	count, first, each := uint64(60), uint64(0), uint64(0)
	if testing.Short() {
		count = 15
	}
	for name, n := range map[string]*uint64{"DEEPLAKE_FORGERIES": &count, "DEEPLAKE_SEED": &first, "DEEPLAKE_PATHS": &each} {
		if s := os.Getenv(name); s != "" {
			*n = must[uint64](t)(strconv.ParseUint(s, 10, 64))
		}
	}
	names := wideNames
	if each > 0 { // a schema of 200 KB takes a third of the time
		names = 50
	}
	f := newForger(t, newVictim(t, 0, names))
	paths := f.paths()
	for seed := first; seed < first+count; seed++ {
		if each == 0 {
			f.try(t, seed, paths)
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 6))
		var selected []path
		for _, n := range rng.Perm(len(paths))[:min(each, uint64(len(paths)))] {
			selected = append(selected, paths[n])
		}
		f.try(t, seed, selected)
	}
}

func (f *forger) try(t *testing.T, seed uint64, paths []path) {
	t.Helper()
	what, over := f.forgery(seed)
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("seed %d: %s: panic: %v\n%s", seed, what, p, debug.Stack())
			f.keep(t, seed, over)
		}
	}()
	if err := suffer(over, paths); err != nil {
		t.Errorf("seed %d: %s: %v", seed, what, err)
		f.keep(t, seed, over)
	}
}

// TestRowsBeyondTheirChunk forges leaf pages, of entries and of pieces, that point behind the last
// row of a chunk.
func TestRowsBeyondTheirChunk(t *testing.T) {
	t.Parallel()
	f := newForger(t, newVictim(t, 0, 50))
	pieces := 0
	for _, key := range f.keys {
		kind := f.sealed[key].kind
		var frame []byte
		switch kind {
		case format.KindLeaf:
			l := must[format.Leaf](t)(format.DecodeLeaf(f.v.all[key]))
			for i := range l.Entries {
				if l.Entries[i].Tiles == 0 {
					l.Entries[i].First++
				}
			}
			frame = must[[]byte](t)(format.EncodeLeaf(l))
		case format.KindPieces:
			pieces++
			p := must[format.Pieces](t)(format.DecodePieces(f.v.all[key]))
			for i := range p.Items {
				p.Items[i]++
			}
			for i := range p.Chunks {
				p.Chunks[i].First++
			}
			frame = must[[]byte](t)(format.EncodePieces(p))
		default:
			continue
		}
		over := objects{}
		f.forge(over, map[string][]byte{key: must[[]byte](t)(format.DecodeFrame(kind, frame))})
		for i, use := range f.paths() {
			for _, err := range use(t.Context(), over) {
				if err != nil && errs.KindOf(err) == errs.Internal {
					t.Errorf("page %q, path %d: %v", key, i, err)
				}
			}
		}
	}
	if pieces == 0 {
		t.Error("the dataset has no page of pieces")
	}
}

// TestSequencesUnderAnotherType forges a schema that calls a tensor of sequences a plain one.
func TestSequencesUnderAnotherType(t *testing.T) {
	t.Parallel()
	f := newForger(t, newVictim(t, 0, 50))
	changed := map[string][]byte{}
	for key, o := range f.sealed {
		if o.kind == format.KindSchema || o.kind == format.KindRecord {
			if payload := sequenceType.ReplaceAll(o.payload, []byte(`"htype":"generic"`)); !bytes.Equal(payload, o.payload) {
				changed[key] = payload
			}
		}
	}
	if len(changed) == 0 {
		t.Fatal("no schema has a sequence")
	}
	over, refused := objects{}, false
	f.forge(over, changed)
	for i, use := range f.paths() {
		for _, err := range use(t.Context(), over) {
			refused = refused || err != nil && strings.Contains(err.Error(), "has sequences")
			if err != nil && errs.KindOf(err) == errs.Internal {
				t.Errorf("path %d: %v", i, err)
			}
		}
	}
	if !refused {
		t.Error("no path refuses the chunks")
	}
}

var sequenceType = regexp.MustCompile(`"htype":"sequence[^"]*"`)

// keep writes a forged dataset below the folder DEEPLAKE_KEEP.
func (f *forger) keep(t *testing.T, seed uint64, over objects) {
	t.Helper()
	folder := os.Getenv("DEEPLAKE_KEEP")
	if folder == "" {
		return
	}
	all := maps.Clone(f.v.all)
	maps.Copy(all, over)
	for key, data := range all {
		path := filepath.Join(folder, strconv.FormatUint(seed, 10), filepath.FromSlash(key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeptForgeries uses the forged datasets below the folder DEEPLAKE_KEEP by every path.
func TestKeptForgeries(t *testing.T) {
	folder := os.Getenv("DEEPLAKE_KEEP")
	if folder == "" {
		t.Skip("DEEPLAKE_KEEP names no folder")
	}
	for _, one := range must[[]os.DirEntry](t)(os.ReadDir(folder)) {
		v := newVictim(t, 0, 50)
		f := &forger{v: v}
		v.all, v.keys = objects{}, nil
		root := os.DirFS(filepath.Join(folder, one.Name()))
		if err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				v.all[path], err = fs.ReadFile(root, path)
				v.keys = append(v.keys, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(v.keys)
		for i, p := range f.paths() {
			if err := suffer(nil, []path{p}); err != nil {
				t.Errorf("%s, path %d: %v", one.Name(), i, err)
			}
		}
	}
}

// FuzzForgeries is TestForgeries for the fuzzer.
func FuzzForgeries(f *testing.F) {
	forger := newForger(f, newVictim(f, 0, wideNames))
	for seed := range uint64(8) {
		f.Add(seed)
	}
	paths := forger.paths()
	f.Fuzz(func(t *testing.T, seed uint64) { forger.try(t, seed, paths) })
}
