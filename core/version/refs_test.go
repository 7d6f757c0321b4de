package version_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/versiontest"
)

func branchNames(t *testing.T, r *version.Repo) []string {
	t.Helper()
	list, err := r.Branches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range list {
		names = append(names, b.Name)
	}
	return names
}

func TestBranches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := versiontest.New(t, versiontest.MemStore(t))
	main := f.Repo(t)
	head := f.Begin(t).Base()
	dev, s, err := main.CreateBranch(ctx, "dev/A.1", head, "Ada")
	if err != nil {
		t.Fatal(err)
	}
	if dev.Branch() != "dev/A.1" || s.Record.Version != 0 || s.Record.Author != "Ada" || *s.Record.Parent != head.Record.UUID || s.Record.Base.Version != 1 {
		t.Fatalf("branch %q begins with %+v", dev.Branch(), s.Record)
	}
	if got, want := versiontest.State(t, s), versiontest.State(t, head); !slices.Equal(got, want) {
		t.Fatalf("branch begins as %q, want %q", got, want)
	}
	txn := dev.Begin(s)
	f.Add(txn, 2, 5)
	f.Commit(t, txn, "on dev")
	if now, err := main.Head(ctx); err != nil || now.Record.UUID != head.Record.UUID {
		t.Fatalf("main moved on: %v", err)
	}
	again, err := f.Repo(t).On(ctx, "dev/A.1")
	if err != nil {
		t.Fatal(err)
	}
	if now, err := again.Head(ctx); err != nil || now.Rows() != versiontest.BaseRows+2 || now.Record.Version != 1 {
		t.Fatal(now, err)
	}
	if back, err := again.On(ctx, "main"); err != nil || back.Branch() != "main" {
		t.Fatal(back, err)
	}
	if _, _, err := main.CreateBranch(ctx, "dev/A.1", head, ""); !errs.Is(err, errs.Exists) {
		t.Errorf("create again: %v", err)
	}
	if _, _, err := main.CreateBranch(ctx, "main", head, ""); !errs.Is(err, errs.Exists) {
		t.Errorf("create main: %v", err)
	}
	if _, _, err := main.CreateBranch(ctx, "a@b", head, ""); !errs.Is(err, errs.Invalid) {
		t.Errorf("create a@b: %v", err)
	}
	if _, err := main.On(ctx, "dev/A.2"); !errs.Is(err, errs.NotFound) || !versiontest.Contains(err, `did you mean "dev/A.1"`) {
		t.Errorf("open another: %v", err)
	}
	if got := branchNames(t, main); !slices.Equal(got, []string{"dev/A.1", "main"}) {
		t.Errorf("branches are %q", got)
	}
	if err := main.DeleteBranch(ctx, "main"); !errs.Is(err, errs.Invalid) {
		t.Errorf("delete main: %v", err)
	}
	if err := main.DeleteBranch(ctx, "dev/A.1"); err != nil {
		t.Fatal(err)
	}
	if err := main.DeleteBranch(ctx, "dev/A.1"); !errs.Is(err, errs.NotFound) {
		t.Errorf("delete again: %v", err)
	}
	if got := branchNames(t, main); !slices.Equal(got, []string{"main"}) {
		t.Errorf("branches are %q", got)
	}
	// A writer on a deleted branch goes on; no name leads to its commits.
	now, err := again.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	txn = again.Begin(now)
	f.Add(txn, 1, 6)
	f.Commit(t, txn, "to nowhere")
	anew, s, err := main.CreateBranch(ctx, "dev/A.1", head, "")
	if err != nil || anew.BranchID() == dev.BranchID() || s.Rows() != versiontest.BaseRows {
		t.Fatalf("created anew: %v, %v", s, err)
	}
	for range 12 { // numbers of two digits
		mustDo(main.DeleteBranch(ctx, "dev/A.1"))
		if _, _, err := main.CreateBranch(ctx, "dev/A.1", head, ""); err != nil {
			t.Fatal(err)
		}
	}
	if on, err := main.On(ctx, "dev/A.1"); err != nil || on.BranchID() == anew.BranchID() {
		t.Fatalf("after many: %v", err)
	}
}

// TestBranchRace: of several creations of a name one wins, and everybody then sees that one.
func TestBranchRace(t *testing.T) {
	t.Parallel()
	f := versiontest.New(t, versiontest.MemStore(t))
	head := f.Begin(t).Base()
	for round := range 20 {
		name := fmt.Sprintf("b%d", round)
		var won atomic.Int32
		var id atomic.Value
		g := task.New(t.Context(), 0)
		for range 8 {
			g.Go(func(ctx context.Context) error {
				repo, err := version.Open(ctx, f.Store, "test")
				if err != nil {
					return err
				}
				on, _, err := repo.CreateBranch(ctx, name, head, "")
				if err == nil {
					won.Add(1)
					id.Store(on.BranchID())
				} else if !errs.Is(err, errs.Exists) {
					return err
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil || won.Load() != 1 {
			t.Fatalf("%d creations of %q succeeded, %v", won.Load(), name, err)
		}
		if on, err := f.Repo(t).On(t.Context(), name); err != nil || on.BranchID() != id.Load() {
			t.Fatalf("branch %q is another: %v", name, err)
		}
	}
}

// TestRefFaults lets each call of a change of refs go wrong. The change is then done or not, and
// done again it is there.
func TestRefFaults(t *testing.T) {
	t.Parallel()
	for _, do := range []faultstore.Action{faultstore.Fail(errs.Storage), faultstore.LostAnswer(), faultstore.Crash(), faultstore.CrashAfter()} {
		for n := range 4 {
			inner := versiontest.MemStore(t)
			f := versiontest.New(t, inner)
			head := f.Begin(t).Base()
			for _, c := range []struct {
				what string
				do   func(*version.Repo) error
			}{
				{"create branch", func(r *version.Repo) error { _, _, err := r.CreateBranch(t.Context(), "b", head, ""); return err }},
				{"create tag", func(r *version.Repo) error { _, err := r.CreateTag(t.Context(), "v1", head, "", ""); return err }},
				{"delete branch", func(r *version.Repo) error { return r.DeleteBranch(t.Context(), "b") }},
				{"delete tag", func(r *version.Repo) error { return r.DeleteTag(t.Context(), "v1") }},
			} {
				store := faultstore.New(inner, nil)
				repo, err := version.Open(t.Context(), store, "test")
				if err != nil {
					t.Fatal(err)
				}
				store.SetPlan(faultstore.Plan{{Skip: n, Do: do}})
				failed := c.do(repo)
				store.SetPlan(nil)
				if failed == nil {
					continue
				}
				if err := c.do(repo); err != nil && !errs.Is(err, errs.Exists) && !errs.Is(err, errs.NotFound) {
					t.Fatalf("%s again, after %v: %v", c.what, failed, err)
				}
			}
			repo := f.Repo(t)
			tags, err := repo.Tags(t.Context())
			if got := branchNames(t, repo); !slices.Equal(got, []string{"main"}) || len(tags) != 0 || err != nil {
				t.Fatalf("call %d: branches are %q, tags %v, %v", n, got, tags, err)
			}
		}
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := versiontest.New(t, versiontest.MemStore(t))
	repo := f.Repo(t)
	head := f.Begin(t).Base()
	tag, err := repo.CreateTag(ctx, "v1.0", head, "the first", "Ada")
	if err != nil || tag.Name != "v1.0" || tag.Commit != head.Record.UUID {
		t.Fatal(tag, err)
	}
	if _, err := repo.CreateTag(ctx, "v0.9", head, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.CreateTag(ctx, "v1.0", head, "", ""); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, "it exists") {
		t.Errorf("create again: %v", err)
	}
	if _, err := repo.CreateTag(ctx, "main", head, "", ""); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, "a branch") {
		t.Errorf("create main: %v", err)
	}
	for _, name := range []string{"", "17", "a@1", "facade", "2ea9d3"} {
		if _, err := repo.CreateTag(ctx, name, head, "", ""); !errs.Is(err, errs.Invalid) {
			t.Errorf("create %q: %v", name, err)
		}
	}
	tags, err := repo.Tags(ctx)
	if err != nil || len(tags) != 2 || tags[0].Name != "v0.9" || tags[1].Message != "the first" || tags[1].Author != "Ada" {
		t.Fatal(tags, err)
	}
	if err := repo.DeleteTag(ctx, "v1.0"); err != nil {
		t.Fatal(err)
	}
	if err := repo.DeleteTag(ctx, "v1.0"); !errs.Is(err, errs.NotFound) {
		t.Errorf("delete again: %v", err)
	}
	if _, err := repo.CreateTag(ctx, "v1.0", head, "", ""); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, "given once") {
		t.Errorf("create what is deleted: %v", err)
	}
	if tags, err = repo.Tags(ctx); err != nil || len(tags) != 1 {
		t.Fatal(tags, err)
	}
	if _, err := repo.At(ctx, "v1.0"); !errs.Is(err, errs.NotFound) {
		t.Errorf("at a deleted tag: %v", err)
	}
}

// TestAtNames finds commits through branches and tags.
func TestAtNames(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := versiontest.New(t, versiontest.MemStore(t))
	main := f.Repo(t)
	clock := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func(r *version.Repo, message string) *version.Snapshot {
		clock = clock.Add(time.Hour)
		r.Now = func() time.Time { return clock }
		head, err := r.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		txn := r.Begin(head)
		f.Add(txn, 1, 2)
		return f.Commit(t, txn, message)
	}
	step(main, "m2")
	fork := step(main, "m3")
	clock = clock.Add(time.Hour)
	main.Now = func() time.Time { return clock }
	dev, zero, err := main.CreateBranch(ctx, "dev", fork, "")
	if err != nil {
		t.Fatal(err)
	}
	d1 := step(dev, "d1")
	m4 := step(main, "m4")
	if _, err := main.CreateTag(ctx, "v1", d1, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := main.CreateTag(ctx, "facades", m4, "", ""); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		on   *version.Repo
		ref  string
		want *version.Snapshot
		kind errs.Kind
	}{
		{main, "dev", d1, 0}, {main, "main", m4, 0}, {dev, "main", m4, 0}, {main, "v1", d1, 0}, {dev, "facades", m4, 0},
		{main, "dev@0", zero, 0}, {main, "dev@1", d1, 0}, {dev, "main@4", m4, 0}, {dev, "1", d1, 0}, {main, "4", m4, 0},
		{main, d1.Record.UUID.String(), d1, 0}, {main, d1.Record.UUID.String()[:10], d1, 0}, {dev, m4.Record.UUID.String()[:10], m4, 0},
		{dev, fork.Record.Time.Format(time.RFC3339), fork, 0},
		{main, "dev@" + d1.Record.Time.Format(time.RFC3339), d1, 0},
		{main, "dev@" + fork.Record.Time.Add(time.Minute).Format(time.RFC3339), fork, 0},
		{main, "dev@" + d1.Record.UUID.String(), d1, 0},
		{main, "dev@2", nil, errs.NotFound}, {main, "dev@v1", nil, errs.Invalid}, {main, "none@1", nil, errs.NotFound},
		{main, "@1", nil, errs.Invalid}, {main, "dev@", nil, errs.Invalid}, {main, "none", nil, errs.NotFound},
	} {
		s, err := c.on.At(ctx, c.ref)
		switch {
		case c.want == nil && !errs.Is(err, c.kind):
			t.Errorf("At(%q) = %v, want an error that is %s", c.ref, err, c.kind)
		case c.want != nil && (err != nil || s.Record.UUID != c.want.Record.UUID):
			t.Errorf("At(%q) on %q = %v, %v, want %q", c.ref, c.on.Branch(), s, err, c.want.Record.Message)
		}
	}
	if err := main.DeleteBranch(ctx, "dev"); err != nil {
		t.Fatal(err)
	}
	if s, err := main.At(ctx, "v1"); err != nil || s.Record.UUID != d1.Record.UUID {
		t.Errorf("the tag of a deleted branch: %v", err)
	}
}

// TestNamesAreUnique: a new name is that of no branch, tag or commit.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := versiontest.New(t, versiontest.MemStore(t))
	main, head := f.Repo(t), f.Begin(t).Base()
	branch := func(name string) error { _, _, err := main.CreateBranch(ctx, name, head, ""); return err }
	tag := func(name string) error { _, err := main.CreateTag(ctx, name, head, "", ""); return err }
	mustDo(branch("work"))
	mustDo(tag("v1"))
	if err := tag("work"); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, "a branch of dataset") {
		t.Errorf("a tag named as a branch: %v", err)
	}
	if err := branch("v1"); !errs.Is(err, errs.Exists) || !versiontest.Contains(err, "a tag of dataset") {
		t.Errorf("a branch named as a tag: %v", err)
	}
	for _, name := range []string{"2ea9d3", "facade", head.Record.UUID.String()[:31]} {
		for what, err := range map[string]error{"branch": branch(name), "tag": tag(name)} {
			if !errs.Is(err, errs.Invalid) || !versiontest.Contains(err, "would mean a commit") {
				t.Errorf("a %s %q: %v", what, name, err)
			}
		}
	}
	for _, name := range []string{"2ea9d", "facade-", "2EA9D3"} {
		mustDo(tag(name))
	}
	// A deleted name is free for the other kind.
	mustDo(main.DeleteBranch(ctx, "work"))
	mustDo(tag("work"))
	mustDo(main.DeleteTag(ctx, "v1"))
	mustDo(branch("v1"))
	for _, name := range []string{"work", "v1"} {
		if _, err := main.At(ctx, name); err != nil {
			t.Errorf("At(%q) = %v", name, err)
		}
	}
}

// TestAmbiguousNames: names that older or simultaneous writers gave twice are errors, which say how
// to name each commit.
func TestAmbiguousNames(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := versiontest.New(t, versiontest.MemStore(t))
	main, old := f.Repo(t), f.Begin(t).Base()
	txn := f.Begin(t)
	f.Add(txn, 1, 2)
	head := f.Commit(t, txn, "head")
	put := func(name string) {
		t.Helper()
		key := format.TagKey(name)
		tag := format.Tag{Branch: old.Record.Branch, Version: old.Record.Version, Commit: old.Record.UUID, Time: old.Record.Time}
		data, err := format.EncodeTag(tag, main.Objects().Bind(key))
		if err != nil {
			t.Fatal(err)
		}
		mustDo(f.Store.PutIfAbsent(ctx, key, data))
	}
	_, zero, err := main.CreateBranch(ctx, "work", head, "")
	if err != nil {
		t.Fatal(err)
	}
	begins := func(s *version.Snapshot) string { // digits that are no version number
		id := s.Record.UUID.String()
		return id[:max(7, strings.IndexAny(id, "abcdef")+1)]
	}
	prefix := begins(head)
	put("work")
	put(prefix)
	put(begins(old)) // of the commit that it means
	for ref, want := range map[string][]string{
		"work": {"a branch and a tag", `"work@0"`, old.Record.UUID.String()},
		prefix: {head.Record.UUID.String(), old.Record.UUID.String()},
	} {
		_, err := main.At(ctx, ref)
		if !errs.Is(err, errs.Invalid) {
			t.Errorf("At(%q) = %v", ref, err)
			continue
		}
		for _, part := range want {
			if !versiontest.Contains(err, part) {
				t.Errorf("At(%q) = %v, want %q in it", ref, err, part)
			}
		}
	}
	for ref, want := range map[string]*version.Snapshot{
		"work@0": zero, old.Record.UUID.String(): old, head.Record.UUID.String(): head, head.Record.UUID.String()[:len(prefix)+1]: head,
		begins(old): old,
	} {
		if s, err := main.At(ctx, ref); err != nil || s.Record.UUID != want.Record.UUID {
			t.Errorf("At(%q) = %v, want commit %s", ref, err, want.Record.UUID)
		}
	}
	tags, err := main.Tags(ctx)
	if err != nil || len(tags) != 3 {
		t.Fatal(tags, err)
	}
	for _, tag := range tags {
		if s, err := main.Tagged(ctx, tag); err != nil || s.Record.UUID != old.Record.UUID {
			t.Errorf("tag %q: %v", tag.Name, err)
		}
	}
	mustDo(main.DeleteTag(ctx, "work"))
	if s, err := main.At(ctx, "work"); err != nil || s.Record.UUID != zero.Record.UUID {
		t.Errorf("after the tag is deleted: %v", err)
	}
}

// TestLogOfBranches follows a branch to its base, and a merge to both parents.
func TestLogOfBranches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := versiontest.New(t, versiontest.MemStore(t))
	main, side := sidesOf(t, f, func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 1, 2) }, func(f *versiontest.Fixture, txn *version.Txn) { f.Add(txn, 1, 3) })
	s, _, err := main.Merge(ctx, side, version.OnConflictError, "merge", "")
	if err != nil {
		t.Fatal(err)
	}
	words := func(recs []*format.Record) string {
		var out []string
		for _, rec := range recs {
			out = append(out, rec.Message)
		}
		return strings.Join(out, ", ")
	}
	on, err := main.On(ctx, "side")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		repo  *version.Repo
		limit int
		want  string
	}{
		{main, 0, "merge, ours, base, create dataset"},
		{on, 0, `theirs, create branch "side", base, create dataset`},
		{on, 3, `theirs, create branch "side", base`},
		{on, 1, `theirs`},
	} {
		if log, err := c.repo.Log(ctx, c.limit); err != nil || words(log) != c.want {
			t.Errorf("log of %q is %q, %v, want %q", c.repo.Branch(), words(log), err, c.want)
		}
	}
	nodes, err := main.Graph(ctx, s, 0)
	if err != nil || len(nodes) != 6 {
		t.Fatal(len(nodes), err)
	}
	at := map[format.UUID]int{}
	for i, n := range nodes {
		at[n.Record.UUID] = i
		for _, p := range n.Parents {
			if _, before := at[p]; before {
				t.Errorf("commit %q stands behind its parent", n.Record.Message)
			}
		}
	}
	if n := nodes[0]; n.Record.UUID != s.Record.UUID || len(n.Parents) != 2 || n.Parents[1] != side.Record.UUID {
		t.Errorf("the merge has parents %v", n.Parents)
	}
	if nodes, err = main.Graph(ctx, s, 3); err != nil || len(nodes) != 3 {
		t.Errorf("%d of 3, %v", len(nodes), err)
	}
}
