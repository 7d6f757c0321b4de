package v3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
)

// maxCommits bounds the commits of a dataset.
const maxCommits = 1 << 20

// branch is a branch with its commits.
type branch struct {
	name    string
	id      format.UUID
	base    string   // the commit of another branch that the first one follows; "": none
	commits []string // in order, the head last
}

// tree is the commits of a dataset.
type tree struct {
	nodes    map[string]*node
	branches []branch // main first
	at       map[string]place
}

// place is where a commit stands: commits[index] of branches[branch].
type place struct{ branch, index int }

// loadTree reads the commits. A dataset that was never committed has one head, on main.
func loadTree(ctx context.Context, p storage.Provider, info versionInfo) (*tree, error) {
	if len(info.Commits) == 0 {
		commits, err := walk(ctx, p)
		if err != nil {
			return nil, err
		}
		info = versionInfo{Commits: commits, Branches: map[string]string{}}
		for _, id := range slices.Sorted(maps.Keys(commits)) {
			if n := commits[id]; n.Time == nil {
				info.Branches[n.Branch] = id
			}
		}
	}
	return plant(info)
}

// walk collects the commits from the file that each commit has of itself.
func walk(ctx context.Context, p storage.Provider) (map[string]*node, error) {
	out, asked := map[string]*node{}, map[string]bool{rootCommit: true}
	for next := []string{rootCommit}; len(next) > 0; {
		found := make([]node, len(next))
		f := fetch{store: p}
		for i, id := range next {
			f.optional(folder(id)+"commit_info.json", into(&found[i]))
		}
		if err := f.run(ctx); err != nil {
			return nil, err
		}
		var children []string
		for i, id := range next {
			n := &found[i]
			if n.Branch == "" && id != rootCommit { // the file is missing: no such commit
				continue
			}
			if out[id] = n; n.Branch == "" { // a dataset that has no commit
				n.Branch = format.Main
			}
			for _, child := range n.Children {
				if !asked[child] && checkCommit(child) == nil {
					asked[child] = true
					children = append(children, child)
				}
			}
		}
		if len(out)+len(children) > maxCommits {
			return nil, errs.Op("read", p.URI()).New(errs.Corrupt, "it has more than %d commits", maxCommits)
		}
		next = children
	}
	return out, nil
}

// checkCommit refuses ids that would lead out of the folder of commits.
func checkCommit(id string) error {
	if id == "" || len(id) > 200 || strings.ContainsAny(id, "/\\:,") || id == "." || id == ".." {
		return errs.New(errs.Corrupt, "%q is not the id of a commit", clip(id))
	}
	return nil
}

// plant checks the commits and puts them in order, by branch.
func plant(info versionInfo) (*tree, error) {
	damaged := func(text string, args ...any) (*tree, error) {
		return nil, errs.Op("read", versionFile).New(errs.Corrupt, text, args...)
	}
	if len(info.Commits) > maxCommits || len(info.Branches) > maxCommits {
		return damaged("it has %d commits and %d branches", len(info.Commits), len(info.Branches))
	}
	t := &tree{nodes: info.Commits, at: map[string]place{}}
	for id, n := range t.nodes {
		if err := checkCommit(id); err != nil || n == nil {
			return damaged("%q is not the id of a commit", clip(id))
		}
		if n.Parent != "" && t.nodes[n.Parent] == nil {
			return damaged("commit %q follows %q, which is missing", clip(id), clip(n.Parent))
		}
	}
	names := make([]string, 0, len(info.Branches))
	for name := range info.Branches {
		names = append(names, name)
	}
	slices.Sort(names)
	if i := slices.Index(names, t.mainName(names)); i > 0 {
		first := names[i]
		names = slices.Insert(slices.Delete(names, i, i+1), 0, first)
	}
	for _, name := range names {
		head := info.Branches[name]
		if t.nodes[head] == nil {
			return damaged("branch %q has the head %q, which is missing", clip(name), clip(head))
		}
		b := branch{name: name, id: idOf("branch", name)}
		id := head
		for ; id != "" && t.nodes[id].Branch == name; id = t.nodes[id].Parent {
			if _, known := t.at[id]; known || len(b.commits) > len(t.nodes) {
				return damaged("commit %q is on two branches, or follows itself", clip(id))
			}
			b.commits = append(b.commits, id)
		}
		b.base = id
		slices.Reverse(b.commits)
		for i, id := range b.commits {
			t.at[id] = place{len(t.branches), i}
		}
		t.branches = append(t.branches, b)
	}
	for i := range t.branches {
		b := &t.branches[i]
		if _, known := t.at[b.base]; b.base != "" && !known {
			return damaged("branch %q begins at commit %q, which is on no branch", clip(b.name), clip(b.base))
		}
		if len(b.commits) == 0 {
			return damaged("branch %q has no commit", clip(b.name))
		}
	}
	if i := t.loop(); i >= 0 {
		return damaged("commit %q follows itself", clip(t.branches[i].commits[0]))
	}
	if len(t.branches) == 0 || t.branches[0].base != "" {
		return damaged("no branch has the first commit")
	}
	t.rename()
	return t, nil
}

// version names the content of a chunk of a commit: such chunks do not change. ok is false for
// other objects, those of heads among them, which their writer may change in place. The time of the
// commit tells datasets apart that were at one place: the first commit of all has the same id.
func (t *tree) version(key string) (name string, ok bool) {
	if !strings.Contains(key, "/chunks/") || strings.HasPrefix(key, ".") {
		return "", false
	}
	id := rootCommit
	if rest, in := strings.CutPrefix(key, "versions/"); in {
		id, _, _ = strings.Cut(rest, "/")
	}
	n := t.nodes[id]
	if n == nil || n.Time == nil {
		return "", false
	}
	return id + "@" + strconv.FormatFloat(*n.Time, 'g', -1, 64), true
}

// loop finds a branch that does not lead to a first commit, because it begins at itself in the end.
// It returns -1 if there is none.
func (t *tree) loop() int {
	seen := make([]int, len(t.branches)) // number of the walk that saw it, from 1 on
	for i := range t.branches {
		for at := i; seen[at] == 0; {
			seen[at] = i + 1
			base := t.branches[at].base
			if base == "" {
				break
			}
			if at = t.at[base].branch; seen[at] == i+1 {
				return at
			}
		}
	}
	return -1
}

// mainName is the branch of the first commit.
func (t *tree) mainName(names []string) string {
	if n := t.nodes[rootCommit]; n != nil {
		return n.Branch
	}
	if slices.Contains(names, format.Main) || len(names) == 0 {
		return format.Main
	}
	return names[0]
}

// rename gives branches names that this format allows.
func (t *tree) rename() {
	used := map[string]bool{}
	for i := range t.branches {
		b := &t.branches[i]
		switch {
		case i == 0:
			b.name = format.Main
		case format.CheckRefName(b.name) != nil || used[b.name]:
			b.name = "branch-" + b.id.String()[:8] + "-v3"
		}
		used[b.name] = true
	}
}

// chain returns the commits that lead to one, the first of all first and id last.
func (t *tree) chain(id string) ([]string, error) {
	var out []string
	for ; id != ""; id = t.nodes[id].Parent {
		if out = append(out, id); len(out) > len(t.nodes) {
			return nil, errs.Op("read", versionFile).New(errs.Corrupt, "commit %q follows itself", clip(id))
		}
	}
	slices.Reverse(out)
	return out, nil
}

// idOf makes an id of this format for a thing of the other one.
func idOf(kind, name string) format.UUID {
	sum := sha256.Sum256([]byte("deeplake 3 " + kind + "\x00" + name))
	return format.UUID(sum[:16])
}

// commitID is the id of a commit here: the first 32 digits of its own, so that it is found by them.
func commitID(id string) format.UUID {
	var u format.UUID
	if raw, err := hex.DecodeString(id); err == nil && len(raw) >= len(u) && strings.ToLower(id) == id {
		copy(u[:], raw)
	}
	if u.IsZero() {
		u = idOf("commit", id)
	}
	return u
}
