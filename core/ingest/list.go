package ingest

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// sortedObjects bounds the names of a list that are sorted in memory.
const sortedObjects = 1 << 20

// list is a source of the objects that a text file on a web server names, in byte order of names.
// One goroutine at a time may use it.
type list struct {
	storage.Source
	checked bool
	inOrder bool  // the file names them in order, each once
	twice   int64 // lines that name an object again
	again   []string
}

// Objects lists the names in order. If the file has another order, it holds all of them.
func (l *list) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	if l.inOrder {
		return l.Source.Objects(ctx, prefix, after, fn)
	}
	var all []storage.Entry
	err := l.Source.Objects(ctx, prefix, "", func(e storage.Entry) bool {
		all = append(all, e)
		return len(all) <= sortedObjects
	})
	if err != nil {
		return err
	}
	if len(all) > sortedObjects {
		return errs.Op("list", l.URI()).New(errs.Invalid, "more than %d names, and they are not in byte order; sort the listing (LC_ALL=C sort)", sortedObjects)
	}
	slices.SortStableFunc(all, func(a, b storage.Entry) int { return cmp.Compare(a.Key, b.Key) })
	l.twice, l.again = 0, nil
	for i, e := range all {
		if ctx.Err() != nil {
			return errs.Wrap(errs.Canceled, "list", l.URI(), ctx.Err())
		}
		if i > 0 && e.Key == all[i-1].Key {
			if l.twice++; len(l.again) < shownNames {
				l.again = append(l.again, e.Key)
			}
			continue
		}
		if e.Key > after && !fn(e) {
			return nil
		}
	}
	return nil
}

// check reads the file once. Names that the import may not read are refused before anything is
// written.
func (l *list) check(ctx context.Context) error {
	if l.checked {
		return nil
	}
	l.inOrder = true
	last, n := "", 0
	var refused error
	err := l.Source.Objects(ctx, "", "", func(e storage.Entry) bool {
		if n++; n > 1 && e.Key <= last {
			l.inOrder = false
		}
		last = e.Key
		refused = l.checkName(e.Key)
		return refused == nil
	})
	if refused != nil {
		return refused
	}
	l.checked = err == nil
	return err
}

func (l *list) checkName(key string) error {
	if err := unsigned(key); err != nil {
		return err
	}
	if slices.Contains(strings.Split(listPath(key), "/"), "..") {
		return errs.Op("list", l.URI()).New(errs.Invalid, "%q leads out of its folder by \"..\"; write the path without it", storage.RedactURL(key))
	}
	// Only the source itself knows the rule for hosts.
	for s := l.Source; ; {
		if rule, ok := s.(interface{ CheckName(name string) error }); ok {
			if err := rule.CheckName(key); errs.Is(err, errs.Denied) {
				scheme, rest, _ := strings.Cut(key, "://")
				host, _, _ := strings.Cut(rest, "/")
				return errs.Op("list", l.URI()).New(errs.Denied, "%w, or --allow-links %s on the command line", err, storage.RedactURL(scheme+"://"+host))
			}
			return nil // a name that is no URL is left out with the reason
		}
		inner, ok := s.(interface{ Inner() storage.Source })
		if !ok {
			return nil
		}
		s = inner.Inner()
	}
}

// listPath is the path of a name, without the host of a URL.
func listPath(key string) string {
	scheme, rest, found := strings.Cut(key, "://")
	if !found || strings.Contains(scheme, "/") {
		return key
	}
	_, rest, _ = strings.Cut(rest, "/")
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}

// listClass returns the folder of a file, "" if the name has none. A list does not tell where the
// folders of the classes begin, and its URLs have other folders above them.
func listClass(key string) string {
	class := path.Base(path.Dir(listPath(key)))
	if class == "." || class == "/" {
		return ""
	}
	return class
}

// reportLists counts lines that name an object again as left out.
func (im *importer) reportLists() {
	l, ok := im.source.Source.(*list)
	if !ok {
		return
	}
	im.report.Skipped += l.twice
	for _, key := range l.again {
		if len(im.report.Skips) < shownNames {
			im.report.Skips = append(im.report.Skips, Skip{Path: key, Reason: "the list names it again"})
		}
	}
}
