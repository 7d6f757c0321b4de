package tests

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packageRule is one line of the import table of ARCHITECTURE.md. A pattern "x/..." stands for x
// and all packages below it.
type packageRule struct {
	dir     string
	why     string   // the responsibility of the package, or its limits
	project []string // packages of this project that it may import
	modules []string // packages of other modules that it may import
	never   []string // packages of the standard library that it must not import
}

// noIO are the packages of the standard library that do input and output.
var noIO = []string{"os/...", "net/...", "io/fs", "io/ioutil", "syscall", "path/filepath"}

// noNet are those that make and take connections: in a browser they would cost a megabyte.
var noNet = []string{"net", "net/http", "crypto/tls"}

// Packages that many rules name.
var (
	ofValues   = []string{"core/errs", "core/tensor"}
	ofStores   = []string{"core/errs", "core/storage"}
	ofCodecs   = []string{"core/codec", "core/errs", "core/tensor"}
	lz4        = "github.com/pierrec/lz4/v4"
	zstd       = "github.com/klauspost/compress/zstd"
	roaring    = "github.com/RoaringBitmap/roaring/v2/roaring64"
	sys        = "golang.org/x/sys/unix"
	invariants = "core/internal/invariant"
	task       = "core/internal/task"
	ahead      = "core/internal/ahead"
	jsontext   = "core/internal/jsontext"
	slab       = "core/slab"
	lru        = "core/internal/lru"
	area       = "core/internal/area"
	tmpfile    = "core/internal/tmpfile"
	private    = "core/internal/private"
	request    = "core/internal/request"
	job        = "core/internal/job"
)

// packageRules is the whole table. A package without a line fails the test.
var packageRules = []packageRule{
	{dir: "core/errs", why: "the kinds of failure; a leaf", never: noIO},
	{dir: "core/tensor", why: "arithmetic of types and shapes; no I/O, no codecs", project: []string{"core/errs"}, never: noIO},

	{dir: "core/slab", why: "counted memory outside of Go's heap", project: []string{"core/errs"}},
	{dir: "core/internal/invariant", why: "checks of invariants under a build tag"},
	{dir: "core/internal/area", why: "averages of areas of pixels"},
	{dir: "core/internal/lru", why: "a bounded cache of any values"},
	{dir: "core/internal/tmpfile", why: "files that get their name when they are whole", modules: []string{sys}},
	{dir: "core/internal/private", why: "folders that no other account changes", project: []string{"core/errs"}},
	{dir: "core/internal/job", why: "work in the background, and how far it has come; knows nothing of the work", project: []string{task}},
	{dir: "core/internal/peer", why: "the account at the other end of a connection; connects to nothing"},
	{dir: "core/internal/task", why: "the only go statement", project: []string{"core/errs"}},
	{dir: "core/internal/jsontext", why: "the grammar of JSON for large documents; no meaning", project: []string{"core/errs"}, never: noIO},
	{dir: "core/internal/ahead", why: "bytes of a file in order, requested ahead; no stores", project: []string{"core/errs", task}, never: noIO},
	{dir: "core/internal/ranges", why: "the ranges of HTTP; sends nothing", project: ofStores, never: noNet},
	{dir: "core/internal/request", why: "one range request over HTTP; no store's dialect", project: with(ofStores, "core/internal/ranges"), modules: []string{"golang.org/x/net/http/httpproxy"}},

	{dir: "core/storage", why: "bytes under keys; not their meaning", project: []string{"core/errs"}},
	{dir: "core/storage/local", why: "one provider; neither retry nor cache", project: ofStores, modules: []string{sys}},
	{dir: "core/storage/mem", why: "one provider; neither retry nor cache", project: ofStores, never: noIO},
	{
		dir: "core/storage/s3", why: "one provider; neither retry nor cache", project: with(ofStores, request, task),
		modules: []string{"github.com/aws/aws-sdk-go-v2/...", "github.com/aws/smithy-go/..."},
	},
	{
		dir: "core/storage/gcs", why: "one provider; neither retry nor cache", project: with(ofStores, request, task),
		modules: []string{"cloud.google.com/go/storage", "cloud.google.com/go/auth/...", "google.golang.org/api/..."},
	},
	{dir: "core/storage/web", why: "datasets below a URL, whatever asks the server; sends nothing", project: ofStores, never: noNet},
	{dir: "core/storage/httpstore", why: "one provider, read-only; neither retry nor cache", project: with(ofStores, request, "core/storage/web")},
	{
		dir: "core/storage/fetchstore", why: "one provider of browsers, read-only; neither retry nor cache",
		project: with(ofStores, "core/internal/ranges", "core/storage/web"), never: noNet,
	},
	{dir: "core/storage/hub", why: "repositories of Hugging Face as URLs; sends nothing itself", project: with(ofStores, request), never: noNet},
	{dir: "core/storage/retry", why: "one decorator; names no provider", project: with(ofStores, task)},
	{dir: "core/storage/limit", why: "one decorator; names no provider", project: ofStores},
	{dir: "core/storage/cache", why: "one decorator; names no provider", project: with(ofStores, lru, private, tmpfile)},
	{dir: "core/storage/prove", why: "one decorator; names no provider", project: ofStores},
	{
		dir: "core/storage/all", why: "the list of providers and their decorators",
		project: with(ofStores, "core/storage/local", "core/storage/mem", "core/storage/s3", "core/storage/gcs", "core/storage/httpstore",
			"core/storage/hub", "core/storage/retry", "core/storage/limit", "core/storage/cache", "core/storage/prove"),
	},
	{dir: "core/storage/storagetest", why: "the suite that every provider passes", project: with(ofStores, task)},
	{dir: "core/storage/faultstore", why: "faults on any provider; names none", project: ofStores},

	{dir: "core/codec", why: "the contracts and ids of codecs; no storage, no chunk layout", project: ofValues, never: noIO},
	{dir: "core/codec/lz4", why: "one codec", project: []string{"core/codec", "core/errs"}, modules: []string{lz4}, never: noIO},
	{dir: "core/codec/shuffle", why: "one codec", project: []string{"core/codec", "core/errs"}, never: noIO},
	{dir: "core/codec/zstd", why: "one codec", project: []string{"core/codec", "core/errs"}, modules: []string{zstd}, never: noIO},
	{dir: "core/codec/jpeg", why: "one codec; libjpeg through cgo", project: ofCodecs, never: noIO},
	{dir: "core/codec/png", why: "one codec", project: ofCodecs, modules: []string{"github.com/klauspost/compress/zlib"}, never: noIO},
	{
		dir: "core/codec/webp", why: "one codec", project: with(ofCodecs, task),
		modules: []string{"golang.org/x/image/vp8", "golang.org/x/image/vp8l"}, never: noIO,
	},
	{
		dir: "core/codec/all", why: "the list of codecs", never: noIO,
		project: []string{"core/codec", "core/codec/jpeg", "core/codec/lz4", "core/codec/png", "core/codec/shuffle", "core/codec/webp", "core/codec/zstd"},
	},
	{dir: "core/codec/codectest", why: "files of tests", project: []string{"core/codec"}, never: noIO, modules: []string{"testing"}},

	{dir: "core/transform", why: "image transforms between decoder and batch; neither codecs nor datasets", project: ofValues, never: noIO},

	{dir: "core/media", why: "encoded video: its packets, and which of them frames need; reads and decodes nothing", project: []string{"core/errs"}, never: noIO},
	{dir: "core/media/mp4", why: "the tables of MP4 and QuickTime; no media data, opens no files", project: []string{"core/errs", "core/media"}, never: noIO},
	{dir: "core/media/matroska", why: "the blocks of Matroska and WebM; no media data, opens no files", project: []string{"core/errs", "core/media"}, never: noIO},
	{dir: "core/media/ffmpeg", why: "packets to planes by FFmpeg; neither containers nor files of media", project: []string{"core/errs", "core/media"}, modules: []string{"github.com/ebitengine/purego"}, never: noNet},
	{dir: "core/media/mediatest", why: "files and FFmpeg of the tests of videos", project: []string{"core/errs", "core/media"}, modules: []string{"testing"}, never: noNet},
	{dir: "core/media/color", why: "planes to RGB; neither decoders nor files", project: []string{"core/errs", "core/media"}, never: noIO},

	// The stable numeric ids of codecs are bytes on disk, so format imports the contracts of codec.
	{dir: "core/format", why: "every byte on disk; no I/O", project: with(ofValues, "core/codec", "core/codec/zstd", "core/media"), modules: []string{zstd, roaring}, never: noIO},
	{
		dir: "core/chunk", why: "samples in and out of chunks; neither versions nor datasets",
		project: with(ofValues, slab, "core/storage", "core/codec", "core/format"), never: noIO,
	},
	{dir: "core/arrow", why: "columns of Arrow's C interface as values; calls and releases nothing, no datasets", project: ofValues, never: noIO},
	{
		dir: "core/arrow/stream", why: "rows of a view as batches of Arrow; writes nothing", never: noIO,
		project: with(ofValues, slab, task, "core/arrow", "core/array", "core/dataset", "core/loader", "core/scan"),
	},
	{
		dir: "core/arrow/ipc", why: "files and streams of Arrow as columns; writes nothing, no datasets", project: []string{"core/errs", task, ahead, "core/arrow"}, never: noIO,
		modules: []string{zstd, lz4},
	},
	{dir: "core/arrow/arrowtest", why: "columns as tests compare them", project: []string{"core/arrow", "core/tensor"}, modules: []string{"testing"}},
	{
		dir: "core/parquet", why: "files of Parquet as columns of Arrow, and back; opens no files, no datasets", never: noIO,
		project: []string{"core/errs", task, ahead, "core/arrow", "core/arrow/ipc"},
		modules: []string{zstd, lz4, "github.com/klauspost/compress/gzip", "github.com/klauspost/compress/snappy", "github.com/andybalholm/brotli"},
	},
	{
		dir: "core/tfrecord", why: "TFRecord files of examples as columns of Arrow; opens no files, no datasets", project: []string{"core/errs", "core/arrow"}, never: noIO,
		modules: []string{"github.com/klauspost/compress/gzip", "github.com/klauspost/compress/zlib"},
	},
	{dir: "core/arrow/gather", why: "values of files as columns of Arrow; neither formats nor datasets", project: with(ofValues, "core/arrow"), never: noIO},
	{dir: "core/mds", why: "shards of MosaicML Streaming as columns of Arrow; opens no files, no datasets", project: with(ofValues, "core/arrow/gather"), never: noIO},
	{
		dir: "core/litdata", why: "chunks of LitData as columns of Arrow; opens no files, no datasets", project: with(ofValues, "core/arrow/gather"), never: noIO,
		modules: []string{zstd},
	},
	{dir: "core/ffcv", why: "files of FFCV as columns of Arrow; opens no files, no datasets", project: with(ofValues, task, "core/arrow", "core/arrow/gather"), never: noIO},
	{dir: "core/zarr", why: "nodes and chunks of Zarr; opens no files, no datasets", project: ofValues, modules: []string{zstd}, never: noIO},
	{dir: "core/jsonl", why: "lines of JSON objects as columns of Arrow; opens no files, no datasets", project: []string{"core/errs", "core/arrow", jsontext}, never: noIO},
	{dir: "core/csv", why: "comma-separated values as columns of Arrow; opens no files, no datasets", project: []string{"core/errs", task, "core/arrow"}, never: noIO},
	{dir: "core/array", why: "columns of values; neither functions nor queries", project: ofValues, never: noIO},
	{
		dir: "core/compute", why: "functions of columns and their facts; neither layout of columns nor queries", never: noIO,
		project: with(ofValues, invariants, "core/array"),
	},
	{
		dir: "core/compute/aggregate", why: "functions that reduce rows; neither plans nor queries", never: noIO,
		project: with(ofValues, task, invariants, "core/array", "core/compute"),
	},
	{dir: "core/array/arraytest", why: "sample columns for tests", project: []string{"core/array", "core/tensor"}, never: noIO},
	{dir: "core/tql", why: "the syntax of queries; neither types nor functions", project: []string{"core/errs"}, never: noIO},
	{
		dir: "core/query", why: "checking, planning and running queries; neither stores nor datasets", never: noIO,
		project: with(ofValues, task, invariants, "core/array", "core/compute", "core/compute/aggregate", "core/tql"),
	},
	{
		dir: "core/prefetch", why: "bytes before they are needed; neither rows nor codecs",
		project: []string{"core/errs", task, slab, "core/chunk"}, never: noIO,
	},
	{
		dir: "core/samplecache", why: "decoded samples between epochs; neither versions nor decoding",
		project: []string{"core/errs", slab, private, tmpfile, "core/chunk", "core/format"},
	},
	{
		dir: "core/read", why: "rows to segments, segments to bytes; neither versions nor batches and queries", never: noIO,
		project: with(ofValues, task, "core/codec", "core/format", "core/chunk", "core/prefetch"),
	},
	{dir: "core/version/rowset", why: "sets of rows; neither versions nor pages", project: []string{"core/format"}, never: noIO},
	{
		dir: "core/version/chunkmap", why: "map pages; neither records nor schemas", never: noIO,
		project: []string{"core/errs", invariants, lru, task, "core/storage", "core/format", "core/version/rowset"},
	},
	{
		dir: "core/version", why: "commits; neither samples nor codecs", never: noIO, modules: []string{roaring},
		project: with(ofValues, task, "core/storage", "core/format", "core/version/chunkmap", "core/version/rowset"),
	},
	{
		dir: "core/version/maintain", why: "work on whole datasets; publishes no commit of an existing one", never: noIO, modules: []string{roaring},
		project: []string{"core/errs", task, "core/storage", "core/format", "core/version", "core/version/chunkmap"},
	},
	{
		dir: "core/version/versiontest", why: "the dataset of the tests of version and maintain", never: noIO, modules: []string{"testing"},
		project: []string{"core/format", "core/storage", "core/storage/mem", "core/version", "core/version/maintain"},
	},
	{
		dir: "core/dataset", why: "the only package in which chunk and version meet", never: noIO,
		project: with(ofValues, area, lru, task, "core/storage", "core/storage/mem", "core/codec", "core/media", "core/format", "core/chunk", "core/read",
			"core/version", "core/version/chunkmap", "core/version/maintain", "core/dataset/origin", "core/dataset/pieces"),
	},
	{
		dir: "core/v3", why: "datasets of Deep Lake 3 as datasets of this format; neither views nor loaders, writes to copies alone", never: noIO,
		project: with(ofValues, jsontext, task, "core/storage", "core/codec", "core/format", "core/chunk", "core/version/maintain", "core/version/rowset"),
		modules: []string{lz4, roaring, "golang.org/x/image/bmp", "golang.org/x/image/tiff"},
	},
	{dir: "core/v4", why: "datasets of Deep Lake 4 by the names of their files; reads none of them", project: with(ofStores, "core/codec"), never: noIO},
	{dir: "core/dataset/origin", why: "the samples that name the files of rows; reads no rows", project: []string{"core/errs"}, never: noIO},
	{
		dir: "core/dataset/pieces", why: "rows in many pieces: chunks and maps, but no views", never: noIO,
		project: with(ofValues, "core/format", "core/chunk", "core/read", "core/version", "core/version/chunkmap"),
	},
	{
		dir: "core/scan", why: "datasets as tables of a query, and results as rows to load; computes nothing", never: noIO,
		project: with(ofValues, task, invariants, "core/storage", "core/storage/mem", "core/format", "core/chunk", "core/read", "core/dataset", "core/dataset/origin",
			"core/dataset/pieces", "core/array", "core/query", slab),
	},
	{
		dir: "core/ingest", why: "importers; they know neither loader nor queries", modules: []string{"github.com/klauspost/compress/gzip"},
		project: with(ofValues, task, job, "core/storage", "core/storage/mem", "core/codec", "core/media", "core/chunk", "core/transform", "core/dataset", "core/dataset/origin",
			"core/ingest/annotations", "core/ingest/episodes", "core/ingest/table", "core/ingest/target"),
	},
	{
		dir: "core/ingest/episodes", why: "datasets of LeRobot as rows of episodes; neither bytes of formats nor decoders", never: noIO,
		project: with(ofValues, task, lru, "core/storage", "core/arrow", "core/codec", "core/media", "core/parquet", "core/dataset", "core/ingest/table", "core/ingest/target"),
	},
	{
		dir: "core/ingest/annotations", why: "annotations of pictures in the layouts of other programs; no rows, no stores", never: noNet,
		project: with(ofValues, jsontext, "core/dataset"), modules: []string{"go.yaml.in/yaml/v3"},
	},
	{
		dir: "core/ingest/table", why: "files with tables as rows; neither images nor bytes of formats",
		project: with(ofValues, task, ahead, "core/storage", "core/arrow", "core/arrow/gather", "core/arrow/ipc", "core/codec", "core/csv", "core/ffcv", "core/jsonl", "core/litdata", "core/mds", "core/parquet", "core/tfrecord",
			"core/dataset", "core/dataset/origin", "core/ingest/target", "core/ingest/urls"),
		modules: []string{zstd, lz4, "github.com/andybalholm/brotli", "github.com/klauspost/compress/gzip", "github.com/klauspost/compress/snappy"},
	},
	{dir: "core/ingest/target", why: "the datasets that imports fill, opened and given up; neither sources nor formats", project: with(ofStores, "core/dataset")},
	{dir: "core/ingest/urls", why: "objects that URLs name, fetched in parallel; neither datasets nor tables", project: with(ofStores, request, task)},
	{
		dir: "core/names", why: "the URIs of datasets, and where their names lead; no store", project: []string{"core/errs", private},
		modules: []string{"github.com/BurntSushi/toml"},
	},
	{dir: "core/order", why: "which rows an epoch visits, and in which order; pure functions of numbers", project: []string{"core/errs"}, never: noIO},
	{
		dir: "core/loader", why: "epochs and batches of any source; neither datasets nor CUDA symbols", never: noIO,
		project: with(ofValues, task, slab, "core/storage", "core/codec", "core/chunk", "core/transform", "core/order", "core/read", "core/prefetch", "core/samplecache"),
	},
	{
		dir: "core/session", why: "view, query, save, read and load, for every front end; no handles, no text of options", never: noIO,
		project: with(ofValues, "core/storage", "core/names", "core/chunk", "core/dataset", "core/array", "core/arrow/stream", "core/query", "core/read", "core/scan",
			"core/loader", "core/order"),
	},
	{
		dir: "core/video", why: "frames of stored videos; neither containers nor loaders, writes nothing", never: noIO,
		project: with(ofValues, lru, task, "core/storage", "core/codec", "core/media", "core/media/color", "core/media/ffmpeg", "core/format", "core/chunk", "core/read"),
	},
	{
		dir: "core/clips", why: "clips of videos as rows; which frames they have, but no packets and no decoders", never: noIO,
		project: with(ofValues, "core/chunk", "core/loader", "core/read", "core/video"),
	},
	{
		dir: "core/windows", why: "moments of episodes as rows; which entries they have, but no packets and no decoders", never: noIO,
		project: with(ofValues, "core/chunk", "core/clips", "core/internal/task", "core/loader", "core/read", "core/video"),
	},
	{
		dir: "core/export", why: "rows as files of other programs; neither chunks as bytes nor queries", never: noIO,
		project: with(ofValues, task, job, "core/storage", "core/codec", "core/chunk", "core/dataset", "core/dataset/origin", "core/read", "core/session",
			"core/arrow", "core/arrow/stream", "core/mds", "core/parquet", "core/tfrecord", "core/video", "core/zarr"),
	},
	{
		dir: "core/viz", why: "the calls of the visualizer's page; reads only, and knows neither HTTP nor loaders", never: noIO,
		project: with(ofValues, area, lru, task, "core/storage", "core/codec", "core/chunk", "core/compute", "core/dataset", "core/dataset/origin", "core/read", "core/session",
			"core/tql", "core/transform", "core/version", "core/viz/draw", "core/viz/pca"),
	},
	{dir: "core/viz/pca", why: "principal components of vectors; no I/O", project: []string{"core/errs", task}, never: noIO},
	{
		dir: "core/viz/draw", why: "annotations painted over pictures in memory; neither datasets nor tensors", never: noIO,
		modules: []string{"golang.org/x/image/font", "golang.org/x/image/font/basicfont", "golang.org/x/image/math/fixed"},
	},
	{
		dir: "core/viz/wasm", why: "the calls of a page in a worker of the browser", never: noNet,
		project: []string{
			"core/errs", task, "core/storage", "core/storage/fetchstore", "core/storage/limit", "core/storage/retry", "core/codec/all", "core/dataset",
			"core/session", "core/viz",
		},
	},
	{
		dir: "core/viz/film", why: "videos for the visualizer's pages: facts, pictures, bytes by pieces; no HTTP", never: noIO,
		project: with(ofValues, area, lru, "core/chunk", "core/codec", "core/media", "core/media/ffmpeg", "core/session", "core/video", "core/viz"),
	},
	{
		dir: "core/viz/server", why: "the visualizer over HTTP: who may connect; no datasets",
		project: []string{"core/errs", "core/internal/peer", task, "core/viz", "core/viz/film"},
	},

	{
		dir: "cuda", why: "NVIDIA devices: memory, copies, events; no datasets",
		project: []string{"core/errs", slab, "core/loader"}, modules: []string{"github.com/ebitengine/purego", "gorgonia.org/cu"},
	},
	{
		dir: "capi", why: "translation of all of it to C",
		project: with(ofValues, "core/arrow", "core/arrow/stream", "core/storage", "core/storage/all", "core/codec", "core/codec/all", "core/chunk", "core/version", "core/version/maintain", "core/dataset",
			"core/media", "core/media/ffmpeg", "core/media/matroska", "core/media/mp4", "core/video", "core/clips", "core/windows", "core/array", "core/tql", "core/query", "core/export", "core/ingest", "core/loader", "core/names", "core/order", "core/read", "core/session", "core/viz", "core/viz/film", "core/viz/server", "core/v3", "core/v4", "cuda"),
	},
}

// TestImports holds the direction of dependencies. Test files are free: they may import any package
// as a fixture.
func TestImports(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	for _, s := range p.product() {
		i := slices.IndexFunc(packageRules, func(r packageRule) bool { return r.dir == s.dir })
		if i < 0 {
			t.Errorf("%s: package %q has no line in the import table; give it one in go/tests/imports_test.go", s.path, s.dir)
			continue
		}
		for _, spec := range s.file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !packageRules[i].allows(name) {
				t.Errorf("%s: %s must not import %q; it owns: %s", p.at(s, spec.Pos()), s.dir, name, packageRules[i].why)
			}
		}
	}
}

// TestImportTableIsExact refuses packages that do not exist, and permissions that no file uses.
func TestImportTableIsExact(t *testing.T) {
	t.Parallel()
	imported := map[string][]string{} // by directory: what its files import, below the module
	for _, s := range theProject(t).product() {
		if _, known := imported[s.dir]; !known {
			imported[s.dir] = []string{}
		}
		for _, spec := range s.file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			imported[s.dir] = append(imported[s.dir], strings.TrimPrefix(name, module+"/"))
		}
	}
	for _, r := range packageRules {
		names, exists := imported[r.dir]
		if !exists {
			t.Errorf("the import table has a line for %q, and there is no such package", r.dir)
		}
		for _, pattern := range with(r.project, r.modules...) {
			if !slices.ContainsFunc(names, func(name string) bool { return matches([]string{pattern}, name) }) {
				t.Errorf("%s may import %q, and no file of it does: remove the permission", r.dir, pattern)
			}
		}
	}
}

// TestArchitectureNamesPackages holds the package table of ARCHITECTURE.md against the import
// table.
func TestArchitectureNamesPackages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| package | owns | does not touch |\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no package table")
	}
	var named []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			break
		}
		dir := strings.Trim(cells[1], " `")
		base, list, several := strings.Cut(strings.TrimSuffix(dir, "}"), "{")
		if !several {
			named = append(named, dir)
			continue
		}
		for _, last := range strings.Split(list, ",") {
			named = append(named, base+last)
		}
	}
	for _, r := range packageRules {
		if !slices.Contains(named, r.dir) {
			t.Errorf("the package table of ARCHITECTURE.md lacks %q", r.dir)
		}
	}
	for _, dir := range named {
		if strings.HasPrefix(dir, "core") && !slices.ContainsFunc(packageRules, func(r packageRule) bool { return r.dir == dir }) {
			t.Errorf("ARCHITECTURE.md names the package %q, which does not exist", dir)
		}
	}
}

// TestImportTable tries the table itself: a forbidden import is refused.
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
		{"core/loader", "deeplake/core/chunk", true},
		{"core/loader", "deeplake/core/dataset", false},
		{"core/loader", "deeplake/cuda", false},
		{"capi", "deeplake/core/loader", true},
		{"capi", "os/signal", false},
	}
	for _, c := range cases {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(packageRules, func(r packageRule) bool { return r.dir == c.from })
			if got := packageRules[i].allows(c.to); got != c.want {
				t.Errorf("allows = %v, want %v", got, c.want)
			}
		})
	}
}

func (r packageRule) allows(name string) bool {
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

// TestNames keeps the packages and files that collect strays from coming up, and the words that say
// nothing.
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
