package table

import (
	"context"
	"net/url"
	"path"
	"regexp"
	"slices"

	"deeplake/core/arrow/gather"
	"deeplake/core/arrow/ipc"
	"deeplake/core/errs"
	"deeplake/core/litdata"
)

// chunkName is the name of a chunk of LitData, such as chunk-0-12.bin or chunk-0-12.zstd.bin.
var chunkName = regexp.MustCompile(`^chunk-\d+-\d+(\.[a-z0-9]+(:\d+)?)?\.bin$`)

// packedName is the end of the name of a chunk that is compressed as a whole.
var packedName = regexp.MustCompile(`\.[a-z0-9]+(:\d+)?\.bin$`)

// openChunks opens a chunk. Its items may lie in an Arrow file at its end.
func openChunks(ctx context.Context, f opened) (Table, error) {
	if f.f.index == nil {
		return nil, errs.New(errs.Invalid, "it is a chunk of LitData, whose index.json is not beside it; take both, as the folder has them")
	}
	if size := f.f.size; size > litdata.FooterBytes {
		end := make([]byte, litdata.FooterBytes)
		if err := f.ReadAt(ctx, end, size-litdata.FooterBytes); err != nil {
			return nil, err
		}
		n, err := litdata.Footer(end, size)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			file, err := ipc.Open(ctx, section{f, size - litdata.FooterBytes - n}, n)
			if err != nil {
				return nil, err
			}
			return arrowTable{file}, nil
		}
	}
	t := &gathered{open: chunkFile{f}.reader, names: f.f.index.Columns()}
	r, end, err := t.open(ctx, gather.Options{}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	if t.rows = r.Rows(); t.rows != f.f.items {
		return nil, errs.New(errs.Corrupt, "it states %d items, and index.json %d", t.rows, f.f.items)
	}
	return t, nil
}

// section is a part of a file from a byte on.
type section struct {
	opened
	from int64
}

// ReadAt reads a part of the section.
func (s section) ReadAt(ctx context.Context, p []byte, off int64) error {
	return s.opened.ReadAt(ctx, p, s.from+off)
}

// chunkFile is a file of LitData.
type chunkFile struct{ file opened }

// reader opens the chunk, and returns a function that ends its requests.
func (t chunkFile) reader(ctx context.Context, o gather.Options, isAhead bool) (rowReader, func(), error) {
	from, end := t.file.inOrder(ctx, isAhead)
	r, err := litdata.NewReader(from, t.file.f.index, o)
	if err != nil {
		end()
		return nil, nil, err
	}
	return r, func() {
		r.Close()
		end()
	}, nil
}

// described keeps the chunks that the indexes of their folders name, in the order that these have.
// A folder without an index keeps none but a chunk that the user has named.
func (s *source) described(ctx context.Context) error {
	at, folders := map[string]*file{}, []string{}
	for _, f := range s.files {
		at[f.key] = f
		if dir := path.Dir(f.key); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	if len(folders) == 0 {
		folders = []string{"."} // its index says of what kind the files are
	}
	only := ""
	if !s.isFolder && len(s.files) == 1 {
		only = s.files[0].key
	}
	s.files = nil
	for _, dir := range folders {
		key := path.Join(dir, "index.json")
		index, err := s.chunkIndex(ctx, key, at[only])
		if err != nil {
			return err
		}
		if index == nil {
			if only != "" {
				s.files = append(s.files, at[only])
			}
			continue
		}
		for _, c := range index.Chunks {
			name := path.Join(dir, c.Name)
			f := at[name]
			if f == nil { // LitData leaves a chunk decompressed that it has read from a disk
				name = path.Join(dir, packedName.ReplaceAllString(c.Name, ".bin"))
				f = at[name]
			}
			switch {
			case only != "" && name != only:
				continue
			case f == nil:
				return errs.New(errs.NotFound, "%s names the chunk %s, and there is no such file", key, c.Name)
			case f.index != nil:
				return errs.New(errs.Corrupt, "%s names the chunk %s twice", key, name)
			}
			f.index, f.items = index, c.Items
			s.files = append(s.files, f)
		}
	}
	if len(at) == 0 {
		return errs.New(errs.Invalid, "it has no chunks of LitData, whose names are such as chunk-0-0.bin")
	}
	if len(s.files) == 0 {
		return errs.New(errs.Invalid, "it has chunks of LitData, and no index.json that names them; the index is made at the end of litdata.optimize")
	}
	return nil
}

// chunkIndex reads an index of LitData; nil: there is none. That of a chunk on a web server lies
// beside it.
func (s *source) chunkIndex(ctx context.Context, key string, only *file) (*litdata.Index, error) {
	from := key
	if only != nil && only.name != only.key {
		u, err := url.Parse(only.name)
		if err != nil {
			return nil, errs.New(errs.Invalid, "it is no URL")
		}
		u.Path, u.RawPath = path.Join(path.Dir(u.Path), "index.json"), ""
		from = u.String()
	}
	data, err := s.readIndex(ctx, from)
	if err != nil || data == nil {
		return nil, err
	}
	index, err := litdata.ParseIndex(data)
	if err != nil {
		return nil, errs.New(errs.KindOf(err), "%s %w", key, err)
	}
	return index, nil
}
