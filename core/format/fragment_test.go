package format

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// fragmentWrite is the write of the golden fragments.
func fragmentWrite() Write {
	return Write{Dataset: id(0x11), Base: BranchPoint{id(0x22), 5}, Commit: id(0x10), ID: id(0x57)}
}

// ours is a session of fragmentWrite whose last bytes are c.
func ours(c byte) UUID {
	u, write := id(c), fragmentWrite().ID
	copy(u[:8], write[:8])
	return u
}

// bareFragment has the members of a message besides the content.
func bareFragment() *Fragment {
	return &Fragment{Write: fragmentWrite(), Task: `shard "7" of ü`, Time: time.Date(2026, 11, 21, 7, 30, 0, 123456789, time.UTC), Rows: 20}
}

// goldenFragment changes a tensor, creates one, deletes rows, has a side page of two directories, a
// column with bounds, rows of each sort and a hole, and a column of shapes without bounds.
func goldenFragment() *Fragment {
	chunk := func(row, rows, first, ordinal int64) Entry {
		return Entry{Row: row, Rows: rows, First: first, Session: ours(0x51), Ordinal: ordinal, Bytes: 9000 + ordinal}
	}
	placed := func(e Entry, slot int64) Entry {
		e.Side, e.Slot = id(0x61), slot
		return e
	}
	f := bareFragment()
	f.Tensors = goldenSchema().Tensors[1:]
	f.Deleted = []RowRange{{3, 2}, {7, 1}, {101, 1}}
	f.Sides = []FragmentSide{{ID: id(0x61), Dirs: [][]byte{must(EncodeDirectory(arrays().dir)), must(EncodeDirectory(photos().dir))}}}
	stored := chunk(12, 8, 0, 2)
	stored.Side, stored.Slot = id(0x62), 40
	stored.Stats = Stats{HasRange: true, Min: 1, Max: 900}
	f.Columns = []FragmentColumn{
		{
			Tensor: id(0x31), Bytes: 36_010, Min: tensor.Shape{100, 120, 3}, Max: tensor.Shape{640, 480, 3},
			Appended: []Entry{placed(chunk(0, 10, 0, 0), 0), placed(chunk(10, 2, 4, 1), 1), stored},
			Updated:  []FragmentEdit{{RowRange{10, 5}, []Entry{chunk(10, 2, 0, 3), chunk(13, 2, 2, 3)}}, {RowRange{100, 1}, []Entry{chunk(100, 1, 4, 3)}}},
			Rewrites: []FragmentEdit{{RowRange{40, 30}, []Entry{chunk(40, 30, 0, 4)}}},
		},
		{
			Tensor: id(0x33), Bytes: 9005, Unknown: true,
			Filled: []FragmentEdit{{RowRange{0, 60}, []Entry{chunk(0, 60, 0, 5)}}, {RowRange{60, 2}, nil}},
		},
	}
	return f
}

// fragmentSalt is the salt of the golden contents.
func fragmentSalt() UUID { return ours(0x77) }

// plainContent is a message in which the content has no compression and a known salt.
func plainContent(message []byte) ([]byte, error) {
	text := string(message)
	_, text, found := strings.Cut(text, `"content":"`)
	content, _, _ := strings.Cut(text, `"`)
	if !found {
		return nil, fmt.Errorf("no content in %s", message)
	}
	frame, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return nil, err
	}
	payload, err := DecodeFrame(KindFragment, frame)
	plain, err := plainFrame(KindFragment, fragmentSalt(), payload, err)()
	return resealed(bytes.Replace(message, []byte(content), base64.StdEncoding.AppendEncode(nil, plain), 1)), err
}

// largeFragment has a content that does not fit its message.
func largeFragment() *Fragment {
	f := bareFragment()
	g := gen{rand.New(rand.NewPCG(7, 1))}
	f.Sides = []FragmentSide{{ID: id(0x61), Dirs: [][]byte{g.noise(2 * inlineFragment)}}}
	return f
}

// keyedRecord is a commit record with an idempotency key.
func keyedRecord() *Record {
	r := goldenRecord()
	r.Features, r.Key = []string{FeatureKeyed}, `job 7, "shard" ü`
	return r
}

// leaseWithin is the time of the golden lease.
const leaseWithin = 10 * time.Minute

// leaseKey is the key of the golden lease.
func leaseKey() string {
	_, renewed := LeaseKeys(fragmentWrite().ID)
	return renewed
}

// contentOf decodes the content of the golden fragment.
func contentOf(frame []byte) (*Fragment, error) {
	f := bareFragment()
	err := f.DecodeContent(frame)
	return f, err
}

// fragmentGoldens are the golden files of distributed writes.
func fragmentGoldens() []golden {
	text := func(d *dumper) { d.json(len(d.data)) }
	f, name := goldenFragment(), id(0xf1)
	payload, err1 := f.payload()
	large := bareFragment()
	large.Object = &name
	record, err2 := keyedRecord().payload()
	return []golden{
		{name: "write", value: fragmentWrite(), encode: func() ([]byte, error) { return EncodeWrite(fragmentWrite()) }, decode: erase(DecodeWrite), layout: text},
		{name: "fragment", value: f, encode: func() ([]byte, error) {
			message, _, _, err := EncodeFragment(f)
			if err != nil {
				return nil, err
			}
			return plainContent(message)
		}, decode: erase(DecodeFragment), layout: text},
		{name: "fragment-content", value: f, encode: plainFrame(KindFragment, fragmentSalt(), payload, err1), decode: erase(contentOf), layout: func(d *dumper) { d.frame(d.fragment) }},
		{name: "fragment-object", value: large, encode: func() ([]byte, error) {
			message, drawn, _, err := EncodeFragment(largeFragment())
			return resealed(bytes.Replace(message, []byte(drawn.String()), []byte(name.String()), 1)), err
		}, decode: erase(DecodeFragment), layout: text},
		{name: "lease", value: leaseWithin, encode: func() ([]byte, error) { return EncodeLease(in(leaseKey()), leaseWithin) }, decode: bound(DecodeLease, in(leaseKey())), layout: text},
		{name: "record-keyed", value: keyedRecord(), encode: plainFrame(KindRecord, id(0x11), record, err2), decode: erase(DecodeRecord), layout: func(d *dumper) { d.frame(d.json) }},
	}
}

// fragment prints the content of a fragment.
func (d *dumper) fragment(int) {
	d.json(d.uvarint("bytes of the schema"))
	d.ranges("deleted rows")
	for i := range d.uvarint("side pages") {
		d.uuid(fmt.Sprintf("side page %d", i))
		for k := range d.uvarint("directories") {
			d.sized(fmt.Sprintf("bytes of directory %d", k), d.directory)
		}
	}
	for i := range d.uvarint("columns") {
		d.uuid(fmt.Sprintf("tensor of column %d", i))
		d.uvarint("bytes of its chunks")
		if d.fixed(1, "flags (1 bounds of shapes, 2 shapes without)") == 1 {
			n := d.uvarint("axes")
			d.axes(n, "least size of axis")
			d.axes(n, "largest size of axis")
		}
		d.entries("appended")
		for _, what := range []string{"updated", "filled", "rewritten"} {
			d.ranges(what + " rows")
			d.entries(what)
		}
	}
}

func (d *dumper) ranges(what string) {
	for i := range d.uvarint(what + ": ranges") {
		d.uvarint(fmt.Sprintf("%s: range %d: rows from the end of the one before", what, i))
		d.uvarint("rows")
	}
}

func (d *dumper) entries(what string) {
	for range d.uvarint(what + ": leaves") {
		d.sized("bytes of a leaf", func() { d.leaf(0) })
	}
}

// sized prints a length, and the part of that length.
func (d *dumper) sized(name string, part func()) {
	n := d.uvarint(name)
	end := d.at + n
	if part(); d.at != end {
		d.t.Fatalf("dump: %s: it ends at %d, want %d", name, d.at, end)
	}
}

// TestFragmentGolden holds that tokens, fragments, leases and keyed records have the bytes of the
// golden files, and that these decode to the values.
func TestFragmentGolden(t *testing.T) {
	t.Parallel()
	for _, g := range fragmentGoldens() {
		t.Run(g.name, func(t *testing.T) {
			data, err := g.encode()
			if err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				if err := os.WriteFile(goldenPath(g.name), []byte(dump(t, data, g.layout)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(goldenPath(g.name))
			if err != nil {
				t.Fatal(err)
			}
			stored := undump(t, string(text))
			if !bytes.Equal(data, stored) {
				t.Errorf("encoded bytes differ from %s:\n%s", goldenPath(g.name), dump(t, data, g.layout))
			}
			if dump(t, stored, g.layout) != string(text) {
				t.Errorf("annotations of %s do not fit its bytes; run with -rewrite and look at the difference", goldenPath(g.name))
			}
			got, err := g.decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			if want := g.value; !reflect.DeepEqual(plainly(got), plainly(want)) {
				t.Errorf("decoded\n got %+v\nwant %+v", got, want)
			}
		})
	}
}

// plainly is a value in which a fragment has no empty lists but nil.
func plainly(v any) any {
	of, ok := v.(*Fragment)
	if !ok {
		return v
	}
	f := *of
	f.Tensors, f.Deleted, f.Sides, f.Columns = orNil(f.Tensors), orNil(f.Deleted), orNil(f.Sides), orNil(slices.Clone(f.Columns))
	for i := range f.Columns {
		c := &f.Columns[i]
		c.Appended = orNil(c.Appended)
		for _, edits := range []*[]FragmentEdit{&c.Updated, &c.Filled, &c.Rewrites} {
			*edits = orNil(slices.Clone(*edits))
			for k := range *edits {
				(*edits)[k].Entries = orNil((*edits)[k].Entries)
			}
		}
	}
	return &f
}

// sameFragment compares fragments up to lists that are empty or nil.
func sameFragment(a, b *Fragment) bool { return reflect.DeepEqual(plainly(a), plainly(b)) }

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// TestFragmentSalt holds that the content of a fragment has a salt of its own, which begins like
// the sessions of its write, so that two attempts have objects of different names.
func TestFragmentSalt(t *testing.T) {
	t.Parallel()
	var names []UUID
	for range 2 {
		message, name, object, err := EncodeFragment(largeFragment())
		if err != nil || object == nil || ContentName(object) != name || !bytes.Contains(message, []byte(name.String())) {
			t.Fatalf("object %s of %d bytes, %v", name, len(object), err)
		}
		if salt := UUID(object[FrameSaltAt:FrameHeadBytes]); !fragmentWrite().Owns(salt) {
			t.Errorf("salt %s is not one of write %s", salt, fragmentWrite().ID)
		}
		names = append(names, name)
	}
	if names[0] == names[1] {
		t.Error("two fragments have one object")
	}
}

// gentle reports whether a decoder refused with an error that says so.
func gentle(err error) bool { return errs.Is(err, errs.Invalid) || refusedRight(err) }

// TestFragmentDamage cuts every golden object at every byte and flips every bit of it.
func TestFragmentDamage(t *testing.T) {
	t.Parallel()
	for _, g := range fragmentGoldens() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			data, err := g.encode()
			if err != nil {
				t.Fatal(err)
			}
			for n := range data {
				if _, err := g.decode(data[:n:n]); !gentle(err) {
					t.Fatalf("cut to %d of %d bytes: %v", n, len(data), err)
				}
			}
			for _, more := range []string{"\x00", "\n", " ", "{}"} {
				if _, err := g.decode(append(bytes.Clone(data), more...)); !gentle(err) {
					t.Fatalf("%q behind: %v", more, err)
				}
			}
			for bit := range 8 * len(data) {
				bad := bytes.Clone(data)
				bad[bit/8] ^= 1 << (bit % 8)
				if _, err := g.decode(bad); !gentle(err) {
					t.Fatalf("bit %d of byte %d flipped: %v", bit%8, bit/8, err)
				}
			}
		})
	}
}

// TestFragmentOtherKinds gives every golden object of a write to the decoders of others, and theirs
// to it.
func TestFragmentOtherKinds(t *testing.T) {
	t.Parallel()
	mine := fragmentGoldens()
	for i, g := range mine {
		data, err := g.encode()
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range slices.Concat(mine[:i], mine[i+1:], goldens()) {
			theirs, err := other.encode()
			if err != nil {
				t.Fatal(err)
			}
			if alike := min(len(g.name), len(other.name), len("record")); g.name[:alike] == other.name[:alike] && other.name != "fragment-content" && g.name != "fragment-content" {
				continue // two messages of fragments, or two records
			}
			if _, err := other.decode(data); !gentle(err) {
				t.Errorf("%s taken for %s: %v", g.name, other.name, err)
			}
			if _, err := g.decode(theirs); !gentle(err) {
				t.Errorf("%s taken for %s: %v", other.name, g.name, err)
			}
		}
	}
}
