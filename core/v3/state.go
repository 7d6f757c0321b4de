package v3

import (
	"context"
	"crypto/sha256"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/rowset"
)

// tensorState is a tensor in a commit.
type tensorState struct {
	key, name string
	id        format.UUID
	meta      tensorMeta
	kind      kind
	changed   *changes
	set       map[string]owner // chunks that the commit owns or borrows
	sequences []sequenceRun

	// of a commit that is read itself
	info   map[string]any
	chunks []chunkRow
	tiles  map[int64]tiling
	size   int64 // bytes of a chunk, roughly

	entries []format.Entry // for rows from 0 on; nil: not made yet
}

// rows is the number of rows of the tensor.
func (s *tensorState) rows() int64 {
	if !s.kind.sequence {
		return s.meta.Length
	}
	if n := len(s.sequences); n > 0 {
		return s.sequences[n-1].last + 1
	}
	return 0
}

// state is a commit.
type state struct {
	id      string
	meta    *datasetMeta
	sum     [sha256.Size]byte // of the file of meta
	tensors []*tensorState    // those that users see, in order of creation
	by      map[string]*tensorState
	info    map[string]any
	full    bool
	digest  string // of its files
	schema  bool   // the commit renames or deletes tensors, or changes the info of the dataset
	rows    int64
	popped  bool // a tensor has lost rows
	axis    axis
	removed rowset.Set // rows of the axis that the commit before has, and this one has not

	ids map[string]*tensorState // tensors of ids, where they were needed, by key
}

// changed reports whether the commit changes something.
func (s *state) changed() bool {
	if s.schema {
		return true
	}
	for _, t := range s.tensors {
		if !t.changed.none() {
			return true
		}
	}
	return false
}

// loader reads commits and keeps them.
type loader struct {
	store  storage.Provider
	tree   *tree
	states map[string]*state
}

// load reads a commit and those that lead to it.
func (l *loader) load(ctx context.Context, id string, full bool) (*state, error) {
	if s := l.states[id]; s != nil && (s.full || !full) {
		return s, nil
	}
	chain, err := l.tree.chain(id)
	if err != nil {
		return nil, err
	}
	fresh := map[string]*state{}
	f := fetch{store: l.store, sums: map[string][sha256.Size]byte{}}
	for _, c := range chain {
		known := l.states[c]
		if known != nil && c != id {
			continue
		}
		s := &state{id: c, meta: &datasetMeta{}, by: map[string]*tensorState{}, full: full && c == id}
		if fresh[c] = s; known != nil {
			s.meta, f.sums[folder(c)+metaFile] = known.meta, known.sum
		} else {
			f.required(folder(c)+metaFile, into(s.meta))
		}
	}
	if err := f.run(ctx); err != nil {
		return nil, err
	}
	f.jobs = nil
	for c, s := range fresh {
		if err := s.tensorsOf(s.meta); err != nil {
			return nil, errs.Wrap(errs.Corrupt, "read", folder(c)+metaFile, err)
		}
		s.sum = f.sums[folder(c)+metaFile]
		s.files(&f)
	}
	if err := f.run(ctx); err != nil {
		return nil, err
	}
	var before *state
	for i, c := range chain {
		if s := fresh[c]; s != nil {
			s.digest = f.digest(folder(c))
			known := l.states[c]
			l.states[c] = s // for locate
			if err := l.settle(ctx, chain[:i+1], before, s); err != nil {
				if delete(l.states, c); known != nil {
					l.states[c] = known
				}
				return nil, errs.Wrap(errs.Corrupt, "read", folder(c)+metaFile, err)
			}
		}
		before = l.states[c]
	}
	if full {
		err = l.sizes(ctx, fresh[id])
	}
	return fresh[id], err
}

// settle finishes a commit whose files are there, the last one of chain.
func (l *loader) settle(ctx context.Context, chain []string, before, s *state) error {
	if err := s.measure(); err != nil {
		return err
	}
	var removed rowset.Set
	if s.moved(before) {
		var err error
		if removed, err = l.removed(ctx, chain, before, s); err != nil {
			return err
		}
	}
	return s.settle(before, removed)
}

// tensorsOf makes the tensors of a commit.
func (s *state) tensorsOf(m *datasetMeta) error {
	names := map[string]string{} // by key
	for name, key := range m.Names {
		names[key] = name
	}
	hidden := map[string]bool{}
	for _, key := range m.Hidden {
		hidden[key] = true
	}
	for _, key := range m.Tensors {
		if err := storage.CheckKey(key + "/x"); err != nil {
			return err
		}
		if hidden[key] && key != indexTensor || s.by[key] != nil {
			continue
		}
		t := &tensorState{key: key, name: names[key], id: idOf("tensor", key)}
		if t.name == "" {
			t.name = key
		}
		s.tensors = append(s.tensors, t)
		s.by[key] = t
	}
	return nil
}

// files adds the files of the commit.
func (s *state) files(f *fetch) {
	root := folder(s.id)
	f.optional(root+"dataset_diff", func(data []byte) error {
		s.schema = len(strings.Trim(string(data), "\x00")) > 0
		return nil
	})
	if s.full {
		f.optional(root+infoFile, into(&s.info))
	}
	for _, t := range s.tensors {
		at := root + t.key + "/"
		t.changed, t.set = &changes{}, map[string]owner{}
		f.required(at+"tensor_meta.json", into(&t.meta))
		f.optional(at+"commit_diff", keep(&t.changed, decodeChanges))
		f.optional(at+"sequence_index/unsharded", keep(&t.sequences, decodeSequences))
		if s.id != rootCommit {
			f.optional(at+"chunk_set", keep(&t.set, decodeChunkSet))
		}
		if s.full {
			f.optional(at+"tensor_info.json", into(&t.info))
			f.optional(at+"chunks_index/unsharded", keep(&t.chunks, decodeChunkIndex))
			f.optional(at+"tiles_index/unsharded", keep(&t.tiles, decodeTiles))
		}
	}
}

// locate finds the object of a chunk of a tensor in a commit.
func (l *loader) locate(id, key, name string) (string, error) {
	for id != rootCommit && id != "" {
		s := l.states[id]
		if s == nil {
			return "", errs.New(errs.Internal, "commit %q was not loaded", clip(id))
		}
		t := s.by[key]
		if t == nil {
			t = s.ids[key]
		}
		if t != nil {
			if o, ok := t.set[name]; ok {
				commit, of := id, key
				if o.commit != "" {
					commit = o.commit
				}
				if o.key != "" {
					of = o.key
				}
				if checkCommit(commit) != nil || storage.CheckKey(of+"/x") != nil {
					return "", errs.Op("read", folder(id)+key+"/chunk_set").New(errs.Corrupt, "chunk %s is borrowed from %q", name, clip(commit))
				}
				return folder(commit) + of + "/chunks/" + name, nil
			}
		}
		id = l.tree.nodes[id].Parent
	}
	return key + "/chunks/" + name, nil
}

// sizes asks for the size of a chunk of each tensor, from the middle of it.
func (l *loader) sizes(ctx context.Context, s *state) error {
	g := task.New(ctx, inFlight)
	for _, t := range s.tensors {
		if len(t.chunks) == 0 {
			continue
		}
		g.Go(func(ctx context.Context) error {
			key, err := l.locate(s.id, t.key, t.chunks[len(t.chunks)/2].name())
			if err != nil {
				return err
			}
			// The reader of the chunk reports its damage.
			if t.size, err = sizeOf(ctx, l.store, key); err != nil && ctx.Err() == nil {
				t.size, err = usualChunk, nil
			}
			return err
		})
	}
	return g.Wait()
}

// usualChunk is the size of a chunk that Deep Lake 3 mostly writes.
const usualChunk = 8_000_000

// sizeOf returns the size of an object.
func sizeOf(ctx context.Context, p storage.Provider, key string) (int64, error) {
	if r, ok := storage.As[storage.Ranger](p); ok {
		b, err := r.Range(ctx, key, 0, 1, "")
		if err != nil {
			return 0, err
		}
		defer b.Close()
		if n := b.Size(); n >= 0 {
			return n, nil
		}
	}
	if m, ok := storage.As[storage.Mapper](p); ok {
		if at, err := m.Map(ctx, key); err == nil {
			return int64(len(at.Data)), nil
		}
	}
	data, err := p.Get(ctx, key)
	return int64(len(data)), err
}
