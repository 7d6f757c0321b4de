package scan

import (
	"context"
	"errors"
	"slices"
	"sync"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/query"
	"deeplake/core/storage"
)

// Tables opens the datasets that queries name, and keeps them open. All methods may be called in
// parallel.
type Tables struct {
	env    *dataset.Env
	o      storage.Options
	stored bool
	bound  []string // what may be opened, and all below it; nil: everything
	advice string   // of the error beyond bound

	adopt  sync.Once
	policy *storage.LinkPolicy // nil: of the first dataset that is opened

	mu     sync.Mutex
	opened map[[2]string]*opening
	views  []*dataset.View // open ones, in order of opening
}

var _ query.Tables = (*Tables)(nil)

// opening is a dataset that is open, or on its way.
type opening struct {
	once  sync.Once
	d     *dataset.Dataset
	view  *dataset.View
	table *Table
	err   error
}

// NewTables makes a Tables for a query of the dataset at home, which o opened. Without home, o
// belongs to the first dataset that the query names. stored says that the text of the query was
// read from the dataset. Tables then opens only places that storage.LinkPolicy allows. Close the
// Tables after the last result from one of its datasets.
func NewTables(env *dataset.Env, home string, stored bool, o storage.Options) *Tables {
	t := &Tables{env: env, o: o, stored: stored, opened: map[[2]string]*opening{}}
	if home != "" || stored {
		t.policy = storage.NewLinkPolicy(home, o)
	}
	return t
}

// Bound lets only the datasets at places, and below them, be opened. The error of another one ends
// with advice.
func (t *Tables) Bound(places []string, advice string) {
	t.bound, t.advice = append([]string{}, places...), advice
}

// options returns how the dataset that a query names is opened.
func (t *Tables) options(uri string) (storage.Options, error) {
	if t.bound != nil && !slices.ContainsFunc(t.bound, func(place string) bool { return storage.Covers(place, uri) }) {
		return storage.Options{}, errs.Op("open", storage.RedactURL(uri)).New(errs.Denied, "this query may not read it; %s", t.advice)
	}
	t.adopt.Do(func() {
		if t.policy == nil {
			t.policy = storage.NewLinkPolicy(uri, t.o)
		}
	})
	if !t.stored {
		return t.policy.Named(uri), nil
	}
	grant, err := t.policy.Stored(uri)
	return grant.Options, err
}

// Table opens the dataset at the URI name, at the version that ref is, as dataset.OpenOptions.At
// has it; "" is the newest. A dataset is opened once: asked again, it is the same version.
func (t *Tables) Table(ctx context.Context, name, ref string) (query.Table, error) {
	key := [2]string{name, ref}
	t.mu.Lock()
	o := t.opened[key]
	if o == nil {
		o = &opening{}
		t.opened[key] = o
	}
	t.mu.Unlock()
	o.once.Do(func() {
		if o.err = o.open(ctx, t, name, ref); o.err == nil {
			t.mu.Lock()
			t.views = append(t.views, o.view)
			t.mu.Unlock()
		}
	})
	if o.err != nil {
		t.mu.Lock()
		if t.opened[key] == o {
			delete(t.opened, key) // the next attempt may succeed
		}
		t.mu.Unlock()
		return nil, o.err
	}
	return o.table, nil
}

func (o *opening) open(ctx context.Context, t *Tables, name, ref string) error {
	where, err := t.options(name)
	if err != nil {
		return err
	}
	d, err := dataset.Open(ctx, t.env, name, dataset.OpenOptions{At: ref, ReadOnly: true, Storage: where})
	if err != nil {
		return err
	}
	v, err := d.View(ctx)
	if err != nil {
		_ = d.Close()
		return err
	}
	o.d, o.view, o.table = d, v, Of(v)
	return nil
}

// View returns the rows of a dataset that Table has opened; nil: it has not.
func (t *Tables) View(name, ref string) *dataset.View {
	t.mu.Lock()
	o := t.opened[[2]string{name, ref}]
	t.mu.Unlock()
	if o == nil {
		return nil
	}
	return o.view
}

// Views returns the rows of all that Table has opened, in that order.
func (t *Tables) Views() []*dataset.View {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.views)
}

// Close closes the datasets.
func (t *Tables) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []error
	for _, o := range t.opened {
		if o.d != nil {
			all = append(all, o.d.Close())
		}
	}
	t.opened, t.views = map[[2]string]*opening{}, nil
	return errors.Join(all...)
}
