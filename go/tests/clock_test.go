package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestSleeps refuses waits of a fixed time, in tests too. Such a test is slow on a fast machine and
// fails on a slow one.
func TestSleeps(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	for _, s := range p.files {
		if s.dir == "go/tests/clock" {
			continue
		}
		for _, f := range sleeps(s.file) {
			t.Errorf("%s: %s; use clock.Pass in a bubble, else clock.Await", p.at(s, f.pos), f.text)
		}
	}
}

// sleeps returns the uses of time.Sleep, and the receives from a timer that wait for nothing else.
func sleeps(file *ast.File) []fault {
	var out []fault
	cases := map[ast.Node]bool{} // the statements of the cases of select
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			if len(n.Body.List) < 2 {
				break
			}
			for _, c := range n.Body.List {
				if e, ok := c.(*ast.CommClause).Comm.(*ast.ExprStmt); ok {
					cases[e.X] = true
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Sleep" {
				out = append(out, fault{n.Pos(), "time.Sleep"})
			}
		case *ast.UnaryExpr:
			call, ok := n.X.(*ast.CallExpr)
			if ok && n.Op == token.ARROW && callee(call) == "time.After" && !cases[n] {
				out = append(out, fault{n.Pos(), "a bare receive from time.After"})
			}
		}
		return true
	})
	return out
}

// TestSleepRule tries the rule itself.
func TestSleepRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		want int
	}{
		{"time.Sleep(1)", 1},
		{"wait := time.Sleep; wait(1)", 1},
		{"<-time.After(1)", 1},
		{"_ = <-time.After(1)", 1},
		{"select { case <-time.After(1): }", 1},
		{"select { case <-time.After(1): case <-done: }", 0},
		{"select { case <-done: <-time.After(1); default: }", 1},
		{"<-done", 0},
		{"clock.Pass(1)", 0},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() { "+c.code+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := sleeps(file); len(got) != c.want {
			t.Errorf("%s: %v, want %d", c.code, got, c.want)
		}
	}
}
