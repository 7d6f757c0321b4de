package table

import (
	"slices"
	"strings"

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

// linkFiles turns image files into links to the file that has them. Their bytes tell their shapes.
// rowOf returns the row of the file that row i is.
func linkFiles(rows tensor.Rows, to tensor.Link, rowOf func(i int) int64) error {
	for i := range rows.Samples {
		s := &rows.Samples[i]
		switch {
		case s.Form != tensor.FormEncoded || len(s.Data) == 0:
			continue // without bytes it is refused as others are
		case s.Link == nil:
			return errs.New(errs.Unsupported, "row %d has an image that is compressed within the file, and a link leads to bytes as they are; leave out --link (link=True) to "+
				"copy the images, or write the file again without compression of their column", rowOf(tensor.RowOf(rows.RowItems, i)))
		}
		l := to
		l.Offset, l.Length = s.Link.Offset, s.Link.Length
		s.Form, s.Link = tensor.FormLink, &l
	}
	return nil
}

// checkLinks refuses links into files that have no images as they are.
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
		h, err := tensor.ParseHType(im.o.Schema[c.name].HType)
		return c.types.IsFile() || err == nil && (h.IsImage() || h.IsMask())
	}
	if !im.o.Link || len(files) == 0 || slices.ContainsFunc(im.schema.columns, isImage) {
		return nil
	}
	return errs.New(errs.Invalid, "no column has image files, which --link (link=True) leaves where they are; leave it out")
}
