package ingest

import (
	"context"
	"math/bits"
	"sync"

	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

const (
	// budgetBytes bounds the bytes that are fetched and not yet written. A disk answers at once, so
	// that a folder needs only localBytes for each core.
	budgetBytes = 64 << 20
	localBytes  = 8 << 20
	// waitingObjects bounds the objects on their way, however small.
	waitingObjects = 4096
	// listedAhead is the number of listed objects that wait for a fetcher. It keeps the fetchers
	// busy while a page of the listing is read.
	listedAhead = 4096
	// sourceWorkers is the number of requests at once to a store across a network; the store's own
	// limit may be lower.
	sourceWorkers = 64
)

// pipeline finds objects, fetches them in parallel, and passes them to write in the order of the
// listing. The context of write ends when a fetcher stops and rows may be missing.
func (im *importer) pipeline(ctx context.Context, v *dataset.View, write func(ctx context.Context, o *object) error) error {
	g := task.New(ctx, 0)
	found, todo, order := make(chan *object, listedAhead), make(chan *object), make(chan *object, waitingObjects)
	g.Go(func(ctx context.Context) error {
		defer close(found)
		return im.match(ctx, v, func(o *object) bool { return handOn(ctx, found, o) })
	})
	g.Go(func(ctx context.Context) error {
		defer close(todo)
		defer close(order)
		for o := range found {
			o.cost = o.format.Cost(im, o.Entry)
			if o.out = make(chan []row, max(1, o.format.Portions)); o.format.Portions > 1 {
				o.room = newBudget(o.cost)
			}
			if o.format.Portions > 1 || im.videos && o.Size < 0 {
				o.turn = make(chan struct{})
			}
			// The writer waits for those that come first.
			if !im.budget.take(ctx, o.cost) || !handOn(ctx, order, o) || !handOn(ctx, todo, o) {
				break
			}
		}
		return nil
	})
	for range im.workers() {
		g.Go(func(ctx context.Context) error {
			for o := range todo {
				o.err = im.fetch(ctx, o)
				close(o.out)
			}
			return nil
		})
	}
	var err error
	for o := range order {
		if err == nil {
			if err = ctx.Err(); err == nil {
				err = write(g.Context(), o)
			}
			if err != nil {
				g.Stop()
			}
		}
	}
	if waited := g.Wait(); err == nil {
		err = waited
	}
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, "import from", im.source.URI(), ctx.Err())
	}
	return err
}

// handOn sends an object to the channel, and reports whether ctx was not cancelled before.
func handOn(ctx context.Context, to chan<- *object, o *object) bool {
	select {
	case to <- o:
		return true
	case <-ctx.Done():
		return false
	}
}

// budgetOf returns the bytes that are fetched and not yet written.
func (l *source) budgetOf() int64 {
	if l.local {
		return min(budgetBytes, localBytes*int64(task.Cores()))
	}
	return budgetBytes
}

func (im *importer) workers() int {
	switch {
	case im.o.Workers > 0:
		return im.o.Workers
	case im.source.local:
		return max(4, 2*task.Cores())
	default:
		return sourceWorkers
	}
}

// fetch makes the rows of an object. An error is about the source; a fault of the object becomes a
// row with a reason.
func (im *importer) fetch(ctx context.Context, o *object) error {
	err := o.format.Rows(ctx, im, o)
	if err == nil || im.fatal(ctx, err) {
		return err
	}
	return o.sendOne(ctx, row{reason: err.Error()})
}

// sendOne hands over the only row of an object.
func (o *object) sendOne(ctx context.Context, r row) error {
	r.path = o.Key
	if r.from.Path == "" {
		r.from = o.origin()
	}
	return o.send(ctx, []row{r})
}

// send hands rows to the writer, waiting for room.
func (o *object) send(ctx context.Context, rows []row) error {
	if o.room != nil && !o.room.take(ctx, size(rows)) {
		return ctx.Err()
	}
	select {
	case o.out <- rows:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fatal reports whether err concerns more than one object. Errors of a folder concern single files.
// A remote store that fails after all retries, or refuses, fails for the next object too.
func (im *importer) fatal(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	switch errs.KindOf(err) {
	case errs.Storage, errs.Denied:
		return !im.source.local
	case errs.Closed, errs.Canceled, errs.Internal:
		return true
	}
	return false
}

// ask begins to read an object at off. The version is that of the listing, or the present one if
// the object has changed since. The returned origin describes the object actually read.
func (im *importer) ask(ctx context.Context, o *object, off, n int64) (storage.Body, origin.Origin, error) {
	body, err := im.source.Range(ctx, o.Key, off, n, o.Tag)
	if errs.Is(err, errs.Conflict) {
		body, err = im.source.Range(ctx, o.Key, off, n, "")
	}
	from := o.origin()
	if err != nil {
		return nil, from, err
	}
	if tag := body.Tag(); tag != "" && tag != from.Tag {
		from.Tag = tag
	}
	if size := body.Size(); size >= 0 {
		from.Size = size
	}
	return body, from, nil
}

// unchanged is the reason of a row whose object turned out to be unchanged when it was requested:
// the listing gave neither tag nor size.
const unchanged = "unchanged"

// budget bounds the bytes in flight. One goroutine takes, others give back.
type budget struct {
	limit int64
	mu    sync.Mutex
	used  int64
	freed chan struct{}
}

func newBudget(limit int64) *budget { return &budget{limit: limit, freed: make(chan struct{}, 1)} }

// take waits until n more bytes fit the limit; more than the limit are used alone. It returns false
// if ctx is done before.
func (b *budget) take(ctx context.Context, n int64) bool {
	for {
		b.mu.Lock()
		ok := b.used == 0 || b.used+n <= b.limit
		if ok {
			b.used += n
		}
		b.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-b.freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// buffers reuses the memory of written objects for later ones. Without it, an import of small files
// spends much of its time on garbage collection.
type buffers struct {
	mu   sync.Mutex
	free [32][][]byte // by the logarithm of their size
	held int64
	// the last one of more than heldBytes: of large videos, one at a time is in memory
	large []byte
}

// heldBytes bounds the unused memory, but for one larger piece.
const heldBytes = 32 << 20

// get returns n bytes of any content.
func (b *buffers) get(n int64) []byte {
	if n > heldBytes {
		b.mu.Lock()
		defer b.mu.Unlock()
		if int64(cap(b.large)) < n {
			b.large = nil // before more is allocated
			return make([]byte, n)
		}
		p := b.large[:n]
		b.large = nil
		return p
	}
	class := bits.Len64(uint64(max(n, 512) - 1))
	if class >= len(b.free) {
		return make([]byte, n)
	}
	b.mu.Lock()
	list := b.free[class]
	if k := len(list); k > 0 {
		p := list[k-1]
		b.free[class] = list[:k-1]
		b.held -= int64(cap(p))
		b.mu.Unlock()
		return p[:n]
	}
	b.mu.Unlock()
	return make([]byte, n, 1<<class)
}

// put takes back memory from get.
func (b *buffers) put(p []byte) {
	size := cap(p)
	if size > heldBytes {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.large = p
		return
	}
	if size < 512 || size&(size-1) != 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if class := bits.Len(uint(size)) - 1; class < len(b.free) && b.held+int64(size) <= heldBytes {
		b.free[class] = append(b.free[class], p)
		b.held += int64(size)
	}
}
