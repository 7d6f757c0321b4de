package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// webRoot has the sources of the visualizer's page.
const webRoot = "web/src"

// maxWebFiles bounds the files of a folder of the page, besides tests.
const maxWebFiles = 25

// webPackages are the packages of npm that sources of the page may import; tests may import others.
var webPackages = []string{"preact", "preact/hooks"}

// TestWebImports holds the direction of imports in the page: each folder imports folders that stand
// above it in the table of ARCHITECTURE.md, and no file reaches itself.
func TestWebImports(t *testing.T) {
	t.Parallel()
	for _, fault := range webFaults(webSources(t), webOrder(t)) {
		t.Error(fault)
	}
}

// TestWebRules tries the rules of TestWebImports on pages that break them.
func TestWebRules(t *testing.T) {
	t.Parallel()
	order := []string{"data", "draw", "ui/model", "ui", "."}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // part of the only fault; "": no fault
	}{
		{"downwards", map[string]string{"ui/app.tsx": `import { a } from "../data/a";`, "data/a.ts": ""}, ""},
		{"beside", map[string]string{"ui/app.tsx": `import { a } from "./a";`, "ui/a.ts": ""}, ""},
		{"a circle", map[string]string{"ui/a.ts": `import { b } from "./b";`, "ui/b.ts": `import { a } from "./a";`}, "ui/a.ts -> ui/b.ts -> ui/a.ts"},
		{"a circle of types", map[string]string{"ui/a.ts": "import type {\n  B,\n} from \"./b\";", "ui/b.ts": `import { a } from "./a";`}, "-> ui/a.ts"},
		{"a circle of exports", map[string]string{"ui/a.ts": `export * from "./b";`, "ui/b.ts": `import { a } from "./a";`}, "-> ui/a.ts"},
		{"a circle of late imports", map[string]string{"ui/a.ts": `const b = await import("./b");`, "ui/b.ts": `import "./a";`}, "-> ui/a.ts"},
		{"a circle of three", map[string]string{
			"ui/a.ts": `import { b } from "./b";`, "ui/b.tsx": `import { c } from './c';`, "ui/c.ts": `import { a } from "./a";`,
		}, "ui/a.ts -> ui/b.tsx -> ui/c.ts -> ui/a.ts"},
		{"upwards", map[string]string{"data/a.ts": `import type { B } from "../draw/b";`, "draw/b.ts": ""}, "data/a.ts imports draw/b.ts"},
		{"upwards in a test", map[string]string{"draw/a.test.ts": `import { b } from "../ui/b";`, "ui/b.ts": ""}, "draw/a.test.ts imports ui/b.ts"},
		{"upwards within ui", map[string]string{"ui/model/a.ts": `import { b } from "../b";`, "ui/b.ts": ""}, "ui/model/a.ts imports ui/b.ts"},
		{"no such file", map[string]string{"ui/a.ts": `import { b } from "./b";`}, `no file "./b"`},
		{"a worker", map[string]string{"data/a.ts": `import address from "./b?worker&url";`, "data/b.ts": ""}, ""},
		{"no row in the table", map[string]string{"ui/new/a.ts": ""}, `no row for "ui/new"`},
		{"a package", map[string]string{"ui/a.ts": `import { render } from "preact";`}, ""},
		{"another package", map[string]string{"ui/a.ts": `import { chunk } from "lodash";`}, `imports the package "lodash"`},
		{"a package of tests", map[string]string{"ui/a.test.ts": `import { test } from "vitest";`}, ""},
		{"a test", map[string]string{"ui/a.ts": `import { b } from "./b.test";`, "ui/b.test.ts": ""}, "imports the test"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faults := webFaults(c.files, order)
			if c.want == "" && len(faults) == 0 || len(faults) == 1 && c.want != "" && strings.Contains(faults[0], c.want) {
				return
			}
			t.Errorf("faults = %q, want one with %q", faults, c.want)
		})
	}
}

// TestWebTable holds the table of ARCHITECTURE.md against the folders of the page.
func TestWebTable(t *testing.T) {
	t.Parallel()
	folders := map[string]int{}
	for name := range webSources(t) {
		if !isWebTest(name) {
			folders[path.Dir(name)]++
		}
	}
	for _, folder := range webOrder(t) {
		if folders[folder] == 0 {
			t.Errorf("ARCHITECTURE.md has a row for %s/%s, and there is no such folder", webRoot, folder)
		}
	}
	for folder, n := range folders {
		if n > maxWebFiles {
			t.Errorf("%s/%s has %d files besides tests, want at most %d: cut out a folder", webRoot, folder, n, maxWebFiles)
		}
	}
}

// TestWebMethods bounds the public methods of a class of the page.
func TestWebMethods(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, text := range webSources(t) {
		for class, methods := range webMethods(text) {
			seen++
			if methods > maxMethods {
				t.Errorf("%s/%s: %s has %d public methods, want at most %d; split it", webRoot, name, class, methods, maxMethods)
			}
		}
	}
	if seen < 10 {
		t.Errorf("found %d classes: the pattern for classes does not fit the sources", seen)
	}
	code := "export class A extends B {\n  constructor() {\n    if (a) {}\n  }\n  get b(): C {\n  }\n  async d<T>(\n    e: T) {\n  }\n  private f(): void {\n  }\n}\n"
	if got := webMethods(code)["A"]; got != 2 {
		t.Errorf("methods = %d, want 2 (b, d)", got)
	}
}

// TestWebWords keeps retired words out of the names and comments of the page.
func TestWebWords(t *testing.T) {
	t.Parallel()
	for name, text := range webSources(t) {
		n := 0
		for line := range strings.Lines(text) {
			n++
			// Names of WebGL are not ours.
			for _, id := range webNames.FindAllString(webGL.ReplaceAllString(line, ""), -1) {
				for _, word := range camelWords(id) {
					if better, bad := retired[word]; bad {
						t.Errorf("%s/%s:%d: %s: write %q in place of %q", webRoot, name, n, id, better, word)
					}
				}
			}
		}
	}
}

// TestWebPackages holds the packages of npm to exact versions with their hashes, and to npm ci
// without scripts of packages.
func TestWebPackages(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	var wanted struct{ Dependencies, DevDependencies map[string]string }
	var lock struct {
		Packages map[string]struct {
			Integrity string
		}
	}
	for name, into := range map[string]any{"web/package.json": &wanted, "web/package-lock.json": &lock} {
		text, _ := p.read(t, name)
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, list := range []map[string]string{wanted.Dependencies, wanted.DevDependencies} {
		for name, version := range list {
			if !webVersion.MatchString(version) {
				t.Errorf("web/package.json: %s has the version %q, want an exact one", name, version)
			}
		}
	}
	for name, entry := range lock.Packages {
		if name != "" && entry.Integrity == "" {
			t.Errorf("web/package-lock.json: %s has no hash", name)
		}
	}
	if settings, _ := p.read(t, "web/.npmrc"); !strings.Contains(settings, "ignore-scripts=true\n") {
		t.Error("web/.npmrc lacks ignore-scripts=true")
	}
	if tool, _ := p.read(t, "tools/web.py"); !strings.Contains(tool, `"ci", "--ignore-scripts"`) {
		t.Error("tools/web.py does not run npm ci --ignore-scripts")
	}
	for _, name := range []string{"Makefile", ".github/workflows/ci.yml", ".github/workflows/weekly.yml", ".github/workflows/wheels.yml"} {
		text, _ := p.read(t, name)
		for line := range strings.Lines(text) {
			if webInstall.MatchString(line) && !strings.Contains(line, "npm ci --ignore-scripts") {
				t.Errorf("%s: %s: want npm ci --ignore-scripts", name, strings.TrimSpace(line))
			}
		}
	}
}

var (
	webVersion = regexp.MustCompile(`^(?:npm:[\w@/-]+@)?\d+\.\d+\.\d+$`)
	webInstall = regexp.MustCompile(`\bnpm (?:ci|i|install|add)\b|\bnpx\b`)

	webStatement = regexp.MustCompile(`(?m)^(?:import|export)\s[^;"']*?\bfrom\s+["']([^"']+)["']|^import\s+["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']`)
	webClass     = regexp.MustCompile(`(?ms)^(?:export )?(?:abstract )?class (\w+).*?^}`)
	webMethod    = regexp.MustCompile(`(?m)^  (?:(?:async|static|override|get|set) )*\*?(\w+)(?:<[^>\n]*>)?\(`)
	webNames     = regexp.MustCompile(`[A-Za-z]\w*`)
	webGL        = regexp.MustCompile(`\bgl\.\w+`)
)

// webSources returns the TypeScript of the page by its path below webRoot.
func webSources(t *testing.T) map[string]string {
	t.Helper()
	p := theProject(t)
	files := map[string]string{}
	err := p.walk([]string{webRoot}, func(name string) error {
		if ext := path.Ext(name); ext == ".ts" || ext == ".tsx" {
			files[strings.TrimPrefix(name, webRoot+"/")], _ = p.read(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no TypeScript file found below %s", webRoot)
	}
	return files
}

// webOrder returns the folders below webRoot in the order of the table of ARCHITECTURE.md; "." is
// webRoot.
func webOrder(t *testing.T) []string {
	t.Helper()
	text, _ := theProject(t).read(t, "ARCHITECTURE.md")
	_, table, found := strings.Cut(text, "| folder of the page | owns |\n|---|---|\n")
	if !found {
		t.Fatal("ARCHITECTURE.md has no table of the folders of the page")
	}
	var order []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		folder := strings.TrimPrefix(strings.Trim(cells[1], " `"), webRoot)
		order = append(order, path.Clean("."+folder))
	}
	return order
}

func isWebTest(name string) bool {
	return strings.Contains(name, ".test.") || strings.Contains(name, ".contract.")
}

// webFaults returns the breaches of the rules for imports, in files by their path below webRoot.
func webFaults(files map[string]string, order []string) []string {
	var faults []string
	imports := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		rank := slices.Index(order, path.Dir(name))
		if rank < 0 {
			faults = append(faults, fmt.Sprintf("the table of ARCHITECTURE.md has no row for %q", path.Dir(name)))
			continue
		}
		for _, spec := range webImports(files[name]) {
			if !strings.HasPrefix(spec, ".") {
				if !isWebTest(name) && !slices.Contains(webPackages, spec) {
					faults = append(faults, fmt.Sprintf("%s imports the package %q, want one of %v", name, spec, webPackages))
				}
				continue
			}
			to, found := webResolve(files, name, spec)
			switch {
			case path.Ext(to) == ".css":
				continue
			case !found:
				faults = append(faults, fmt.Sprintf("%s: there is no file %q", name, spec))
				continue
			case isWebTest(to):
				faults = append(faults, fmt.Sprintf("%s imports the test %s", name, to))
			case slices.Index(order, path.Dir(to)) > rank:
				faults = append(faults, fmt.Sprintf("%s imports %s: the table of ARCHITECTURE.md has %q below %q",
					name, to, path.Dir(to), path.Dir(name)))
			}
			imports[name] = append(imports[name], to)
		}
	}
	for _, circle := range circles(imports) {
		faults = append(faults, "import circle: "+strings.Join(circle, " -> "))
	}
	return faults
}

// webImports returns the modules that a file imports, those of types included.
func webImports(text string) []string {
	var specs []string
	for _, m := range webStatement.FindAllStringSubmatch(text, -1) {
		specs = append(specs, m[1]+m[2]+m[3])
	}
	return specs
}

// webResolve returns the file that a relative import of `from` names.
func webResolve(files map[string]string, from, spec string) (string, bool) {
	spec, _, _ = strings.Cut(spec, "?")
	base := path.Join(path.Dir(from), spec)
	for _, name := range []string{base + ".ts", base + ".tsx", base + "/index.ts", base} {
		if _, found := files[name]; found {
			return name, true
		}
	}
	return base, false
}

// circles returns a circle for each import that closes one, its first file at both ends.
func circles(imports map[string][]string) [][]string {
	var found [][]string
	done := map[string]bool{}
	var way []string
	var visit func(name string)
	visit = func(name string) {
		if at := slices.Index(way, name); at >= 0 {
			found = append(found, append(slices.Clone(way[at:]), name))
			return
		}
		if done[name] {
			return
		}
		way = append(way, name)
		for _, to := range imports[name] {
			visit(to)
		}
		way = way[:len(way)-1]
		done[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		visit(name)
	}
	return found
}

// webMethods counts the methods of the classes in a file, without constructors and private ones. It
// relies on the indentation of the sources.
func webMethods(text string) map[string]int {
	counts := map[string]int{}
	for _, class := range webClass.FindAllStringSubmatch(text, -1) {
		counts[class[1]] = 0
		for _, method := range webMethod.FindAllStringSubmatch(class[0], -1) {
			if method[1] != "constructor" {
				counts[class[1]]++
			}
		}
	}
	return counts
}
