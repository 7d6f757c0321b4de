package tests

import (
	"go/ast"
	"slices"
	"testing"
)

// followers are the files that may open a place by its URI: each takes the URI from the user, or
// asks storage.LinkPolicy.
var followers = map[string][]string{
	"Sources": {"core/dataset/link.go", "core/ingest/annotated.go", "core/ingest/source.go", "core/ingest/table/source.go", "core/ingest/delegate.go"},
	"Stores": {
		"core/dataset/dataset.go", "core/dataset/describe.go", "core/dataset/saved.go", "core/dataset/versions.go", "core/dataset/write.go", "core/export/run.go", "core/ingest/apart.go",
		"core/scan/materialize.go",
	},
}

// TestPlacesAreOpenedByPolicy: text that is stored in a dataset is followed in the files that ask
// the policy, and nowhere else.
func TestPlacesAreOpenedByPolicy(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	found := 0
	for _, s := range p.product() {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			open, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || open.Sel.Name != "Open" {
				return true
			}
			of, ok := open.X.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			files, ok := followers[of.Sel.Name]
			if !ok {
				return true
			}
			found++
			if !slices.Contains(files, s.path) {
				t.Errorf("%s: %s.Open opens a place; ask storage.LinkPolicy, and name the file in go/tests/reach_test.go", p.at(s, call.Pos()), of.Sel.Name)
			}
			return true
		})
	}
	if found < 5 {
		t.Errorf("only %d places are opened; the test looks for another name", found)
	}
}
