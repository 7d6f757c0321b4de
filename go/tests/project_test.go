// Package tests is the black-box side of the Go tests: what holds for the project as a whole, seen
// from outside. It reads sources and runs exported API; it never reaches into a package.
package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "deeplake"

// source is one parsed Go file. All files are there, whatever their build tags say: `go list` would
// hide those of other systems.
type source struct {
	path string // slash-separated, from the root of the project
	dir  string // path without the file: the package's import path below the module
	test bool
	file *ast.File
}

// project is every Go file of the product, parsed once for all tests.
type project struct {
	root  string
	fset  *token.FileSet
	files []source
}

var load = sync.OnceValues(func() (*project, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return nil, err
	}
	p := &project{root: root, fset: token.NewFileSet()}
	for _, top := range []string{"core", "capi", "cuda", "go"} {
		if err := p.parse(top); err != nil {
			return nil, err
		}
	}
	return p, nil
})

func theProject(t *testing.T) *project {
	t.Helper()
	p, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.files) == 0 {
		t.Fatalf("no Go file found below %s", p.root)
	}
	return p
}

// product gives the files that ship: neither tests nor the packages of this folder.
func (p *project) product() []source {
	var out []source
	for _, s := range p.files {
		if !s.test && !strings.HasPrefix(s.dir, "go/") {
			out = append(out, s)
		}
	}
	return out
}

// at is "path:line" of a node, for a message one can click.
func (p *project) at(s source, pos token.Pos) string {
	return s.path + ":" + strconv.Itoa(p.fset.Position(pos).Line)
}

func (p *project) parse(top string) error {
	return p.walk([]string{top}, func(name string) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parser.ParseFile(p.fset, filepath.Join(p.root, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		test := strings.HasSuffix(name, "_test.go")
		p.files = append(p.files, source{path: name, dir: path.Dir(name), test: test, file: file})
		return nil
	})
}

// skipped are folders without sources of ours.
var skipped = []string{"testdata", "third_party", "node_modules", "dist"}

// walk calls fn with every file below the folders, by its slash-separated path from the root;
// missing folders have none.
func (p *project) walk(folders []string, fn func(name string) error) error {
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(p.root, folder), func(full string, d fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err):
				return nil
			case err != nil:
				return err
			case d.IsDir() && (slices.Contains(skipped, d.Name()) || strings.HasPrefix(d.Name(), ".")):
				return filepath.SkipDir
			case d.IsDir():
				return nil
			}
			rel, err := filepath.Rel(p.root, full)
			if err != nil {
				return err
			}
			return fn(filepath.ToSlash(rel))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// read gives a file of the project, and false where it does not exist yet.
func (p *project) read(t *testing.T, name string) (string, bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.root, name))
	if os.IsNotExist(err) {
		return "", false
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data), true
}
