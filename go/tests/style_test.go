package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bounds of ARCHITECTURE.md.
const (
	maxLines   = 600
	aimLines   = 300
	maxMethods = 25
)

// TestFileSizes bounds the files that people have to read.
func TestFileSizes(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	seen := 0
	err := p.walk([]string{"core", "capi", "cuda", "python", "benchmarks", "tools", "web", "setup.py"}, func(name string) error {
		if !isSource(name) {
			return nil
		}
		seen++
		text, _ := p.read(t, name)
		switch lines := strings.Count(text, "\n"); {
		case lines > maxLines:
			t.Errorf("%s has %d lines, want at most %d; split it by what it owns", name, lines, maxLines)
		case lines > aimLines:
			t.Logf("%s has %d lines, over the %d to aim at", name, lines, aimLines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Fatal("no source file found")
	}
}

// TestPackageSizes bounds the files of a package, so that their list reads like a table of
// contents.
func TestPackageSizes(t *testing.T) {
	t.Parallel()
	const most = 25
	files := map[string]int{}
	for _, s := range theProject(t).product() {
		files[s.dir]++
	}
	for dir, n := range files {
		if n > most {
			t.Errorf("%s has %d files besides tests, want at most %d: cut out a sub-package", dir, n, most)
		}
	}
}

// TestSizesAtLarge bounds the typical file and function of the library: a median that grows shows
// what single limits do not.
func TestSizesAtLarge(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	var files, functions []int
	for _, s := range p.product() {
		files = append(files, lineCount(p, s.file))
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				functions = append(functions, lineCount(p, f.Body)-1)
			}
		}
	}
	for _, c := range []struct {
		name    string
		sizes   []int
		percent int
		most    int
	}{
		{"files", files, 50, 170},
		{"functions", functions, 50, 12},
		{"functions", functions, 99, 70},
	} {
		slices.Sort(c.sizes)
		got := c.sizes[len(c.sizes)*c.percent/100]
		t.Logf("%d %s: %d %% have at most %d lines", len(c.sizes), c.name, c.percent, got)
		if got > c.most {
			t.Errorf("%d %% of all %s have at most %d lines, want %d", c.percent, c.name, got, c.most)
		}
	}
}

// lineCount is the number of lines of a piece of source.
func lineCount(p *project, n ast.Node) int {
	return p.fset.Position(n.End()).Line - p.fset.Position(n.Pos()).Line + 1
}

// maxComment bounds the columns of a line that has a comment; tabs count four.
const maxComment = 100

// TestCommentWidth bounds lines with comments. Preformatted tables and directives may be wider.
func TestCommentWidth(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	for _, s := range p.files {
		text, _ := p.read(t, s.path)
		lines := strings.Split(text, "\n")
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				first := p.fset.Position(c.Pos()).Line
				for i := range strings.Count(c.Text, "\n") + 1 {
					line := lines[first+i-1]
					if strings.Contains(line, "//\t") || strings.Contains(line, "//nolint") || strings.Contains(line, "//go:") {
						continue
					}
					if n := columns(line); n > maxComment {
						t.Errorf("%s:%d: a comment ends at column %d, want at most %d", s.path, first+i, n, maxComment)
					}
				}
			}
		}
	}
	err := p.walk([]string{"core", "capi", "cuda", "python", "benchmarks", "tools", "web"}, func(name string) error {
		if strings.HasSuffix(name, ".go") || !isSource(name) || strings.Contains(name, "third_party") {
			return nil
		}
		text, _ := p.read(t, name)
		n := 0
		for line := range strings.Lines(text) {
			n++
			begins := strings.TrimSpace(line)
			alone := slices.ContainsFunc([]string{"//", "/*", "* ", "# "}, func(mark string) bool { return strings.HasPrefix(begins, mark) })
			if !alone && (!strings.HasPrefix(name, "web/") || !behindCode.MatchString(line)) {
				continue
			}
			if wide := columns(strings.TrimRight(line, "\n")); wide > maxComment {
				t.Errorf("%s:%d: a comment ends at column %d, want at most %d", name, n, wide, maxComment)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// behindCode matches a comment after code in TypeScript.
var behindCode = regexp.MustCompile(`[;,(){}\]]\s+//\s`)

func columns(line string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
}

func isSource(name string) bool {
	base := path.Base(name)
	if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "test_") || isWebTest(base) || strings.Contains(name, "/tests/") {
		return false
	}
	return slices.Contains([]string{".go", ".py", ".pyi", ".c", ".h", ".cpp", ".hpp", ".ts", ".tsx", ".mjs"}, path.Ext(base))
}

// forbiddenCalls end the host process, or start a goroutine that no code waits for.
var forbiddenCalls = map[string]string{
	"panic":             "outside core/internal/invariant; return an error",
	"os.Exit":           "ends the host process",
	"log.Fatal":         "ends the host process",
	"log.Fatalf":        "ends the host process",
	"log.Fatalln":       "ends the host process",
	"log.Panic":         "panics",
	"log.Panicf":        "panics",
	"log.Panicln":       "panics",
	"time.AfterFunc":    "starts a goroutine; use internal/task",
	"context.AfterFunc": "starts a goroutine; use internal/task",
}

// excepted lists the calls that one file may make all the same, by path and name.
var excepted = map[string]string{
	"capi/beat.go time.AfterFunc":            "keeps a timer pending as long as the process lives; it cannot fail",
	"core/slab/spare.go time.AfterFunc":      "frees idle memory after some seconds; it cannot fail",
	"core/loader/epoch.go context.AfterFunc": "wakes those who wait for each other when the group ends; it cannot fail",
}

// fault is one breach of a rule: where, and what.
type fault struct {
	pos  token.Pos
	text string
}

// TestStatements: goroutines only in internal/task, so that each has an owner and a panic in it
// becomes an error; no init, so that an import does nothing; no panic, since the process
// belongs to the host.
func TestStatements(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	for _, s := range p.product() {
		for _, f := range statementFaults(s) {
			t.Errorf("%s: %s", p.at(s, f.pos), f.text)
		}
	}
}

func statementFaults(s source) []fault {
	var out []fault
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if s.dir != "core/internal/task" {
				out = append(out, fault{n.Pos(), "go statement outside core/internal/task; use task.Group"})
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				out = append(out, fault{n.Pos(), "func init; do it where it is asked for"})
			}
		case *ast.CallExpr:
			name := callee(n)
			why := forbiddenCalls[name]
			if why != "" && excepted[s.path+" "+name] == "" && (name != "panic" || s.dir != "core/internal/invariant") {
				out = append(out, fault{n.Pos(), name + " " + why})
			}
		}
		return true
	})
	return out
}

// callee is "name" or "package.name" of a plain call, else "".
func callee(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		if fun.Obj == nil {
			return fun.Name
		}
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && x.Obj == nil {
			return x.Name + "." + fun.Sel.Name
		}
	}
	return ""
}

// globals lists the packages that may keep state in package-level variables, with the reason.
var globals = map[string]string{
	"capi": "C callers hold ids, so the handle table has no object to hang on",
}

// TestNoMutableGlobals: state lives in values with an owner. A package-level variable is a
// table: it is neither assigned, nor counted, nor has its address taken after its declaration, and
// it is not a lock, a pool, a channel or an atomic, which exist only to be changed. sync.OnceValue
// and its kin are tables that are built late.
func TestNoMutableGlobals(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	packages := map[string][]source{}
	for _, s := range p.product() {
		if globals[s.dir] == "" {
			packages[s.dir] = append(packages[s.dir], s)
		}
	}
	for _, files := range packages {
		for _, s := range files {
			for _, f := range globalFaults(s, files) {
				t.Errorf("%s: %s", p.at(s, f.pos), f.text)
			}
		}
	}
}

// globalFaults are those of one file; siblings are all files of its package.
func globalFaults(s source, siblings []source) []fault {
	var out []fault
	for _, spec := range packageVars(s.file) {
		if kind := changeable(spec); kind != "" {
			out = append(out, fault{spec.Pos(), "package-level " + kind + " is mutable state; give it an owner"})
		}
	}
	var names []string
	for _, sibling := range siblings {
		for _, spec := range packageVars(sibling.file) {
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		}
	}
	for _, w := range writes(s.file) {
		if w.Name != "_" && slices.Contains(names, w.Name) && isPackageLevel(s.file, w) {
			out = append(out, fault{w.Pos(), "package-level variable " + w.Name + " is changed after its declaration"})
		}
	}
	return out
}

func packageVars(file *ast.File) []*ast.ValueSpec {
	var out []*ast.ValueSpec
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					out = append(out, v)
				}
			}
		}
	}
	return out
}

// changeable names the type of a variable that exists only to be changed, else "".
func changeable(spec *ast.ValueSpec) string {
	types := []ast.Expr{spec.Type}
	for _, v := range spec.Values {
		if u, ok := v.(*ast.UnaryExpr); ok {
			v = u.X
		}
		if c, ok := v.(*ast.CompositeLit); ok {
			types = append(types, c.Type)
		}
		if c, ok := v.(*ast.CallExpr); ok && callee(c) == "make" {
			return "map, slice or channel made empty"
		}
	}
	for _, e := range types {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			continue
		}
		name := x.Name + "." + sel.Sel.Name
		late := strings.HasPrefix(name, "sync.Once")
		if !late && (x.Name == "sync" || x.Name == "atomic") {
			return name
		}
	}
	return ""
}

// writes are the identifiers at the root of the places that the functions of a file assign to,
// count, clear or take the address of.
func writes(file *ast.File) []*ast.Ident {
	var out []*ast.Ident
	add := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.Ident:
				out = append(out, x)
				return
			case *ast.SelectorExpr:
				e = x.X
			case *ast.IndexExpr:
				e = x.X
			case *ast.StarExpr:
				e = x.X
			case *ast.ParenExpr:
				e = x.X
			default:
				return
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					add(e)
				}
			}
		case *ast.IncDecStmt:
			add(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				add(n.Key)
			}
		case *ast.UnaryExpr:
			// The address of an element is how one reads a row of a table; that of the variable is
			// how one shares it.
			if _, element := n.X.(*ast.IndexExpr); n.Op == token.AND && !element {
				add(n.X)
			}
		case *ast.CallExpr:
			if name := callee(n); (name == "delete" || name == "clear") && len(n.Args) > 0 {
				add(n.Args[0])
			}
		}
		return true
	})
	return out
}

// isPackageLevel: an identifier that the parser could not resolve inside the file belongs to
// another file of the package; one that it could is package-level if its declaration is.
func isPackageLevel(file *ast.File, id *ast.Ident) bool {
	if id.Obj == nil {
		return true
	}
	spec, ok := id.Obj.Decl.(*ast.ValueSpec)
	return ok && slices.Contains(packageVars(file), spec)
}

// TestRules tries the rules above on code that breaks them, and on code that does not.
func TestRules(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, dir, code string
		want            int // faults
	}{
		{"go statement", "core/x", "func f() { go f() }", 1},
		{"go statement in task", "core/internal/task", "func f() { go f() }", 0},
		{"init", "core/x", "func init() {}", 1},
		{"method init", "core/x", "type a int\nfunc (a) init() {}", 0},
		{"panic", "core/x", "func f() { panic(1) }", 1},
		{"panic in invariant", "core/internal/invariant", "func f() { panic(1) }", 0},
		{"exit", "core/x", "import \"os\"\nfunc f() { os.Exit(1) }", 1},
		{"local called os", "core/x", "type a struct{}\nfunc (a) Exit(int) {}\nfunc f(os a) { os.Exit(1) }", 0},
		{"table", "core/x", "var v = []int{1}\nfunc f() int { return v[0] }", 0},
		{"assigned", "core/x", "var v int\nfunc f() { v = 1 }", 1},
		{"assigned inside", "core/x", "var v []struct{ a int }\nfunc f() { v[0].a = 1 }", 1},
		{"counted", "core/x", "var v int\nfunc f() { v++ }", 1},
		{"address taken", "core/x", "var v int\nfunc f() *int { return &v }", 1},
		{"row read", "core/x", "var v = []int{1}\nfunc f() *int { return &v[0] }", 0},
		{"entry deleted", "core/x", "var v = map[int]int{1: 1}\nfunc f() { delete(v, 1) }", 1},
		{"shadowed", "core/x", "var v int\nfunc f() { v := 1; v = 2; _ = v }", 0},
		{"lock", "core/x", "import \"sync\"\nvar v sync.Mutex", 1},
		{"atomic", "core/x", "import \"sync/atomic\"\nvar v = &atomic.Int64{}", 1},
		{"channel", "core/x", "var v = make(chan int)", 1},
		{"built late", "core/x", "import \"sync\"\nvar v = sync.OnceValue(func() int { return 1 })", 0},
		{"interface kept", "core/x", "type i interface{}\nvar _ i = (*int)(nil)", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+c.code, 0)
			if err != nil {
				t.Fatal(err)
			}
			s := source{path: c.dir + "/x.go", dir: c.dir, file: file}
			if faults := append(statementFaults(s), globalFaults(s, []source{s})...); len(faults) != c.want {
				t.Errorf("faults = %v, want %d", faults, c.want)
			}
		})
	}
}

// TestMethodCounts: a type with many exported methods is several types.
func TestMethodCounts(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	counts := map[string]int{}
	for _, s := range p.product() {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.IsExported() {
				counts[s.dir+"."+receiver(f.Recv.List[0].Type)]++
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if i, ok := spec.Type.(*ast.InterfaceType); ok {
					counts[s.dir+"."+spec.Name.Name] += i.Methods.NumFields()
				}
			}
			return true
		})
	}
	for name, n := range counts {
		if n > maxMethods {
			t.Errorf("%s has %d exported methods, want at most %d; split it", name, n, maxMethods)
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}
