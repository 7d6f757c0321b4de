// Package all owns the list of stores and their decorators: cache(prove(retry(limit(store)))) for
// stores across a network. It holds none of their logic.
package all

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"weak"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/httpstore"
	"deeplake/core/storage/hub"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/prove"
	"deeplake/core/storage/retry"
	"deeplake/core/storage/s3"
)

const defaultCacheBytes = 16 << 30

// New gives every scheme for datasets, and every scheme for the objects of others. Stores that the
// two open with the same settings share connections, credentials, limits and budgets. Both may be
// used in parallel.
func New() (storage.Registry, storage.Sources) {
	n := &network{}
	web := new(httpstore.Stores)
	buckets := new(s3.Stores)
	google := &clients{}
	repositories := hub.Openers{
		Source:   func(scheme string) storage.SourceOpener { return n.source(scheme, web.SourceOpener(scheme)) },
		Provider: func(scheme string) storage.Opener { return n.provider(scheme, web.Opener(scheme)) },
	}
	providers := storage.Registry{
		"file": local.Open, "mem": new(mem.Space).Open,
		"s3": n.provider("s3", buckets.Open), "gs": n.provider("gs", google.provider), "gcs": n.provider("gs", google.provider),
		"http": n.provider("http", web.Opener("http")), "https": n.provider("https", web.Opener("https")),
		"hf": repositories.OpenProvider,
	}
	sources := storage.Sources{
		"file": local.OpenSource,
		"s3":   n.source("s3", buckets.OpenSource), "gs": n.source("gs", google.source), "gcs": n.source("gs", google.source),
		"http": n.source("http", web.SourceOpener("http")), "https": n.source("https", web.SourceOpener("https")),
		"hf": repositories.OpenSource,
	}
	return providers, sources
}

// network wraps stores. It keeps the parts that they share for as long as one of them uses these.
type network struct {
	mu     sync.Mutex
	shared map[[sha256.Size]byte]common
	proofs prove.Proofs // of services, for as long as the process opens stores through this network
}

// common is shared by stores with equal settings. Only the decorators hold a reference to it.
type common struct {
	policy  weak.Pointer[retry.Policy]
	limiter weak.Pointer[limit.Limiter]
	memory  weak.Pointer[cache.Memory]
	disk    weak.Pointer[cache.Disk]
}

// layers are the decorators of one store; nil caches are none.
type layers struct {
	policy  *retry.Policy
	limiter *limit.Limiter
	memory  *cache.Memory
	disk    *cache.Disk
}

func (n *network) provider(scheme string, open storage.Opener) storage.Opener {
	return func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		l, err := n.layers(scheme, rest, o.Settings)
		if err != nil {
			return nil, err
		}
		p, err := open(ctx, rest, o)
		if err != nil {
			return nil, err
		}
		p = n.proofs.Provider(l.policy.Provider(l.limiter.Provider(p)))
		if l.disk != nil {
			p = cache.New(p, l.disk, unchanging)
		}
		if l.memory != nil {
			p = cache.New(p, l.memory, unchanging)
		}
		return p, nil
	}
}

// source wraps objects of others. They may change, so they are not cached.
func (n *network) source(scheme string, open storage.SourceOpener) storage.SourceOpener {
	return func(ctx context.Context, rest string, o storage.Options) (storage.Source, error) {
		l, err := n.layers(scheme, rest, o.Settings)
		if err != nil {
			return nil, err
		}
		s, err := open(ctx, rest, o)
		if err != nil {
			return nil, err
		}
		return l.policy.Source(l.limiter.Source(s)), nil
	}
}

// unchanging is whether the object under key is the same for ever (core/format/FORMAT.md, section
// 1): its name holds a UUID that is given once. Datasets of other formats may have folders of the
// same names, with files that change.
func unchanging(key string) bool {
	for _, folder := range []string{"data/", "map/", "txn/", "log/"} {
		if rest, ok := strings.CutPrefix(key, folder); ok {
			id, _, _ := strings.Cut(rest, "/")
			return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
		}
	}
	return false
}

// layers finds or makes the decorators of a store of these settings. Limits and budgets are those
// of a bucket or host.
func (n *network) layers(scheme, rest string, s storage.Settings) (layers, error) {
	if s.CacheBytes < 0 || s.CacheMemoryBytes < 0 {
		return layers{}, errs.New(errs.Invalid, "cache: a negative number of bytes (got %d on disk, %d in memory)", s.CacheBytes, s.CacheMemoryBytes)
	}
	dir := s.CacheDir
	if dir != "" {
		var err error
		if dir, err = filepath.Abs(dir); err != nil {
			return layers{}, errs.New(errs.Storage, "cache %q: %w", s.CacheDir, err)
		}
	}
	bucket, _, _ := strings.Cut(rest, "/")
	key, err := keyOf(scheme, bucket, s)
	if err != nil {
		return layers{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shared == nil {
		n.shared = map[[sha256.Size]byte]common{}
	}
	n.forget()
	c := n.shared[key]
	l := layers{policy: c.policy.Value(), limiter: c.limiter.Value(), memory: c.memory.Value(), disk: c.disk.Value()}
	if l.policy == nil {
		l.policy = retry.New(retry.Options{Settings: s})
	}
	if l.limiter == nil {
		l.limiter = limit.New(s)
	}
	if l.memory == nil && s.CacheMemoryBytes > 0 {
		l.memory = cache.NewMemory(s.CacheMemoryBytes)
	}
	if l.disk == nil && dir != "" {
		bytes := s.CacheBytes
		if bytes == 0 {
			bytes = defaultCacheBytes
		}
		l.disk = cache.NewDisk(dir, bytes)
		if err := l.disk.Refused(); err != nil {
			return layers{}, errs.New(errs.Invalid, "cache %q: %w", s.CacheDir, err)
		}
	}
	n.shared[key] = common{weak.Make(l.policy), weak.Make(l.limiter), weak.Make(l.memory), weak.Make(l.disk)}
	return l, nil
}

// forget drops unused entries.
func (n *network) forget() {
	for key, c := range n.shared {
		if c.policy.Value() == nil && c.limiter.Value() == nil && c.memory.Value() == nil && c.disk.Value() == nil {
			delete(n.shared, key)
		}
	}
}

// keyOf is equal for what shares limits. It is a hash; secrets hide themselves in it, which is
// well: other credentials for a bucket do not make it faster.
func keyOf(scheme, bucket string, s storage.Settings) ([sha256.Size]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return [sha256.Size]byte{}, errs.New(errs.Internal, "settings: %w", err)
	}
	return sha256.Sum256(append([]byte(scheme+"://"+bucket+"\x00"), text...)), nil
}
