package maintain

import (
	"context"
	"slices"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// rootSearch finds the commits that names stand for.
type rootSearch struct {
	repo  *version.Repo
	since time.Time
	all   bool // deleted names count as deleted, however recently
	bad   func(name, key string, err error) error
	roots []root
}

// roots are the commits that names stand for: of branches and tags, also of those that were deleted
// after since, main first. With all, deleted names are left out: a store may date a deletion to the
// moment of since, or later, or not at all. bad is told of names that cannot be read, and decides
// whether to go on; nil does not.
func roots(ctx context.Context, r *version.Repo, since time.Time, all bool, bad func(name, key string, err error) error) ([]root, error) {
	if bad == nil {
		bad = func(_, _ string, err error) error { return err }
	}
	s := &rootSearch{repo: r, since: since, all: all, bad: bad}
	if err := s.branch(ctx, format.Main, format.TSFKey(), r.TSF.Main, false); err != nil {
		return nil, err
	}
	if err := s.heads(ctx); err != nil {
		return nil, err
	}
	return s.roots, s.tags(ctx)
}

// branch adds the newest commit of a branch, which may be gone.
func (s *rootSearch) branch(ctx context.Context, name, key string, id format.UUID, gone bool) error {
	head, err := int64(-1), error(nil)
	if failed := version.List(ctx, s.repo.Store, format.RecordPrefix(id), "", func(o storage.Object) bool {
		_, v, bad := format.ParseRecordKey(o.Key)
		head, err = int64(v), bad
		return false
	}); failed != nil {
		return failed
	}
	if err == nil && head < 0 {
		if gone {
			return nil // a copy of a dataset has the names, and not their objects
		}
		err = errs.New(errs.Corrupt, "branch %q has no commit under %q", name, format.RecordPrefix(id))
	}
	if err != nil {
		return s.bad(name, key, err)
	}
	s.roots = append(s.roots, root{name: name, branch: id, version: uint64(head), head: true, gone: gone})
	return nil
}

// list returns the objects below prefix.
func (s *rootSearch) list(ctx context.Context, prefix string) ([]storage.Object, error) {
	var all []storage.Object
	err := version.List(ctx, s.repo.Store, prefix, "", func(o storage.Object) bool {
		all = append(all, o)
		return true
	})
	return all, err
}

// recent reports whether an object is younger than since, or may be.
func (s *rootSearch) recent(o storage.Object) bool {
	return !s.all && (o.Modified.IsZero() || !o.Modified.Before(s.since))
}

// saying is one object about a name.
type saying struct {
	name   string
	n      uint64
	object storage.Object
}

// heads adds the branches but main. A branch counts as long as the object that says otherwise is
// recent.
func (s *rootSearch) heads(ctx context.Context) error {
	objects, err := s.list(ctx, format.HeadsPrefix())
	if err != nil {
		return err
	}
	byName := map[string][]saying{}
	var names []string
	for _, o := range objects {
		name, n, err := format.ParseHeadKey(o.Key)
		if err != nil {
			if err := s.bad(o.Key, o.Key, err); err != nil {
				return err
			}
			continue
		}
		if byName[name] == nil {
			names = append(names, name)
		}
		byName[name] = append(byName[name], saying{name, n, o})
	}
	for _, name := range names {
		all := byName[name]
		slices.SortFunc(all, func(a, b saying) int { return int(int64(a.n) - int64(b.n)) })
		for i, h := range all {
			if i+1 < len(all) && !s.recent(all[i+1].object) {
				continue
			}
			head, err := s.repo.Objects().Head(ctx, h.object.Key)
			switch {
			case err != nil:
				err = s.bad(name, h.object.Key, err)
			case !head.Branch.IsZero():
				err = s.branch(ctx, name, h.object.Key, head.Branch, i+1 < len(all))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// tags adds the tags.
func (s *rootSearch) tags(ctx context.Context) error {
	objects, err := s.list(ctx, format.TagsPrefix())
	if err != nil {
		return err
	}
	buried, long := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		if name, is, err := format.ParseTagKey(o.Key); err == nil && is {
			buried[name], long[name] = true, !s.recent(o)
		}
	}
	for _, o := range objects {
		name, is, err := format.ParseTagKey(o.Key)
		if err == nil && (is || long[name]) {
			continue
		}
		if err == nil {
			err = s.tag(ctx, name, o.Key, buried[name])
		}
		if err != nil {
			if err := s.bad("tag "+name, o.Key, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *rootSearch) tag(ctx context.Context, name, key string, gone bool) error {
	left := false // by a dataset that was overwritten
	t, err := chunkmap.FetchRequired(ctx, s.repo.Store, "read tag", key, func(data []byte) (format.Tag, error) {
		if left = s.repo.Objects().Replaced(data); left {
			return format.Tag{}, nil
		}
		return format.DecodeTag(data, s.repo.Objects().Bind(key))
	})
	if err != nil || left {
		return err
	}
	s.roots = append(s.roots, root{name: "tag " + name, branch: t.Branch, version: t.Version, gone: gone})
	return nil
}

// basesOf are the commits on which distributed writes began whose leases stand. One without a
// record is left out: it is a commit of no branch that is there.
func basesOf(ctx context.Context, r *version.Repo, leased []format.BranchPoint) ([]root, error) {
	var out []root
	for _, p := range leased {
		_, err := recordOf(ctx, r, p.Branch, p.Version)
		switch {
		case err == nil:
			out = append(out, root{name: "a distributed write", branch: p.Branch, version: p.Version, gone: true, leased: true})
		case !chunkmap.Absent(err):
			return nil, err
		}
	}
	return out, nil
}
