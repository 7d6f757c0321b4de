package ingest

import (
	"context"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// apart refuses a dataset in the place of its source, or around it. A dataset inside the source is
// permitted, and the listing leaves out its files.
func (im *importer) apart(ctx context.Context, uri string) error {
	from := im.source.URI()
	if !utf8.ValidString(from) {
		return errs.Op("import from", from).New(errs.Invalid, "the path is not UTF-8, and the dataset stores it; rename the folder")
	}
	same, err := im.samePlace(ctx, uri, from)
	if err != nil {
		return err
	}
	if same {
		return errs.Op("import from", from).New(errs.Invalid, "the dataset would lie in the same place; choose another place for it")
	}
	source, place := resolved(from), resolved(uri)
	if im.o.Overwrite && strings.HasPrefix(source, place+"/") && im.source.local {
		return errs.Op("import from", from).New(errs.Invalid, "it lies inside %q, which would be replaced; choose another place for the dataset", uri)
	}
	if own, inside := strings.CutPrefix(place, source+"/"); inside && im.source.local {
		im.source.own = own + "/"
	}
	return nil
}

// samePlace reports whether the store of the dataset is that of the source.
func (im *importer) samePlace(ctx context.Context, uri, from string) (bool, error) {
	how := storage.NewLinkPolicy(uri, im.o.Storage).Named(from)
	if im.o.Source != nil {
		how = *im.o.Source
	}
	to := im.o.Storage
	how.Create, to.Create = false, false
	var at [2]storage.Provider
	for i, open := range []struct {
		uri string
		o   storage.Options
	}{{uri, to}, {from, how}} {
		p, err := im.env.Stores.Open(ctx, open.uri, open.o)
		if err != nil {
			// Without a store there are no objects to share. Creating the dataset tells the rest.
			return false, ctx.Err()
		}
		defer func() { _ = p.Close() }()
		at[i] = p
	}
	if storage.Location(at[0]) != storage.Location(at[1]) {
		return false, nil
	}
	// Two services may have a bucket of one name.
	if _, ok := storage.As[storage.Hosted](at[0]); ok {
		return storage.Origin(at[0]) == storage.Origin(at[1]), nil
	}
	return true, nil
}

// resolved is a local path without symbolic links, as far as it exists. Other URIs stay as they
// are.
func resolved(uri string) string {
	scheme, rest, found := strings.Cut(uri, "://")
	if found && scheme != "file" {
		return strings.TrimSuffix(uri, "/")
	}
	if !found {
		rest = uri
	}
	abs, err := filepath.Abs(rest)
	if err != nil {
		return rest
	}
	for at, tail := abs, ""; ; {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return strings.TrimSuffix(filepath.ToSlash(filepath.Join(real, tail)), "/")
		}
		if filepath.Dir(at) == at {
			return filepath.ToSlash(abs)
		}
		at, tail = filepath.Dir(at), filepath.Join(filepath.Base(at), tail)
	}
}
