package viz

import (
	"strconv"
	"sync"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/read"
	"deeplake/core/session"
)

// mostViews of a server are open at once. The one that was used longest ago is closed for another;
// pages open it again when they need it.
const mostViews = 32

// openView is a view of a page, with the decoders of its readers.
type openView struct {
	*session.View
	branch  string // of its commit
	workers read.Pool[*chunk.Worker]
	blocks  *chunk.BlockCache // of workers
	videos  Videos            // nil: pages learn nothing of them
	close   func()            // of the resources of the view; nil: it has none
	readers int               // and the table, as long as the view is in it
	used    uint64            // a higher number was used later
}

// readerBlocks bounds the memory in which a view caches blocks of small samples.
const readerBlocks = 8 << 20

func newOpenView(v *session.View, branch string, end func()) *openView {
	o := &openView{View: v, branch: branch, close: end, blocks: chunk.NewBlockCache(readerBlocks)}
	o.workers.New = func() *chunk.Worker {
		w := v.NewWorker()
		w.CacheBlocks(o.blocks)
		return w
	}
	return o
}

// views are the open views of a server, by name. The zero value has none.
type views struct {
	mu     sync.Mutex
	all    map[string]*openView
	last   uint64
	closed bool
}

// put takes over a view and returns its name.
func (t *views) put(v *openView) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v.readers = 1
	if t.closed {
		t.leave(v)
		return "", errs.Op("open view", "").New(errs.Closed, "the visualizer is closed")
	}
	if t.all == nil {
		t.all = map[string]*openView{}
	}
	if len(t.all) == mostViews {
		t.drop(t.oldest())
	}
	t.last++
	v.used = t.last
	name := "v" + strconv.FormatUint(t.last, 10)
	t.all[name] = v
	return name, nil
}

func (t *views) oldest() string {
	name, least := "", uint64(0)
	for n, v := range t.all {
		if name == "" || v.used < least {
			name, least = n, v.used
		}
	}
	return name
}

// get returns a view for reading. The caller calls done after that.
func (t *views) get(name string) (v *openView, done func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v = t.all[name]
	if v == nil {
		return nil, nil, errs.New(errs.NotFound, "no view %.40q; open it again", name)
	}
	t.last++
	v.used = t.last
	v.readers++
	return v, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.leave(v)
	}, nil
}

// ofView is the part of a request that names an open view. Requests embed it.
type ofView struct {
	View string `json:"view"`
}

func (o *ofView) name() string { return o.View }

// use parses a request and returns its view. The caller calls done after reading.
func (t *views) use(body []byte, in interface{ name() string }) (v *openView, done func(), err error) {
	if err := Parse(body, in); err != nil {
		return nil, nil, err
	}
	return t.get(in.name())
}

// drop forgets a view, if it is there. The lock is held.
func (t *views) drop(name string) {
	if v := t.all[name]; v != nil {
		delete(t.all, name)
		t.leave(v)
	}
}

// leave closes a view behind its last reader. The lock is held.
func (t *views) leave(v *openView) {
	if v.readers--; v.readers > 0 {
		return
	}
	v.workers.Close()
	v.blocks.Close()
	if v.videos != nil {
		v.videos.Close()
	}
	if v.close != nil {
		v.close()
	}
}

func (t *views) forget(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(name)
}

// close forgets all views. Those that are being read are closed by their readers.
func (t *views) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for name := range t.all {
		t.drop(name)
	}
}
