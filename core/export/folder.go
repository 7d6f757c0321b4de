package export

import (
	"context"
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// folder writes images as files: in a folder of their class, in one of their split.
type folder struct {
	e     *exporter
	image *column
	label *column // nil: there are no classes
	namer *namer
}

// unlabeled is the folder of rows without a class.
const unlabeled = "unlabeled"

func openFolder(ctx context.Context, e *exporter) (writer, error) {
	f := &folder{e: e}
	for _, c := range e.columns {
		switch {
		case c.kind == isImage && !c.list && !c.htype.IsMask() && f.image == nil:
			f.image = c
		case c.kind == isLabel && c.scalar() && len(c.of.ClassNames) > 0 && f.label == nil:
			f.label = c
		default:
			e.note(c.Name(), "left out: folders have images and their classes")
		}
	}
	if f.image == nil {
		return nil, errs.New(errs.Invalid, "folders are of images, and there is no tensor of htype image; take another format")
	}
	if f.label != nil {
		for _, name := range f.label.of.ClassNames {
			if !isPart(name) {
				return nil, errs.New(errs.Invalid, "class %q of tensor %q can be no folder; rename it by ds[%q].rename_class", name, f.label.Name(), f.label.Name())
			}
		}
	}
	var err error
	f.namer, err = newNamer(ctx, e, false, f.folders)
	return f, err
}

// folders returns the folders of rows.
func (f *folder) folders(ctx context.Context, p *part, rows []int64) ([]string, error) {
	out := make([]string, len(rows))
	for i := range out {
		out[i] = p.in("")
	}
	if f.label == nil {
		return out, nil
	}
	for at := int64(0); at < int64(len(rows)); {
		b, err := f.e.batch(ctx, &part{n: int64(len(rows)), rows: rows}, at, []*column{f.label})
		if err != nil {
			return nil, err
		}
		for i := range b.rows {
			name := unlabeled
			if v := &b.columns[0][i]; v.hole {
				f.e.note(f.label.Name(), fmt.Sprintf("rows without a class lie in the folder %q", unlabeled))
			} else {
				if name, err = f.label.className(v, b.rows[i]); err != nil {
					return nil, err
				}
			}
			out[at+int64(i)] += name + "/"
		}
		at += int64(len(b.rows))
	}
	return out, nil
}

func (f *folder) part(ctx context.Context, p *part) (any, error) {
	return nil, f.e.batches(ctx, p, []*column{f.image}, func(b *batch) error {
		names, err := f.namer.names(ctx, p, b.rows)
		if err != nil {
			return err
		}
		folders, err := f.folders(ctx, p, b.rows)
		if err != nil {
			return err
		}
		g := task.New(ctx, f.e.lane())
		for i := range b.rows {
			v := &b.columns[0][i]
			if v.hole {
				f.e.note(f.image.Name(), "rows without an image have no file")
				continue
			}
			g.Go(func(ctx context.Context) error {
				return f.e.putPicture(ctx, p, folders[i]+names[i], b.rows[i], v)
			})
		}
		return g.Wait()
	})
}

func (f *folder) finish(context.Context, [][]byte) error { return nil }
