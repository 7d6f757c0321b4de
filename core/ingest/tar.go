package ingest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"deeplake/core/codec"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

const (
	// archivePortions of rows wait for the writer, each of portionRows or portionBytes.
	archivePortions = 8
	portionRows     = 512
	portionBytes    = 1 << 20
	// maxCopied bounds a text or JSON member, maxSample all copied members of a sample together,
	// but for its videos.
	maxCopied = 16 << 20
	maxSample = 64 << 20
	// archiveCost is the memory of an archive: of the portions that wait for the writer, and of its
	// readers. A sample of more than that waits alone. A video of more is read when the writer has
	// come to its archive, so that one archive at a time has such ones.
	archiveCost = 12 << 20
	// maxTail bounds the bytes behind the end mark of a compressed archive that are decompressed.
	maxTail = 1 << 20
	// endedSamples bounds the remembered names of samples of an archive.
	endedSamples = 1 << 17
	// countedKinds bounds the kinds of members that a report tells apart.
	countedKinds = 64
)

// tarFormat takes the members of tar archives. Links to them need the bytes of the archive as they
// are; copies are made of compressed archives too.
func tarFormat() Format {
	return Format{
		Probe:    isArchive,
		Cost:     func(*importer, storage.Entry) int64 { return archiveCost },
		Portions: archivePortions,
		Members:  true,
		Rows: func(ctx context.Context, im *importer, o *object) error {
			if im.o.Link && compressed(o.Key) {
				return o.sendOne(ctx, row{reason: "a compressed archive, and links need the bytes of its members; leave out --link to copy them, or decompress it"})
			}
			return im.readArchive(ctx, o)
		},
	}
}

func isArchive(key string) bool {
	return compressed(key) || strings.EqualFold(path.Ext(key), ".tar")
}

func compressed(key string) bool {
	key = strings.ToLower(key)
	return strings.HasSuffix(key, ".tar.gz") || path.Ext(key) == ".tgz"
}

// readArchive makes a row of each sample of a tar archive in WebDataset's manner: members that
// follow each other and have the same name up to the first dot of its last part.
func (im *importer) readArchive(ctx context.Context, o *object) error {
	body, from, err := im.ask(ctx, o, 0, -1)
	if err != nil {
		return err
	}
	if o.was != nil && o.Key != im.again && !from.Vague() && o.was.Same(from) {
		_ = body.Close()
		return o.send(ctx, []row{{path: o.Key, reason: unchanged}})
	}
	if from.Size < 0 {
		_ = body.Close()
		return o.send(ctx, []row{{path: o.Key, reason: "the source does not say how large it is, hence its members cannot be found"}})
	}
	r := newReread(from.Size, func(off int64) (storage.Body, error) {
		if body != nil && off == 0 {
			b := body
			body = nil
			return b, nil
		}
		return im.source.Range(ctx, o.Key, off, -1, from.Tag)
	})
	s := newShard(im, urlOf(im.source.URI(), o.Key), from, r)
	if compressed(o.Key) {
		s.r, s.size, s.packed = &inflated{from: r, alive: ctx.Err}, math.MaxInt64, true
	}
	defer s.r.close()
	s.send, s.wait = func(rows []row) error { return o.send(ctx, rows) }, o.wait
	return s.scan(ctx)
}

// shard is an archive that is being read.
type shard struct {
	im   *importer
	url  string
	name string
	from origin.Origin
	r    stream
	size int64 // of the content of r; math.MaxInt64: not known
	send func([]row) error
	wait func(context.Context) error // until the writer has all rows of the objects before
	head []byte
	// r decompresses the archive
	packed bool

	rows   []row
	bytes  int64
	base   string // of the present sample
	row    row
	some   bool             // it has something
	seen   []string         // the slots of its members
	videos int64            // bytes of its videos
	late   bool             // it ended before, and other samples followed
	named  bool             // a member of it has a name before a dot
	ended  map[uint64]bool  // hashes of the names of the samples that ended
	seed   maphash.Seed     // of the hashes
	kinds  map[string]int64 // numbers of ignored members
	end    int64            // of the last member that was right
	ends   string           // a fault of the archive's end
}

func newShard(im *importer, url string, from origin.Origin, r stream) *shard {
	return &shard{im: im, url: url, name: from.Path, from: from, r: r, size: from.Size, kinds: map[string]int64{}, head: make([]byte, headBytes)}
}

// scan reads the archive to its end. Faults of it are rows with a reason.
func (s *shard) scan(ctx context.Context) error {
	tr := tar.NewReader(s.r)
	for {
		h, err := tr.Next()
		at := s.r.offset()
		if missing := s.end - min(at, s.size); err == io.EOF && missing > 0 {
			err = errs.New(errs.Corrupt, "%d bytes behind the last member are missing", missing)
		}
		ended := err == io.EOF
		switch {
		case err == nil:
			err = s.member(ctx, h, tr)
		case ended && at == s.end:
			// Blocks of zeros end an archive. An archive without one may be an incomplete copy.
			s.ends = fmt.Sprintf("the archive ends at byte %d without an end mark, and may be cut there; what stands before it is taken in", s.end)
			err = s.finish()
		case ended:
			if err = s.finish(); err == nil {
				err = s.tail()
			}
		}
		if failed := s.r.failed(); failed != nil {
			return errs.Wrap(errs.Storage, "read", s.name, failed)
		}
		if stop := (sendError{}); errors.As(err, &stop) {
			return stop.err
		}
		if err != nil {
			// The present sample may lack a member, and is left out.
			s.ends = fmt.Sprintf("the archive is cut or damaged at byte %d of %s; what stands before it is taken in: %v", s.end, s.whole(), err)
		}
		if err != nil || ended {
			return s.flush()
		}
	}
}

// whole names the bytes that offsets of a report count.
func (s *shard) whole() string {
	if s.packed {
		return "its decompressed content"
	}
	return fmt.Sprint(s.size)
}

// tail reads the bytes behind the end mark of a compressed archive, which end with a checksum.
func (s *shard) tail() error {
	if !s.packed {
		return nil
	}
	if _, err := io.CopyN(io.Discard, s.r, maxTail); err != io.EOF {
		return err
	}
	return nil
}

// sendError is an error of the importer, such as of the way to the writer, not of the archive.
type sendError struct{ err error }

func (e sendError) Error() string { return e.err.Error() }

func (s *shard) leaveOut(name, reason string) {
	s.rows = append(s.rows, row{path: name, reason: reason})
}

// member reads one member. An error is a fault of the archive.
func (s *shard) member(ctx context.Context, h *tar.Header, data io.Reader) error {
	at := s.r.offset()
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
	default:
		s.end = at // a directory, a link, a device
		return nil
	}
	dir, file := path.Split(h.Name)
	stem, kind, dotted := strings.Cut(file, ".")
	if base := dir + stem; base != s.base {
		if err := s.finish(); err != nil {
			return err
		}
		s.base, s.late = base, len(s.ended) > 0 && s.ended[maphash.String(s.seed, base)]
	}
	if h.Size > s.size-at {
		return errs.New(errs.Corrupt, "%q has %d bytes, %d are left", h.Name, h.Size, s.size-at)
	}
	s.end = at + (h.Size+511)/512*512
	if stem == "" || !dotted {
		s.count("without a name before a dot")
		return nil
	}
	s.named = true
	if sparse(h) {
		s.leaveOut(s.name+": "+h.Name, "a sparse file, whose bytes do not lie together")
		return nil
	}
	s.row.from = s.from
	s.row.from.Member = s.base
	return s.take(ctx, strings.ToLower(kind), h, at, data)
}

func sparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// take makes a value of a member, by its extension.
func (s *shard) take(ctx context.Context, extension string, h *tar.Header, at int64, data io.Reader) error {
	v, known := s.im.member(extension)
	if !known {
		s.count("." + extension)
		return nil
	}
	v.path = s.name + ": " + h.Name
	slot := v.slot()
	switch {
	case s.late:
		s.leaveOut(v.path, "other samples lie between it and its own; want the members of a sample one after the other")
		return nil
	case slices.Contains(s.seen, slot):
		// It belongs to another sample of the same name. The first picture and the first label
		// belong together.
		s.leaveOut(v.path, "a second "+slot+" of the same sample")
		return nil
	case len(s.seen) >= maxMembers:
		s.leaveOut(v.path, fmt.Sprintf("its sample has more than %d members", maxMembers))
		return nil
	}
	s.seen = append(s.seen, slot)
	switch v.kind {
	case imageKind:
		return s.picture(v, h, at, data)
	case videoKind:
		return s.video(ctx, v, h, at, data)
	}
	if most := min(s.room(), v.kind.most()); h.Size > most {
		s.leaveOut(v.path, fmt.Sprintf("it has %d bytes, want at most %d (%d for a sample)", h.Size, most, maxSample))
		return nil
	}
	if v.kind == arrayKind {
		sample, reason, err := readArray(data, h.Size)
		switch v.Sample = sample; {
		case err != nil:
			return err
		case reason != "":
			s.leaveOut(v.path, reason)
		default:
			s.add(v, h.Size)
		}
		return nil
	}
	p := make([]byte, h.Size)
	if _, err := io.ReadFull(data, p); err != nil {
		return err
	}
	s.copied(v, p)
	return nil
}

// most is the largest number of bytes of a member.
func (k *kind) most() int64 {
	if k == arrayKind {
		return maxSample
	}
	return maxCopied
}

// room is the number of bytes that members may still take, but for videos, which have a bound of
// their own.
func (s *shard) room() int64 {
	n := int64(maxSample)
	for i := range s.row.values {
		if v := &s.row.values[i]; v.kind != videoKind {
			n -= int64(len(v.Data))
		}
	}
	return n
}

// add gives the sample a value, for which n bytes were read.
func (s *shard) add(v value, n int64) {
	s.row.values, s.some = append(s.row.values, v), true
	s.row.bytes += n
}

// picture takes a picture after a look at its beginning, which tells its shape.
func (s *shard) picture(v value, h *tar.Header, at int64, data io.Reader) error {
	want := s.im.form(codec.RGB)
	if v.named {
		want = s.im.form(codec.AsStored)
	}
	if !s.im.o.Link {
		return s.copyPicture(v, h, data, want)
	}
	link := tensor.Link{URL: s.url, Offset: at, Length: h.Size, Tag: s.from.Tag, Size: s.from.Size}
	have := 0
	for n := min(int64(headBytes), h.Size); ; n = min(8*n, h.Size, maxHeadBytes) {
		if int64(len(s.head)) < n {
			s.head = append(make([]byte, 0, n), s.head[:have]...)[:n]
		}
		if _, err := io.ReadFull(data, s.head[have:n]); err != nil {
			return err
		}
		have = int(n)
		sample, more, reason := s.im.linkTo(s.head[:have], link, want)
		if more && n < h.Size && n < maxHeadBytes {
			continue
		}
		if reason != "" {
			s.leaveOut(v.path, reason)
			return nil
		}
		v.Sample = sample
		s.add(v, n)
		return nil
	}
}

// copyPicture takes the file of a picture.
func (s *shard) copyPicture(v value, h *tar.Header, data io.Reader, want codec.Channels) error {
	if room := s.room(); h.Size > room {
		s.leaveOut(v.path, fmt.Sprintf("it has %d bytes, want at most %d (%d for a sample)", h.Size, room, maxSample))
		return nil
	}
	p := s.im.buffers.get(h.Size)
	if _, err := io.ReadFull(data, p); err != nil {
		s.im.buffers.put(p)
		return err
	}
	sample, _, reason := s.im.linkTo(p, tensor.Link{}, want)
	if reason != "" {
		s.im.buffers.put(p)
		s.leaveOut(v.path, reason)
		return nil
	}
	v.Sample, v.memory = tensor.Sample{Form: tensor.FormEncoded, DType: sample.DType, Data: p}, p
	if s.im.fit != nil && !v.named {
		fitted, err := s.im.fit.apply(p)
		s.im.buffers.put(p)
		switch v.Sample, v.memory = fitted, nil; {
		case err != nil && bad(err):
			s.leaveOut(v.path, err.Error())
			return nil
		case err != nil:
			return sendError{err}
		}
	}
	s.add(v, h.Size)
	return nil
}

// copied takes the content of a small member.
func (s *shard) copied(v value, p []byte) {
	p = withoutBOM(p)
	text := strings.TrimSpace(string(p))
	switch {
	case !utf8.ValidString(text):
		s.leaveOut(v.path, "it is not UTF-8")
		return
	case v.kind == jsonKind:
		var doc json.RawMessage
		if err := json.Unmarshal(p, &doc); err != nil {
			s.leaveOut(v.path, fmt.Sprintf("it is not JSON (%v); JSON has no NaN and no Infinity, null may stand for them", err))
			return
		}
		v.Sample = textSample(tensor.JSON, p)
	case v.kind == textKind:
		v.Sample = textSample(tensor.String, p)
	case text == "":
		s.leaveOut(v.path, "it is empty")
		return
	default:
		label, reason := labelOf(text)
		v.Sample, s.row.reason = label, cmp.Or(s.row.reason, reason)
	}
	s.add(v, int64(len(p)))
}

// withoutBOM returns text in UTF-8 without the byte order mark that some editors write. Text with a
// mark of UTF-16 is decoded.
func withoutBOM(p []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(p, []byte("\xef\xbb\xbf")):
		return p[3:]
	case bytes.HasPrefix(p, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(p, []byte("\xff\xfe")):
		return p
	}
	if len(p)%2 != 0 {
		return p // not UTF-16, and not UTF-8 either
	}
	units := make([]uint16, 0, len(p)/2)
	for p = p[2:]; len(p) > 0; p = p[2:] {
		units = append(units, order.Uint16(p))
	}
	return []byte(string(utf16.Decode(units)))
}

func (s *shard) count(kind string) {
	if _, ok := s.kinds[kind]; ok || len(s.kinds) < countedKinds {
		s.kinds[kind]++
	}
}

// finish ends the present sample and makes a row of it.
func (s *shard) finish() error {
	if s.some {
		s.row.path = s.name + ": " + s.base
		s.rows = append(s.rows, s.row)
		s.bytes += s.row.bytes
	}
	s.remember()
	s.row, s.some, s.base, s.seen, s.named, s.videos = row{}, false, "", s.seen[:0], false, 0
	if len(s.rows) < portionRows && s.bytes < portionBytes {
		return nil
	}
	rows := s.rows
	s.rows, s.bytes = nil, 0
	if err := s.send(rows); err != nil {
		return sendError{err}
	}
	return nil
}

// remember notes that the sample ended. Later members of it are then no second sample.
func (s *shard) remember() {
	if !s.named || len(s.ended) >= endedSamples {
		return
	}
	if s.ended == nil {
		s.ended, s.seed = map[uint64]bool{}, maphash.MakeSeed()
	}
	s.ended[maphash.String(s.seed, s.base)] = true
}

// flush sends the last row, and reports members that became no row.
func (s *shard) flush() error {
	for _, kind := range slices.Sorted(maps.Keys(s.kinds)) {
		s.leaveOut(s.name, fmt.Sprintf("%d members %s, which nothing is made of", s.kinds[kind], kind))
	}
	if s.ends != "" {
		s.leaveOut(s.name, s.ends)
	}
	if len(s.rows) == 0 {
		return nil
	}
	return s.send(s.rows)
}
