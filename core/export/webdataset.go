package export

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// webDataset writes tar archives. Members of a row have the number of the row as their name, and
// an extension for each tensor.
type webDataset struct {
	e     *exporter
	names []string // of columns, before the extension: "", or "seg." for instance
}

// mainNames are the tensors that imports make of members without a name of their own.
var mainNames = map[kind]string{isImage: "images", isVideo: "videos", isLabel: "labels", isText: "text", isJSON: "json"}

func openWebDataset(_ context.Context, e *exporter) (writer, error) {
	w := &webDataset{e: e, names: make([]string, len(e.columns))}
	main := map[kind]int{ // the column whose members have no name of their own
		isImage: mainOf(e.columns, isImage, "images", "image"), isVideo: mainOf(e.columns, isVideo, "videos", "video"), isLabel: mainOf(e.columns, isLabel, "labels", "label"),
		isText: mainOf(e.columns, isText, "text"), isJSON: mainOf(e.columns, isJSON, "json"),
	}
	taken := map[string]bool{}
	for i, c := range e.columns {
		if at, ok := main[c.kind]; ok && at == i {
			if fixed := mainNames[c.kind]; fixed != c.Name() {
				e.note(c.Name(), fmt.Sprintf("its members have no name of their own, and imports call it %q", fixed))
			}
			continue
		}
		name := strings.Map(func(r rune) rune {
			if r == '/' || r == '.' || r == ' ' {
				return '_'
			}
			return r
		}, strings.ToLower(c.Name()))
		for base, k := name, 2; taken[name]; k++ {
			name = fmt.Sprintf("%s_%d", base, k)
		}
		taken[name] = true
		w.names[i] = name + "."
		if name != c.Name() {
			e.note(c.Name(), fmt.Sprintf("its members are called %q", name))
		}
		if c.list && c.kind != isText && c.kind != isJSON {
			e.note(c.Name(), "the list of a row is a .npz file")
		} else if c.list {
			e.note(c.Name(), "the list of a row is a .json file, which imports take for json")
		}
		if c.of.Time != "" {
			e.note(c.Name(), "times become integers, "+c.of.Time)
		}
		if c.dtype == tensor.BFloat16 {
			e.note(c.Name(), "bfloat16 becomes float32: NumPy has none")
		}
	}
	if len(taken) > mostMembers {
		e.note("", fmt.Sprintf("rows have %d named members, and an import takes %d of them", len(taken), mostMembers))
	}
	return w, e.copyVideos(e.columns)
}

// mainOf returns the column of a kind that has one of the names, the first name before the others.
// Without one it is the first video, the first picture that is no mask, or the only label; else -1.
func mainOf(columns []*column, k kind, names ...string) int {
	is := func(c *column) bool { return c.kind == k && !c.list && (k != isLabel || c.scalar()) }
	for _, name := range names {
		if i := slices.IndexFunc(columns, func(c *column) bool { return is(c) && c.Name() == name }); i >= 0 {
			return i
		}
	}
	switch k {
	case isImage:
		return slices.IndexFunc(columns, func(c *column) bool { return is(c) && !c.htype.IsMask() })
	case isVideo:
		return slices.IndexFunc(columns, is)
	case isLabel:
		if i := slices.IndexFunc(columns, is); i >= 0 && !slices.ContainsFunc(columns[i+1:], is) {
			return i
		}
	}
	return -1
}

// mostMembers is the number of named members that an import takes.
const mostMembers = 64

func (w *webDataset) part(ctx context.Context, p *part) (any, error) {
	return nil, w.e.whole(ctx, p, p.shardName(".tar"), func(f *file) error {
		t := tar.NewWriter(f)
		err := w.e.batches(ctx, p, w.e.columns, func(b *batch) error {
			for i, row := range b.rows {
				some := false
				for k, c := range w.e.columns {
					v := &b.columns[k][i]
					if v.hole {
						continue
					}
					some = true
					if err := w.write(ctx, t, fmt.Sprintf("%08d.%s", b.from+int64(i), w.names[k]), c, row, v); err != nil {
						return err
					}
				}
				if !some {
					w.e.note("", "rows without any value have no members")
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return t.Close()
	})
}

func (w *webDataset) finish(ctx context.Context, _ [][]byte) error {
	return w.e.describe(ctx, func(c *column) string {
		name := strings.TrimSuffix(w.names[slices.Index(w.e.columns, c)], ".")
		if name == "" {
			return mainNames[c.kind]
		}
		if slices.Contains(slices.Collect(maps.Values(mainNames)), name) { // imports add the kind
			last := map[kind]string{isImage: "image", isVideo: "video", isText: "txt", isJSON: "json", isLabel: "npy", isNumbers: "npy"}[c.kind]
			if c.kind == isLabel && c.scalar() {
				last = "cls"
			}
			name += "_" + last
		}
		return name
	})
}

// write writes the value of a row as a member. name has no extension.
func (w *webDataset) write(ctx context.Context, t *tar.Writer, name string, c *column, row int64, v *value) (err error) {
	defer func() {
		if err != nil {
			err = errs.InRow(errs.KindOf(err), row, "row %d of tensor %q: %w", row, c.Name(), err)
		}
	}()
	if c.kind == isVideo {
		began := false
		return w.e.pieces(ctx, c, row, v, func(piece []byte) error {
			if !began {
				began = true
				if err := begin(t, name+w.e.videoExtension(piece)[1:], v.apart+int64(len(v.Data))); err != nil {
					return err
				}
			}
			_, err := t.Write(piece)
			return err
		})
	}
	extension, data, err := w.member(c, v)
	if err == nil {
		err = begin(t, name+extension, int64(len(data)))
	}
	if err == nil {
		_, err = t.Write(data)
	}
	return err
}

// begin begins a member of an archive. It has no date, so that equal rows make equal archives.
func begin(t *tar.Writer, name string, size int64) error {
	return t.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatPAX})
}

// known returns an array as NumPy knows it.
func known(v tensor.Sample) tensor.Sample {
	if v.DType == tensor.BFloat16 {
		v.Data, _ = tensor.Convert(tensor.Float32, v.DType, v.Data)
		v.DType = tensor.Float32
	}
	return v
}

// member returns the extension and the content of a member.
func (w *webDataset) member(c *column, v *value) (extension string, data []byte, err error) {
	switch {
	case c.list && (c.kind == isText || c.kind == isJSON):
		return "json", listJSON(c, v), nil
	case c.list:
		data, err = npz(v.items)
		return "npz", data, err
	case c.kind == isImage:
		data, err = w.e.picture(&v.Sample)
		return strings.TrimPrefix(v.extension, "."), data, err
	case c.kind == isText:
		return "txt", v.Data, nil
	case c.kind == isJSON:
		return "json", v.Data, nil
	case c.kind == isBytes:
		return "bin", v.Data, nil
	case c.kind == isLabel && len(v.Shape) == 0:
		number, err := whole64(&v.Sample)
		return "cls", strconv.AppendInt(nil, number, 10), err
	}
	array := known(v.Sample)
	data, err = npy(&array)
	return "npy", data, err
}

// numpyKind returns the name that NumPy has for a dtype, "" if it has none.
func numpyKind(d tensor.DType) string {
	switch {
	case d == tensor.Bool:
		return "|b1"
	case d.IsComplex():
		return fmt.Sprintf("<c%d", d.Size())
	case d == tensor.BFloat16 || !d.Fixed():
		return ""
	case d.IsFloat():
		return fmt.Sprintf("<f%d", d.Size())
	}
	letter := "i"
	if strings.HasPrefix(d.String(), "u") {
		letter = "u"
	}
	if d.Size() == 1 {
		return "|" + letter + "1"
	}
	return fmt.Sprintf("<%s%d", letter, d.Size())
}

// npy returns an array as a .npy file, version 1.0 of NumPy's format.
func npy(v *tensor.Sample) ([]byte, error) {
	name := numpyKind(v.DType)
	if name == "" {
		return nil, errs.New(errs.Unsupported, "NumPy has no %s; leave the tensor out by tensors=", v.DType)
	}
	var shape strings.Builder
	for _, n := range v.Shape {
		fmt.Fprintf(&shape, "%d, ", n)
	}
	axes := shape.String()
	if len(v.Shape) > 1 {
		axes = strings.TrimSuffix(axes, ", ")
	} else {
		axes = strings.TrimSuffix(axes, " ")
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", name, axes)
	const magic = "\x93NUMPY\x01\x00"
	pad := 63 - (len(magic)+2+len(head))%64
	out := make([]byte, 0, len(magic)+2+len(head)+pad+1+len(v.Data))
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(head)+pad+1))
	out = append(out, head...)
	out = append(out, strings.Repeat(" ", pad)...)
	out = append(out, '\n')
	return append(out, v.Data...), nil
}

// npz returns arrays, or files, as NumPy's archive of arrays.
func npz(items []tensor.Sample) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := range items {
		v := known(items[i])
		if v.Form != tensor.FormArray { // a file, or bytes
			v.DType, v.Shape = tensor.Uint8, tensor.Shape{int64(len(v.Data))}
		}
		data, err := npy(&v)
		if err != nil {
			return nil, err
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("arr_%d.npy", i), Method: zip.Store})
		if err == nil {
			_, err = io.Copy(f, bytes.NewReader(data))
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
