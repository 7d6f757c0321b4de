package version

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/version/chunkmap"
)

// minCommitPrefix is the least number of digits that name a commit.
const minCommitPrefix = 6

// Namer is implemented by stores that present datasets of another format.
type Namer interface {
	// CommitName returns the uuid of the commit that has this name in the other format, or else the
	// name itself.
	CommitName(name string) string
}

// At finds a commit by a user's name for it: a version number of this branch ("12"), a time in RFC
// 3339, which means the last commit of this branch not later than it, a commit uuid or at least its
// first six digits, a tag, a branch, which means its head, or one of the first three on another
// branch ("branch@12"). A tag comes before a branch, a branch before a commit.
//
// A commit that is expired is errs.NotFound; those that tags and branches stand for never are.
func (r *Repo) At(ctx context.Context, ref string) (*Snapshot, error) {
	if n, ok := r.Store.(Namer); ok {
		ref = n.CommitName(ref)
	}
	rec, named, err := r.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if named {
		return r.load(ctx, rec)
	}
	var s *Snapshot
	var failed error
	g := task.New(ctx, 0)
	g.Go(func(ctx context.Context) error { return r.unexpired(ctx, rec) })
	g.Go(func(ctx context.Context) error {
		s, failed = r.load(ctx, rec)
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, errs.Wrap(errs.NotFound, "at", ref, err)
	}
	return s, failed
}

// find finds a commit, and says whether a tag or a branch stands for it.
func (r *Repo) find(ctx context.Context, ref string) (rec *format.Record, named bool, err error) {
	if k := strings.LastIndex(ref, "@"); k > 0 && k+1 < len(ref) {
		on, err := r.On(ctx, ref[:k])
		if err != nil {
			return nil, false, errs.Wrap(errs.NotFound, "at", ref, err)
		}
		rec, err := on.findHere(ctx, ref[k+1:])
		if err == nil && rec == nil {
			err = invalidRef(ref)
		}
		return rec, false, err
	}
	rec, err = r.findHere(ctx, ref)
	if rec != nil || err != nil {
		return rec, false, err
	}
	if format.CheckRefName(ref) != nil {
		return nil, false, invalidRef(ref)
	}
	rec, err = r.findName(ctx, ref)
	named = rec != nil
	if err == nil && isPrefix(ref) {
		rec, err = r.orPrefix(ctx, ref, rec)
	}
	if rec == nil && err == nil {
		err = r.noSuchCommit(ctx, fmt.Sprintf("%q", ref))
	}
	return rec, named, err
}

// orPrefix finds the commit whose uuid begins with ref, or else returns that of the name ref. If
// both exist and differ, it is errs.Invalid: older writers made such names.
func (r *Repo) orPrefix(ctx context.Context, ref string, named *format.Record) (*format.Record, error) {
	begun, err := r.atPrefix(ctx, ref)
	switch {
	case err != nil || named == nil:
		return begun, err
	case begun == nil || begun.UUID == named.UUID:
		return named, nil
	}
	return nil, errs.Op("at", ref).New(errs.Invalid, "it is the name of commit %s and the first digits of commit %s; give the whole id of one of them", named.UUID, begun.UUID)
}

func invalidRef(ref string) error {
	return errs.Op("at", ref).New(errs.Invalid, "want a version number, a commit (at least %d hexadecimal digits), a tag, a branch, a time like 2026-01-31T12:00:00Z, or branch@version", minCommitPrefix)
}

func isPrefix(ref string) bool {
	return len(ref) >= minCommitPrefix && len(ref) <= 32 && strings.Trim(ref, "0123456789abcdef") == ""
}

// findHere finds what does not need a name: a version, a time, a whole commit. nil is something
// else.
func (r *Repo) findHere(ctx context.Context, ref string) (*format.Record, error) {
	if n, err := strconv.ParseUint(ref, 10, 63); err == nil && len(ref) < 20 {
		rec, err := r.record(ctx, n)
		switch {
		case !errs.Is(err, errs.NotFound):
			return rec, err
		case len(ref) < minCommitPrefix:
			return nil, r.noSuchCommit(ctx, fmt.Sprintf("version %d", n))
		}
	}
	var rec *format.Record
	var err error
	if when, ok := timeOf(ref); ok {
		if rec, err = r.atTime(ctx, when); err == nil && rec == nil {
			return nil, r.beforeAll(ctx, ref)
		}
	} else if _, notUUID := format.ParseUUID(ref); notUUID == nil || isPrefix(ref) && strings.Trim(ref, "0123456789") == "" {
		rec, err = r.atPrefix(ctx, ref)
	} else {
		return nil, nil
	}
	if err == nil && rec == nil {
		err = r.noSuchCommit(ctx, fmt.Sprintf("%q", ref))
	}
	return rec, err
}

// timeOf reads a time with a zone, with a T or a space before the hour. A time with fewer than nine
// digits of a fraction stands for the end of its last digit, so that a time which was printed
// shorter finds the commit of that time.
func timeOf(ref string) (time.Time, bool) {
	const day = len("2006-01-02")
	text := ref
	if len(text) > day && text[day] == ' ' {
		text = text[:day] + "T" + text[day+1:]
	}
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return when, false
	}
	digits := 0
	if i := strings.IndexAny(ref, ".,"); i >= 0 {
		fraction := ref[i+1:]
		digits = len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
	}
	unit := time.Second
	for range min(digits, 9) {
		unit /= 10
	}
	return when.Add(unit - 1), true
}

// beforeAll is the error for a time at which there was no version yet.
func (r *Repo) beforeAll(ctx context.Context, ref string) error {
	first, err := r.recordAt(ctx, format.BranchPoint{Branch: r.TSF.Main, Version: 0})
	if err != nil {
		return err
	}
	return errs.New(errs.NotFound, "at %s: dataset %q had no version then; its first one is of %s", ref, r.Store.URI(), first.Time.UTC().Format(time.RFC3339Nano))
}

// findName finds a tag or a branch of that name, nil if there is none. A name of both is
// errs.Invalid.
func (r *Repo) findName(ctx context.Context, name string) (*format.Record, error) {
	if name == format.Main {
		return r.bound(name, r.TSF.Main).headRecord(ctx)
	}
	var tag Tag
	var tagErr error
	g := task.New(ctx, 0)
	g.Go(func(ctx context.Context) error {
		tag, tagErr = r.tag(ctx, name)
		return nil
	})
	branch, _, err := r.branchHead(ctx, name)
	if failed := g.Wait(); failed != nil {
		return nil, failed
	}
	switch {
	case tagErr != nil && !errs.Is(tagErr, errs.NotFound):
		return nil, tagErr
	case tagErr == nil && errs.Is(err, errs.Denied):
		return r.tagged(ctx, tag) // for who may read and not list, branches are not known
	case err != nil:
		return nil, err
	case branch.Branch.IsZero() && tagErr != nil:
		return nil, nil
	case branch.Branch.IsZero():
		return r.tagged(ctx, tag)
	}
	head, err := r.bound(name, branch.Branch).headRecord(ctx)
	if err == nil && tagErr == nil {
		err = errs.Op("at", name).New(errs.Invalid, "a branch and a tag have that name; \"%s@%d\" is the newest version of the branch, %q the commit of the tag; delete one of the two names", name, head.Version, tag.Commit)
	}
	return head, err
}

// Tagged is the commit of a tag.
func (r *Repo) Tagged(ctx context.Context, t Tag) (*Snapshot, error) {
	rec, err := r.tagged(ctx, t)
	if err != nil {
		return nil, err
	}
	return r.load(ctx, rec)
}

// tagged is the commit that a tag means.
func (r *Repo) tagged(ctx context.Context, t Tag) (*format.Record, error) {
	rec, err := r.recordAt(ctx, format.BranchPoint{Branch: t.Branch, Version: t.Version})
	if err != nil {
		return nil, chunkmap.Missing(err, "read commit", format.RecordKey(t.Branch, t.Version))
	}
	if rec.UUID != t.Commit {
		return nil, errs.Op("read tag", t.Name).New(errs.Corrupt, "commit %s is in the place of commit %s", rec.UUID, t.Commit)
	}
	return rec, nil
}

// atTime finds the last commit that is not later than when, nil if all are. Times never fall from
// commit to commit.
func (r *Repo) atTime(ctx context.Context, when time.Time) (*format.Record, error) {
	head, err := r.headRecord(ctx)
	for err == nil && head.Time.After(when) {
		var found, zero *format.Record
		found, zero, err = r.searchTime(ctx, head, when)
		if found != nil || err != nil || zero.Base == nil {
			return found, err
		}
		head, err = r.recordAt(ctx, *zero.Base)
		if err != nil {
			err = chunkmap.Missing(err, "read commit", format.RecordKey(zero.Base.Branch, zero.Base.Version))
		}
	}
	return head, err
}

// searchTime finds the last commit before head, on its branch, that is not later than when. If all
// are, it returns the first of the branch.
func (r *Repo) searchTime(ctx context.Context, head *format.Record, when time.Time) (found, zero *format.Record, err error) {
	// versions below lo are not later than when, from hi on all are
	lo, hi := uint64(0), head.Version
	zero = head
	for lo < hi {
		mid := lo + (hi-lo)/2
		rec, err := r.recordAt(ctx, format.BranchPoint{Branch: head.Branch, Version: mid})
		if err != nil {
			return nil, nil, chunkmap.Missing(err, "read commit", format.RecordKey(head.Branch, mid))
		}
		if rec.Time.After(when) {
			hi, zero = mid, rec
		} else {
			found, lo = rec, mid+1
		}
	}
	return found, zero, nil
}

// atPrefix finds the commit whose uuid begins with prefix, nil if none does: first where this
// branch comes from, then where the other branches do, then where the tags do, as the branch of a
// tag may be deleted.
func (r *Repo) atPrefix(ctx context.Context, prefix string) (*format.Record, error) {
	head, err := r.headRecord(ctx)
	if err != nil {
		return nil, err
	}
	h, seen := r.searched(), map[format.BranchPoint]bool{}
	found, err := h.search(ctx, head, prefix, seen)
	if found != nil || err != nil {
		return found, err
	}
	look := func(head *format.Record) error {
		other, err := h.search(ctx, head, prefix, seen)
		if err == nil && other != nil && found != nil {
			err = ambiguous(prefix, found, other)
		}
		if other != nil {
			found = other
		}
		return err
	}
	branches, err := r.Branches(ctx)
	if err != nil && !errs.Is(err, errs.Unsupported) { // else the others cannot be found
		return nil, err
	}
	for _, b := range branches {
		if b.ID == r.branch {
			continue
		}
		head, err := r.bound(b.Name, b.ID).headRecord(ctx)
		if err == nil {
			err = look(head)
		}
		if err != nil {
			return nil, err
		}
	}
	tags, err := r.Tags(ctx)
	if err != nil && !errs.Is(err, errs.Unsupported) {
		return nil, err
	}
	for _, t := range tags {
		if seen[format.BranchPoint{Branch: t.Branch, Version: t.Version}] {
			continue
		}
		rec, err := r.tagged(ctx, t)
		if err == nil {
			err = look(rec)
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func ambiguous(prefix string, a, b *format.Record) error {
	return errs.Op("at", prefix).New(errs.Invalid, "commits %s and %s both begin with it; give more digits", a.UUID, b.UUID)
}

// search looks at the commits that head comes from, and have not been seen, for the one whose uuid
// begins with prefix.
func (h *history) search(ctx context.Context, head *format.Record, prefix string, seen map[format.BranchPoint]bool) (*format.Record, error) {
	at := format.BranchPoint{Branch: head.Branch, Version: head.Version}
	h.recs[at] = head
	var found *format.Record
	for open := []format.BranchPoint{at}; len(open) > 0; {
		at, open = open[len(open)-1], open[:len(open)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		rec, err := h.get(ctx, at)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(rec.UUID.String(), prefix) {
			if found != nil {
				return nil, ambiguous(prefix, found, rec)
			}
			if found = rec; len(prefix) == 32 {
				return found, nil
			}
		}
		open = append(open, parents(rec)...)
	}
	return found, nil
}

func (r *Repo) noSuchCommit(ctx context.Context, what string) error {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"} {
		if when, err := time.Parse(layout, strings.Trim(what, `"`)); err == nil {
			return errs.New(errs.Invalid, "at %s: want a time with a zone; write %sZ for UTC, or an offset like +02:00", what, when.Format("2006-01-02T15:04:05.999999999"))
		}
	}
	head, err := r.headRecord(ctx)
	if err != nil {
		return err
	}
	return errs.New(errs.NotFound, "at %s: dataset %q has no such commit, tag or branch; the versions of branch %q are 0 to %d, see log()", what, r.Store.URI(), r.name, head.Version)
}
