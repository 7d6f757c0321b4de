package cache

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/private"
	"deeplake/core/internal/tmpfile"
)

// Disk is a Layer in a directory, which any number of processes may share. All methods may be
// called in parallel.
//
// A page, or a segment of pages, is a file in one of 256 folders, named by the hash of store, key
// and number; it is written under tmp/ and renamed. The modification time of a file is when it was
// used last, within a minute.
//
// The limit is cut into shares of at least 64 MiB, one for each folder or for some neighbours.
// Before a file is kept, its share is counted again if this process has added more than a 64th of
// it since it counted last, and the files used longest ago are removed until an eighth of the share
// is free. So files that others add meanwhile fit into that eighth as long as no more than eight
// processes, or two with segments in the smallest shares, fill the same share at the same time;
// each further one may exceed the limit by a 64th of the share, or by a file. Files under tmp/ are
// not counted: there is one for each page or segment that is being written, and those of killed
// processes are removed after an hour.
//
// The file "claims" stays empty. Processes lock its bytes while they fetch pages.
//
// The directory belongs to one account: see private.Open.
type Disk struct {
	shared
	dir     string
	own     *private.Dir // nil: it cannot be used
	refused error
	limit   int64
	per     int // folders of a share
	shares  []share
	claimed *claims

	failed atomic.Int64 // nanoseconds since the epoch until which nothing is kept
	count  atomic.Int64
	first  atomic.Pointer[string]
}

// share is some folders and their part of the limit.
type share struct {
	mu      sync.Mutex
	counted bool
	total   int64 // bytes when it was counted, and added since
	added   int64 // since then
}

const (
	folders    = 256
	shareBytes = 64 << 20 // at least, unless the limit is below
	blockBytes = 4 << 10  // files take whole blocks
	tmpDir     = "tmp"
	claimsFile = "claims"
	tmpAge     = time.Hour
	touchAge   = time.Minute
	failPause  = 30 * time.Second
)

// NewDisk makes a layer in dir, of at most limit bytes. What keeps it from working, now or later,
// is a fault for Stats and no error: the cache is empty then. Refused is an error for callers that
// can tell their user.
func NewDisk(dir string, limit int64) *Disk {
	d := &Disk{dir: dir, limit: limit, per: folders}
	d.claimed = newClaims(newLocker(d.openClaims))
	for d.per > 1 && limit/int64(folders/d.per*2) >= shareBytes {
		d.per /= 2
	}
	d.shares = make([]share, folders/d.per)
	own, err := private.Open(dir)
	if err == nil {
		d.own = own
		err = own.Folder(tmpDir)
	}
	if err != nil {
		if d.fault(err); errs.Is(err, errs.Invalid) {
			d.refused = err
		}
		return d
	}
	d.clean(time.Now().Add(-tmpAge))
	return d
}

// Refused returns why the directory is none for a cache: other accounts can change it.
func (d *Disk) Refused() error { return d.refused }

func (d *Disk) openClaims() (*os.File, error) {
	if d.own == nil {
		return nil, fs.ErrNotExist
	}
	return d.own.File(claimsFile, os.O_RDWR|os.O_CREATE)
}

// claims returns nil while pages cannot be kept: waiting for them would be in vain.
func (d *Disk) claims() *claims {
	if d.own == nil || maxEntry > d.room() || time.Now().UnixNano() < d.failed.Load() {
		return nil
	}
	return d.claimed
}

// clean removes what killed processes left.
func (d *Disk) clean(before time.Time) {
	files, err := d.own.Files(tmpDir)
	if err != nil {
		return // there is nothing that can be cleaned
	}
	for _, f := range files {
		if f.ModTime().Before(before) {
			_ = d.own.Remove(tmpDir + "/" + f.Name()) // the next one tries again
		}
	}
}

func (d *Disk) fault(err error) {
	text := errs.Wrap(errs.Storage, "cache in", d.dir, err).Error()
	d.first.CompareAndSwap(nil, &text)
	d.count.Add(1)
}

func (d *Disk) faults() (int64, string) {
	text := d.first.Load()
	if text == nil {
		return 0, ""
	}
	return d.count.Load(), *text
}

func (d *Disk) path(n name) string {
	text := hex.EncodeToString(n[:])
	return text[:2] + "/" + text
}

func (d *Disk) has(at pageKey) bool {
	return d.own != nil && (d.own.Has(d.path(at.segment)) || d.own.Has(d.path(at.page)))
}

func (d *Disk) load(at pageKey, buf []byte) (page, bool) {
	p, ok := d.read(at.segment, func(f *os.File) (page, error) {
		var trailer [segmentTrailer]byte
		if info, err := f.Stat(); err == nil && info.Size() != segmentFile {
			return page{}, errs.New(errs.Corrupt, "cache segment: %d bytes, want %d", info.Size(), segmentFile)
		}
		_, err := f.ReadAt(trailer[:], SegmentBytes)
		if err == nil {
			_, err = f.ReadAt(buf[:PageBytes], int64(at.slot)*PageBytes)
		}
		if err != nil && err != io.EOF {
			return page{}, err
		}
		return decodeSegment(at.segment, at.slot, buf[:PageBytes], trailer[:])
	})
	if ok {
		return p, true
	}
	return d.read(at.page, func(f *os.File) (page, error) {
		got, err := io.ReadFull(f, buf[:maxEntry+1])
		if err != io.ErrUnexpectedEOF && err != io.EOF && err != nil {
			return page{}, err
		}
		return decode(at.page, buf[:got])
	})
}

// read reads from the file of a name. One that is damaged is removed; one that was used is touched.
func (d *Disk) read(n name, from func(*os.File) (page, error)) (page, bool) {
	if d.own == nil {
		return page{}, false
	}
	path := d.path(n)
	f, err := d.own.File(path, os.O_RDONLY)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.fault(err)
		}
		return page{}, false
	}
	defer f.Close()
	p, err := from(f)
	if err != nil {
		d.fault(err)
		if errs.Is(err, errs.Corrupt) {
			_ = d.own.Remove(path) // if it stays, it is damaged the next time, too
		}
		return page{}, false
	}
	now := time.Now()
	if info, err := f.Stat(); err == nil && now.Sub(info.ModTime()) > touchAge {
		d.own.Touch(path, now)
	}
	return p, true
}

// drop removes a page, and the segment around it. Mostly there is none.
func (d *Disk) drop(at pageKey) {
	if d.own == nil {
		return
	}
	_ = d.own.Remove(d.path(at.page))
	if at.slot == 0 {
		_ = d.own.Remove(d.path(at.segment))
	}
}

func (d *Disk) keep(at pageKey, p page) {
	t := seal(at.page, p)
	d.store(at.page, p.data, t[:])
}

func (d *Disk) keepSegment(at pageKey, data []byte, size int64) bool {
	if d.room() < 4*segmentFile {
		return false // too coarse
	}
	t := sealSegment(at.segment, data, size)
	d.store(at.segment, data, t[:])
	return true
}

// store keeps a file, or has a reason not to.
func (d *Disk) store(n name, data, trailer []byte) {
	cost := (int64(len(data)+len(trailer)) + blockBytes - 1) / blockBytes * blockBytes
	now := time.Now()
	if d.own == nil || now.UnixNano() < d.failed.Load() || cost > d.room() {
		return
	}
	s := &d.shares[int(n[0])/d.per]
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.counted || s.added+cost > d.share()/64 || s.total+cost > d.room() {
		if d.makeRoom(s, int(n[0])/d.per*d.per, cost); s.total+cost > d.room() {
			d.fault(errors.New("the limit is reached and old pages cannot be removed"))
			return
		}
	}
	if err := d.write(n, data, trailer); err != nil {
		d.fault(err)
		d.failed.Store(now.Add(failPause).UnixNano())
		return
	}
	s.total += cost
	s.added += cost
}

// share is the bytes of one, room those that are filled.
func (d *Disk) share() int64 { return d.limit / int64(len(d.shares)) }
func (d *Disk) room() int64  { return d.share() / 8 * 7 }

// write makes a file, whole or not at all.
func (d *Disk) write(n name, data, trailer []byte) (err error) {
	path := d.path(n)
	if err := d.own.Usable(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := tmpfile.New(d.own.Root(), tmpDir, "page-")
	if errors.Is(err, fs.ErrNotExist) { // another process has removed the folder
		if err = d.own.Folder(tmpDir); err == nil {
			f, err = tmpfile.New(d.own.Root(), tmpDir, "page-")
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(data)
	if err == nil {
		_, err = f.Write(trailer)
	}
	if err != nil {
		return err
	}
	if err = f.Replace(path); errors.Is(err, fs.ErrNotExist) {
		if err = d.own.Folder(path[:2]); err == nil {
			err = f.Replace(path)
		}
	}
	return err
}

// file is a page on the disk.
type file struct {
	path  string
	bytes int64
	used  time.Time
}

// makeRoom counts the folders of a share from number first on, and removes the files used longest
// ago until cost bytes fit. It removes a little more, so that not every page needs it.
func (d *Disk) makeRoom(s *share, first int, cost int64) {
	files := d.files(first)
	total := int64(0)
	for _, f := range files {
		total += f.bytes
	}
	if total+cost > d.room() {
		slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
		target := d.room() - cost - d.share()/32
		for _, f := range files {
			if total <= target {
				break
			}
			if err := d.own.Remove(f.path); err == nil || errors.Is(err, fs.ErrNotExist) {
				total -= f.bytes
			}
		}
	}
	s.counted, s.total, s.added = true, total, 0
}

func (d *Disk) files(first int) []file {
	var files []file
	for folder := first; folder < first+d.per; folder++ {
		dir := hex.EncodeToString([]byte{byte(folder)})
		found, err := d.own.Files(dir)
		if err != nil {
			continue // none there yet
		}
		for _, info := range found {
			bytes := (info.Size() + blockBytes - 1) / blockBytes * blockBytes
			files = append(files, file{dir + "/" + info.Name(), bytes, info.ModTime()})
		}
	}
	return files
}
