package tests

import (
	"go/ast"
	"regexp"
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
