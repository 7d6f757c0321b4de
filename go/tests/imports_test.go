package tests

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// room is one line of the import table of ARCHITECTURE.md. A pattern "x/..." stands for x and all below it.
type room struct {
	dir     string
	why     string   // what the room owns, or must not touch: the reason for the line
	project []string // packages of this project that it may import
	modules []string // packages of other modules that it may import
	never   []string // packages of the standard library that it must not import
}

// noIO are the doors to the outside. Rooms that work on bytes alone have none of them.
var noIO = []string{"os/...", "net/...", "io/fs", "io/ioutil", "syscall", "path/filepath"}

// The rooms below dataset. They meet in chunk, version and dataset, and nowhere else.
var (
	leaves   = []string{"core/errs", "core/tensor", "core/internal/..."}
	datasets = slices.Concat(leaves, []string{
		"core/chunk", "core/decoded", "core/version", "core/format", "core/transform", "core/v3",
		"core/storage/...", "core/codec/...",
	})
	above = slices.Concat(datasets, []string{"core/dataset"})
)

var (
	lz4     = "github.com/pierrec/lz4/v4"
	zstd    = "github.com/klauspost/compress/zstd"
	roaring = "github.com/RoaringBitmap/roaring/v2/..."
	sys     = "golang.org/x/sys/..."
)

// rooms is the whole table: a package that is not in it fails the test, so that it gets a place before it gets users.
var rooms = []room{
	{dir: "core", why: "the map, in a comment"},
	{dir: "core/errs", why: "a leaf: everything may classify its errors", never: noIO},
	{dir: "core/tensor", why: "arithmetic of types and shapes; no I/O, no codecs", project: []string{"core/errs"}, never: noIO},

	{dir: "core/internal/invariant", why: "checks without meaning"},
	{dir: "core/internal/lru", why: "a cache without meaning"},
	{dir: "core/internal/slab", why: "memory without meaning", project: []string{"core/errs", "core/internal/invariant"}, modules: []string{sys}},
	{dir: "core/internal/unnamed", why: "new files, whatever is in them", modules: []string{sys}},
	{dir: "core/internal/task", why: "the only go statement", project: []string{"core/errs", "core/internal/invariant"}},

	{dir: "core/storage", why: "bytes under keys; not what they mean", project: leaves},
	{dir: "core/storage/local", why: "one provider; neither retry nor cache", project: with(leaves, "core/storage"), modules: []string{sys}},
	{dir: "core/storage/mem", why: "one provider; neither retry nor cache", project: with(leaves, "core/storage"), never: noIO},
	{dir: "core/internal/request", why: "one range request over HTTP, read into the caller's memory; no store's dialect", project: with(leaves, "core/storage"), modules: []string{"golang.org/x/net/http/httpproxy"}},
	{dir: "core/storage/s3", why: "one provider; neither retry nor cache", project: with(leaves, "core/storage"), modules: []string{"github.com/aws/aws-sdk-go-v2/...", "github.com/aws/smithy-go/..."}},
	{dir: "core/storage/gcs", why: "one provider; neither retry nor cache", project: with(leaves, "core/storage"), modules: []string{"cloud.google.com/go/storage/...", "cloud.google.com/go/auth/...", "google.golang.org/api/...", "golang.org/x/oauth2/..."}},
	{dir: "core/storage/httpstore", why: "one provider, read-only; neither retry nor cache", project: with(leaves, "core/storage")},
	{dir: "core/storage/retry", why: "one decorator; names no provider", project: with(leaves, "core/storage")},
	{dir: "core/storage/limit", why: "one decorator; names no provider", project: with(leaves, "core/storage")},
	{dir: "core/storage/cache", why: "one decorator; names no provider", project: with(leaves, "core/storage"), modules: []string{sys}},
	{dir: "core/storage/prove", why: "one decorator; names no provider", project: with(leaves, "core/storage")},
	{dir: "core/storage/all", why: "the list of providers, and what each is wrapped in", project: []string{"core/storage/...", "core/errs"}},
	{dir: "core/storage/storagetest", why: "the suite that every provider passes", project: with(leaves, "core/storage")},
	{dir: "core/storage/faultstore", why: "faults on any provider; names none", project: with(leaves, "core/storage")},

	{dir: "core/codec", why: "the contracts and ids of codecs; no storage, no chunk layout", project: leaves, never: noIO},
	{dir: "core/codec/lz4", why: "one codec", project: with(leaves, "core/codec"), modules: []string{lz4}, never: noIO},
	{dir: "core/codec/zstd", why: "one codec", project: with(leaves, "core/codec"), modules: []string{zstd}, never: noIO},
	{dir: "core/codec/jpeg", why: "one codec; libjpeg through cgo", project: with(leaves, "core/codec"), never: noIO},
	{
		dir: "core/codec/png", why: "one codec", project: with(leaves, "core/codec"),
		modules: []string{"github.com/klauspost/compress/zlib", "github.com/klauspost/compress/flate"}, never: noIO,
	},
	{
		dir: "core/codec/webp", why: "one codec", project: with(leaves, "core/codec"),
		modules: []string{"golang.org/x/image/vp8", "golang.org/x/image/vp8l"}, never: noIO,
	},
	{dir: "core/codec/all", why: "the list of codecs", project: []string{"core/codec/..."}, never: noIO},

	{dir: "core/transform", why: "pictures between decoder and batch; neither codecs nor datasets", project: leaves, never: noIO},

	// The stable numeric ids of codecs are bytes on disk, hence the one arrow from format to codec's contracts.
	{dir: "core/format", why: "every byte on disk; no I/O", project: with(leaves, "core/codec"), modules: []string{zstd, roaring}, never: noIO},
	{dir: "core/chunk", why: "samples in and out of chunks; neither versions nor datasets", project: with(leaves, "core/storage", "core/codec", "core/format"), never: noIO},
	{dir: "core/array", why: "columns of values and what is computed from them; no query, no dataset", project: leaves, never: noIO},
	{dir: "core/query", why: "the language and its engine; neither stores nor datasets", project: with(leaves, "core/array"), never: noIO},
	{dir: "core/ahead", why: "bytes before they are needed; neither rows nor codecs", project: with(leaves, "core/chunk"), never: noIO},
	{dir: "core/decoded", why: "decoded samples between epochs; neither versions nor datasets, decodes nothing", project: with(leaves, "core/chunk", "core/format")},
	{dir: "core/version", why: "commits; neither samples nor codecs", project: with(leaves, "core/storage", "core/format"), modules: []string{roaring}, never: noIO},
	{dir: "core/dataset", why: "the only place where chunk and version meet", project: datasets, modules: []string{roaring}},
	{dir: "core/scan", why: "datasets as tables of a query, and its result as rows that can be loaded; computes nothing", project: with(above, "core/array", "core/query", "core/ahead"), never: noIO},
	{dir: "core/ingest", why: "importers; siblings do not know each other", project: above},
	{dir: "core/loader", why: "epochs and batches; siblings do not know each other, no CUDA symbols", project: with(above, "core/ahead"), never: noIO},

	{dir: "cuda", why: "the device; fulfils loader.Stager, knows no dataset", project: with(leaves, "core/loader")},
	{dir: "capi", why: "translation of all of it to C", project: []string{"core/...", "cuda"}, modules: []string{sys}},
}

// TestImports holds the direction of dependencies. Test files are free: they may bring any room as a fixture.
func TestImports(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	for _, s := range p.product() {
		i := slices.IndexFunc(rooms, func(r room) bool { return r.dir == s.dir })
		if i < 0 {
			t.Errorf("%s: package %q has no line in the import table; give it one in go/tests/imports_test.go", s.path, s.dir)
			continue
		}
		for _, spec := range s.file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !rooms[i].allows(name) {
				t.Errorf("%s: %s must not import %q; it owns: %s", p.at(s, spec.Pos()), s.dir, name, rooms[i].why)
			}
		}
	}
}

// TestImportTable tries the table itself: an arrow that must be refused is.
func TestImportTable(t *testing.T) {
	t.Parallel()
	cases := []struct {
		from, to string
		want     bool
	}{
		{"core/errs", "fmt", true},
		{"core/errs", "deeplake/core/tensor", false},
		{"core/tensor", "deeplake/core/errs", true},
		{"core/tensor", "os", false},
		{"core/storage/local", "os", true},
		{"core/storage/local", "golang.org/x/sys/unix", true},
		{"core/storage/local", "deeplake/core/storage/mem", false},
		{"core/storage/mem", "golang.org/x/sys/unix", false},
		{"core/format", "net/http", false},
		{"core/format", "deeplake/core/storage", false},
		{"core/format", "deeplake/core/codec/lz4", false},
		{"core/format", "github.com/pierrec/lz4/v4", false},
		{"core/version", "deeplake/core/chunk", false},
		{"core/version", "deeplake/core/codec", false},
		{"core/chunk", "deeplake/core/version", false},
		{"core/dataset", "deeplake/core/loader", false},
		{"core/ingest", "deeplake/core/loader", false},
		{"core/loader", "deeplake/core/ingest", false},
		{"core/loader", "deeplake/core/dataset", true},
		{"core/loader", "deeplake/cuda", false},
		{"capi", "deeplake/core/loader", true},
		{"capi", "os/signal", false},
	}
	for _, c := range cases {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(rooms, func(r room) bool { return r.dir == c.from })
			if got := rooms[i].allows(c.to); got != c.want {
				t.Errorf("allows = %v, want %v", got, c.want)
			}
		})
	}
}

func (r room) allows(name string) bool {
	if name == "os/signal" {
		return false // signals belong to the host process
	}
	if below, ok := strings.CutPrefix(name, module+"/"); ok {
		return matches(r.project, below)
	}
	if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
		return matches(r.modules, name)
	}
	return !matches(r.never, name)
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		base, tree := strings.CutSuffix(pattern, "/...")
		return name == base || tree && strings.HasPrefix(name, base+"/")
	})
}

func with(base []string, more ...string) []string { return slices.Concat(base, more) }

// TestNames keeps the packages and files that collect strays from coming up, and the words that say nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	strays := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "manager", "handler", "engine"}
	p := theProject(t)
	for _, s := range p.product() {
		words := strings.FieldsFunc(strings.TrimSuffix(path.Base(s.path), ".go"), func(r rune) bool { return r == '_' })
		words = append(words, s.file.Name.Name)
		for _, w := range words {
			if slices.Contains(strays, w) {
				t.Errorf("%s: %q names no subject; name what the code is about", s.path, w)
			}
		}
	}
}
