package session

import (
	"context"
	"strings"
	"sync/atomic"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/names"
	"deeplake/core/query"
	"deeplake/core/scan"
)

// share closes what a view reads when its last holder leaves. Each view that reads it is a holder.
// A nil share owns nothing.
type share struct {
	holders atomic.Int64
	sources *sources         // opened for a query
	dataset *dataset.Dataset // opened for a saved view; nil: none
	end     func()           // of what WithSource made; nil: none
	above   *share           // of the view that was queried or presented; nil: none
}

// newShare returns s with one holder, the caller.
func newShare(s *share) *share {
	s.holders.Store(1)
	return s
}

// take adds a holder. It fails with errs.Closed if the last one has left.
func (s *share) take() error {
	if s == nil {
		return nil
	}
	for {
		n := s.holders.Load()
		if n == 0 {
			return errs.Op("use view", "").New(errs.Closed, "it is closed")
		}
		if s.holders.CompareAndSwap(n, n+1) {
			return nil
		}
	}
}

func (s *share) leave() {
	if s != nil && s.holders.Add(-1) == 0 {
		s.sources.close()
		if s.dataset != nil {
			_ = s.dataset.Close() // opened for reading: nothing to lose
		}
		if s.end != nil {
			s.end()
		}
		s.above.leave()
	}
}

// sources are the datasets that a query names. It owns them.
type sources struct {
	*scan.Tables
	commits map[string]string // versions to open again, by name or name@ref
	environ names.Environ     // by which names are found
	used    map[string]string // versions that were opened, as commits
}

// Table opens a dataset at a version. Preparing a query calls it from one goroutine.
func (s *sources) Table(ctx context.Context, name, ref string) (query.Table, error) {
	key, uri := name, name
	if ref != "" {
		key += "@" + ref
	}
	if commit := s.commits[key]; commit != "" {
		ref = commit
	}
	if strings.HasPrefix(name, names.Scheme) {
		place, err := names.Resolve(name, s.environ)
		if err != nil {
			return nil, err
		}
		uri = place
	}
	t, err := s.Tables.Table(ctx, uri, ref)
	if err != nil {
		return nil, err
	}
	if _, commit, _, err := s.View(uri, ref).Identity(); err == nil {
		if s.used == nil {
			s.used = map[string]string{}
		}
		s.used[key] = commit
	}
	return t, nil
}

func (s *sources) close() {
	if s != nil {
		_ = s.Close() // opened for reading: nothing to lose
	}
}

// places returns the addresses of the datasets that v reads.
func (v *View) places() []string {
	if v == nil {
		return nil
	}
	out := []string{v.table().Base().URI()}
	for s := v.share; s != nil; s = s.above {
		if s.sources != nil {
			for _, one := range s.sources.Views() {
				out = append(out, one.URI())
			}
		}
	}
	return out
}

// placesOf returns addresses with the places of names.
func placesOf(addresses []string, environ names.Environ) ([]string, error) {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = a
		if strings.HasPrefix(a, names.Scheme) {
			place, err := names.Resolve(a, environ)
			if err != nil {
				return nil, err
			}
			out[i] = place
		}
	}
	return out, nil
}
