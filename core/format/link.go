package format

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"deeplake/core/codec"
)

// Links say where the items of a linked chunk lie: in objects outside of the dataset, which others
// write. It is immutable once it is part of a Directory that was encoded or decoded.
type Links struct {
	Objects []LinkObject
	Ranges  []LinkRange // one for each item
	// Heads are the bytes of items in front of those of the objects: an item is both. They make a
	// file of a part of an object.
	Heads LinkHeads
}

// LinkHeads are the heads of items, one after the other in one piece of memory. The zero value has
// none.
type LinkHeads struct {
	Data []byte
	Ends []uint32 // of each item in Data
}

// Add adds the head of the item with a number, which follows those that were added.
func (h *LinkHeads) Add(item int64, head []byte) {
	if len(head) == 0 && h.Ends == nil {
		return
	}
	for int64(len(h.Ends)) < item { // earlier items without one
		h.Ends = append(h.Ends, uint32(len(h.Data)))
	}
	h.Data = append(h.Data, head...)
	h.Ends = append(h.Ends, uint32(len(h.Data)))
}

// of returns the head of an item. It is shared and not to be changed.
func (h *LinkHeads) of(item int64) []byte {
	if h.Ends == nil {
		return nil
	}
	from := uint32(0)
	if item > 0 {
		from = h.Ends[item-1]
	}
	to := h.Ends[item]
	return h.Data[from:to:to]
}

// check holds heads against the number of items.
func (h *LinkHeads) check(items int64) error {
	if h.Ends == nil && h.Data == nil {
		return nil
	}
	if int64(len(h.Ends)) != items || len(h.Data) == 0 {
		return fmt.Errorf("%d heads of %d links, of %d bytes", len(h.Ends), items, len(h.Data))
	}
	from := uint32(0)
	for i, to := range h.Ends {
		if to < from || int64(to) > int64(len(h.Data)) || to-from > MaxLinkHeadBytes {
			return fmt.Errorf("the head of item %d is bytes %d to %d of %d, want at most %d", i, from, to, len(h.Data), MaxLinkHeadBytes)
		}
		from = to
	}
	if int64(from) != int64(len(h.Data)) {
		return fmt.Errorf("%d bytes of heads belong to no item", int64(len(h.Data))-int64(from))
	}
	return nil
}

// LinkObject is an object outside of the dataset at the time when it was linked.
type LinkObject struct {
	URL  string // absolute: "scheme://..."
	Tag  string // tells versions of its content apart, as the store gave it; "": it gave none
	Size int64  // -1: not known
}

// LinkRange is the bytes of one item.
type LinkRange struct {
	Object int64 // index into Links.Objects
	Offset int64
	Length int64 // at least 1
}

// Link is one item of a linked chunk: the place of its bytes, and the tag and size that their
// object must have.
type Link struct {
	URL    string
	Tag    string
	Size   int64 // of the whole object; -1: not known
	Offset int64
	Length int64
	// Head are the bytes of the item before those of the object. It is shared and not to be
	// changed.
	Head []byte
}

// Bytes is the size of the item.
func (l *Link) Bytes() int64 { return int64(len(l.Head)) + l.Length }

// Linked reports whether the items lie outside of the dataset. Such a chunk has no blocks: BlockOf,
// BlockRange and ItemInBlock have no answer for it.
func (x *Index) Linked() bool { return x.links != nil }

// Link is where an item of a linked chunk lies.
func (x *Index) Link(item int64) Link {
	r := x.links.Ranges[item]
	o := &x.links.Objects[r.Object]
	return Link{URL: o.URL, Tag: o.Tag, Size: o.Size, Offset: r.Offset, Length: r.Length, Head: x.links.Heads.of(item)}
}

// bytes is the size of an item.
func (l *Links) bytes(item int64) int64 {
	return int64(len(l.Heads.of(item))) + l.Ranges[item].Length
}

// encode appends a table that newIndex has checked. Each URL is written without the prefix that it
// shares with the one before; offsets continue at the end of the item before.
func (l *Links) encode(b []byte) []byte {
	b = appendUvarint(b, int64(len(l.Objects)))
	url := ""
	for _, o := range l.Objects {
		shared := sharedPrefix(url, o.URL)
		b = appendUvarint(b, int64(shared))
		b = appendText(b, o.URL[shared:])
		b = appendText(b, o.Tag)
		b = appendUvarint(b, o.Size+1)
		url = o.URL
	}
	object := int64(0)
	for _, r := range l.Ranges {
		b = appendSvarint(b, r.Object-object)
		object = r.Object
	}
	last := LinkRange{Object: -1}
	for _, r := range l.Ranges {
		b = appendSvarint(b, r.Offset-last.next(r.Object))
		last = r
	}
	for _, r := range l.Ranges {
		b = appendUvarint(b, r.Length)
	}
	for i := range l.Heads.Ends {
		b = appendUvarint(b, int64(len(l.Heads.of(int64(i)))))
	}
	return append(b, l.Heads.Data...)
}

// next is the offset at which an item of object begins if it follows r without a gap.
func (r LinkRange) next(object int64) int64 {
	if r.Object != object {
		return 0
	}
	return r.Offset + r.Length
}

func appendText(b []byte, s string) []byte { return append(appendUvarint(b, int64(len(s))), s...) }

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// links takes the table of a chunk of items. Its memory is bounded by the remaining bytes and by
// MaxLinkBytes, because a few bytes can repeat a long URL.
func (r *reader) links(items int64) *Links {
	objects := r.count(MaxChunkItems, 4, "linked objects")
	l := &Links{Objects: make([]LinkObject, 0, objects)}
	total := int64(0)
	url := ""
	for range objects {
		o := r.linkObject(url, &total)
		if r.err != nil {
			return l
		}
		url = o.URL
		l.Objects = append(l.Objects, o)
	}
	if items > int64(len(r.b))/3 {
		r.fail("links of %d items in %d bytes", items, len(r.b))
		return l
	}
	l.Ranges = make([]LinkRange, items)
	object := int64(0)
	for i := range l.Ranges {
		object += r.svarint("object of a link")
		if r.err == nil && (object < 0 || object >= objects) {
			r.fail("a link names object %d of %d", object, objects)
		}
		l.Ranges[i].Object = object
	}
	last := LinkRange{Object: -1}
	for i := range l.Ranges {
		// made whole below, when lengths are known
		l.Ranges[i].Offset = r.svarint("offset of a link")
	}
	for i := range l.Ranges {
		e := &l.Ranges[i]
		e.Length = r.uvarint(MaxObjectBytes, "length of a link")
		if e.Offset < -2*MaxObjectBytes || e.Offset > 2*MaxObjectBytes {
			r.fail("offset of a link is out of range")
		}
		e.Offset += last.next(e.Object)
		if r.err == nil && (e.Offset < 0 || e.Offset > MaxObjectBytes) {
			r.fail("offset of a link is %d, want 0 to %d", e.Offset, int64(MaxObjectBytes))
		}
		last = *e
	}
	return l
}

// heads takes those of all items.
func (r *reader) heads(items int64) (h LinkHeads) {
	if items > int64(len(r.b)) {
		r.fail("heads of %d items in %d bytes", items, len(r.b))
		return h
	}
	h.Ends = make([]uint32, items)
	end := int64(0) // a directory has 64 MiB at most
	for i := range h.Ends {
		if end += r.uvarint(MaxLinkHeadBytes, "bytes of a head"); end > int64(len(r.b)) {
			r.fail("heads of %d bytes or more in %d bytes", end, len(r.b))
			return h
		}
		h.Ends[i] = uint32(end)
	}
	h.Data = slices.Clone(r.bytes(end, "heads of links"))
	return h
}

func (r *reader) linkObject(url string, total *int64) (o LinkObject) {
	shared := r.uvarint(int64(len(url)), "shared bytes of a URL")
	rest := r.bytes(r.count(MaxURLBytes, 1, "bytes of a URL"), "URL")
	if r.err == nil && shared < int64(len(url)) && len(rest) > 0 && url[shared] == rest[0] {
		r.fail("a URL shares more with the one before than it says")
	}
	tag := r.bytes(r.count(MaxTagBytes, 1, "bytes of a tag"), "tag")
	o.Size = r.uvarint(MaxObjectBytes+1, "bytes of a linked object") - 1
	*total += shared + int64(len(rest)) + int64(len(tag))
	if *total > MaxLinkBytes {
		r.fail("URLs and tags have more than %d bytes", MaxLinkBytes)
	}
	if r.err == nil {
		o.URL, o.Tag = url[:shared]+string(rest), string(tag)
	}
	return o
}

// addLinks checks a linked chunk and sets how its items are found.
func (x *Index) addLinks(d *Directory) error {
	l := d.Links
	switch {
	case d.Tile != nil && d.Foreign == nil || d.BlockCodec != codec.None || d.PerBlock != 0 || len(d.BlockItems) > 0 || d.BlockBytes != nil || len(d.BlockCRC) > 0 || d.Sizes != nil || d.FixedSize != -1:
		return errors.New("a linked chunk has a tile, blocks, a block codec or sizes of items")
	case int64(len(l.Ranges)) != d.Items:
		return fmt.Errorf("links of %d items, want %d", len(l.Ranges), d.Items)
	}
	total := int64(0)
	for _, o := range l.Objects {
		if err := o.check(); err != nil {
			return err
		}
		total += int64(len(o.URL) + len(o.Tag))
	}
	if total > MaxLinkBytes {
		return fmt.Errorf("URLs and tags have %d bytes, want at most %d", total, MaxLinkBytes)
	}
	if err := l.Heads.check(d.Items); err != nil {
		return err
	}
	x.links, x.fixed = l, 0 // nothing of the items lies in the chunk
	for i, r := range l.Ranges {
		if r.Object < 0 || r.Object >= int64(len(l.Objects)) {
			return fmt.Errorf("item %d is in object %d of %d", i, r.Object, len(l.Objects))
		}
		size := l.Objects[r.Object].Size
		if size < 0 {
			size = MaxObjectBytes
		}
		if r.Length < 1 || r.Offset < 0 || r.Offset > size || r.Length > size-r.Offset {
			return fmt.Errorf("item %d is %d bytes at %d of an object of %d", i, r.Length, r.Offset, size)
		}
		if !d.plain() {
			continue
		}
		if want, _ := x.Shape(int64(i)).Bytes(d.DType); want != l.bytes(int64(i)) {
			return fmt.Errorf("item %d has %d bytes, want %d for its shape", i, l.bytes(int64(i)), want)
		}
	}
	return nil
}

func (o *LinkObject) check() error {
	if len(o.URL) > MaxURLBytes || len(o.Tag) > MaxTagBytes || o.Size < -1 || o.Size > MaxObjectBytes {
		return fmt.Errorf("a linked object has a URL of %d bytes, a tag of %d, and %d bytes", len(o.URL), len(o.Tag), o.Size)
	}
	if scheme, rest, found := strings.Cut(o.URL, "://"); !found || scheme == "" || rest == "" {
		return fmt.Errorf("%q is not an absolute URL", o.URL)
	}
	return nil
}

// memory returns the bytes that the table takes.
func (l *Links) memory() int64 {
	if l == nil {
		return 0
	}
	n := int64(24*cap(l.Ranges) + 40*cap(l.Objects) + 4*cap(l.Heads.Ends) + cap(l.Heads.Data))
	for _, o := range l.Objects {
		n += int64(len(o.URL) + len(o.Tag))
	}
	return n
}
