//go:build js

package main

import (
	"context"
	"net/url"
	"sync"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/storage/fetchstore"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/retry"
	"deeplake/core/viz"
)

// config names what a page shows.
type config struct {
	Dataset string `json:"dataset"` // an absolute URL
	Name    string `json:"name"`    // of the dataset; "": as its URL says
	At      string `json:"at"`      // a version; "": the newest commit
	Query   string `json:"query"`   // "": all rows
}

const (
	connections = 16
	retryTime   = 20 // seconds
)

// reader opens a dataset when it is first used, and again after a failure.
type reader struct {
	config
	mu      sync.Mutex
	service *viz.Service // nil: not open
}

// open returns the service of the dataset.
func (r *reader) open(ctx context.Context) (*viz.Service, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.service != nil {
		return r.service, nil
	}
	u, err := url.Parse(r.Dataset)
	if err != nil {
		return nil, errs.Op("open dataset", "").New(errs.Invalid, "its address is no URL; check deeplake.json")
	}
	hedge := false
	settings := storage.Settings{MaxConnections: connections, RetryTime: retryTime, Hedge: &hedge}
	env := &dataset.Env{Stores: stores(u.Scheme+"://"+u.Host, settings), Codecs: all.All(), Writer: "deeplake"}
	o := storage.Options{Settings: settings, Environ: map[string]string{}}
	ds, err := dataset.Open(ctx, env, r.Dataset, dataset.OpenOptions{At: r.At, ReadOnly: true, Storage: o})
	if err != nil {
		return nil, err
	}
	s := session.New(env)
	v, err := r.view(ctx, s, ds, o)
	if err != nil {
		_ = ds.Close() // opened for reading: nothing to lose
		return nil, err
	}
	r.service = viz.New(viz.Options{Name: r.Name, Session: s, Codecs: env.Codecs, View: v, Dataset: ds, Storage: o})
	return r.service, nil
}

// view returns the first view of the page.
func (r *reader) view(ctx context.Context, s *session.Session, ds *dataset.Dataset, o storage.Options) (*session.View, error) {
	all, err := ds.View(ctx)
	if err != nil {
		return nil, err
	}
	v := session.NewView(all)
	if r.Query == "" {
		return v, nil
	}
	result, _, err := s.Query(ctx, v, &session.Query{Text: r.Query, Storage: o})
	return result, err
}

// stores opens datasets of one origin.
func stores(origin string, s storage.Settings) storage.Registry {
	policy, limiter := retry.New(retry.Options{Settings: s}), limit.New(s)
	from := &fetchstore.Stores{Origin: origin}
	opener := func(scheme string) storage.Opener {
		open := from.Opener(scheme)
		return func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
			p, err := open(ctx, rest, o)
			if err != nil {
				return nil, err
			}
			return policy.Provider(limiter.Provider(p)), nil
		}
	}
	return storage.Registry{"http": opener("http"), "https": opener("https")}
}
