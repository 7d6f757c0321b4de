// Package v4 recognizes datasets of Deep Lake 4 by the names of their files, and says how their
// rows come over.
//
// It owns those names alone: the layout of the files is not public, and the package of Deep Lake 4
// reads them, in an environment of its own (python/deeplake/_data/deeplake4.py).
package v4

import (
	"context"
	"strings"

	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/storage"
)

const (
	// logs is the folder with the log of the commits: each is a .jsonl file.
	logs = "_deeplake_log/_meta/"
	// first is a file of the folder that all datasets have, for stores that list nothing.
	first = logs + "next_base"
)

// way says how to take the rows over.
const way = `its files (_deeplake_log/_meta/*.jsonl) are of Deep Lake 4, whose layout is not public; copy its rows by deeplake.ingest(deeplake.deeplake4(uri, python=...), target), where python has the package deeplake 4: see "Deep Lake 4" in docs/coming-from.md`

// Format recognizes datasets of Deep Lake 4. It implements dataset.Format and dataset.Named.
type Format struct{}

// Name returns the name of the format.
func (Format) Name() string { return "Deep Lake 4" }

// Names reports whether a dataset of the format has a file of this name, and no other source has.
func (Format) Names(key string) bool {
	return strings.HasPrefix(key, logs) && (strings.HasSuffix(key, ".jsonl") || key == first)
}

// Way says how the rows of a dataset come over.
func (Format) Way() string { return way }

// Open returns errs.Unsupported with the way if p has a dataset of Deep Lake 4, nil if it has none.
func (f Format) Open(ctx context.Context, p storage.Provider, _ *codec.Registry) (storage.Provider, error) {
	found := false
	err := p.List(ctx, logs, "", func(o storage.Object) bool {
		found = f.Names(o.Key)
		return !found
	})
	if errs.Is(err, errs.Unsupported) {
		_, err = p.Get(ctx, first)
		found = err == nil
	}
	switch {
	case found:
		return nil, errs.Op("open dataset", p.URI()).New(errs.Unsupported, "%s", way)
	case err == nil || errs.Is(err, errs.NotFound) || errs.Is(err, errs.Denied):
		return nil, nil // what may not be listed is told by others
	}
	return nil, err
}
