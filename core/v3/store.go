package v3

import (
	"context"
	"slices"
	"strings"
	"sync"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// Format finds datasets of Deep Lake 3. It implements dataset.Format.
type Format struct{}

// Name returns the name of the format.
func (Format) Name() string { return "Deep Lake 3" }

// Open presents the dataset of Deep Lake 3 in p, which it takes over. It returns nil if there is
// none. codecs decode the samples that have to be converted.
func (Format) Open(ctx context.Context, p storage.Provider, codecs *codec.Registry) (storage.Provider, error) {
	var info versionInfo
	found := false
	f := fetch{store: p}
	f.optional(versionFile, into(&info))
	f.optional(metaFile, func([]byte) error {
		found = true
		return nil
	})
	if err := f.run(ctx); err != nil {
		return nil, err
	}
	if !found {
		return nil, nil
	}
	t, err := loadTree(ctx, p, info)
	if err != nil {
		return nil, err
	}
	storage.KeepAlso(p, t.version)
	s := &Store{
		below: p, codecs: codecs, objects: pages{}, records: map[string][]byte{},
		loader: loader{store: p, tree: t, states: map[string]*state{}},
		table:  table{refs: map[format.UUID][]*ref{}, known: map[string]int64{}},
		tsf:    format.TSF{UUID: idOf("dataset", p.URI()), Main: t.branches[0].id},
		origin: storage.Origin(p), nonce: format.NewUUID().String(),
	}
	return s, nil
}

// Store has the objects that a dataset of this format would have. It refuses writes. All methods
// may be called in parallel.
type Store struct {
	below  storage.Provider
	codecs *codec.Registry
	tsf    format.TSF
	origin string
	nonce  string // differs in each process: names chunks that another program may change

	mu      sync.Mutex // of all below
	loader  loader
	table   table
	views   map[string]*savedView // by name; nil: not read yet
	objects pages                 // of the records that were made
	records map[string][]byte
}

var (
	_ storage.Provider = (*Store)(nil)
	_ storage.Wrapper  = (*Store)(nil)
	_ chunk.Opener     = (*Store)(nil)
)

// CommitName implements version.Namer.
func (s *Store) CommitName(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.loader.tree.at[name]; ok {
		return commitID(name).String()
	}
	return name
}

// Unwrap returns the store with the files of Deep Lake 3.
func (s *Store) Unwrap() storage.Provider { return s.below }

// URI implements storage.Provider.
func (s *Store) URI() string { return s.below.URI() }

// Close implements storage.Provider.
func (s *Store) Close() error { return s.below.Close() }

// Get implements storage.Provider.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.object(ctx, key)
	return slices.Clone(data), err
}

// ReadAt implements storage.Provider.
func (s *Store) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.object(ctx, key)
	if err != nil {
		return err
	}
	if off < 0 || off+int64(len(dst)) > int64(len(data)) {
		return errs.Op("read", key).New(errs.Corrupt, "it has %d bytes, want %d from %d on", len(data), len(dst), off)
	}
	copy(dst, data[off:])
	return nil
}

// object makes an object.
func (s *Store) object(ctx context.Context, key string) ([]byte, error) {
	if data, ok := s.objects[key]; ok {
		return data, nil
	}
	switch {
	case key == format.TSFKey():
		return format.EncodeTSF(s.tsf)
	case strings.HasPrefix(key, format.RecordsPrefix()):
		id, n, err := format.ParseRecordKey(key)
		if err != nil {
			return nil, err
		}
		for i := range s.loader.tree.branches {
			if s.loader.tree.branches[i].id == id {
				return s.made(ctx, key, i, n)
			}
		}
	case strings.HasPrefix(key, format.HeadsPrefix()):
		for i := range s.loader.tree.branches[1:] {
			if b := &s.loader.tree.branches[1+i]; format.HeadKey(b.name, 0) == key {
				return format.EncodeHead(format.Head{Branch: b.id}, format.Binding{Dataset: s.tsf.UUID, Key: key}), nil
			}
		}
	case strings.HasPrefix(key, format.ViewsPrefix()):
		if name, n, err := format.ParseViewKey(key); err == nil && n == 0 {
			return s.view(ctx, name, key)
		}
	}
	return nil, missing(key)
}

func missing(key string) error {
	return errs.Op("read", key).New(errs.NotFound, "a dataset of Deep Lake 3 has no such object")
}

// made returns record n of a branch, and keeps its pages.
func (s *Store) made(ctx context.Context, key string, at int, n uint64) ([]byte, error) {
	if data, ok := s.records[key]; ok {
		return data, nil
	}
	last, err := s.last(ctx, at)
	if err != nil {
		return nil, err
	}
	if n > last {
		return nil, missing(key)
	}
	data, made, err := s.presenting().record(ctx, version{at, int(n) - 1})
	if err != nil {
		return nil, err
	}
	for name, page := range made {
		s.objects[name] = page
	}
	s.records[key] = data
	return data, nil
}

// last is the number of the newest record of a branch. A head without changes is no record.
func (s *Store) last(ctx context.Context, at int) (uint64, error) {
	b := &s.loader.tree.branches[at]
	n := len(b.commits)
	head := b.commits[n-1]
	if s.loader.tree.nodes[head].Time != nil || n == 1 && b.base == "" {
		return uint64(n), nil
	}
	state, err := s.loader.load(ctx, head, false)
	if err == nil && !state.changed() {
		n--
	}
	return uint64(n), err
}

// List implements storage.Provider.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	keys, err := s.keys(ctx, prefix)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if strings.HasPrefix(key, prefix) && key > after && !fn(storage.Object{Key: key}) {
			return nil
		}
	}
	return nil
}

// keys returns the keys below a prefix, and maybe others.
func (s *Store) keys(ctx context.Context, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	if views := format.ViewsPrefix(); strings.HasPrefix(views, prefix) || strings.HasPrefix(prefix, views) {
		if err := s.loadViews(ctx); err != nil {
			return nil, err
		}
		for name := range s.views {
			keys = append(keys, format.ViewKey(name, 0))
		}
	}
	for i := range s.loader.tree.branches {
		b := &s.loader.tree.branches[i]
		if i > 0 {
			keys = append(keys, format.HeadKey(b.name, 0))
		}
		if under := format.RecordPrefix(b.id); !strings.HasPrefix(under, prefix) && !strings.HasPrefix(prefix, under) {
			continue
		}
		last, err := s.last(ctx, i)
		if err != nil {
			return nil, err
		}
		for n := range last + 1 {
			keys = append(keys, format.RecordKey(b.id, n))
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// readOnly refuses a write.
func (s *Store) readOnly(key string) error {
	return errs.Op("write", key).New(errs.ReadOnly, "dataset %q is of Deep Lake 3, which is read and never written; deeplake.copy(source, target) makes a dataset that can be changed", s.URI())
}

// Put implements storage.Provider.
func (s *Store) Put(_ context.Context, key string, _ []byte) error { return s.readOnly(key) }

// PutIfAbsent implements storage.Provider.
func (s *Store) PutIfAbsent(_ context.Context, key string, _ []byte) error { return s.readOnly(key) }

// Delete implements storage.Provider.
func (s *Store) Delete(_ context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	return s.readOnly(keys[0])
}
