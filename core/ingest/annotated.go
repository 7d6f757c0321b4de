package ingest

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/ingest/annotations"
	"deeplake/core/ingest/table"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// annotationKind is the kind of the values of annotations. Their tensors are there from the
// beginning.
var annotationKind = &kind{title: "annotation"}

// filesOf gives the files of an import's source to the layouts of annotations.
type filesOf struct{ storage.Source }

// Open begins to read a file.
func (f filesOf) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	return f.Range(ctx, key, 0, -1, "")
}

// openAnnotations looks for annotations of the pictures, and reads them.
func (im *importer) openAnnotations(ctx context.Context) error {
	_, isListed := im.source.Source.(*list)
	isAsked := im.o.Format != "" && im.o.Format != Images && im.o.Format != Videos
	if !isAsked && (isListed || im.o.Format == Images || im.videos || im.source.shards > 0) && im.o.Annotations == "" {
		return im.noAnnotations()
	}
	if isAsked && !im.source.local {
		im.source.files = annotations.Names{} // the beginning of the listing is in it
		if err := im.source.Objects(ctx, "", "", func(e storage.Entry) bool { im.source.files.Add(e.Key); return true }); err != nil {
			return err
		}
	}
	place := &annotations.Place{Source: filesOf{im.source.Source}, Names: &im.source.files, File: im.o.Annotations, Masks: im.o.Masks}
	if err := im.openElsewhere(ctx, place); err != nil {
		return err
	}
	layout := ""
	if isAsked {
		layout = im.o.Format
	}
	set, name, err := annotations.Open(ctx, layout, place)
	if err != nil {
		return err
	}
	if set == nil {
		return im.noAnnotations()
	}
	for option, given := range map[string]bool{"size": im.o.Size > 0, "classes": im.o.Classes != nil} {
		if given {
			return errs.New(errs.Invalid, "%s does not go with annotations (%s are there); leave it out, or give format=%q to import the pictures alone", option, name, Images)
		}
	}
	im.set, im.layout, im.report.Format = set, name, name
	im.source.labels, im.source.splits = false, false
	im.parts = im.splitsOfFolders()
	first, all := set.Faults()
	for _, f := range first {
		im.leaveOut(f.Path, f.Reason)
	}
	im.report.Skipped += all - int64(len(first))
	return im.refused
}

// elsewhere gives one file that lies outside of the source of the pictures.
type elsewhere struct {
	annotations.Source
	from storage.Source
	file string
	name string // of file in from
}

// Open begins to read a file.
func (e elsewhere) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	if key == e.file {
		return e.from.Range(ctx, e.name, 0, -1, "")
	}
	return e.Source.Open(ctx, key)
}

// openElsewhere lets the file with annotations be any file: a path or a URI. One within the source
// gets its name there.
func (im *importer) openElsewhere(ctx context.Context, p *annotations.Place) error {
	scheme, _, isURI := strings.Cut(p.File, "://")
	if p.File == "" || !isURI && !filepath.IsAbs(p.File) {
		return nil
	}
	if name, ok := strings.CutPrefix(resolved(p.File), resolved(im.source.URI())+"/"); ok {
		p.File = name
		return nil
	}
	file, how := resolved(p.File), storage.NewLinkPolicy(im.place, im.o.Storage).Named(p.File)
	if im.o.Source != nil {
		how = *im.o.Source
	}
	folder, name := path.Split(file)
	if scheme == "http" || scheme == "https" {
		folder, name = file, file
	}
	from, err := im.env.Sources.Open(ctx, folder, how)
	if err != nil {
		return err
	}
	im.beside = from
	p.Source = elsewhere{p.Source, from, p.File, name}
	return nil
}

// noAnnotations refuses options of annotations where there are none.
func (im *importer) noAnnotations() error {
	if im.o.Annotations != "" {
		return errs.New(errs.Invalid, "%q is no file with annotations that a layout reads; give format=, one of %s", im.o.Annotations, strings.Join(annotations.Formats(), ", "))
	}
	if im.o.Masks {
		return errs.New(errs.Invalid, "masks are of annotations, and the source has none of %s; leave masks out", strings.Join(annotations.Formats(), ", "))
	}
	return nil
}

// splitsOfFolders reports whether the pictures lie in folders of several splits, and no tensor of
// the annotations says so.
func (im *importer) splitsOfFolders() bool {
	if slices.ContainsFunc(im.set.Tensors(), func(t dataset.TensorSpec) bool { return t.Name == table.SplitColumn }) || im.o.Splits == "none" {
		return false
	}
	found := map[string]bool{}
	for _, dir := range im.source.files.PictureFolders() {
		if s := splitOfFolder(dir); s != "" {
			found[s] = true
		}
	}
	return len(found) > 1
}

// splitOfFolder returns the split that a folder in a path names; "": none does.
func splitOfFolder(dir string) string {
	for part := range strings.SplitSeq(dir, "/") {
		if s := origin.Split(part); s != "" {
			return s
		}
	}
	return ""
}

// annotationSpecs returns the tensors of the annotations.
func (im *importer) annotationSpecs() []dataset.TensorSpec {
	specs := slices.Clone(im.set.Tensors())
	if im.parts {
		specs = append(specs, dataset.TensorSpec{Name: table.SplitColumn, HType: "class_label", AddClasses: true})
	}
	return specs
}

// isList reports whether rows of an htype are lists of samples.
func isList(htype string) bool {
	h, err := tensor.ParseHType(htype)
	return err == nil && h.List()
}

// isOther reports whether an object is a picture that the annotations do not name. They are asked
// for every object, since a file that is no picture here is there all the same.
func (im *importer) isOther(key string) bool {
	return im.set != nil && !im.set.Has(key) && im.pictureName(key)
}

// notNamed returns why a picture is left out that is none of the annotations'.
func (im *importer) notNamed(key string) string {
	return cmp.Or(im.set.Why(key), "the annotations do not name it")
}

// annotate adds the annotations of a picture to its row.
func (im *importer) annotate(ctx context.Context, o *object, r *row) error {
	if !im.set.Has(o.Key) {
		r.reason = im.notNamed(o.Key)
		return nil
	}
	v := r.value(imageTensor)
	shape := v.Shape
	if v.Form == tensor.FormEncoded {
		h, _, _, err := dataset.LookAtHead(im.env.Codecs, v.Data, im.form(codec.RGB))
		if err != nil {
			r.reason = err.Error()
			return nil
		}
		shape = h.Shape
	}
	if len(shape) < 2 {
		r.reason = "its shape is not known"
		return nil
	}
	found, err := im.set.Read(ctx, annotations.Picture{Key: o.Key, Height: shape[0], Width: shape[1]})
	if err != nil {
		if im.fatal(ctx, err) {
			return err
		}
		r.reason = err.Error()
		return nil
	}
	r.faults, r.objects, r.warning = found.Faults, found.Objects, found.Warning
	for i := range found.Values {
		a := &found.Values[i]
		one := value{Sample: a.Sample, tensor: a.Tensor, kind: annotationKind, items: a.Items, names: a.Names}
		r.values = append(r.values, one)
	}
	if split := splitOfFolder(path.Dir(o.Key)); im.parts && split != "" {
		r.values = append(r.values, value{Sample: textSample(tensor.String, []byte(split)), tensor: table.SplitColumn, kind: annotationKind})
	}
	if r.from.Path == "" {
		r.from = o.origin()
	}
	r.from.Tag = withHash(r.from.Tag, found.Hash())
	return nil
}

// sameAnnotations reports whether the annotations of a known picture are those of its rows.
func (im *importer) sameAnnotations(ctx context.Context, o *object) (bool, error) {
	_, was := cutHash(o.was.Tag)
	if was == "" || im.pictures == nil {
		return false, nil
	}
	refs := make([]chunk.Ref, 1)
	if err := im.pictures.Resolve(ctx, []int64{o.was.rows[0].start}, refs); err != nil {
		return false, err
	}
	if len(refs[0].Shape) < 2 {
		return false, nil
	}
	found, err := im.set.Read(ctx, annotations.Picture{Key: o.Key, Height: refs[0].Shape[0], Width: refs[0].Shape[1]})
	if err != nil {
		if im.fatal(ctx, err) {
			return false, err
		}
		return false, nil // told when the picture is read again
	}
	_, now := cutHash(withHash("", found.Hash()))
	return was == now, nil
}

// hashMark stands between the tag of a picture and the hash of its annotations.
const hashMark = "\x00annotations "

func withHash(tag string, hash uint64) string {
	return tag + hashMark + hex.EncodeToString(binary.BigEndian.AppendUint64(nil, hash))
}

func cutHash(tag string) (plain, hash string) {
	plain, hash, _ = strings.Cut(tag, hashMark)
	return plain, hash
}

// file returns the origin of the picture alone, without its annotations.
func (k *known) file() origin.Origin {
	o := k.Origin
	o.Tag, _ = cutHash(o.Tag)
	return o
}

// lostPictures reports the pictures that annotations name, and no object is.
func (im *importer) lostPictures() error {
	if im.set != nil {
		im.set.Lost(im.began, func(key string) { im.leaveOut(key, "the annotations name it, and there is no such file") })
	}
	return im.refused
}

// addTo appends a value of a list, or of class names, to its column. known has the places of the
// column's names.
func (v *value) addTo(col *tensor.Rows, list bool, known map[string]int) {
	if list {
		col.Samples = append(col.Samples, v.items...)
		col.RowItems = append(col.RowItems, int64(len(v.items)))
		return
	}
	data := make([]byte, 0, 8*len(v.names))
	for _, name := range v.names {
		at, ok := known[name]
		if !ok {
			at, known[name] = len(col.Names), len(col.Names)
			col.Names = append(col.Names, name)
		}
		data = binary.LittleEndian.AppendUint64(data, uint64(at))
	}
	col.Samples = append(col.Samples, tensor.Sample{Form: tensor.FormArray, DType: tensor.Int64, Shape: tensor.Shape{int64(len(v.names))}, Data: data})
}
