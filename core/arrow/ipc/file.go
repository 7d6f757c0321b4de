package ipc

import (
	"context"
	"slices"

	"deeplake/core/arrow"
	"deeplake/core/errs"
	"deeplake/core/internal/ahead"
)

const (
	magic = "ARROW1"
	// oldMagic begins files of Feather 1.
	oldMagic = "FEA1"
	// continuation stands before the length of a message; streams before version 0.15 lack it.
	continuation = 0xFFFFFFFF
	// wholeBytes is the size of files that are read at once.
	wholeBytes = 4 << 20
	// footerGuess is the part of a file's end, and headGuess that of a message, that is read first.
	footerGuess, headGuess = 64 << 10, 4 << 10
	// maxMetadata bounds the metadata of a message, and the footer.
	maxMetadata = 256 << 20
)

// File is an open file. All methods may be called in parallel.
type File struct {
	r      ahead.ReaderAt
	size   int64
	schema *field
	types  *arrow.Column // without rows
	*unpacker

	// The messages: of a file those that its footer lists, of a stream all behind an offset.
	isStream     bool
	first        int64
	dictionaries []block
	batches      []block
}

// block is a message in a file.
type block struct{ off, meta, body int64 }

func (b block) end() int64 { return b.off + b.meta + b.body }

// Open reads the types of a file of size bytes.
func Open(ctx context.Context, r ahead.ReaderAt, size int64) (*File, error) {
	if size <= wholeBytes {
		p := make([]byte, size)
		if err := r.ReadAt(ctx, p, 0); err != nil {
			return nil, err
		}
		r = ahead.Memory(p)
	}
	f := &File{r: r, size: size, unpacker: &unpacker{}}
	head := make([]byte, min(size, 8))
	if err := r.ReadAt(ctx, head, 0); err != nil {
		return nil, err
	}
	var err error
	switch {
	case len(head) < 8:
		return nil, errs.New(errs.Corrupt, "it has %d bytes, which is no file of Arrow", size)
	case string(head[:6]) == magic:
		err = f.openFile(ctx)
	case string(head[:4]) == oldMagic:
		return nil, errs.New(errs.Unsupported, "it is a file of Feather 1; write it again, with pyarrow.feather.write_feather(pyarrow.feather.read_table(path), path)")
	default:
		err = f.openStream(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.types, err = arrow.MakeColumn(made(f.schema))
	return f, err
}

// openFile reads the footer of a file.
func (f *File) openFile(ctx context.Context) error {
	end := make([]byte, min(f.size, footerGuess))
	if err := f.r.ReadAt(ctx, end, f.size-int64(len(end))); err != nil {
		return err
	}
	if len(end) < 18 || string(end[len(end)-6:]) != magic {
		return errs.New(errs.Corrupt, "it does not end as a file of Arrow: it is cut")
	}
	n := int64(int32(le32(end[len(end)-10:])))
	if n < 8 || n > f.size-18 || n > maxMetadata {
		return errs.New(errs.Corrupt, "its footer has %d bytes, and the file %d", n, f.size)
	}
	if n+10 > int64(len(end)) {
		end = make([]byte, n+10)
		if err := f.r.ReadAt(ctx, end, f.size-n-10); err != nil {
			return err
		}
	}
	b := &flat{p: end[int64(len(end))-10-n : len(end)-10], left: maxTables}
	footer := b.root()
	var err error
	if f.schema, err = footer.table(1).schema(); err != nil {
		return err
	}
	for i, list := range []*[]block{&f.dictionaries, &f.batches} {
		for s := range slices.Chunk(footer.structs(2+i, 3), 3) {
			// The length of the metadata has 32 bits; the other ones are of no meaning.
			one := block{s[0], int64(int32(s[1])), s[2]}
			if one.off < 0 || one.meta < 8 || one.meta > maxMetadata || one.body < 0 || one.body > f.size || one.off > f.size-one.meta-one.body {
				return errs.New(errs.Corrupt, "message %d has %d and %d bytes at %d, and the file %d", len(*list), one.meta, one.body, one.off, f.size)
			}
			*list = append(*list, one)
		}
	}
	return b.err
}

// openStream reads the first message of a stream.
func (f *File) openStream(ctx context.Context) error {
	f.isStream = true
	b, p, err := f.message(ctx, 0)
	if err == nil && b.meta == 0 {
		err = errs.New(errs.Corrupt, "it has no message")
	}
	if err != nil {
		return errs.New(errs.KindOf(err), "it is no file and no stream of Arrow: %w", err)
	}
	f.first = b.end()
	f.schema, err = parseSchema(p)
	return err
}

// message reads the metadata of a message of a stream. Without a message, at the end, a block has
// no metadata.
func (f *File) message(ctx context.Context, off int64) (block, []byte, error) {
	b := block{off: off}
	p := make([]byte, min(headGuess, f.size-off))
	if len(p) == 0 {
		return b, nil, nil
	}
	if err := f.r.ReadAt(ctx, p, off); err != nil {
		return b, nil, err
	}
	if len(p) < 4 {
		return b, nil, errs.New(errs.Corrupt, "the file is cut at %d", off)
	}
	head, n := int64(4), int64(int32(le32(p)))
	if n == -1 {
		if len(p) < 8 {
			return b, nil, errs.New(errs.Corrupt, "the file is cut at %d", off)
		}
		head, n = 8, int64(int32(le32(p[4:])))
	}
	if n == 0 {
		return b, nil, nil
	}
	if n < 8 || n > maxMetadata || n > f.size-off-head {
		return b, nil, errs.New(errs.Corrupt, "the metadata at %d has %d bytes, and the file %d", off, n, f.size)
	}
	b.meta = head + n
	if b.meta > int64(len(p)) {
		p = make([]byte, b.meta)
		if err := f.r.ReadAt(ctx, p, off); err != nil {
			return b, nil, err
		}
	}
	p = p[:b.meta]
	m, err := parseMessage(p)
	if err != nil {
		return b, nil, err
	}
	b.body = m.number(3, 8, 0)
	if m.err == nil && (b.body < 0 || b.body > f.size-off-b.meta) {
		return b, nil, errs.New(errs.Corrupt, "the file is cut: a record batch at %d has %d bytes, and the file %d", off, b.body, f.size)
	}
	return b, p, m.err
}

// Columns are the names of the columns, in the order of the file.
func (f *File) Columns() []string {
	names := make([]string, len(f.schema.children))
	for i, c := range f.schema.children {
		names[i] = c.Name
	}
	return names
}

// Types returns some columns without rows; nil: all. A column that is not there is errs.NotFound.
func (f *File) Types(columns []string) (*arrow.Column, error) {
	if _, err := f.picked(columns); err != nil {
		return nil, err
	}
	if columns == nil {
		return f.types, nil
	}
	return f.types.Pick(columns), nil
}

// picked returns the places of columns by name; nil: of all.
func (f *File) picked(columns []string) ([]int, error) {
	var out []int
	for i := range f.schema.children {
		out = append(out, i)
	}
	if columns == nil {
		return out, nil
	}
	out = out[:0]
	for _, name := range columns {
		i := slices.IndexFunc(f.schema.children, func(c *field) bool { return c.Name == name })
		if i < 0 {
			return nil, errs.New(errs.NotFound, "there is no column %q", name)
		}
		out = append(out, i)
	}
	return out, nil
}
