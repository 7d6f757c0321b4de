package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/scan"
	"deeplake/core/storage"
)

// Session runs queries in an environment. All methods may be called in parallel.
type Session struct{ env *dataset.Env }

// New returns a session in an environment.
func New(env *dataset.Env) *Session { return &Session{env} }

// Query is a text with all that decides its result, besides the versions of the datasets.
type Query struct {
	Text   string
	Params []Param
	Names  []string // of Params, in any order, for :name; nil: Params are in the order of ?
	Each   []int    // Params that are batched, by their numbers
	// The `params` of a saved view. They take the place of Params, Names, Each and Commits.
	SavedParams json.RawMessage
	Functions   map[string]query.User
	Seed        uint64
	Budget      int64 // bytes that sorting and grouping may hold; 0: the default
	Threads     int   // 0: the default
	// Counts the examined rows while the query runs; nil: they are not counted.
	Looked *atomic.Int64

	Storage storage.Options   // of the datasets that the text names
	Stored  bool              // text read from a dataset: storage.LinkPolicy bounds it
	Commits map[string]string // versions to open again, by name or name@ref
	Within  *Within           // the datasets that the text may name; nil: all
}

// Within lets a query name only the datasets of its view, and those at Allow and below.
type Within struct {
	Allow  []string
	Advice string // of the error of another dataset: how to allow it
}

// Info describes a query and its result. It is a document of the C interface.
type Info struct {
	Query       string             `json:"query,omitempty"`
	URI         string             `json:"uri"`
	Origin      string             `json:"origin,omitempty"` // where the rows lie, if elsewhere
	Commits     map[string]string  `json:"commits,omitempty"`
	Outputs     []Output           `json:"outputs,omitempty"`
	Explanation *query.Explanation `json:"explanation,omitempty"`
	Text        string             `json:"text,omitempty"` // the explanation, for people
}

// Output is a column of a result.
type Output struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Computed bool   `json:"computed"`
}

// checked is a checked query, with the queried view.
type checked struct {
	plan        *query.Plan
	view        *View  // nil: the datasets that it names
	share       *share // the caller's, until a view of the result takes it over
	fingerprint string // decides the result, besides the versions
	seed        uint64
	params      []Param  // in the order of the text
	names       []string // of params; nil: they have none
	batched     []int    // numbers of params
}

// prepare checks a query of a view, or of the datasets that the query names if of is nil. The
// caller leaves the share of the result, or hands it to a view.
func (s *Session) prepare(ctx context.Context, of *View, q *Query) (*checked, error) {
	if q.Budget < 0 || q.Threads < 0 {
		return nil, errs.Op("query", "").New(errs.Invalid, `"budget" is %d and "threads" %d, want at least 0`, q.Budget, q.Threads)
	}
	q, err := q.withSavedParams()
	if err != nil {
		return nil, err
	}
	with := query.Options{Seed: q.Seed, Budget: q.Budget, Threads: q.Threads, Names: q.Names, Batched: q.Each, Functions: q.Functions, Looked: q.Looked}
	for _, p := range q.Params {
		with.Params = append(with.Params, p.value)
	}
	home := ""
	if of != nil {
		home = of.table().Base().URI()
	}
	opened := &share{sources: &sources{Tables: scan.NewTables(s.env, home, q.Stored, q.Storage), commits: q.Commits, environ: q.Storage.Environ}}
	if q.Within != nil {
		places, err := placesOf(q.Within.Allow, q.Storage.Environ)
		if err != nil {
			return nil, err
		}
		opened.sources.Bound(append(of.places(), places...), q.Within.Advice)
	}
	c := &checked{seed: q.Seed, view: of}
	var from query.Table
	if of != nil {
		// The datasets of the view stay open, even if another thread closes the view meanwhile.
		if err := of.share.take(); err != nil {
			return nil, err
		}
		opened.above = of.share
		from = of.table().Table()
		c.fingerprint = of.table().Fingerprint() + "\x00"
	}
	c.share = newShare(opened)
	if c.plan, err = query.Prepare(ctx, q.Text, from, opened.sources, with); err != nil {
		c.share.leave()
		return nil, err
	}
	c.bind(q)
	c.fingerprint += fmt.Sprintf("%s\x00%d\x00", c.plan.Text(), q.Seed)
	for _, p := range c.params {
		c.fingerprint += string(p.appendFingerprint(nil))
	}
	if len(c.batched) > 0 {
		c.fingerprint += fmt.Sprint("\x00", c.batched)
	}
	return c, nil
}

// bind takes the parameters of q, in the order of the text.
func (c *checked) bind(q *Query) {
	order := c.plan.Order()
	if !query.Reorders || order == nil {
		c.params, c.names, c.batched = q.Params, q.Names, q.Each
		return
	}
	c.names = []string{}
	for i, number := range order {
		c.params, c.names = append(c.params, q.Params[number]), append(c.names, q.Names[number])
		if slices.Contains(q.Each, number) {
			c.batched = append(c.batched, i)
		}
	}
}

// withSavedParams returns the query with its SavedParams read.
func (q *Query) withSavedParams() (*Query, error) {
	if len(q.SavedParams) == 0 {
		return q, nil
	}
	saved, err := parseParams(q.SavedParams)
	if err != nil {
		return nil, errs.Op("query", "").New(errs.Corrupt, "%w", err)
	}
	read := *q
	saved.give(&read)
	return &read, nil
}

// base returns the view that the result describes itself by.
func (c *checked) base() (*dataset.View, error) {
	if c.view != nil {
		return c.view.table().Base(), nil
	}
	opened := c.share.sources.Views()
	if len(opened) == 0 {
		return nil, errs.Op("query", "").New(errs.Invalid, "it is asked of no dataset; name one by FROM")
	}
	return opened[0], nil
}

// reads returns all views that the query reads.
func (c *checked) reads() []*dataset.View {
	opened := c.share.sources.Views()
	if c.view != nil {
		return slices.Concat(c.view.table().Reads(), opened)
	}
	return opened
}

func (c *checked) info() Info {
	t := Info{Query: c.plan.Text(), Commits: c.share.sources.used}
	if v, err := c.base(); err == nil {
		t.URI = v.URI()
	}
	return t
}

// resultInfo returns the info of a query that was run.
func (c *checked) resultInfo(r *scan.Result, outputs []query.Output) Info {
	t := c.info()
	if at := r.Origin(); at != nil && at.URI() != t.URI {
		t.Origin = at.URI()
	}
	for _, o := range outputs {
		t.Outputs = append(t.Outputs, Output{o.Name, o.Type.String(), o.Source < 0})
	}
	return t
}

// explain returns the info with the explanation of the plan, and of the run if there was one.
func (c *checked) explain(ctx context.Context, done *query.Done) (Info, error) {
	t := c.info()
	e, err := c.plan.Explain(ctx)
	if err != nil {
		return t, err
	}
	e.Done = done
	t.Explanation, t.Text = e, e.String()
	return t, nil
}

// run runs the query.
func (c *checked) run(ctx context.Context, env *dataset.Env) (*scan.Result, *query.Result, error) {
	base, err := c.base()
	if err != nil {
		return nil, nil, err
	}
	done, err := c.plan.Run(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := scan.NewResult(ctx, env, base, c.reads(), done, c.fingerprint)
	return r, done, err
}

// Query asks a query of a view, or of the datasets that it names if of is nil. The caller closes
// the view of the result; of may be closed before.
func (s *Session) Query(ctx context.Context, of *View, q *Query) (*View, Info, error) {
	c, err := s.prepare(ctx, of, q)
	if err != nil {
		return nil, Info{}, err
	}
	r, done, err := c.run(ctx, s.env)
	if err != nil {
		c.share.leave()
		return nil, Info{}, err
	}
	v := viewOfResult(r, c.share)
	v.spec, v.done = c, &done.Done
	return v, c.resultInfo(r, done.Outputs), nil
}

// Explain returns the plan of Query. With analyze it runs the query, drops the result, and adds the
// figures of the run.
func (s *Session) Explain(ctx context.Context, of *View, q *Query, analyze bool) (Info, error) {
	c, err := s.prepare(ctx, of, q)
	if err != nil {
		return Info{}, err
	}
	defer c.share.leave()
	var done *query.Done
	if analyze {
		r, err := c.plan.Run(ctx)
		if err != nil {
			return Info{}, err
		}
		done = &r.Done
	}
	return c.explain(ctx, done)
}

// Explain returns the plan and figures of the query behind a view.
func (v *View) Explain(ctx context.Context) (Info, error) {
	if v.spec == nil {
		return Info{}, errs.Op("explain query", "").New(errs.Invalid, "the view is no answer to one")
	}
	return v.spec.explain(ctx, v.done)
}
