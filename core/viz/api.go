package viz

import (
	"context"
	"strings"
	"unicode/utf8"

	"deeplake/core/compute"
	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/session"
	"deeplake/core/tql"
)

// viewInfo describes an open view to the page.
type viewInfo struct {
	View    string       `json:"view"`
	URI     string       `json:"uri"`
	Name    string       `json:"name,omitempty"` // if the URI does not say it
	Rows    int64        `json:"rows"`
	Branch  string       `json:"branch"`
	Commit  string       `json:"commit"`
	Version uint64       `json:"version"`
	Message string       `json:"message"`
	Time    string       `json:"time"`
	Query   string       `json:"query,omitempty"`
	Tensors []tensorInfo `json:"tensors"`
	Saves   bool         `json:"saves,omitempty"`   // the call save is allowed
	Sources bool         `json:"sources,omitempty"` // a column names the files of rows
	Videos  bool         `json:"videos,omitempty"`  // the calls of videos are there
}

// admit names a view and describes it. branch is that of its commit. It takes over the view and
// end, which closes everything that was opened for the view.
func (s *Service) admit(v *session.View, info session.Info, branch string, end func()) (any, error) {
	d := v.Describe()
	out := viewInfo{
		URI: d.URI, Name: s.o.Name, Rows: v.Len(), Branch: branch, Commit: d.Head.Commit, Version: d.Head.Version, Message: d.Head.Message,
		Query: info.Query, Tensors: layout(d.Tensors), Saves: s.o.SaveViews,
	}
	if !d.Head.Time.IsZero() {
		out.Time = timeText(d.Head.Time)
	}
	if _, err := v.Column(origin.Tensor); err == nil {
		out.Sources = true
	}
	for _, o := range info.Outputs {
		for i := range out.Tensors {
			if out.Tensors[i].Name == o.Name {
				out.Tensors[i].Computed = o.Computed
			}
		}
	}
	opened := newOpenView(v, branch, end)
	if s.o.Videos != nil {
		opened.videos, out.Videos = s.o.Videos(v), true
	}
	var err error
	out.View, err = s.views.put(opened)
	return out, err
}

func (s *Service) open(ctx context.Context, body []byte) (any, error) {
	var in struct {
		At    string `json:"at"`
		Saved string `json:"saved"`
	}
	if err := Parse(body, &in); err != nil {
		return nil, err
	}
	if in.At == "" && in.Saved == "" {
		return s.admit(s.o.View, session.Info{}, s.o.View.Describe().Branch, nil)
	}
	ds, err := s.dataset()
	if err != nil {
		return nil, err
	}
	if in.Saved != "" {
		// Text that was read from a dataset: the query may reach what its dataset may.
		v, info, err := s.o.Session.Load(ctx, ds, in.Saved, &session.Query{Storage: s.o.Storage, Stored: true})
		if err != nil {
			return nil, err
		}
		return s.admit(v, info, v.Describe().Branch, v.Close)
	}
	at, v, err := openAt(ctx, ds, in.At)
	if err != nil {
		return nil, err
	}
	end := func() {
		v.Close()
		_ = at.Close() // opened for reading: nothing to lose
	}
	branch, err := at.Versions().BranchOfCommit(ctx)
	if err != nil {
		end()
		return nil, err
	}
	return s.admit(v, session.Info{}, branch, end)
}

// openAt opens a commit of a dataset.
func openAt(ctx context.Context, ds *dataset.Dataset, ref string) (*dataset.Dataset, *session.View, error) {
	at, err := ds.At(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	v, err := at.View(ctx)
	if err != nil {
		_ = at.Close() // opened for reading: nothing to lose
		return nil, nil, err
	}
	return at, session.NewView(v), nil
}

// dataset returns the dataset that the server shows.
func (s *Service) dataset() (*dataset.Dataset, error) {
	if s.o.Dataset == nil {
		return nil, errs.Op("show other versions", "").New(errs.Unsupported, "this page shows the result of a query; start one for its dataset")
	}
	return s.o.Dataset, nil
}

// question is the body of a query.
type question struct {
	ofView
	Text string `json:"text"`
}

// allowing is the advice for a query that names a dataset which the page does not show.
const allowing = "pages read the shown datasets; name others by allow= or --allow"

// ask calls body with the view and the query of a request.
func (s *Service) ask(body []byte, do func(v *openView, q *session.Query) (any, error)) (any, error) {
	var in question
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := do(v, &session.Query{Text: in.Text, Storage: s.o.Storage, Within: &session.Within{Allow: s.o.Allow, Advice: allowing}})
	if err != nil {
		return nil, &queryError{err, in.Text}
	}
	return out, nil
}

func (s *Service) query(ctx context.Context, body []byte) (any, error) {
	return s.ask(body, func(v *openView, q *session.Query) (any, error) {
		result, info, err := s.o.Session.Query(ctx, v.View, q)
		if err != nil {
			return nil, err
		}
		return s.admit(result, info, v.branch, result.Close)
	})
}

func (s *Service) explain(ctx context.Context, body []byte) (any, error) {
	return s.ask(body, func(v *openView, q *session.Query) (any, error) {
		info, err := s.o.Session.Explain(ctx, v.View, q, false)
		return map[string]string{"text": info.Text}, err
	})
}

func (s *Service) forget(_ context.Context, body []byte) (any, error) {
	var in ofView
	if err := Parse(body, &in); err != nil {
		return nil, err
	}
	s.views.forget(in.View)
	return struct{}{}, nil
}

func words(context.Context, []byte) (any, error) {
	return map[string][]string{"keywords": tql.Reserved(), "functions": compute.Names()}, nil
}

// queryError is an error of a query with its text, in which it names a position.
type queryError struct {
	error
	text string
}

func (e *queryError) Unwrap() error { return e.error }

// position returns the number of characters of a text before a line and a column, both from 1.
func position(text string, line, column int) int {
	before := 0
	for ; line > 1; line-- {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			break
		}
		before += utf8.RuneCountInString(text[:end+1])
		text = text[end+1:]
	}
	return before + column - 1
}

// times answers with the times of the frames around a time of a video. A video without frames has
// an empty list.
func (s *Service) times(ctx context.Context, body []byte) (any, error) {
	var in struct {
		ofView
		Column string  `json:"column"`
		Row    int64   `json:"row"`
		At     float64 `json:"at"` // seconds
	}
	v, done, err := s.views.use(body, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	if v.videos == nil {
		return nil, errs.Op("read times", "").New(errs.Unsupported, "this program has no videos")
	}
	if in.Row < 0 || in.Row >= v.Len() {
		return nil, errs.New(errs.Range, "read times of row %d, want 0 to %d", in.Row, v.Len()-1)
	}
	out, err := v.videos.Times(ctx, in.Column, in.Row, in.At)
	if out.Times == nil {
		out.Times = []float64{}
	}
	return out, err
}
