package table

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"deeplake/core/errs"
	"deeplake/core/ingest/target"
)

// state is the facts that a later run needs.
type state struct {
	Source    string            `json:"source"`
	Table     bool              `json:"table"`
	Format    string            `json:"format"`
	Columns   []string          `json:"columns"`
	Separator string            `json:"separator,omitempty"`
	URLs      []URLColumn       `json:"urls,omitempty"`
	Size      int64             `json:"size,omitempty"` // of images that URLs name
	Link      bool              `json:"link,omitempty"`
	Files     []taken           `json:"files"`            // that are taken in, in order
	Schema    map[string]string `json:"schema,omitempty"` // specs that the user gave, as JSON
	Partial   *taken            `json:"partial,omitempty"`
	Complete  bool              `json:"complete"`
}

// taken is a file with the rows of it that are taken in.
type taken struct {
	Key  string `json:"key"`
	Tag  string `json:"tag,omitempty"`
	Rows int64  `json:"rows"`
}

// at says that rows of a file are appended.
func (s *state) at(f *file, rows int64) { s.Partial = &taken{f.key, f.tag, rows} }

// end says that a file is done.
func (s *state) end(f *file, rows int64) {
	s.Partial = nil
	s.Files = append(s.Files, taken{f.key, f.tag, rows})
}

// in returns the info of a dataset with the state.
func (s *state) in(info map[string]any, complete bool) map[string]any {
	out := map[string]any{}
	for key, value := range info {
		out[key] = value
	}
	now := *s
	now.Table, now.Complete = true, complete
	out[target.StateKey] = now
	return out
}

// resume reads the state of the dataset, and refuses one of another import.
func (im *importer) resume() error {
	desc, err := im.d.Describe()
	if err != nil {
		return err
	}
	p, err := json.Marshal(desc.Info[target.StateKey])
	var was state
	if err != nil || json.Unmarshal(p, &was) != nil {
		was = state{}
	}
	exists := func(format string, args ...any) error {
		return errs.Op("import to", desc.URI).New(errs.Exists, format, args...)
	}
	switch {
	case len(desc.Tensors) == 0 && desc.Head.Version == 0:
		im.fresh = true // interrupted before the first commit
		return nil
	case im.o.Once:
		return exists("a dataset exists there; choose another place, or overwrite it")
	case !was.Table:
		return exists("a dataset exists there, which is no import of a table; choose another place, or overwrite it")
	case was.Source != im.source.uri:
		return exists("an import from %q lies there; continue that one, or overwrite it", was.Source)
	case was.Format != im.source.format.Name:
		return exists("an import with format=%s lies there, got %s; continue it so, or overwrite it", was.Format, im.source.format.Name)
	case !slices.Equal(was.Columns, im.o.Columns):
		return exists("an import with columns=%v lies there, got %v; continue it so, or overwrite it", shown(was.Columns), shown(im.o.Columns))
	case was.Separator != im.o.Separator:
		return exists("an import with separator=%q lies there, got %q; continue it so, or overwrite it", was.Separator, im.o.Separator)
	case was.Link != im.o.Link:
		return exists("an import with link=%t lies there, got %t; continue it so, or overwrite it", was.Link, im.o.Link)
	case len(im.o.Schema) > 0 && !maps.Equal(was.Schema, im.specs()):
		return exists("an import with another schema lies there; continue it so, or overwrite it")
	case !slices.Equal(was.URLs, im.o.URLs) || was.Size != im.size():
		return exists("an import with other columns of URLs, or another size of their images, lies there; continue it so, or overwrite it")
	}
	if im.settled = was.Complete; !im.settled {
		im.report.Resumed = desc.Rows
	}
	was.Columns = im.o.Columns
	im.state = was
	return nil
}

// specs are the tensors that the user gave, as JSON.
func (im *importer) specs() map[string]string {
	out := map[string]string{}
	for name, spec := range im.o.Schema {
		p, err := json.Marshal(spec)
		if err != nil {
			p = []byte(spec.HType)
		}
		out[name] = string(p)
	}
	return out
}

func shown(columns []string) string {
	if columns == nil {
		return "all"
	}
	return fmt.Sprint(columns)
}

// newFiles returns the files of the source that are not taken in. It reports changed files and
// missing ones.
func (im *importer) newFiles() ([]*file, error) {
	known := map[string]taken{}
	for _, t := range im.state.Files {
		known[t.Key] = t
	}
	if p := im.state.Partial; p != nil {
		known[p.Key] = *p
	}
	var files []*file
	for _, f := range im.source.files {
		was, ok := known[f.key]
		delete(known, f.key)
		isPartial := ok && im.state.Partial != nil && im.state.Partial.Key == f.key
		switch {
		case !ok:
			files = append(files, f)
		case was.Tag != "" && f.tag != "" && was.Tag != f.tag && isPartial:
			return nil, errs.New(errs.Conflict, "%s has changed since %d rows of it were taken in; overwrite the dataset", f.key, was.Rows)
		case isPartial:
			f.start = was.Rows
			files = slices.Insert(files, 0, f) // before files that are new since
		case was.Tag != "" && f.tag != "" && was.Tag != f.tag:
			reason := "its rows stay as they were"
			if im.o.Link {
				reason = "links into it cannot be read any longer; link all files again by --overwrite (overwrite=True)"
			}
			im.skip(f.key, errs.New(errs.Conflict, "it has changed since it was taken in; %s", reason))
		default:
			im.report.Unchanged++
		}
	}
	for _, t := range im.state.Files { // in their order
		if _, gone := known[t.Key]; gone {
			im.report.Gone++
			if len(im.report.GoneNames) < shownNames {
				im.report.GoneNames = append(im.report.GoneNames, t.Key)
			}
		}
	}
	if p := im.state.Partial; p != nil {
		if _, gone := known[p.Key]; gone {
			return nil, errs.New(errs.NotFound, "%s is gone, of which %d rows were taken in; put it back, or overwrite the dataset", p.Key, p.Rows)
		}
	}
	return files, nil
}
