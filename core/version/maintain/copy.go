package maintain

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// CopyOptions are the options of Copy.
type CopyOptions struct {
	// History copies all branches and tags with all their commits, as they are. Without it the copy
	// begins with one commit, of the rows and tensors that the source has, under a new identity and
	// of the newest format version.
	History bool
	Message string // of that one commit
	Author  string
	// Progress, if not nil, is filled in as the copy goes on; it may be read at any time.
	Progress *version.Progress
}

// CopyReport says what Copy did.
type CopyReport struct {
	Objects int64 `json:"objects"` // of the copy
	Bytes   int64 `json:"bytes"`
	Skipped int64 `json:"skipped"` // were there from a copy that was cut short
	Server  int64 `json:"server"`  // copied by the store itself
	Commits int64 `json:"commits"`
}

// copiesInFlight is the number of objects copied at once; each takes up to wholeChunk of memory.
const copiesInFlight = 16

// Copy makes dst a copy of the dataset at the snapshot at, which is a commit. Chunks are shared
// with no other dataset: every object is copied, by the store itself where both sides are one
// store, else through here, its checksums checked. The object that makes a dataset exist is written
// last: a copy that is cut short leaves no dataset, and another Copy compares the objects that it
// finds, and copies those that differ. Names are written when all that they stand for is there. A
// dataset at dst is errs.Exists. Commits that others make meanwhile are not in the copy.
func Copy(ctx context.Context, r *version.Repo, at *version.Snapshot, dst storage.Provider, o CopyOptions) (CopyReport, error) {
	c := &copying{repo: r, dst: dst, o: o}
	if c.o.Progress == nil {
		c.o.Progress = &version.Progress{}
	}
	if err := version.CheckCommitted("copy", r.Store.URI(), at); err != nil {
		return c.report, err
	}
	if r.Store.URI() == dst.URI() {
		return c.report, errs.Op("copy", dst.URI()).New(errs.Invalid, "the destination is the dataset itself")
	}
	found, err := version.Exists(ctx, dst)
	if err != nil {
		return c.report, err
	}
	if found {
		return c.report, errs.New(errs.Exists, "copy %q to %q: a dataset exists there; delete it, or copy to another place", r.Store.URI(), dst.URI())
	}
	if err := c.run(ctx, at); err != nil {
		return c.report, err
	}
	c.report.Skipped, c.report.Server = c.skipped.Load(), c.server.Load()
	c.report.Objects, c.report.Bytes = c.o.Progress.Items.Load(), c.o.Progress.Bytes.Load()
	return c.report, nil
}

// copying is one run of Copy.
type copying struct {
	repo    *version.Repo
	dst     storage.Provider
	o       CopyOptions
	sizes   map[chunkKey]int64 // of chunks without tiles; nil: the store lists its objects
	report  CopyReport
	skipped atomic.Int64
	server  atomic.Int64
}

func (c *copying) run(ctx context.Context, at *version.Snapshot) error {
	// The names are read first: commits and names that others make from now on are not part of the
	// copy.
	var refs []storage.Object
	w := newMarker(c.repo)
	if c.o.History {
		expired, err := expiries(ctx, c.repo, time.Time{}, false, nil)
		if err != nil {
			return err
		}
		w.expired = expired.below() // the names of these are read after it, hence copied too
		for _, prefix := range []string{"refs/", format.ViewsPrefix()} {
			if err := version.List(ctx, c.repo.Store, prefix, "", func(o storage.Object) bool {
				refs = append(refs, o)
				return true
			}); err != nil {
				return err
			}
		}
		if refs, err = c.repo.Objects().Unreplaced(ctx, refs); err != nil {
			return err
		}
		tips, err := roots(ctx, c.repo, time.Time{}, true, nil)
		if err != nil {
			return err
		}
		if err := w.markAll(ctx, tips); err != nil {
			return err
		}
		for _, n := range w.commits {
			c.report.Commits += int64(n)
		}
	} else {
		if err := c.measure(ctx, w); err != nil {
			return err
		}
		if err := w.commit(ctx, &visit{name: c.repo.Branch(), rec: at.Record}); err != nil {
			return err
		}
		clear(w.txns) // the copy's own commit has its operations
		if page := at.Record.ColumnsPage; page != nil {
			delete(w.seen, *page) // and has its own page of columns
		}
		c.report.Commits = 1
	}
	prefixes := []string{"data/", "map/", "txn/"}
	if c.o.History {
		prefixes = append(prefixes, "log/")
	}
	wanted, err := c.wanted(ctx, w, prefixes)
	if err != nil {
		return err
	}
	expected := map[string]bool{}
	for _, o := range refs {
		expected[o.Key] = true
	}
	if err := version.Vacant(ctx, "copy to", c.dst, expected); err != nil {
		return err
	}
	// Names come when all that they stand for is there.
	for _, objects := range [][]storage.Object{wanted, refs} {
		if err := c.objects(ctx, objects); err != nil {
			return err
		}
	}
	tsf := c.repo.TSF
	tsf.Replaces = nil // nothing of those is copied
	if !c.o.History {
		if tsf, err = c.repo.Objects().CopyInto(ctx, at, c.dst, c.o.Message, c.o.Author); err != nil {
			return err
		}
	}
	data, err := format.EncodeTSF(tsf)
	if err != nil {
		return err
	}
	err = version.PutOurs(ctx, c.dst, format.TSFKey(), data)
	if errs.Is(err, errs.Exists) {
		return errs.New(errs.Exists, "copy %q to %q: another dataset was made there meanwhile", c.repo.Store.URI(), c.dst.URI())
	}
	return err
}

// measure makes the walk note the sizes of chunks if the store cannot list its objects, as a web
// server.
func (c *copying) measure(ctx context.Context, w *marker) error {
	err := version.List(ctx, c.repo.Store, "data/", "", func(storage.Object) bool { return false })
	if !errs.Is(err, errs.Unsupported) {
		return err
	}
	c.sizes = map[chunkKey]int64{}
	w.leaf = func(_ context.Context, _ *visit, entries []format.Entry) error {
		for i := range entries {
			e := &entries[i]
			if !e.Side.IsZero() {
				w.seen[e.Side] = struct{}{}
			}
			if e.Tiles == 0 {
				c.sizes[chunkKey{e.Session, e.Ordinal}] = e.Bytes
			}
		}
		return nil
	}
	return nil
}

// met names the objects that the walk has reached, with the sizes that it has noted; -1: not known.
func (c *copying) met(w *marker) []storage.Object {
	var out []storage.Object
	for id := range w.seen {
		out = append(out, storage.Object{Key: format.MapKey(id), Size: -1})
	}
	for session, ordinals := range w.chunks {
		for it := ordinals.Iterator(); it.HasNext(); {
			id := chunkKey{session, int64(it.Next())}
			size, ok := c.sizes[id]
			if !ok {
				size = -1
			}
			out = append(out, storage.Object{Key: id.key(), Size: size})
		}
	}
	for _, o := range out {
		c.o.Progress.Expect(1, max(0, o.Size))
	}
	return out
}

// wanted lists the objects that the walk has reached, and makes sure that it has them all.
func (c *copying) wanted(ctx context.Context, w *marker, prefixes []string) ([]storage.Object, error) {
	if c.sizes != nil {
		return c.met(w), nil
	}
	missing := int64(len(w.seen) + len(w.txns))
	for _, set := range w.chunks {
		missing += int64(set.GetCardinality())
	}
	if c.o.History {
		missing += c.report.Commits
	}
	var out []storage.Object
	p := c.o.Progress
	for _, prefix := range prefixes {
		if err := version.List(ctx, c.repo.Store, prefix, "", func(o storage.Object) bool {
			if w.marked(o.Key) {
				out = append(out, o)
				p.Expect(1, o.Size)
				missing--
			}
			return true
		}); err != nil {
			return nil, err
		}
	}
	if missing != 0 {
		return nil, errs.Op("copy", c.repo.Store.URI()).New(errs.Corrupt, "%d objects are missing from the dataset; fsck() names them", missing)
	}
	return out, nil
}

// objects copies objects that dst has not yet.
func (c *copying) objects(ctx context.Context, wanted []storage.Object) error {
	there := map[string]int64{}
	if err := c.dst.List(ctx, "", "", func(o storage.Object) bool {
		there[o.Key] = o.Size
		return true
	}); err != nil {
		return err
	}
	g := task.New(ctx, copiesInFlight)
	for _, o := range wanted {
		if g.Context().Err() != nil {
			break
		}
		g.Go(func(ctx context.Context) error {
			size, found := there[o.Key]
			same := false
			if found && size == o.Size {
				var err error
				if same, err = c.equal(ctx, o); err != nil {
					return err
				}
			}
			if same {
				c.skipped.Add(1)
			} else if size, err := c.object(ctx, o); err != nil {
				return err
			} else {
				o.Size = size
			}
			c.o.Progress.Did(1, o.Size)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return errs.Wrap(errs.Canceled, "copy", c.repo.Store.URI(), ctx.Err())
}

// equal reports whether the destination has an object with the bytes of the source. Both are read,
// in pieces: an object that was damaged on the way has the size of a whole one, and so has a name
// that stands for another commit.
func (c *copying) equal(ctx context.Context, o storage.Object) (bool, error) {
	here, there := make([]byte, min(o.Size, compareBytes)), make([]byte, min(o.Size, compareBytes))
	for at := int64(0); at < o.Size; at += compareBytes {
		n := min(o.Size-at, compareBytes)
		if err := c.repo.Store.ReadAt(ctx, o.Key, here[:n], at); err != nil {
			return false, chunkmap.Missing(err, "copy", o.Key)
		}
		err := c.dst.ReadAt(ctx, o.Key, there[:n], at)
		if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Corrupt) {
			return false, nil
		}
		if err != nil || !bytes.Equal(here[:n], there[:n]) {
			return false, errs.Wrap(errs.Storage, "copy", o.Key, err)
		}
	}
	return true, nil
}

// compareBytes is the size of the pieces in which two objects are compared.
const compareBytes = 4 << 20

// object copies one object, and returns its size.
func (c *copying) object(ctx context.Context, o storage.Object) (int64, error) {
	if cp, ok := storage.As[storage.Copier](c.dst); ok {
		done, err := cp.CopyFrom(ctx, c.repo.Store, o.Key, o.Key)
		if err != nil {
			return 0, err
		}
		if done {
			c.server.Add(1)
			return o.Size, nil
		}
	}
	session, ordinal, notChunk := format.ParseDataKey(o.Key)
	id := chunkKey{session, ordinal}
	if notChunk == nil && o.Size > wholeChunk {
		return o.Size, c.chunk(ctx, id, o.Size)
	}
	data, err := c.whole(ctx, o, notChunk == nil)
	if err != nil {
		return 0, chunkmap.Missing(err, "copy", o.Key)
	}
	if notChunk == nil {
		err = (&chunkCheck{id: id}).look(ctx, heldObject{c.repo.Store, o.Key, data}, int64(len(data)))
	} else {
		err = c.page(o.Key, data)
	}
	if err != nil {
		return 0, err
	}
	return int64(len(data)), c.dst.Put(ctx, o.Key, data)
}

// whole reads an object. The size of a chunk saves the request that asks for it.
func (c *copying) whole(ctx context.Context, o storage.Object, chunk bool) ([]byte, error) {
	if chunk && o.Size >= 0 {
		data := make([]byte, o.Size)
		return data, c.repo.Store.ReadAt(ctx, o.Key, data, 0)
	}
	data, err := c.repo.Store.Get(ctx, o.Key)
	if err == nil && o.Size >= 0 && int64(len(data)) != o.Size {
		err = errs.Op("copy", o.Key).New(errs.Corrupt, "got %d bytes, want %d", len(data), o.Size)
	}
	return data, err
}

// page holds an object that is no chunk against its name and its checksum.
func (c *copying) page(key string, data []byte) error {
	if err := c.named(key, data); err != nil {
		return errs.Wrap(errs.Corrupt, "copy", key, err)
	}
	if strings.HasPrefix(key, "refs/") {
		return nil
	}
	if len(data) < 5 {
		return errs.Op("copy", key).New(errs.Corrupt, "has %d bytes, too few for a frame", len(data))
	}
	_, err := format.DecodeFrame(format.Kind(data[4]), data)
	return errs.Wrap(errs.Corrupt, "copy", key, err)
}

// named holds a page or a transaction summary against its name.
func (c *copying) named(key string, data []byte) error {
	if prefix, rest, _ := strings.Cut(key, "/"); prefix == "map" || prefix == "txn" {
		name, err := format.ParseUUID(rest)
		if err != nil {
			return err
		}
		return format.CheckObject(name, data)
	}
	return nil
}

// chunk copies a large chunk piece by piece, each checked before it goes on. A smaller one takes
// one request instead of four.
func (c *copying) chunk(ctx context.Context, id chunkKey, size int64) error {
	src := c.repo.Store
	x, _, err := chunkIndex(ctx, src, id, format.UUID{}, size)
	if err != nil {
		return chunkmap.Missing(err, "copy", id.key())
	}
	out, err := storage.Create(ctx, c.dst, id.key())
	if err != nil {
		return err
	}
	defer out.Abort()
	ends := func(from, to int64) error {
		part := make([]byte, to-from)
		if err := src.ReadAt(ctx, id.key(), part, from); err != nil {
			return err
		}
		_, err := out.Write(part)
		return err
	}
	if err := ends(0, format.ChunkHeadBytes); err != nil {
		return err
	}
	if err := eachBlock(ctx, src, id.key(), x, func(block int, data []byte) error {
		if got, want := format.CRC(data), x.CRC(block); got != want {
			return errs.Op("copy", id.key()).New(errs.Corrupt, "block %d has checksum 0x%08x, want 0x%08x", block, got, want)
		}
		_, err := out.Write(data)
		return err
	}); err != nil {
		return err
	}
	if err := ends(x.End(), size); err != nil {
		return err
	}
	return out.Finish(ctx)
}

// heldObject is a store of which one object is in memory already.
type heldObject struct {
	storage.Provider
	key  string
	data []byte
}

// ReadAt copies from the memory.
func (h heldObject) ReadAt(_ context.Context, key string, dst []byte, off int64) error {
	if key != h.key || off < 0 || off > int64(len(h.data)) || copy(dst, h.data[off:]) < len(dst) {
		return errs.Op("read", key).New(errs.Corrupt, "%d bytes at %d are not in the object", len(dst), off)
	}
	return nil
}
