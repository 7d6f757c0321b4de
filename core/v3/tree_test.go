package v3

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
)

// at is the time of a commit.
func at(t float64) *float64 { return &t }

// TestPlant puts commits in order, by branch.
func TestPlant(t *testing.T) {
	tr, err := plant(versionInfo{
		Commits: map[string]*node{
			rootCommit: {Branch: "main", Time: at(1)},
			"b":        {Branch: "main", Parent: rootCommit, Time: at(2)},
			"c":        {Branch: "main", Parent: "b"},
			"d":        {Branch: "a\x00side", Parent: rootCommit, Time: at(3)},
			"e":        {Branch: "a\x00side", Parent: "d"},
			"f":        {Branch: "zoo", Parent: "d"},
		},
		Branches: map[string]string{"zoo": "f", "main": "c", "a\x00side": "e"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range tr.branches {
		got = append(got, fmt.Sprint(b.base, b.commits))
	}
	if want := []string{"[" + rootCommit + " b c]", rootCommit + "[d e]", "d[f]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if n := tr.branches; n[0].name != "main" || !strings.HasPrefix(n[1].name, "branch-") || n[2].name != "zoo" {
		t.Errorf("the names are %q, %q, %q", n[0].name, n[1].name, n[2].name)
	}
	if chain, err := tr.chain("f"); err != nil || !slices.Equal(chain, []string{rootCommit, "d", "f"}) {
		t.Error(chain, err)
	}
	if got := tr.time(version{2, 0}); !got.Equal(time.Unix(3, 0)) {
		t.Errorf("the head of zoo has the time %s", got)
	}
	if v, ok := tr.before(version{2, -1}); !ok || v != (version{1, 0}) {
		t.Error(v, ok)
	}
	if v, ok := tr.before(version{0, -1}); ok {
		t.Error(v)
	}
}

// TestMainBranch gives the branch with the first commit the name that a first branch has here.
func TestMainBranch(t *testing.T) {
	tr, err := plant(versionInfo{
		Commits:  map[string]*node{rootCommit: {Branch: "trunk", Time: at(1)}, "a": {Branch: "trunk", Parent: rootCommit}, "b": {Branch: "main", Parent: rootCommit}},
		Branches: map[string]string{"trunk": "a", "main": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := tr.branches; len(n) != 2 || n[0].commits[0] != rootCommit || n[0].name != format.Main || n[1].name == format.Main {
		t.Errorf("%+v", n)
	}
}

// TestDamagedTrees refuses commits that are in no order.
func TestDamagedTrees(t *testing.T) {
	for want, info := range map[string]versionInfo{
		"no branch has the first commit": {Commits: map[string]*node{rootCommit: {Branch: "main"}}},
		`"none", which is missing`:       {Commits: map[string]*node{rootCommit: {Branch: "main", Parent: "none"}}, Branches: map[string]string{"main": rootCommit}},
		`has the head "none"`:            {Commits: map[string]*node{rootCommit: {Branch: "main"}}, Branches: map[string]string{"main": "none"}},
		"has no commit":                  {Commits: map[string]*node{rootCommit: {Branch: "main"}}, Branches: map[string]string{"main": rootCommit, "other": rootCommit}},
		"is on two branches, or follows itself": {
			Commits: map[string]*node{"a": {Branch: "main", Parent: "b"}, "b": {Branch: "main", Parent: "a"}}, Branches: map[string]string{"main": "a"},
		},
		`"x" follows itself`: {
			Commits:  map[string]*node{rootCommit: {Branch: "main"}, "x": {Branch: "x", Parent: "y"}, "y": {Branch: "y", Parent: "x"}},
			Branches: map[string]string{"main": rootCommit, "x": "x", "y": "y"},
		},
		"which is on no branch": {
			Commits:  map[string]*node{rootCommit: {Branch: "main"}, "x": {Branch: "x", Parent: "y"}, "y": {Branch: "y", Parent: rootCommit}},
			Branches: map[string]string{"main": rootCommit, "x": "x"},
		},
		`"../x" is not the id`:   {Commits: map[string]*node{rootCommit: {Branch: "main"}, "../x": {Branch: "main"}}, Branches: map[string]string{"main": rootCommit}},
		`".." is not the id`:     {Commits: map[string]*node{rootCommit: {Branch: "main"}, "..": {Branch: "main"}}, Branches: map[string]string{"main": rootCommit}},
		`"a\\b" is not the id`:   {Commits: map[string]*node{rootCommit: {Branch: "main"}, `a\b`: {Branch: "main"}}, Branches: map[string]string{"main": rootCommit}},
		`"null" is not the id`:   {Commits: map[string]*node{rootCommit: {Branch: "main"}, "null": nil}, Branches: map[string]string{"main": rootCommit}},
		`"" is not the id of a`:  {Commits: map[string]*node{rootCommit: {Branch: "main"}, "": {Branch: "main"}}, Branches: map[string]string{"main": rootCommit}},
		`xxx..." is not the id`:  {Commits: map[string]*node{rootCommit: {Branch: "main"}, strings.Repeat("x", 201): {Branch: "main"}}, Branches: map[string]string{"main": rootCommit}},
		`"a:b" is not the id of`: {Commits: map[string]*node{rootCommit: {Branch: "main"}, "a:b": {Branch: "main"}}, Branches: map[string]string{"main": rootCommit}},
	} {
		tr, err := plant(info)
		if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", tr, err, want)
		}
	}
}

// TestLongChains puts very many commits in order: of one branch, and of as many branches that
// begin at the last of them.
func TestLongChains(t *testing.T) {
	const n = 30_000
	info := versionInfo{Commits: map[string]*node{rootCommit: {Branch: "main", Time: at(0)}}, Branches: map[string]string{}}
	last := rootCommit
	for i := range n {
		id := fmt.Sprintf("%040x", i+1)
		info.Commits[id] = &node{Branch: "main", Parent: last, Time: at(float64(i))}
		last = id
	}
	info.Branches["main"] = last
	for i := range n {
		id := fmt.Sprintf("%040x", n+i+1)
		info.Commits[id] = &node{Branch: id, Parent: last}
		info.Branches[id] = id
		if i%2 == 0 {
			last = id
			info.Commits[id].Time = at(n)
		}
	}
	tr, err := plant(info)
	if err != nil || len(tr.branches) != n+1 || len(tr.branches[0].commits) != n+1 {
		t.Fatal(err)
	}
	info.Commits[fmt.Sprintf("%040x", n+1)].Parent = last
	if _, err := plant(info); !errs.Is(err, errs.Corrupt) {
		t.Error(err)
	}
}

// TestLoadTree collects commits from the file that each has of itself, where there is no list.
func TestLoadTree(t *testing.T) {
	ctx := context.Background()
	file := func(n map[string]any) []byte {
		data, _ := json.Marshal(n)
		return data
	}
	tr, err := loadTree(ctx, disk{files{}}, versionInfo{})
	if err != nil || len(tr.nodes) != 1 || tr.nodes[rootCommit].Branch != format.Main || tr.branches[0].commits[0] != rootCommit {
		t.Error(tr, err)
	}
	f := files{
		"commit_info.json":            file(map[string]any{"branch": "main", "parent": nil, "children": []string{"a", "b", "b", "../c", "gone"}, "commit_time": 1}),
		"versions/a/commit_info.json": file(map[string]any{"branch": "main", "parent": rootCommit, "children": []string{}, "commit_time": nil}),
		"versions/b/commit_info.json": file(map[string]any{"branch": "side", "parent": rootCommit, "children": []string{"b", rootCommit}, "commit_time": nil}),
	}
	tr, err = loadTree(ctx, disk{f}, versionInfo{})
	if err != nil || len(tr.nodes) != 3 || len(tr.branches) != 2 || !slices.Equal(tr.branches[0].commits, []string{rootCommit, "a"}) {
		t.Errorf("%+v, %v", tr, err)
	}
	// Each level names a commit many times: it is read once.
	wide := make([]string, 1000)
	for i := range wide {
		wide[i] = "a"
	}
	f["commit_info.json"] = file(map[string]any{"branch": "main", "children": wide, "commit_time": 1})
	if tr, err := loadTree(ctx, disk{f}, versionInfo{}); err != nil || len(tr.nodes) != 2 {
		t.Error(tr, err)
	}
	f["versions/a/commit_info.json"] = []byte("{")
	if _, err := loadTree(ctx, disk{f}, versionInfo{}); !errs.Is(err, errs.Corrupt) {
		t.Error(err)
	}
}

// TestCommitIDs makes ids of commits: the first digits of their own, where these are digits.
func TestCommitIDs(t *testing.T) {
	if got := commitID("0eb09b586b1c3cdbcb283241f0878ad47e41d4b1").String(); got != "0eb09b586b1c3cdbcb283241f0878ad4" {
		t.Error(got)
	}
	seen := map[format.UUID]string{}
	for _, id := range []string{rootCommit, "", "mine", "0EB09B586B1C3CDBCB283241F0878AD47E41D4B1", strings.Repeat("0", 40), "0eb0", "x0eb09b586b1c3cdbcb283241f0878ad47e41d4b1"} {
		u := commitID(id)
		if u.IsZero() || seen[u] != "" {
			t.Errorf("%q has the id %s of %q", id, u, seen[u])
		}
		seen[u] = id + "."
	}
}

// TestHostileIDs reads datasets whose files lead out of their folders.
func TestHostileIDs(t *testing.T) {
	ctx := context.Background()
	tree := `{"commits":{"` + rootCommit + `":{"branch":"main","commit_time":1},"a":{"branch":"main","parent":"` + rootCommit + `"}},"branches":{"main":"a"}}`
	base := files{
		versionFile:                           []byte(tree),
		metaFile:                              []byte(`{"tensors":["x"]}`),
		"x/tensor_meta.json":                  []byte(`{"htype":"generic","dtype":"uint8","length":1,"max_shape":[1],"min_shape":[1]}`),
		"versions/a/" + metaFile:              []byte(`{"tensors":["x"]}`),
		"versions/a/x/chunk_set":              []byte("1"),
		"versions/a/x/chunks/1":               []byte(ver("3.9.52") + le(1, 2, 1, 0, 1, 1, 0, 0) + "v"),
		"x/chunks/1":                          []byte(ver("3.9.52") + le(1, 2, 1, 0, 1, 1, 0, 0) + "u"),
		"x/chunks_index/unsharded":            []byte(ver("3.9.52") + "\x08" + le64(1, 0)),
		"versions/a/x/commit_diff":            []byte("\x00\x00\x00" + be64(0, 0, 1, 0) + "\x00"),
		"versions/a/x/chunks_index/unsharded": []byte(ver("3.9.52") + "\x08" + le64(1, 0)),
	}
	base["versions/a/x/tensor_meta.json"] = base["x/tensor_meta.json"]
	read := func(change files) *content {
		f := files{}
		for key, data := range base {
			f[key] = data
		}
		for key, data := range change {
			f[key] = data
		}
		s, err := presented(ctx, disk{f})
		if err != nil {
			return &content{failed: []error{err}}
		}
		return readAll(ctx, s)
	}
	if got := read(nil); len(got.failed) > 0 || len(got.records) != 3 {
		t.Fatal(got.failed)
	}
	if got := read(files{"versions/a/x/chunk_set": []byte("1:" + rootCommit + ":x")}); len(got.failed) > 0 {
		t.Error(got.failed)
	}
	for name, change := range map[string]files{
		"a commit above":   {"versions/a/x/chunk_set": []byte("1:../../x")},
		"no commit":        {"versions/a/x/chunk_set": []byte("1:..")},
		"a tensor above":   {"versions/a/x/chunk_set": []byte("1:a:../../../x")},
		"a tensor, rooted": {"versions/a/x/chunk_set": []byte("1:a:/etc")},
		"a key above":      {"versions/a/" + metaFile: []byte(`{"tensors":["../x"]}`)},
		"a key, rooted":    {metaFile: []byte(`{"tensors":["/x"]}`)},
		"no key":           {metaFile: []byte(`{"tensors":[""]}`)},
		"a missing tensor": {metaFile: []byte(`{"tensors":["y"]}`)},
		"below no sample":  {"x/tensor_meta.json": []byte(`{"length":-1}`)},
		"very many":        {"x/tensor_meta.json": []byte(`{"length":1152921504606846976}`)},
		"many deleted": {
			"x/tensor_meta.json": []byte(`{"length":1099511627776}`), "versions/a/x/commit_diff": []byte("\x00\x00\x00" + be64(0, 0, 0) + "\x01"),
		},
	} {
		got := read(change)
		if len(got.failed) == 0 {
			t.Errorf("%s: no error", name)
		}
		for _, err := range got.failed {
			if kind := errs.KindOf(err); kind != errs.Corrupt && kind != errs.Invalid && kind != errs.Unsupported {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
