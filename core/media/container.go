package media

import (
	"context"
	"slices"
	"strings"

	"deeplake/core/errs"
)

// Reader is a file whose tables are read.
type Reader interface {
	// ReadAt fills dst with the bytes from off on, which lie within the file.
	ReadAt(ctx context.Context, dst []byte, off int64) error
}

// Container reads the tables of the files of one kind.
type Container interface {
	// Name names the kind in errors: "MP4".
	Name() string
	// Is reports whether a file that begins with head, HeadBytes of it or all, is of the kind.
	Is(head []byte) bool
	// Extensions are those of the names of such files, in lower case and with the dot.
	Extensions() []string
	// Extension returns the one for a file of the kind that begins with head.
	Extension(head []byte) string
	// Index reads the tables of a file of size bytes. It reads no packets.
	Index(ctx context.Context, r Reader, size int64) (*Video, error)
}

// HeadBytes are enough of a file to tell its kind.
const HeadBytes = 64

// Containers are the kinds of files that a program reads.
type Containers []Container

// Of returns the kind of a file that begins with head; nil: none of them.
func (c Containers) Of(head []byte) Container {
	head = head[:min(len(head), HeadBytes)]
	for _, one := range c {
		if one.Is(head) {
			return one
		}
	}
	return nil
}

// Named reports whether files with this extension, such as ".mp4", are called videos. Case does not
// matter.
func (c Containers) Named(extension string) bool {
	extension = strings.ToLower(extension)
	return slices.ContainsFunc(c, func(one Container) bool { return slices.Contains(one.Extensions(), extension) })
}

// Extension returns the extension for the name of a file that begins with head, "" if it is of no
// kind. More than HeadBytes of the file are welcome.
func (c Containers) Extension(head []byte) string {
	if one := c.Of(head); one != nil {
		return one.Extension(head)
	}
	return ""
}

// Titles lists the kinds for messages: "MP4 or Matroska".
func (c Containers) Titles() string {
	names := make([]string, len(c))
	for i, one := range c {
		names[i] = one.Name()
	}
	return strings.Join(names, " or ")
}

// Index reads the tables of a file of size bytes, of whichever kind it is. A file of no kind is
// errs.Invalid.
func (c Containers) Index(ctx context.Context, r Reader, size int64) (*Video, error) {
	if size == 0 {
		return nil, errs.New(errs.Invalid, "the file is empty, want a video")
	}
	head := make([]byte, min(size, HeadBytes))
	if err := r.ReadAt(ctx, head, 0); err != nil {
		return nil, err
	}
	if one := c.Of(head); one != nil {
		return one.Index(ctx, r, size)
	}
	return nil, errs.New(errs.Invalid, "the file is no video of %s (it begins with % x)", c.Titles(), head[:min(8, len(head))])
}

// Bytes is a file in memory.
type Bytes []byte

// ReadAt copies. A read outside of the file is errs.Internal: a Container knows its size.
func (b Bytes) ReadAt(_ context.Context, dst []byte, off int64) error {
	if off < 0 || off > int64(len(b)) || int64(len(dst)) > int64(len(b))-off {
		return errs.New(errs.Internal, "read of %d bytes at %d of %d", len(dst), off, len(b))
	}
	copy(dst, b[off:])
	return nil
}
