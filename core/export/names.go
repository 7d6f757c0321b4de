package export

import (
	"context"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// namer gives each row a name of its own for its files, within its folder: that of the file from
// which the row was imported, else its number.
type namer struct {
	e       *exporter
	whole   bool                // names keep the folders of the file
	renamed map[int64]string    // rows whose names others have
	taken   map[uint64]struct{} // hashes of folders and names
}

// folderOf returns the folder of a row's file. It must be a pure function of the row.
type folderOf func(ctx context.Context, p *part, rows []int64) ([]string, error)

// newNamer looks at the names of all rows. Two names of one hash are treated as equal: one gets the
// number of its row.
func newNamer(ctx context.Context, e *exporter, whole bool, folder folderOf) (*namer, error) {
	n := &namer{e: e, whole: whole, renamed: map[int64]string{}, taken: map[uint64]struct{}{}}
	for _, p := range e.parts {
		for at := int64(0); at < p.n; at += batchRows {
			rows := p.rowsOf(at, min(batchRows, p.n-at))
			stems, err := n.given(ctx, p, rows)
			if err != nil {
				return nil, err
			}
			folders, err := folder(ctx, p, rows)
			if err != nil {
				return nil, err
			}
			for i, row := range rows {
				stem := stems[i]
				for k := 0; !n.take(folders[i] + "/" + stem); k++ {
					if stem = fmt.Sprintf("%s-%d", stems[i], row); k > 0 {
						stem = fmt.Sprintf("%s-%d-%d", stems[i], row, k)
					}
					n.renamed[row] = stem
				}
			}
		}
	}
	n.taken = nil
	return n, nil
}

// take reports whether a name was free, and takes it.
func (n *namer) take(name string) bool {
	h := fnv.New64a() // the same in each run: a continued one finds the same names
	_, _ = h.Write([]byte(name))
	_, is := n.taken[h.Sum64()]
	n.taken[h.Sum64()] = struct{}{}
	return !is
}

// names returns the names of rows, without extension.
func (n *namer) names(ctx context.Context, p *part, rows []int64) ([]string, error) {
	out, err := n.given(ctx, p, rows)
	for i, row := range rows {
		if name, ok := n.renamed[row]; ok && err == nil {
			out[i] = name
		}
	}
	return out, err
}

// given returns the names that rows would like to have.
func (n *namer) given(ctx context.Context, p *part, rows []int64) ([]string, error) {
	sources, err := n.e.view.Sources(ctx, rows)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = fmt.Sprintf("%08d", row)
		if sources[i] == nil {
			continue
		}
		if stem := n.stem(*sources[i], p.split); stem != "" {
			out[i] = stem
		}
	}
	return out, nil
}

// mostName bounds a name, and mostPart a part of it: files may have 255 bytes there.
const (
	mostName = 600
	mostPart = 230
)

// stem returns the name of a source's file without folders and extension, "" if no file can have
// it.
func (n *namer) stem(source, split string) string {
	name := source
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	// Files lie in a folder of their split again, and in one of images.
	isSplit := func(folder string) bool { return split != "" && strings.HasPrefix(folder, split) }
	isImages := func(folder string) bool { return n.whole && folder == "images" }
	for _, is := range []func(string) bool{isImages, isSplit, isImages} {
		if head, rest, ok := strings.Cut(name, "/"); ok && is(head) {
			name = rest
		}
	}
	if !n.whole {
		name = path.Base(name)
	}
	if ext := path.Ext(name); ext != "" {
		if _, is := n.e.env.Codecs.ByExtension(ext); is || n.e.env.Containers.Named(ext) {
			name = strings.TrimSuffix(name, ext)
		}
	}
	tooLong := func(part string) bool { return len(part) > mostPart || strings.HasPrefix(part, ".") }
	if len(name) > mostName || storage.CheckKey(name) != nil || slices.ContainsFunc(strings.Split(name, "/"), tooLong) {
		return ""
	}
	return name
}

// extensionOf returns the extension of the file of a sample, with its dot.
func (e *exporter) extensionOf(ref *chunk.Ref) string {
	if isFile(ref) {
		if c, err := e.env.Codecs.Sample(ref.Chunk.Index.SampleCodec()); err == nil {
			return c.Describe().Extensions[0]
		}
	}
	return ".png"
}

// fitsPNG reports whether PNG files hold numbers of a dtype.
func (e *exporter) fitsPNG(d tensor.DType) bool {
	png, err := e.png()
	return err == nil && png.Describe().CheckDType(d) == nil
}

func (e *exporter) png() (codec.SampleCodec, error) {
	id, _, err := e.env.Codecs.Parse("png")
	if err != nil {
		return nil, err
	}
	return e.env.Codecs.Sample(id)
}

// picture returns the stored file of a picture, or a PNG file of an array.
func (e *exporter) picture(v *tensor.Sample) ([]byte, error) {
	if v.Form == tensor.FormEncoded {
		return v.Data, nil
	}
	png, err := e.png()
	if err != nil {
		return nil, err
	}
	shape := v.Shape
	if len(shape) == 2 {
		shape = append(shape.Clone(), 1)
	}
	file, err := png.Encode(nil, v.Data, v.DType, shape, codec.Options{})
	if err != nil {
		return nil, errs.New(errs.KindOf(err), "an array of %s and shape %s makes no PNG file (%w); leave the tensor out by tensors=", v.DType, v.Shape, err)
	}
	return file, nil
}

// putPicture writes the picture of a row. name has no extension.
func (e *exporter) putPicture(ctx context.Context, p *part, name string, row int64, v *value) error {
	data, err := e.picture(&v.Sample)
	if err != nil {
		return errs.InRow(errs.KindOf(err), row, "row %d: %w", row, err)
	}
	return e.put(ctx, p, name+v.extension, data)
}

// lane returns the number of files to write at once.
func (e *exporter) lane() int {
	if isLocal(e.store) {
		return task.Cores() // more of them cost time, and wait for the same disk
	}
	return 32
}

// isPart reports whether a text may be a folder or a file of that name.
func isPart(name string) bool {
	return storage.CheckKey(name) == nil && !strings.Contains(name, "/") && len(name) <= mostPart && !strings.HasPrefix(name, ".")
}
