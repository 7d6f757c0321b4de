package ingest

import (
	"context"
	"strings"

	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/storage"
)

// object is an object of the listing on its way through the workers to the writer.
type object struct {
	storage.Entry
	format *Format
	was    *known // the rows of an earlier version; nil: the object is new
	same   bool   // it has not changed, though its annotations may have
	cost   int64  // its part of the budget
	out    chan []row
	room   *budget       // of the bytes in out; nil: there is one row
	turn   chan struct{} // closed when the writer comes to the object; nil: its size is known
	err    error         // why the import cannot go on; set before out is closed
}

// wait returns when the writer has come to the object: all rows before its own are taken.
func (o *object) wait(ctx context.Context) error {
	select {
	case <-o.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isNext reports whether the writer has come to the object.
func (o *object) isNext() bool {
	select {
	case <-o.turn:
		return true
	default:
		return false
	}
}

func (o *object) origin() origin.Origin { return origin.Origin{Path: o.Key, Tag: o.Tag, Size: o.Size} }

// match compares the listing with the rows of the view, both in byte order of names. It passes new
// and changed objects to emit until emit returns false, and counts missing and unchanged ones.
func (im *importer) match(ctx context.Context, v *dataset.View, emit func(*object) bool) error {
	rows, err := openKnown(ctx, v, im.after)
	if err != nil {
		return err
	}
	defer rows.close()
	before, err := im.openEarlier(ctx)
	defer func() { closeEarlier(before) }()
	if err != nil {
		return err
	}
	last, wanted := im.after, true
	var failed error
	err = im.source.Objects(ctx, "", im.after, func(e storage.Entry) bool {
		if isMarker(e) {
			return true
		}
		if failed = unsigned(e.Key); failed != nil {
			return false
		}
		if e.Key <= last && last != "" {
			failed = errs.Op("list", im.source.URI()).New(errs.Invalid, "%q comes after %q, want names in byte order", e.Key, last)
			return false
		}
		last = e.Key
		if failed = im.passGone(ctx, rows, e.Key); failed != nil {
			return false
		}
		if im.set != nil && im.set.Uses(e.Key) || im.source.shards > 0 && e.Key == dataset.SchemaFile {
			return true
		}
		o := &object{Entry: e, format: formatOf(e.Key)}
		isOther := im.isOther(e.Key)
		if k := rows.peek(); k != nil && k.Path == e.Key {
			var taken known
			if taken, failed = rows.take(ctx); failed != nil {
				return false
			}
			if now := o.origin(); !now.Vague() && taken.file().Same(now) && e.Key != im.again {
				if im.set == nil || isOther {
					im.count.unchanged.Add(1)
					return true
				}
				o.same = true
			}
			o.was = &taken
		}
		wasDeleted := false
		if wasDeleted, failed = im.wasDeleted(ctx, before, o); failed != nil {
			return false
		} else if wasDeleted {
			im.count.deleted.Add(1)
			return true
		}
		wanted = emit(o)
		return wanted
	})
	switch {
	case failed != nil:
		return failed
	case err != nil || !wanted:
		return err
	}
	return im.passGone(ctx, rows, "")
}

// unsigned refuses presigned URLs as names: the dataset would store the signature with the name.
func unsigned(key string) error {
	if !strings.HasPrefix(key, "http://") && !strings.HasPrefix(key, "https://") {
		return nil // a "?" is a letter of the name
	}
	param := storage.Presigned(key)
	if param == "" {
		return nil
	}
	return errs.Op("list", "").New(errs.Invalid, "%q is presigned (parameter %q), and the dataset would keep the signature; "+
		"list the objects themselves and give their credentials as source_storage or link_storage", storage.RedactURL(key), param)
}

// passGone counts the objects with keys less than key ("": all) that are missing from the listing.
func (im *importer) passGone(ctx context.Context, rows *knownRows, key string) error {
	for k := rows.peek(); k != nil && (key == "" || k.Path < key); k = rows.peek() {
		if _, err := rows.take(ctx); err != nil {
			return err
		}
		im.gone(k.Path)
	}
	return nil
}
