package v3

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"sync"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// The names of files.
const (
	rootCommit  = "firstdbf9474d461a19e9333c2fd19b46115348f" // its files lie at the root
	versionFile = "version_control_info.json"
	metaFile    = "dataset_meta.json"
	infoFile    = "dataset_info.json"
	queriesFile = "queries.json"
)

// inFlight is the number of small files that are requested at once.
const inFlight = 64

// folder is the prefix of the files of a commit.
func folder(commit string) string {
	if commit == rootCommit {
		return ""
	}
	return "versions/" + commit + "/"
}

// fetch is files to be read at once.
type fetch struct {
	store storage.Provider
	jobs  []job

	mu   sync.Mutex
	sums map[string][sha256.Size]byte // of the files that were read, by key
}

type job struct {
	key    string
	needed bool
	decode func(data []byte) error
}

// optional adds a file that may be missing: decode is then not called.
func (f *fetch) optional(key string, decode func(data []byte) error) {
	f.jobs = append(f.jobs, job{key: key, decode: decode})
}

// required adds a file whose absence is damage.
func (f *fetch) required(key string, decode func(data []byte) error) {
	f.jobs = append(f.jobs, job{key: key, needed: true, decode: decode})
}

// run reads all files. decode functions run one at a time for each file, and at once for several.
func (f *fetch) run(ctx context.Context) error {
	if f.sums == nil {
		f.sums = map[string][sha256.Size]byte{}
	}
	g := task.New(ctx, inFlight)
	for _, j := range f.jobs {
		g.Go(func(ctx context.Context) error {
			data, err := f.store.Get(ctx, j.key)
			switch {
			case errs.Is(err, errs.NotFound) && j.needed:
				return errs.Op("read", j.key).New(errs.Corrupt, "the file is missing from the Deep Lake 3 dataset %q", f.store.URI())
			case errs.Is(err, errs.NotFound):
				return nil
			case err != nil:
				return err
			}
			f.mu.Lock()
			f.sums[j.key] = sha256.Sum256(data)
			f.mu.Unlock()
			return errs.Wrap(errs.Corrupt, "read", j.key, j.decode(data))
		})
	}
	return g.Wait()
}

// digest returns a hash of the files under a prefix that were read.
func (f *fetch) digest(prefix string) string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(f.sums)) {
		if strings.HasPrefix(key, prefix) {
			sum := f.sums[key]
			_, _ = h.Write(sum[:])
		}
	}
	return string(h.Sum(nil))
}

// into returns a function that decodes JSON into to.
func into(to any) func(data []byte) error {
	return func(data []byte) error { return decodeJSON(data, to) }
}

// keep returns a function that decodes by fn into to.
func keep[T any](to *T, fn func(data []byte) (T, error)) func(data []byte) error {
	return func(data []byte) (err error) {
		*to, err = fn(data)
		return err
	}
}
