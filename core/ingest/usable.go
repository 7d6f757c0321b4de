package ingest

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
)

// kindCounts counts files by the extension of their names.
type kindCounts map[string]int64

const otherKinds = "other kinds"

func (k *kindCounts) add(key string) {
	if *k == nil {
		*k = kindCounts{}
	}
	kind := strings.ToLower(path.Ext(key))
	switch _, ok := (*k)[kind]; {
	case strings.HasSuffix(key, "/"):
		kind = "folders"
	case kind == "":
		kind = "without an extension"
	case !ok && len(*k) >= countedKinds:
		kind = otherKinds
	}
	(*k)[kind]++
}

// String lists the most frequent kinds.
func (k kindCounts) String() string {
	const shown = 8
	kinds := slices.Sorted(maps.Keys(k))
	slices.SortStableFunc(kinds, func(a, b string) int { return int(max(-1, min(1, k[b]-k[a]))) })
	var out []string
	for i, kind := range kinds {
		if i == shown {
			out = append(out, "and others")
			break
		}
		out = append(out, fmt.Sprintf("%s: %d", kind, k[kind]))
	}
	return strings.Join(out, ", ")
}

// total is the number of all files.
func (k kindCounts) total() (n int64) {
	for _, count := range k {
		n += count
	}
	return n
}

// nothing reports whether the source has no row for the dataset, neither new ones nor earlier ones.
func (im *importer) nothing() bool {
	return !im.usable && im.report.Resumed == 0 && im.count.unchanged.Load()+im.count.deleted.Load() == 0
}

// nothingError counts the files that the source has instead of images and videos.
func (im *importer) nothingError() error {
	from, n := im.source.URI(), im.kinds.total()
	if n == 0 {
		return errs.Op("import from", from).New(errs.Invalid, "it has no files, want %s files, videos, or .tar and .tar.gz shards", im.env.Codecs.Titles("or"))
	}
	if im.way != "" {
		return errs.Op("import from", from).New(errs.Invalid, "%s", im.way)
	}
	why := ""
	if len(im.report.Skips) > 0 {
		why = fmt.Sprintf("; %q: %s", im.report.Skips[0].Path, im.report.Skips[0].Reason)
	}
	return errs.Op("import from", from).New(errs.Invalid, "none of its %d files gives a row (%s)%s", n, im.kinds, why)
}

// withoutLarge makes links of the large videos of a row, until the returned function is called. The
// dataset looks at the same facts of them, and a copy would double their memory.
func (r *row) withoutLarge() (back func()) {
	were := map[string]value{}
	for i := range r.values {
		v := &r.values[i]
		if n := int64(len(v.Data)); v.kind == videoKind && n > windowBytes {
			were[v.tensor] = *v
			v.Sample = tensor.Sample{Form: tensor.FormLink, DType: tensor.Bytes, Tables: v.Tables, Link: &tensor.Link{URL: "file:///video", Length: n, Size: n}}
		}
	}
	return func() {
		for i := range r.values {
			if was, is := were[r.values[i].tensor]; is {
				r.values[i] = was
			}
		}
	}
}

// try appends a row to a dataset in memory. It returns the error that the dataset itself would
// give, before that is created or replaced.
func (im *importer) try(ctx context.Context, r *row) error {
	scheme, _, found := strings.Cut(im.place, "://")
	if !found {
		scheme = "file"
	}
	memory := *im.env
	space := &mem.Space{}
	memory.Stores = storage.Registry{scheme: func(ctx context.Context, _ string, o storage.Options) (storage.Provider, error) {
		return space.Open(ctx, "trial", o)
	}}
	d, err := dataset.Create(ctx, &memory, im.place, dataset.CreateOptions{Storage: im.o.Storage})
	if err != nil {
		return err
	}
	im.d = d
	defer func() {
		_ = d.Close()
		im.d, im.tensors = nil, nil
	}()
	if err := im.firstTensors(ctx); err != nil {
		return err
	}
	if err := im.makeTensors(ctx, []row{*r}); err != nil {
		return err
	}
	defer r.withoutLarge()()
	return im.appendRow(ctx, r)
}
