package table

import (
	"deeplake/core/arrow"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// placed is a column whose errors name the file and the row of its batch.
type placed struct {
	tensor.Foreign
	key   string
	from  int64        // position of the first row in the file
	lines []int64      // positions of all rows; nil: they are consecutive
	link  *tensor.Link // to the file, where images stay in it; nil: they are copied
	im    *importer
}

// Rows returns the values for a tensor.
func (p placed) Rows(t tensor.Target) (tensor.Rows, error) {
	rows, err := p.Foreign.Rows(t)
	if err != nil && p.from > 0 {
		return rows, errs.New(errs.KindOf(err), "%s, counted from row %d: %w", p.key, p.from, err)
	}
	if err == nil && p.link != nil {
		err = p.im.linkFiles(rows, *p.link, func(i int) int64 { return Batch{Lines: p.lines}.at(p.from, i) })
	}
	if err != nil {
		return rows, errs.New(errs.KindOf(err), "%s: %w", p.key, err)
	}
	return rows, nil
}

// slice returns n rows from row on.
func (p placed) slice(from, n int64) placed {
	out := placed{Foreign: p.Foreign.(*arrow.Column).Slice(from, n), key: p.key, from: p.from + from, link: p.link, im: p.im}
	if p.lines != nil {
		out.lines = p.lines[from : from+n]
		out.from = out.lines[0]
	}
	return out
}

// placeOf returns the file of a batch, and its first row there.
func placeOf(b *dataset.Batch) (key string, row int64) {
	for i := range b.Columns {
		if p, ok := b.Columns[i].Foreign.(placed); ok {
			return p.key, p.from
		}
	}
	return "", 0
}
