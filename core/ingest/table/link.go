package table

import (
	"errors"
	"slices"
	"strings"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// linkTo returns the link to a file whose images stay in it; nil: they are copied.
func (im *importer) linkTo(f *file) *tensor.Link {
	if !im.o.Link {
		return nil
	}
	url := f.name // of a file on a web server
	if im.source.root != "" {
		url = strings.TrimSuffix(im.source.root, "/") + "/" + f.key
	}
	return &tensor.Link{URL: url, Tag: f.tag, Size: f.size}
}

// errPacked is the reason of images that links cannot lead to. It concerns a file and not a row, so
// that leaving out rows does not help.
var errPacked = errors.New("the file holds it compressed, or in a column of fixed sizes")

// linkFiles turns image files into links to the file that holds them. rowOf returns the number in
// the file of row i.
func (im *importer) linkFiles(rows tensor.Rows, to tensor.Link, rowOf func(i int) int64) error {
	codecs := im.env.Codecs
	last, kind := -1, codec.None // of the list before
	for i := range rows.Samples {
		s := &rows.Samples[i]
		if s.Form != tensor.FormEncoded || len(s.Data) == 0 {
			continue // without bytes it is refused as others are
		}
		row := tensor.RowOf(rows.RowItems, i)
		if s.Link == nil {
			return errs.New(errs.Unsupported, "row %d has an image that links cannot lead to: %w; leave out --link (link=True) to copy the images, "+
				"or write the file again without compression", rowOf(row), errPacked)
		}
		_, id, err := dataset.LookAtFile(codecs, s.Data, codec.AsStored)
		if err != nil {
			return errs.New(errs.Corrupt, "row %d has an image that cannot be linked: %w; on_error=\"skip\" leaves such rows out", rowOf(row), err)
		}
		if rows.RowItems != nil && row == last && id != kind {
			return errs.New(errs.Unsupported, "row %d is a list with images of several kinds, and links in a list are to files of one kind; "+
				"leave out --link (link=True) to copy the images, or on_error=\"skip\" leaves such rows out", rowOf(row))
		}
		last, kind = row, id
		l := to
		l.Offset, l.Length = s.Link.Offset, s.Link.Length
		s.Form, s.Link = tensor.FormLink, &l
	}
	return nil
}

// checkLinks refuses links together with formats and options that exclude them.
func (im *importer) checkLinks() error {
	if !im.o.Link {
		return nil
	}
	if f := im.source.format; !f.Links {
		var names []string
		for i := range formats {
			if formats[i].Links {
				names = append(names, formats[i].Name)
			}
		}
		return errs.New(errs.Invalid, "links lead to image files within %s, and the format is %s; leave out --link (link=True)", strings.Join(names, ", "), f.Name)
	}
	if len(im.o.URLs) > 0 {
		return errs.New(errs.Invalid, "objects that URLs name are fetched and copied; leave out --link (link=True), or the columns of URLs")
	}
	return nil
}

// checkLinked refuses links if no column of new files has image files.
func (im *importer) checkLinked(files []*file) error {
	isImage := func(c *column) bool {
		if spec, given := im.o.Schema[c.name]; given {
			return holdsImages(spec)
		}
		return c.types.IsFile()
	}
	if !im.o.Link || len(files) == 0 || slices.ContainsFunc(im.schema.columns, isImage) {
		return nil
	}
	return errNoImages()
}

// checkImages refuses links if the tensors of a first batch hold no images.
func (im *importer) checkImages(columns []tensorColumn) error {
	isOpen := func(c tensorColumn) bool {
		_, there := im.tensors[c.name]
		return !there // its values come later
	}
	if !im.o.Link || im.images || slices.ContainsFunc(columns, isOpen) {
		return nil
	}
	return errNoImages()
}

func errNoImages() error {
	return errs.New(errs.Invalid, "no column has image files (JPEG, PNG or WebP), which --link (link=True) leaves where they are; leave it out, "+
		"or name a column of bytes with images by --columns NAME=image (schema={NAME: \"image\"})")
}

// holdsImages reports whether a tensor takes links.
func holdsImages(spec dataset.TensorSpec) bool {
	h, err := tensor.ParseHType(spec.HType)
	return err == nil && (h.IsImage() || h.IsMask())
}
