package ingest

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Split is a part of the rows, named by the first folder of their files and saved as a view.
type Split struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// isSplit reports whether a folder's name is that of a split, such as "train" or "val2017".
func isSplit(folder string) bool {
	return origin.Split(folder) != ""
}

// mostFolders bounds the first folders of a lake that are looked at.
const mostFolders = 16

// folders are the first folders of the objects of a source, while all of them may be splits.
type folders struct {
	other  bool            // one is no split
	splits []string        // in the order of the listing
	below  map[string]bool // the folders within them: classes
	deep   bool            // there are such folders
}

// add notes an object that gives rows.
func (f *folders) add(key string) {
	first, rest, found := strings.Cut(key, "/")
	switch {
	case !found || f.other:
		return // an object outside of folders belongs to no split
	case !isSplit(first):
		*f = folders{other: true}
		return
	case !slices.Contains(f.splits, first):
		f.splits = append(f.splits, first)
	}
	if class, _, found := strings.Cut(rest, "/"); found {
		if f.deep = true; f.below == nil {
			f.below = map[string]bool{}
		}
		if utf8.ValidString(class) {
			f.below[class] = true
		}
	}
}

// are reports whether the folders are splits. A single one without folders in it is a class.
func (f *folders) are() bool {
	return !f.other && (len(f.splits) > 1 || len(f.splits) == 1 && f.deep)
}

// findRest finds the first folders of a lake behind those of the entries that were read, at a
// request each.
func (l *source) findRest(ctx context.Context, f *folders) error {
	for !f.other && len(f.splits) > 0 {
		if len(f.splits) == mostFolders {
			f.other = true
			break
		}
		after := f.splits[len(f.splits)-1] + "/" + string(utf8.MaxRune)
		next := ""
		err := l.Source.Objects(ctx, "", after, func(e storage.Entry) bool {
			if isMarker(e) || l.isOwn(e.Key) || !strings.Contains(e.Key, "/") || e.Key <= after {
				return true
			}
			next = e.Key
			return false
		})
		if err != nil || next == "" {
			return err
		}
		f.add(next)
	}
	return nil
}

// saveSplits saves the rows of each split as a view, and adds it to the report. The views of an
// earlier run are replaced.
func (im *importer) saveSplits(ctx context.Context) error {
	if !im.splits {
		return nil
	}
	v, err := im.d.View(ctx)
	if err != nil {
		return err
	}
	parts, err := splitRows(ctx, v)
	if err != nil {
		return err
	}
	before, err := im.d.Versions().Views(ctx)
	if err != nil {
		return err
	}
	for i := range parts {
		p := &parts[i]
		rows, err := p.view(v)
		if err != nil {
			return err
		}
		im.report.Splits = append(im.report.Splits, Split{Name: p.name, Rows: rows.Len()})
		if slices.ContainsFunc(before, func(s dataset.SavedView) bool { return s.Name == p.name && s.Commit == im.report.Commit }) {
			continue // nothing has changed since
		}
		saved := dataset.SavedView{Name: p.name, Query: "SELECT * WHERE SOURCE() LIKE '" + p.name + "/%'"}
		if err := im.d.Versions().SaveView(ctx, saved, v, rows, true); err != nil {
			return errs.Op("save split", p.name).New(errs.KindOf(err), "%w; the rows are committed, and the next run of the import saves it", err)
		}
	}
	return nil
}

// splitPart is the rows of a split.
type splitPart struct {
	name string
	rows []span
}

// splitRows finds the rows of each split by their origins, in the order of the first ones.
func splitRows(ctx context.Context, v *dataset.View) ([]splitPart, error) {
	k := &knownRows{worker: v.NewWorker()}
	defer k.close()
	var err error
	if k.col, err = v.Column(origin.Tensor); err != nil {
		return nil, err
	}
	var parts []splitPart
	note := func(row int64, o origin.Origin) {
		name, _, found := strings.Cut(o.Path, "/")
		if !found || !isSplit(name) {
			return
		}
		at := slices.IndexFunc(parts, func(p splitPart) bool { return p.name == name })
		if at < 0 {
			at, parts = len(parts), append(parts, splitPart{name: name})
		}
		p := &parts[at]
		if n := len(p.rows) - 1; n >= 0 && p.rows[n].start+p.rows[n].count == row {
			p.rows[n].count++
		} else {
			p.rows = append(p.rows, span{row, 1})
		}
	}
	for from := int64(0); from < v.Len(); from += scanRows {
		if err := k.read(ctx, from, min(v.Len(), from+scanRows), note); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// view returns the rows of the split among those of v.
func (p *splitPart) view(v *dataset.View) (*dataset.View, error) {
	if len(p.rows) == 1 {
		return v.Slice(p.rows[0].start, p.rows[0].start+p.rows[0].count, 1)
	}
	var rows []int64
	for _, s := range p.rows {
		for row := s.start; row < s.start+s.count; row++ {
			rows = append(rows, row)
		}
	}
	return v.Select(rows)
}

// withoutSplit returns the key without the folder of its split.
func withoutSplit(key string) string {
	_, rest, _ := strings.Cut(key, "/")
	return rest
}
