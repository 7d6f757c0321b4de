package format

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// noise is n bytes that no codec makes smaller.
func (g *gen) noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// fragment is a random fragment; a large one does not fit its message.
func (g *gen) fragment(large bool) *Fragment {
	write := Write{Dataset: g.uuid(), Base: BranchPoint{g.uuid(), g.Uint64()}, Commit: g.uuid(), ID: g.uuid()}
	f := &Fragment{
		Write: write, Task: []string{"0", "s3://lake/shard-7.tar", "<ü> & \u2028 \"x\""}[g.IntN(3)],
		Time: time.Unix(g.Int64N(1<<33), g.Int64N(1e9)).UTC(), Rows: g.size(1 << 50),
		Tensors: g.schema().Tensors, Deleted: g.ranges(),
	}
	for range g.IntN(3) {
		f.Sides = append(f.Sides, FragmentSide{g.uuid(), g.side()})
	}
	if large {
		f.Sides = append(f.Sides, FragmentSide{g.uuid(), [][]byte{g.noise(inlineFragment)}})
	}
	for range g.IntN(4) {
		c := FragmentColumn{Tensor: g.uuid(), Bytes: g.size(1 << 60)}
		if s := g.stats(); g.IntN(3) == 0 {
			c.Unknown = true
		} else {
			c.Min, c.Max = s.MinShape, s.MaxShape
		}
		c.Appended = g.entries(f, RowRange{0, f.Rows})
		for _, edits := range []*[]FragmentEdit{&c.Updated, &c.Filled, &c.Rewrites} {
			for _, rows := range g.ranges() {
				*edits = append(*edits, FragmentEdit{rows, g.entries(f, rows)})
			}
		}
		f.Columns = append(f.Columns, c)
	}
	return f
}

// ranges are rising, and some are neighbors.
func (g *gen) ranges() (out []RowRange) {
	at := int64(0)
	for range g.IntN(5) {
		at += g.Int64N(2) * g.size(1<<40)
		r := RowRange{at, 1 + g.size(1<<12)}
		out = append(out, r)
		at += r.Count
	}
	return out
}

// entries lie within rows and name chunks of the write of f; some are more than a leaf holds.
func (g *gen) entries(f *Fragment, rows RowRange) (out []Entry) {
	most, at, end := g.IntN(8), rows.Start, rows.Start+rows.Count
	if g.IntN(8) == 0 {
		most = 3 * MaxPageEntries
	}
	session := f.Write.Session()
	for ; len(out) < most; at += g.Int64N(2) {
		e := Entry{Row: at, Rows: 1, First: g.size(1 << 20), Session: session, Ordinal: g.size(1 << 40), Bytes: g.size(1 << 39)}
		if g.IntN(9) == 0 {
			session = f.Write.Session()
		}
		if most < 8 {
			e.Rows += g.size(1 << 8)
			e.Stats = g.stats()
		}
		slots := int64(MaxSideSlots)
		if g.IntN(2) == 0 {
			e.Side = g.uuid()
			if len(f.Sides) > 0 {
				s := f.Sides[g.IntN(len(f.Sides))]
				e.Side, slots = s.ID, int64(len(s.Dirs))
			}
			e.Slot = g.Int64N(slots)
		}
		if g.IntN(9) == 0 {
			e.Rows, e.First, e.Tiles = 1, 0, 1+g.Int64N(slots-e.Slot)
		}
		if at += e.Rows; at > end {
			return out
		}
		out = append(out, e)
	}
	return out
}

// TestFragmentRoundTrips holds that random fragments come back as they are, and that their content
// has one form.
func TestFragmentRoundTrips(t *testing.T) {
	t.Parallel()
	for name, large := range map[string]bool{"inline": false, "object": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inline := 0
			seeds(t, 200, func(t *testing.T, g *gen) {
				want := g.fragment(large)
				message, name, object, err := EncodeFragment(want)
				if err != nil {
					t.Fatal(err)
				}
				got, err := DecodeFragment(message)
				if err != nil {
					t.Fatal(err)
				}
				if object == nil {
					inline++
				} else {
					if got.Object == nil || *got.Object != name || name != ContentName(object) || got.Tensors != nil || got.Columns != nil {
						t.Fatalf("object %s is said to be %+v", name, got)
					}
					if err := got.DecodeContent(object); err != nil {
						t.Fatal(err)
					}
					want.Object = &name
				}
				if !sameFragment(got, want) {
					t.Fatalf("round trip:\n got %+v\nwant %+v", got, want)
				}
				first, err1 := want.payload()
				second, err2 := got.payload()
				if err1 != nil || err2 != nil || !bytes.Equal(first, second) {
					t.Fatalf("the content changed: %v, %v", err1, err2)
				}
			})
			if large && inline > 0 || !large && inline < 50 {
				t.Errorf("%d fragments of 200 have their content inside", inline)
			}
		})
	}
	t.Run("write", func(t *testing.T) {
		seeds(t, 20, func(t *testing.T, g *gen) { same(t, g.fragment(false).Write, EncodeWrite, DecodeWrite) })
	})
	t.Run("lease", func(t *testing.T) {
		b := in(leaseKey())
		for within, want := range map[time.Duration]time.Duration{time.Second: time.Second, MaxLease: MaxLease, time.Second + 1: 2 * time.Second, 90 * time.Second: 90 * time.Second} {
			same(t, want, func(time.Duration) ([]byte, error) { return EncodeLease(b, within) }, func(data []byte) (time.Duration, error) { return DecodeLease(data, b) })
		}
	})
	t.Run("record", func(t *testing.T) {
		seeds(t, 50, func(t *testing.T, g *gen) {
			r := g.record()
			r.Features, r.Key = append(slices.Clone(r.Features), FeatureKeyed), "k"+g.text()
			same(t, r, EncodeRecord, DecodeRecord)
		})
	})
}

// framed is a payload as the content of a fragment, uncompressed.
func framed(t *testing.T, payload []byte) []byte {
	t.Helper()
	frame, err := plainFrame(KindFragment, fragmentSalt(), payload, nil)()
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// strictParts is a payload that was taken, without its schema, whose text is JSON, and with the
// leaves written again: their planes and uuids may say one thing in several ways.
func strictParts(payload []byte) (out []byte) {
	r := fragmentReader{reader{b: payload}, 1 << 30}
	keep := func(read func()) {
		before := r.b
		read()
		out = append(out, before[:len(before)-len(r.b)]...)
	}
	leaves := func() {
		var n int64
		keep(func() { n = r.uvarint(MaxRows, "leaves") })
		for range n {
			leaf := must(encodeLeaf(must(decodeLeaf(r.bytes(r.uvarint(MaxPageRaw, "bytes"), "leaf")))))
			out = append(appendUvarint(out, int64(len(leaf))), leaf...)
		}
	}
	r.bytes(r.uvarint(MaxBlobRaw, "bytes"), "schema")
	columns := int64(0)
	keep(func() {
		r.ranges("deleted")
		for range r.uvarint(MaxRows, "side pages") {
			r.side()
		}
		columns = r.uvarint(MaxTensors, "columns")
	})
	for range columns {
		keep(func() {
			r.bytes(16, "tensor")
			r.uvarint(1<<62, "bytes")
			if r.byte("flags") == fragmentBounds {
				r.axes(nil, 2*r.uvarint(tensor.MaxDims, "axes"), 0)
			}
		})
		leaves()
		for range 3 {
			keep(func() { r.ranges("rows") })
			leaves()
		}
	}
	return out
}

// oneForm reports whether a payload is taken, and fails if that has another form.
func oneForm(t *testing.T, payload []byte) bool {
	t.Helper()
	frame := framed(t, payload)
	f := bareFragment()
	before := allocated()
	err := f.DecodeContent(frame)
	if n, limit := allocated()-before, uint64(64<<20+1024*len(payload)); n > limit {
		t.Fatalf("%d bytes allocated for %d", n, len(payload))
	}
	if err != nil {
		if !refusedRight(err) {
			t.Fatalf("%x: %v", payload, err)
		}
		if !reflect.DeepEqual(f, bareFragment()) {
			t.Fatalf("%x is refused and leaves %+v", payload, f)
		}
		return false
	}
	again, err := f.payload()
	if err != nil {
		t.Fatalf("encode what was decoded, %+v: %v", f, err)
	}
	if !bytes.Equal(strictParts(again), strictParts(payload)) {
		t.Fatalf("another form of\n%x is\n%x", again, payload)
	}
	back, err := contentOf(framed(t, again))
	if err != nil || !sameFragment(back, f) {
		t.Fatalf("changed on the way: %v\n%+v\n%+v", err, back, f)
	}
	return true
}

// TestFragmentContentMutations changes the content of fragments below its checksum. A content that
// is still taken has no other form, and memory stays in proportion.
func TestFragmentContentMutations(t *testing.T) { // not parallel: it reads allocations
	payloads := [][]byte{must(goldenFragment().payload()), must(bareFragment().payload())}
	huge := appendUvarint(nil, 1<<50)
	taken, tried := 0, 0
	try := func(payload []byte) {
		if tried++; oneForm(t, payload) {
			taken++
		}
	}
	for _, payload := range payloads {
		if !oneForm(t, payload) {
			t.Fatal("the right payload is refused")
		}
		for n := range payload {
			if oneForm(t, payload[:n:n]) {
				t.Fatalf("%d of %d bytes are taken", n, len(payload))
			}
		}
		for at := range payload {
			head, tail := payload[:at:at], payload[at+1:]
			for bit := range 8 {
				try(slices.Concat(head, []byte{payload[at] ^ 1<<bit}, tail))
			}
			for _, v := range [][]byte{nil, {0}, {1}, {0x7f}, {0xff}, {payload[at], payload[at]}, {payload[at] + 1}, {payload[at] - 1}, {payload[at] | 0x80, 0}, huge} {
				try(slices.Concat(head, v, tail))
			}
		}
	}
	if taken == 0 || taken == tried {
		t.Errorf("%d of %d changed contents are taken", taken, tried)
	}
}

// TestFragmentOfAlikeChunks holds that few bytes do not become much memory: a leaf of the first
// chunks of a session takes 26 bytes, and a content may have a number of them.
func TestFragmentOfAlikeChunks(t *testing.T) { // not parallel: it reads allocations
	list := make([]Entry, 16*MaxPageEntries)
	for i := range list {
		list[i] = Entry{Row: int64(i), Rows: 1, Session: ours(0x51), Ordinal: int64(i % MaxPageEntries), Bytes: 100}
	}
	alike := func(columns int) *Fragment {
		f := bareFragment()
		f.Rows = int64(len(list))
		for i := range columns {
			f.Columns = append(f.Columns, FragmentColumn{Tensor: id(byte(i + 1)), Appended: list})
		}
		return f
	}
	const most = maxAlikeEntries / (16 * MaxPageEntries)
	if _, _, _, err := EncodeFragment(alike(most)); err != nil {
		t.Error(err)
	}
	if _, _, _, err := EncodeFragment(alike(most + 1)); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "give its task fewer rows") {
		t.Errorf("%d alike chunks: %v", (most+1)*len(list), err)
	}
	for columns, want := range map[int]string{most: "", most + 1: "than its bytes can stand for", 200: "than its bytes can stand for"} {
		payload := uncheckedPayload(alike(columns))
		f := alike(0)
		before := allocated()
		err := f.DecodeContent(framed(t, payload))
		if n := allocated() - before; n > 64<<20+1024*uint64(len(payload)) {
			t.Errorf("%d bytes allocated for %d", n, len(payload))
		}
		if want == "" && (err != nil || !sameFragment(f, alike(columns))) || want != "" && (!errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d alike chunks in %d bytes: %v", columns*len(list), len(payload), err)
		}
	}
}

// uncheckedPayload is the content of a fragment that may be wrong.
func uncheckedPayload(f *Fragment) []byte {
	schema := must(marshal((&Schema{Tensors: f.Tensors}).stored()))
	b := append(appendUvarint(nil, int64(len(schema))), schema...)
	b = appendUvarint(appendRanges(b, f.Deleted), int64(len(f.Sides)))
	for _, s := range f.Sides {
		b = appendUvarint(append(b, s.ID[:]...), int64(len(s.Dirs)))
		for _, dir := range s.Dirs {
			b = append(appendUvarint(b, int64(len(dir))), dir...)
		}
	}
	b = appendUvarint(b, int64(len(f.Columns)))
	for i := range f.Columns {
		b = must(f.Columns[i].append(b))
	}
	return b
}
