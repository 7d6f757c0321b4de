package gcs

import (
	"context"
	"errors"
	"strconv"
	"strings"

	gcloud "cloud.google.com/go/storage"
	"google.golang.org/api/iterator"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Page sizes of listings. Many callers want the first few objects only.
const (
	firstPage = 100
	laterPage = 1000
	// mostIdle bounds the objects in a row that are not new.
	mostIdle = 100_000
)

// List asks page by page. Objects put while it runs may be left out.
func (p *Provider) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	if prefix != "" && (!strings.HasSuffix(prefix, "/") || storage.CheckKey(prefix[:len(prefix)-1]) != nil) {
		return errs.Op("list", prefix).New(errs.Invalid, `prefix must be "" or a key part that ends with "/"`)
	}
	return p.list(ctx, prefix, after, func(key string, a *gcloud.ObjectAttrs) bool {
		return fn(storage.Object{Key: key, Size: a.Size, Modified: a.Created})
	})
}

// Objects lists what others have put there, folder markers included.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	return s.list(ctx, prefix, after, func(key string, a *gcloud.ObjectAttrs) bool {
		return fn(storage.Entry{Key: key, Size: a.Size, Tag: strconv.FormatInt(a.Generation, 10), Modified: a.Created})
	})
}

func (p *root) list(ctx context.Context, prefix, after string, fn func(key string, a *gcloud.ObjectAttrs) bool) error {
	const op = "list"
	if err := p.admit(ctx, op, prefix); err != nil {
		return err
	}
	// A read-ahead of the iterator does not exist, but its context must end with the listing.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := &gcloud.Query{Prefix: p.prefix + prefix, Projection: gcloud.ProjectionNoACL}
	if after != "" {
		q.StartOffset = p.prefix + after // included, unlike after
	}
	if err := q.SetAttrSelection([]string{"Name", "Size", "Generation", "Created"}); err != nil {
		return errs.Wrap(errs.Internal, op, prefix, err)
	}
	it := p.bucketHandle().Objects(ctx, q)
	pages := it.PageInfo()
	pages.MaxSize = firstPage
	idle := 0 // objects in a row that were shown before
	last := after
	for {
		a, err := it.Next()
		if err == nil || errors.Is(err, iterator.Done) {
			p.garbled.Store(0)
		}
		if errors.Is(err, iterator.Done) {
			p.seen.Store(true)
			return nil
		}
		if err != nil {
			return p.listError(ctx, op, prefix, err)
		}
		p.seen.Store(true)
		pages.MaxSize = laterPage
		key := strings.TrimPrefix(a.Name, p.prefix)
		if key == "" || key <= last && last != "" {
			if idle++; idle > mostIdle {
				return errs.Op(op, prefix).New(errs.Storage, "%q shows %d objects in a row without a new one; check the endpoint", p.client.base.Host, mostIdle)
			}
			continue
		}
		last, idle = key, 0
		if !fn(key, a) {
			return nil
		}
		if err := p.admit(ctx, op, prefix); err != nil {
			return err
		}
	}
}
