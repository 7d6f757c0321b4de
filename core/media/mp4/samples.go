package mp4

import "math"

// progressive adds the packets that the tables of the track itself list.
func (b *builder) progressive() error {
	stbl := b.track.stbl
	sizes, err := newSizes(stbl)
	if err != nil || sizes.count == 0 {
		return err
	}
	if err := b.reserve(int64(sizes.count), sizes.least()); err != nil {
		return err
	}
	times, err := newTimes(stbl, sizes.count)
	if err != nil {
		return err
	}
	keys, err := newKeys(stbl)
	if err != nil {
		return err
	}
	chunks, err := newChunks(stbl)
	if err != nil {
		return err
	}
	for i := 0; i < sizes.count; {
		off, n, entry, ok := chunks.next()
		if !ok {
			return invalid(`box "stsz" has %d frames, and the chunks have %d`, sizes.count, i)
		}
		if err := b.describe(entry); err != nil {
			return err
		}
		for range min(n, sizes.count-i) {
			size := sizes.at(i)
			duration, offset := times.next()
			if err := b.add(off, size, duration, offset, keys.has(i)); err != nil {
				return err
			}
			off += size
			i++
		}
	}
	return nil
}

// sizes are those of packets: the box stsz, or stz2.
type sizes struct {
	count int
	one   int64 // of every packet; 0: they are in p
	bits  int   // of an entry of p
	p     []byte
}

func newSizes(stbl []byte) (sizes, error) {
	kind := "stsz"
	p, err := walk("stbl", stbl, kind)
	if p == nil && err == nil {
		kind = "stz2"
		p, err = need("stbl", stbl, 12, kind)
		if err != nil {
			return sizes{}, invalid(`box "stbl" has neither box "stsz" nor a whole box "stz2"`)
		}
	}
	if err == nil {
		err = atLeast(kind, p, 12)
	}
	if err != nil {
		return sizes{}, err
	}
	s := sizes{count: int(be32(p[8:])), one: int64(be32(p[4:])), bits: 32, p: p[12:]}
	if kind == "stz2" {
		s.one, s.bits = 0, int(p[7])
		if s.bits != 4 && s.bits != 8 && s.bits != 16 {
			return s, invalid(`box "stz2" has sizes of %d bits, want 4, 8 or 16`, s.bits)
		}
	}
	if s.one == 0 && (int64(s.count)*int64(s.bits)+7)/8 > int64(len(s.p)) {
		return s, invalid("box %q states %d sizes of %d bits, and has %d bytes for them", kind, s.count, s.bits, len(s.p))
	}
	return s, nil
}

// least are the bytes of all packets, or fewer.
func (s *sizes) least() int64 { return int64(s.count) * max(s.one, 1) }

// at returns the bytes of a packet.
func (s *sizes) at(i int) int64 {
	switch {
	case s.one > 0:
		return s.one
	case s.bits == 32:
		return int64(be32(s.p[4*i:]))
	case s.bits == 16:
		return int64(be16(s.p[2*i:]))
	case s.bits == 8:
		return int64(s.p[i])
	}
	return int64(s.p[i/2]>>(4*(1-i%2))) & 15
}

// runs go through a table whose entries are a count and a value.
type runs struct {
	table
	left  uint32 // of the entry
	value uint32
	entry int // the next one
}

// next returns the value of the next packet; false behind the last one.
func (r *runs) next() (uint32, bool) {
	for r.left == 0 {
		if r.entry == r.count() {
			return 0, false
		}
		p := r.at(r.entry)
		r.left, r.value = be32(p), be32(p[4:])
		r.entry++
	}
	r.left--
	return r.value, true
}

// total is the number of packets of all entries.
func (r *runs) total() (n int64) {
	for i := range r.count() {
		n += int64(be32(r.at(i)))
	}
	return n
}

// times are the durations of packets, and by how much later than decoded they are shown.
type times struct{ durations, offsets runs }

func newTimes(stbl []byte, frames int) (*times, error) {
	stts, err := need("stbl", stbl, 8, "stts")
	if err != nil {
		return nil, err
	}
	ctts, err := walk("stbl", stbl, "ctts")
	if err != nil {
		return nil, err
	}
	t := &times{}
	if t.durations.table, err = newTable("stts", stts, 8); err != nil {
		return nil, err
	}
	if t.offsets.table, err = newTable("ctts", ctts, 8); err != nil {
		return nil, err
	}
	for _, r := range []*runs{&t.durations, &t.offsets} {
		if n := r.total(); n < int64(frames) && (n > 0 || r == &t.durations) {
			return nil, invalid("box %q has times of %d frames, want %d", r.kind, n, frames)
		}
	}
	for i := range t.durations.count() {
		if d := be32(t.durations.at(i)[4:]); d > math.MaxInt32 {
			return nil, invalid(`entry %d of box "stts" has a duration of %d ticks`, i, d)
		}
	}
	return t, nil
}

// next returns the times of the next packet. All writers mean signed offsets, those of version 0 of
// the box too.
func (t *times) next() (duration, offset int64) {
	d, _ := t.durations.next()
	o, _ := t.offsets.next()
	return int64(d), int64(int32(o))
}

// keys are the packets at which decoding may begin: the box stss.
type keys struct {
	table
	all  bool
	next int // entry
}

func newKeys(stbl []byte) (*keys, error) {
	stss, err := walk("stbl", stbl, "stss")
	if err != nil {
		return nil, err
	}
	t, err := newTable("stss", stss, 4)
	if err != nil {
		return nil, err
	}
	for i := 1; i < t.count(); i++ {
		if a, b := be32(t.at(i-1)), be32(t.at(i)); a > b {
			return nil, invalid(`box "stss" has frame %d before frame %d`, a, b)
		}
	}
	return &keys{table: t, all: stss == nil}, nil
}

// has reports whether packet i is one. Calls come in the order of packets. A box without entries
// leaves the first one.
func (k *keys) has(i int) bool {
	if k.all || k.count() == 0 {
		return k.all || i == 0
	}
	for k.next < k.count() && int64(be32(k.at(k.next))) <= int64(i) {
		k.next++
	}
	return k.next < k.count() && int64(be32(k.at(k.next))) == int64(i)+1
}

// chunks are runs of packets that lie one behind the other: the boxes stsc, and stco or co64.
type chunks struct {
	groups  table // of chunks: the first one from 1 on, packets of each, description
	offsets table
	chunk   int // the next one
	group   int // that it is in
}

func newChunks(stbl []byte) (*chunks, error) {
	stsc, err := need("stbl", stbl, 8, "stsc")
	if err != nil {
		return nil, err
	}
	kind, width := "stco", 4
	offsets, err := walk("stbl", stbl, kind)
	if offsets == nil && err == nil {
		kind, width = "co64", 8
		if offsets, err = walk("stbl", stbl, kind); offsets == nil && err == nil {
			err = invalid(`box "stbl" has neither box "stco" nor box "co64"`)
		}
	}
	if err != nil {
		return nil, err
	}
	c := &chunks{}
	if c.groups, err = newTable("stsc", stsc, 12); err != nil {
		return nil, err
	}
	if c.offsets, err = newTable(kind, offsets, width); err != nil {
		return nil, err
	}
	return c, c.check()
}

// check checks that the groups of chunks begin with the first chunk, and are in order.
func (c *chunks) check() error {
	last := uint32(0)
	for i := range c.groups.count() {
		first := be32(c.groups.at(i))
		if i == 0 && first != 1 || first <= last && i > 0 {
			return invalid(`entry %d of box "stsc" begins with chunk %d, and the one before with %d`, i, first, last)
		}
		last = first
	}
	return nil
}

// next returns the offset of the next chunk, its packets, and their description; false behind the
// last one.
func (c *chunks) next() (off int64, packets int, entry uint32, ok bool) {
	if c.chunk == c.offsets.count() || c.groups.count() == 0 {
		return 0, 0, 0, false
	}
	p := c.offsets.at(c.chunk)
	if off = int64(be32(p)); c.offsets.width == 8 {
		off = int64(be64(p))
	}
	c.chunk++
	if c.group+1 < c.groups.count() && int64(be32(c.groups.at(c.group+1))) <= int64(c.chunk) {
		c.group++
	}
	p = c.groups.at(c.group)
	return off, int(be32(p[4:])), be32(p[8:]), true
}
