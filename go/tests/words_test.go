package tests

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// retired maps words of an earlier private vocabulary to the field's word. Identifiers and comments
// must not use them. The glossary of ARCHITECTURE.md lists the words that remain.
var retired = map[string]string{
	"hoard":    "prefetcher",
	"shelf":    "buffer pool",
	"errand":   "one-shot prefetch",
	"bequeath": "carry-over",
	"blend":    "mix policy",
	"lots":     "gather plan, runs",
	"taker":    "pixel sink",
	"parcel":   "batch export",
	"inquiry":  "query request",
	"viewing":  "view handle",
	"distant":  "remote",
	"unnamed":  "tmpfile",
	"stretch":  "run, window",
	"lend":     "borrow",
	"lender":   "borrower",
	"lends":    "borrows",
	"lent":     "borrowed",
	"errands":  "one-shot prefetches",
	"hoards":   "prefetchers",
	"parcels":  "batch exports",
	"rooms":    "packages",
	"tickets":  "seats",
}

// TestRetiredWords keeps the private vocabulary out of Go identifiers and of all comments.
func TestRetiredWords(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	for _, s := range p.files {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, word := range camelWords(id.Name) {
					if better, bad := retired[word]; bad {
						t.Errorf("%s: %s: write %q in place of %q", p.at(s, id.Pos()), id.Name, better, word)
					}
				}
			}
			return true
		})
	}
	err := p.walk([]string{"core", "capi", "cuda", "go", "python", "web"}, func(name string) error {
		if !isSource(name) && !strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "words_test.go") || strings.Contains(name, "third_party") {
			return nil
		}
		text, _ := p.read(t, name)
		n := 0
		for line := range strings.Lines(text) {
			n++
			comment := commentOf(name, line)
			for _, word := range letters.FindAllString(strings.ToLower(comment), -1) {
				if better, bad := retired[word]; bad {
					t.Errorf("%s:%d: write %q in place of %q", name, n, better, word)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	letters = regexp.MustCompile(`[a-z]+`)
	slashes = regexp.MustCompile(`(?:^|\s)(?://|/\*|\*)(.*)`)
	hashes  = regexp.MustCompile(`(?:^|\s)#(.*)`)
)

// commentOf returns the comment of a line, without telling comments from strings that look like
// one.
func commentOf(name, line string) string {
	pattern := slashes
	if strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pyi") {
		pattern = hashes
	}
	if found := pattern.FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return ""
}

// camelWords splits an identifier into lower-case words.
func camelWords(name string) []string {
	var out []string
	start := 0
	runes := []rune(name)
	for i, r := range runes {
		if r == '_' || unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(runes[i-1]) {
			out = append(out, strings.ToLower(strings.Trim(string(runes[start:i]), "_")))
			start = i
		}
	}
	return append(out, strings.ToLower(strings.Trim(string(runes[start:]), "_")))
}

// TestDocComments holds that the comment before a declaration begins with its name. A renaming that
// forgets the comment fails here.
func TestDocComments(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	checked := 0
	for _, s := range p.files {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			doc, names := documented(d)
			if doc.Text() == "" || slices.Contains(names, "_") { // none, or directives alone
				continue
			}
			checked++
			if first := firstWord(doc.Text()); !slices.Contains(names, first) {
				t.Errorf("%s: the comment begins with %q, want %q", p.at(s, d.Pos()), first, names[0])
			}
		}
	}
	if checked < 3000 {
		t.Errorf("%d comments were found, want thousands", checked)
	}
}

// documented returns the comment and the names of a function, or of the one line of a declaration.
func documented(d ast.Decl) (*ast.CommentGroup, []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc, []string{d.Name.Name}
	case *ast.GenDecl:
		if d.Lparen.IsValid() || len(d.Specs) != 1 {
			return nil, nil
		}
		switch spec := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return d.Doc, []string{spec.Name.Name}
		case *ast.ValueSpec:
			var names []string
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
			return d.Doc, names
		}
	}
	return nil, nil
}

// firstWord returns the first word of a comment, without punctuation.
func firstWord(text string) string {
	for word := range strings.FieldsSeq(text) {
		return strings.TrimSuffix(strings.Trim(word, ".,:;()"), "'s")
	}
	return ""
}

// TestArchitectureNamesFiles holds that the files that ARCHITECTURE.md names exist.
func TestArchitectureNamesFiles(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	page, found := p.read(t, "ARCHITECTURE.md")
	if !found {
		t.Fatal("there is no ARCHITECTURE.md")
	}
	var files []string
	if err := p.walk([]string{"core", "capi", "cuda", "go", "python", "web", "benchmarks", "tools", "docs", "requirements"}, func(name string) error {
		files = append(files, "/"+filepath.ToSlash(name))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([^`\\s*{]+\\.(?:go|py|c|h|cpp|cu|ts|sh))`").FindAllStringSubmatch(page, -1)
	if len(named) < 20 {
		t.Fatalf("ARCHITECTURE.md names %d files, want more", len(named))
	}
	for _, m := range named {
		if m[1] != "setup.py" && !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+m[1]) }) {
			t.Errorf("ARCHITECTURE.md names %q, which does not exist", m[1])
		}
	}
}
