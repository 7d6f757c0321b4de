package table

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/snappy"

	"deeplake/core/arrow/gather"
	"deeplake/core/errs"
	"deeplake/core/mds"
)

// openShards opens a shard of MosaicML Streaming.
func openShards(ctx context.Context, f opened) (Table, error) {
	t := &gathered{open: mdsFile{f}.reader}
	r, end, err := t.open(ctx, gather.Options{}, false)
	if err != nil {
		return nil, err
	}
	defer end()
	t.names, t.rows = r.Columns(), r.Rows()
	return t, nil
}

// mdsFile is a file of MosaicML Streaming.
type mdsFile struct{ file opened }

// reader opens the shard, and returns a function that ends its requests. Its name tells whether it
// is compressed: its first bytes are a number.
func (t mdsFile) reader(ctx context.Context, o gather.Options, isAhead bool) (rowReader, func(), error) {
	from, end := t.file.inOrder(ctx, isAhead)
	plain, err := unpackedShard(from, path.Ext(t.file.f.key))
	if err != nil {
		end()
		return nil, nil, err
	}
	o.Places = o.Places && path.Ext(t.file.f.key) == ".mds"
	r, err := mds.NewReader(plain, o)
	if err != nil {
		end()
		return nil, nil, err
	}
	return r, end, nil
}

// maxShard bounds a shard that is decompressed as a whole.
const maxShard = 1 << 30

// unpackedShard decompresses a shard whose name ends so.
func unpackedShard(from io.Reader, ext string) (io.Reader, error) {
	switch ext {
	case ".mds":
		return from, nil
	case ".br":
		return packed{brotli.NewReader(from), "Brotli"}, nil
	case ".snappy":
		data, err := io.ReadAll(io.LimitReader(from, maxShard+1))
		if err != nil {
			return nil, err
		}
		if n, err := snappy.DecodedLen(data); err != nil || n > maxShard || len(data) > maxShard {
			return nil, errs.New(errs.Invalid, "its Snappy states %d bytes, want at most %d", n, maxShard)
		}
		plain, err := snappy.Decode(nil, data)
		if err != nil {
			return nil, errs.New(errs.Corrupt, "its Snappy is damaged or cut: %w", err)
		}
		return bytes.NewReader(plain), nil
	}
	return unpacked(from)
}

// maxIndex bounds an index of shards.
const maxIndex = 256 << 20

// shardIndex is the file that names the shards of a folder. Others there are leftovers.
type shardIndex struct {
	Shards []struct {
		Samples int64      `json:"samples"`
		Format  string     `json:"format"`
		Raw     shardFile  `json:"raw_data"`
		Zip     *shardFile `json:"zip_data"`
	} `json:"shards"`
}

type shardFile struct {
	Name string `json:"basename"`
}

// indexed keeps the shards that the indexes of their folders name, one file of each. A folder
// without an index keeps all, and a file alone is kept.
func (s *source) indexed(ctx context.Context) error {
	if len(s.files) < 2 {
		return nil
	}
	folders := []string{}
	for _, f := range s.files {
		if dir := path.Dir(f.key); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	keep, isIndexed := map[string]bool{}, map[string]bool{}
	for _, dir := range folders {
		for at := dir; ; at = path.Dir(at) { // an index may name shards in folders below it
			index, err := s.shardIndex(ctx, path.Join(at, "index.json"))
			if err == nil && index != nil {
				if err = s.keep(at, index, keep); err == nil {
					isIndexed[dir] = true
				}
			}
			if err != nil {
				return err
			}
			if isIndexed[dir] || at == "." || at == "/" {
				break
			}
		}
	}
	s.files = slices.DeleteFunc(s.files, func(f *file) bool { return isIndexed[path.Dir(f.key)] && !keep[f.key] })
	return nil
}

// shardIndex reads an index of shards; nil: there is none.
func (s *source) shardIndex(ctx context.Context, key string) (*shardIndex, error) {
	data, err := s.readIndex(ctx, key)
	if err != nil || data == nil {
		return nil, err
	}
	index := &shardIndex{}
	if err := json.Unmarshal(data, index); err != nil {
		return nil, errs.New(errs.Corrupt, "%s is no index of shards: %w", key, err)
	}
	if index.Shards == nil { // of another format
		return nil, nil
	}
	return index, nil
}

// readIndex reads the bytes of an index; nil: there is none.
func (s *source) readIndex(ctx context.Context, key string) ([]byte, error) {
	body, err := s.Range(ctx, key, 0, -1, "")
	if errs.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxIndex+1))
	if err != nil {
		return nil, errs.New(errs.KindOf(err), "%s: %w", key, err)
	}
	if len(data) > maxIndex {
		return nil, errs.New(errs.Invalid, "%s has more than %d bytes", key, maxIndex)
	}
	return data, nil
}

// keep notes the files of the shards of an index in a folder.
func (s *source) keep(dir string, index *shardIndex, keep map[string]bool) error {
	have := map[string]bool{}
	for _, f := range s.files {
		have[f.key] = true
	}
	for _, one := range index.Shards {
		if one.Format != "mds" {
			return errs.New(errs.Unsupported, "%s/index.json has shards of format %q, want mds", dir, one.Format)
		}
		raw, zip := path.Join(dir, one.Raw.Name), ""
		if one.Zip != nil {
			zip = path.Join(dir, one.Zip.Name)
		}
		switch {
		case have[raw]:
			keep[raw] = true
		case zip != "" && have[zip]:
			keep[zip] = true
		default:
			return errs.New(errs.NotFound, "%s names the shard %s, and there is no such file", path.Join(dir, "index.json"), raw)
		}
	}
	return nil
}
