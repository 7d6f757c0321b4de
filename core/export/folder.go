package export

import (
	"context"
	"fmt"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
)

// folder writes images or videos as files: in a folder of their class, in one of their split.
type folder struct {
	e     *exporter
	files *column
	label *column // nil: there are no classes
	namer *namer
}

// unlabeled is the folder of rows without a class.
const unlabeled = "unlabeled"

func openFolder(ctx context.Context, e *exporter) (writer, error) {
	f := &folder{e: e}
	for _, is := range []func(c *column) bool{
		func(c *column) bool { return c.kind == isImage && !c.list && !c.htype.IsMask() },
		func(c *column) bool { return c.kind == isVideo },
	} {
		if i := slices.IndexFunc(e.columns, is); i >= 0 && f.files == nil {
			f.files = e.columns[i]
		}
	}
	for _, c := range e.columns {
		switch {
		case c == f.files:
		case c.kind == isLabel && c.scalar() && len(c.of.ClassNames) > 0 && f.label == nil:
			f.label = c
		case c.kind == isVideo:
			e.note(c.Name(), "left out: folders have one tensor of images or videos; choose by tensors=")
		default:
			e.note(c.Name(), "left out: folders have images or videos and their classes")
		}
	}
	if f.files == nil {
		return nil, errs.New(errs.Invalid, "folders are of images or videos, and there is no tensor of htype image or video; take another format")
	}
	if f.label != nil {
		for _, name := range f.label.of.ClassNames {
			if !isPart(name) {
				return nil, errs.New(errs.Invalid, "class %q of tensor %q can be no folder; rename it by ds[%q].rename_class", name, f.label.Name(), f.label.Name())
			}
		}
	}
	err := e.copyVideos([]*column{f.files})
	if err != nil {
		return nil, err
	}
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
	return nil, f.e.batches(ctx, p, []*column{f.files}, func(b *batch) error {
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
				f.e.note(f.files.Name(), f.missing())
				continue
			}
			g.Go(func(ctx context.Context) error {
				if f.files.kind == isVideo {
					return f.e.putVideo(ctx, p, folders[i]+names[i], f.files, b.rows[i], v)
				}
				return f.e.putPicture(ctx, p, folders[i]+names[i], b.rows[i], v)
			})
		}
		return g.Wait()
	})
}

func (f *folder) missing() string {
	if f.files.kind == isVideo {
		return "rows without a video have no file"
	}
	return "rows without an image have no file"
}

func (f *folder) finish(context.Context, [][]byte) error { return nil }
