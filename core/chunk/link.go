package chunk

import (
	"context"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// LinkReader reads what links point to. It may be used in parallel.
type LinkReader interface {
	// ReadLink fills dst, len(dst) == l.Length, with the bytes of the object. An object that no
	// longer exists, or is not the one that was linked, is errs.Corrupt, and dst is undefined.
	ReadLink(ctx context.Context, l format.Link, dst []byte) error
}

// linkedDirectory is the memory of a directory of links at which a chunk is sealed. There is
// nothing else in such a chunk, and finding one sample reads the whole of it.
const linkedDirectory = 1 << 20

const (
	linkBytes   = 24 // of a range
	objectBytes = 40 // of an object without its URL and tag
	headBytes   = 4  // of the place of a head
)

// storedAs is how a row is stored: as links or not, and as files of which codec. None stands for
// the codec of the Spec.
type storedAs struct {
	linked bool
	codec  codec.ID
}

// kindOf tells rows apart that cannot be in one chunk. Items of one row can be in no other.
func kindOf(items []Item) (storedAs, error) {
	var k storedAs
	for i, it := range items {
		one := storedAs{it.Link != nil, it.Codec}
		if i == 0 {
			k = one
		}
		if one != k {
			return k, errs.New(errs.Invalid, "a list has links and other samples, or files of several kinds; want all alike")
		}
	}
	return k, nil
}

// addLink notes an item that lies elsewhere.
func (b *Builder) addLink(l *format.Link) {
	links := b.dir.Links
	o := format.LinkObject{URL: l.URL, Tag: l.Tag, Size: l.Size}
	if n := len(links.Objects); n == 0 || links.Objects[n-1] != o {
		links.Objects = append(links.Objects, o)
		b.dirSize += objectBytes + int64(len(o.URL)+len(o.Tag))
	}
	links.Ranges = append(links.Ranges, format.LinkRange{Object: int64(len(links.Objects) - 1), Offset: l.Offset, Length: l.Length})
	b.dirSize += linkBytes
	links.Heads.Add(int64(len(links.Ranges)-1), l.Head)
	b.dirSize += headBytes + int64(len(l.Head))
}

// link reads an item of a linked chunk into dst, whose length is that of the item.
func (c *Chunk) link(ctx context.Context, item int64, dst []byte) error {
	l := c.Index.Link(item)
	if c.Links == nil {
		return errs.Op("read", storage.RedactURL(l.URL)).New(errs.Unsupported, "this program reads no links")
	}
	if int64(len(dst)) != l.Bytes() {
		return errs.New(errs.Internal, "read a link of %d bytes into %d bytes", l.Bytes(), len(dst))
	}
	return c.Links.ReadLink(ctx, l, dst[copy(dst, l.Head):])
}
