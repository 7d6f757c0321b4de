package samplecache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/private"
	"deeplake/core/internal/tmpfile"
)

// Disk caches samples in a directory. Any number of processes may share it, and none waits for
// another. All methods may be called in parallel, except Close, which comes last.
//
// Each chunk has a file of a fixed layout (see layout); a sample not cached yet is a hole in it. A
// write puts the sample at its offset first, then its checksum into the table in front. There is
// no lock: writers of one sample write the same bytes. A torn or unfinished sample fails its
// checksum and is decoded again.
//
// Files count with their full length, holes included. If a new file does not fit, the least
// recently used files are removed, except those in use by this process. Another process that has
// a removed file open occupies its blocks until it ends.
type Disk struct {
	dir   string
	own   *private.Dir
	limit int64

	mu      sync.Mutex
	files   map[chunk.ID]*file // by chunk
	open    int                // files that stay open
	total   int64              // bytes of all files, as counted, and added since
	added   int64              // since then
	counted bool
	pause   time.Time // nothing is added before it

	hits, misses, samples, faults atomic.Int64
	first                         atomic.Pointer[string]
}

// file is the state of the file of a chunk in this process.
type file struct {
	path   string // below the directory
	layout layout

	mu     sync.Mutex
	f      *os.File // nil: opened for each use, or not yet
	absent bool     // there is none, and no room for one
	state  state
	known  []bool // samples seen in the table or written; read under mu
}

type state uint8

const (
	unseen state = iota
	there        // the file is there and has the layout
	without
)

const (
	maxOpen   = 512
	suffix    = ".pixels"
	newPrefix = "new-"
	newAge    = time.Hour // of an abandoned file
	failPause = 30 * time.Second
	recount   = 16 // parts of the limit that are added before files are counted again
)

// OpenDisk makes a cache of at most limit bytes in dir, which is made. A directory that cannot be
// made or written, or that other accounts can change, is an error here, and a fault in Stats later.
func OpenDisk(dir string, limit int64) (*Disk, error) {
	own, err := private.Open(dir)
	if err == nil {
		err = probe(own)
	}
	if err != nil {
		kind := errs.Storage
		if errs.Is(err, errs.Invalid) {
			kind = errs.Invalid
		}
		return nil, errs.Op("open cache", dir).New(kind, "%w", err)
	}
	return &Disk{dir: dir, own: own, limit: limit, files: map[chunk.ID]*file{}}, nil
}

// probe reports whether files can be made.
func probe(own *private.Dir) error {
	f, err := tmpfile.New(own.Root(), ".", "probe-")
	if err != nil {
		return err
	}
	return f.Close()
}

// Load fills dst with the sample if it is cached and undamaged.
func (d *Disk) Load(r *chunk.Ref, dst []byte) bool {
	if fits(r) && d.load(r, dst) {
		d.hits.Add(1)
		return true
	}
	d.misses.Add(1)
	return false
}

func (d *Disk) load(r *chunk.Ref, dst []byte) bool {
	f := d.of(r.Chunk)
	ok := false
	err := f.use(d, false, func(h *os.File) error {
		var entry [entryBytes]byte
		if _, err := h.ReadAt(entry[:], f.layout.entry(r.Item)); err != nil {
			return err
		}
		sum, hit := decodeEntry(entry)
		if !hit {
			return nil
		}
		if _, err := h.ReadAt(dst, f.layout.offset(r.Item)); err != nil {
			return err
		}
		ok = format.CRC(dst) == sum
		f.note(r.Item, ok)
		return nil
	})
	if err != nil {
		d.fault(err)
	}
	return ok
}

// Has reports whether the sample was seen by Load or written by Keep, or stands in the table of its
// file. It may be gone when it is requested.
func (d *Disk) Has(r *chunk.Ref) bool {
	if !fits(r) {
		return false
	}
	f := d.of(r.Chunk)
	f.survey(d)
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.Item < int64(len(f.known)) && f.known[r.Item]
}

// Store writes the sample, if there is room for the file of its chunk.
func (d *Disk) Store(r *chunk.Ref, data []byte) {
	if !fits(r) || int64(len(data)) != r.Size || d.paused() {
		return
	}
	f := d.of(r.Chunk)
	if f.layout.offset(r.Item)+r.Size > f.layout.size {
		return
	}
	err := f.use(d, true, func(h *os.File) error {
		if _, err := h.WriteAt(data, f.layout.offset(r.Item)); err != nil {
			return err
		}
		entry := encodeEntry(format.CRC(data))
		if _, err := h.WriteAt(entry[:], f.layout.entry(r.Item)); err != nil {
			return err
		}
		f.note(r.Item, true)
		d.samples.Add(1)
		return nil
	})
	if err != nil {
		d.fault(err)
		d.mu.Lock()
		d.pause = time.Now().Add(failPause)
		d.mu.Unlock()
	}
}

func (d *Disk) paused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.pause.IsZero() && time.Now().Before(d.pause)
}

// of returns the state of the file of a chunk.
func (d *Disk) of(c *chunk.Chunk) *file {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[c.ID]
	if f == nil {
		sum := sha256.Sum256(append([]byte(magic), c.ID[:]...)) // another layout has other files
		name := hex.EncodeToString(sum[:16])
		f = &file{path: name[:2] + "/" + name + suffix, layout: layoutOf(c.Index)}
		d.files[c.ID] = f
	}
	return f
}

// use calls body with the open file; without one, and with make unset or no room, it does nothing.
func (f *file) use(d *Disk, create bool, body func(*os.File) error) error {
	f.mu.Lock()
	h, stays, err := f.handle(d, create)
	f.mu.Unlock()
	if h == nil {
		return err
	}
	err = body(h)
	if !stays {
		err = errors.Join(err, h.Close())
	}
	return err
}

// handle opens the file, or gives the one that stays open. The lock is held.
func (f *file) handle(d *Disk, create bool) (h *os.File, stays bool, err error) {
	switch {
	case f.f != nil:
		return f.f, true, nil
	case f.absent, f.state == without && !create:
		return nil, false, nil
	}
	h, err = d.own.File(f.path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		f.state = without
		if !create {
			return nil, false, nil
		}
		if h, err = f.create(d); h == nil {
			return nil, false, err
		}
	}
	if err != nil {
		return nil, false, err
	}
	if f.state != there {
		if err := f.check(h); err != nil {
			f.absent = true // a file of another layout belongs to another program
			return nil, false, errors.Join(err, h.Close())
		}
		f.state = there
		d.own.Touch(f.path, time.Now())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open < maxOpen {
		d.open++
		f.f = h
		return h, true, nil
	}
	return h, false, nil
}

// create makes the file if there is room, and marks it as absent otherwise. It appears whole; where
// another process was first, the file is that one's.
func (f *file) create(d *Disk) (*os.File, error) {
	if !d.reserve(f.layout.size) {
		f.absent = true
		return nil, nil
	}
	dir := f.path[:2]
	if err := d.own.Folder(dir); err != nil {
		return nil, err
	}
	h, err := tmpfile.New(d.own.Root(), dir, newPrefix)
	if err != nil {
		return nil, err
	}
	head := f.layout.head()
	_, err = h.WriteAt(head[:], 0)
	if err == nil {
		err = h.Truncate(f.layout.size)
	}
	if err == nil {
		err = h.Link(f.path)
	}
	if err = errors.Join(err, h.Close()); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return d.own.File(f.path, os.O_RDWR)
}

// check holds the head of a file against the layout.
func (f *file) check(h *os.File) error {
	var got [headBytes]byte
	if _, err := h.ReadAt(got[:], 0); err != nil {
		return errs.New(errs.Corrupt, "cache file %q: %w", f.path, err)
	}
	if got != f.layout.head() {
		return errs.New(errs.Corrupt, "cache file %q: its head is not that of the chunk; remove it", f.path)
	}
	return nil
}

// survey reads the table once, to know the samples in the file.
func (f *file) survey(d *Disk) {
	f.mu.Lock()
	seen := f.known != nil
	f.mu.Unlock()
	if seen {
		return
	}
	known := make([]bool, f.layout.items())
	err := f.use(d, false, func(h *os.File) error {
		table := make([]byte, entryBytes*len(known))
		if _, err := h.ReadAt(table, headBytes); err != nil {
			return err
		}
		for i := range known {
			_, known[i] = decodeEntry([entryBytes]byte(table[entryBytes*i:]))
		}
		return nil
	})
	if err != nil {
		d.fault(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = known
	}
}

// note remembers whether a sample can be read.
func (f *file) note(item int64, good bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		return // survey will see
	}
	f.known[item] = good
}

func (d *Disk) fault(err error) {
	text := errs.Wrap(errs.Storage, "cache in", d.dir, err).Error()
	d.first.CompareAndSwap(nil, &text)
	d.faults.Add(1)
}

// Stats are the figures since the start; Bytes is as counted last.
func (d *Disk) Stats() Stats {
	s := Stats{Hits: d.hits.Load(), Misses: d.misses.Load(), Stored: d.samples.Load(), Limit: d.limit, Faults: d.faults.Load()}
	if text := d.first.Load(); text != nil {
		s.Fault = *text
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Bytes = d.total
	return s
}

// Close closes the files, which stay for the next run.
func (d *Disk) Close() {
	d.mu.Lock()
	files := d.files
	d.files = map[chunk.ID]*file{}
	d.mu.Unlock()
	for _, f := range files {
		f.mu.Lock()
		if f.f != nil {
			_ = f.f.Close() // unwritten samples are misses of the next run
			f.f = nil
		}
		f.absent = true
		f.mu.Unlock()
	}
}

const (
	magic      = "dlpixel2"
	headBytes  = 32 // magic, items u32, 0 u32, size u64, CRC-32C of these u32, 0 u32
	entryBytes = 8  // CRC-32C of the sample u32, 1 u32 once it is cached
	alignBytes = 64
)

// layout is where the samples of a chunk lie in its file: head, table, samples in order, each at a
// multiple of 64 bytes.
type layout struct {
	starts []int64
	size   int64
}

func layoutOf(x *format.Index) layout {
	n := x.Items()
	l := layout{starts: make([]int64, n)}
	at := align(headBytes + entryBytes*n)
	for i := range n {
		l.starts[i] = at
		size := int64(x.DType().Size())
		for _, side := range x.Shape(i) {
			size *= side
		}
		at = align(at + size)
	}
	l.size = at
	return l
}

func align(n int64) int64 { return (n + alignBytes - 1) / alignBytes * alignBytes }

func (l *layout) items() int64            { return int64(len(l.starts)) }
func (l *layout) entry(item int64) int64  { return headBytes + entryBytes*item }
func (l *layout) offset(item int64) int64 { return l.starts[item] }

func (l *layout) head() (h [headBytes]byte) {
	copy(h[:], magic)
	binary.LittleEndian.PutUint32(h[8:], uint32(len(l.starts)))
	binary.LittleEndian.PutUint64(h[16:], uint64(l.size))
	binary.LittleEndian.PutUint32(h[24:], format.CRC(h[:24]))
	return h
}

func encodeEntry(sum uint32) (e [entryBytes]byte) {
	binary.LittleEndian.PutUint32(e[:], sum)
	binary.LittleEndian.PutUint32(e[4:], 1)
	return e
}

func decodeEntry(e [entryBytes]byte) (sum uint32, hit bool) {
	return binary.LittleEndian.Uint32(e[:]), binary.LittleEndian.Uint32(e[4:]) == 1
}
