package dataset

import (
	"context"

	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/media"
	"deeplake/core/storage"
	"deeplake/core/version/maintain"
)

// Env is the environment of every dataset of a program.
type Env struct {
	Stores  storage.Registry
	Sources storage.Sources // places that data is taken from, and that links point to
	Codecs  *codec.Registry
	// Containers are the kinds of files that tensors of videos take.
	Containers media.Containers
	// Parts makes files of parts of other files; nil: links to parts are refused.
	Parts  media.PartMaker
	Writer string // names the software in commit records
	// Formats are the formats of other programs that Open presents read-only.
	Formats []Format
	// Author returns the name of the user, for commits, tags and views. Nil: commits have none.
	Author func() string

	foldRows int // of tests: as few rows are rewritten; 0: the constant

	foldBytes int64 // of tests: the bytes rewritten because of deletions; 0: the constant
}

// Format presents the datasets of another format as datasets of this one.
type Format interface {
	// Name names the format in errors.
	Name() string
	// Open returns a store with the objects that a dataset of this format would have. It is a
	// chunk.Opener, and refuses writes. It returns nil if p has no dataset of the format. The
	// result takes over p.
	Open(ctx context.Context, p storage.Provider, codecs *codec.Registry) (storage.Provider, error)
}

// Named is implemented by formats that the names of their files tell, and that are not presented:
// Open returns an error for them.
type Named interface {
	// Names reports whether a dataset of the format has a file of this name, and nothing else has.
	Names(key string) bool
	Way() string // how the rows of a dataset come over
}

// Way returns how the rows of a dataset of another format come over, which is known by the name of
// one of its files. It is "" for other files.
func (e *Env) Way(key string) string {
	for _, f := range e.Formats {
		if n, ok := f.(Named); ok && n.Names(key) {
			return n.Way()
		}
	}
	return ""
}

// Converter is implemented by the stores of a Format that can write their dataset in this format.
type Converter interface {
	// Convert writes the dataset to dst: all branches, commits and saved views, or the commit at.
	Convert(ctx context.Context, dst storage.Provider, at *format.Record, links chunk.LinkFinder, o maintain.CopyOptions) (maintain.CopyReport, error)
}

// present presents a dataset of another format, whose name it returns. Without one it returns
// missing.
func present(ctx context.Context, env *Env, store storage.Provider, missing error) (storage.Provider, string, error) {
	for _, f := range env.Formats {
		as, err := f.Open(ctx, store, env.Codecs)
		if as != nil || err != nil {
			return as, f.Name(), err
		}
	}
	return nil, "", missing
}

// vacant refuses to create a dataset where one of another format is.
func vacant(ctx context.Context, env *Env, store storage.Provider) error {
	for _, f := range env.Formats {
		as, err := f.Open(ctx, store, env.Codecs)
		if err != nil && !errs.Is(err, errs.Corrupt) && !errs.Is(err, errs.Unsupported) {
			return errs.Wrap(errs.Storage, "look for a dataset at", store.URI(), err)
		}
		if n, ok := f.(Named); ok && err != nil {
			return errs.Op("create dataset", store.URI()).New(errs.Exists, "a dataset of %s is there, which is never written; take another place: %s", f.Name(), n.Way())
		}
		if as != nil || err != nil {
			return errs.Op("create dataset", store.URI()).New(errs.Exists, "a dataset of %s is there, which is never written; take another place", f.Name())
		}
	}
	return nil
}

// ours refuses to change a dataset of another format.
func (d *Dataset) ours() error {
	if d.foreign == "" {
		return nil
	}
	return errs.New(errs.ReadOnly, "dataset %q is of %s, which is read and never written; deeplake.copy(source, target) makes a dataset that can be changed", d.URI(), d.foreign)
}

// author returns the name of the user, "" if the environment has none.
func (e *Env) author() string {
	if e.Author == nil {
		return ""
	}
	return e.Author()
}

// For returns the environment for datasets in a store with these settings.
func (e *Env) For(s storage.Settings) *Env {
	if s.MaxPixels == 0 || e.Codecs == nil {
		return e
	}
	limited := *e
	limited.Codecs = e.Codecs.WithLimits(codec.Limits{MaxPixels: s.MaxPixels})
	return &limited
}

// CreateOptions are the options of Create.
type CreateOptions struct {
	Overwrite bool         // replace an existing dataset
	AtCommit  bool         // with Overwrite: the existing dataset stays until the first commit
	Tensors   []TensorSpec // which its first commit has
	Storage   storage.Options
}

// OpenOptions are the options of Open.
type OpenOptions struct {
	Branch string // that commits go to, and that version numbers count on; "" is main
	// At is a version number, a commit (its uuid or at least six digits of it), a tag, a branch,
	// "branch@version" or a time in RFC 3339; the dataset is then read-only. "" is the newest
	// commit.
	At       string
	ReadOnly bool
	Storage  storage.Options
}
