package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"deeplake/core/errs"
)

var (
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	declared = regexp.MustCompile(`(?m)^DL_API\s[^;]*?\b(dl_\w+)\s*\(`)
	exported = regexp.MustCompile(`(?m)^//export (\w+)$`)
	listed   = regexp.MustCompile(`\bX\((\w+)\)`)
	mapped   = regexp.MustCompile(`(\bdl_[\w*]+);`)
	statuses = regexp.MustCompile(`(?s)enum (?:dl_status )?\{\s*(DL_OK = 0,.*?)\}`)
	status   = regexp.MustCompile(`\b(DL_\w+) = (\d+)`)
	pyClass  = regexp.MustCompile(`(?ms)^class (\w+)\(Error, (\w+)\):.*?^    status = (\d+)$`)
)

// need returns a file of the project without C comments. A missing file fails the test.
func need(t *testing.T, name string) string {
	t.Helper()
	text, ok := theProject(t).read(t, name)
	if !ok {
		t.Fatalf("%s does not exist", name)
	}
	if strings.HasSuffix(name, ".h") || strings.HasSuffix(name, ".map") {
		text = comment.ReplaceAllString(text, "")
	}
	return text
}

// headers are the files of the C contract. Programs include the first one.
func headers() []string {
	return []string{"capi/include/deeplake.h", "capi/include/deeplake_types.h", "capi/include/deeplake_load.h"}
}

// contractText returns the C contract without comments.
func contractText(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, name := range headers() {
		text.WriteString(need(t, name))
	}
	return text.String()
}

// names gives the sorted first groups of every match.
func names(re *regexp.Regexp, text string) []string {
	var out []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return out
}

// same reports what one list has and the other lacks.
func same(t *testing.T, gotName string, got []string, wantName string, want []string) {
	t.Helper()
	if len(got) == 0 || len(want) == 0 {
		t.Errorf("%s has %d names and %s has %d; want some", gotName, len(got), wantName, len(want))
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("%s is in %s but not in %s", g, gotName, wantName)
		}
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%s is in %s but not in %s", w, wantName, gotName)
		}
	}
}

// inC are the functions that C implements without a Go half.
var inC = []string{
	"dl_abi_version", "dl_version", "dl_memory_references", "dl_memory_retain", "dl_memory_release", "dl_memory_tensor",
	"dl_memory_info", "dl_batch_export_free",
}

// inGo lists the Go functions that C code of the library calls by itself.
var inGo = []string{"dli_batch_released"}

// TestExports: the contract, its list of functions and the Go halves name the same functions.
func TestExports(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	header := contractText(t)
	contract := names(declared, header)
	var found, halves, goNames []string
	for _, name := range names(listed, header) {
		found = append(found, "dl_"+name)
	}
	same(t, "DL_FUNCTIONS", found, "deeplake.h", contract)
	if shown := names(mapped, need(t, "capi/exports.map")); !slices.Equal(shown, []string{"dl_*"}) {
		t.Errorf("capi/exports.map shows %q, want dl_* alone", shown)
	}
	for _, name := range contract {
		if !slices.Contains(inC, name) {
			halves = append(halves, strings.Replace(name, "dl_", "dlgo_", 1))
		}
	}
	for _, s := range p.files {
		if s.dir == "capi" && !s.test {
			text, _ := p.read(t, s.path)
			goNames = append(goNames, names(exported, text)...)
		}
	}
	same(t, "//export lines of capi", goNames, "deeplake.h", append(halves, inGo...))
}

// TestPrefixes: dl_ and DL_ are the contract's. C code below it, and helpers beside it, have dli_
// and DLI_, so that no internal name looks public.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	p := theProject(t)
	public := regexp.MustCompile(`\b(dl_[a-z0-9_]+|DL_[A-Z0-9_]+)\b`)
	contract := map[string]bool{"DL_VERSION": true} // of the build, compared by TestVersion
	text := contractText(t)
	for _, name := range public.FindAllString(text, -1) {
		contract[name] = true
	}
	if name := regexp.MustCompile(`(?i)\bdli_\w+`).FindString(text); name != "" {
		t.Errorf("capi/include/deeplake.h: %s has the prefix of internal names", name)
	}
	err := p.walk([]string{"core", "capi"}, func(name string) error {
		if !slices.Contains([]string{".c", ".h", ".go"}, path.Ext(name)) || strings.HasPrefix(name, "core/errs/") || slices.Contains(headers(), name) {
			return nil
		}
		text, _ := p.read(t, name)
		for _, word := range public.FindAllString(comment.ReplaceAllString(text, ""), -1) {
			if strings.HasPrefix(name, "core/") || !contract[word] {
				t.Errorf("%s: %s is not in deeplake.h; internal names begin with dli_ or DLI_", name, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLibrarySymbols looks at the library that was built, named by DEEPLAKE_LIB as `make test-go`
// does.
func TestLibrarySymbols(t *testing.T) {
	t.Parallel()
	library := os.Getenv("DEEPLAKE_LIB")
	if library == "" {
		t.Skip("DEEPLAKE_LIB does not name a built library")
	}
	contract := names(declared, contractText(t))
	same(t, library, symbols(t, "--defined-only", library), "deeplake.h", contract)
	for _, name := range symbols(t, "--undefined-only", library) {
		if strings.HasPrefix(name, "dl_") || strings.HasPrefix(name, "dlgo_") {
			t.Errorf("%s is called in %s and defined nowhere", name, library)
		}
	}
}

// symbols lists the dynamic symbols of a library.
func symbols(t *testing.T, which, library string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "nm", "-D", which, library).Output()
	if err != nil {
		t.Fatalf("nm -D %s %s: %v", which, library, err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		found = append(found, fields[len(fields)-1])
	}
	return found
}

// TestErrorTable: errs.Table is the truth, and C and Python say the same.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	t.Run("C", func(t *testing.T) {
		t.Parallel()
		block := statuses.FindStringSubmatch(contractText(t))
		if block == nil {
			t.Fatal("capi/include/deeplake.h has no enum that begins with DL_OK = 0")
		}
		var got []string
		for _, m := range status.FindAllStringSubmatch(block[1], -1) {
			got = append(got, m[1]+" = "+m[2])
		}
		want := []string{"DL_OK = 0"}
		for _, c := range errs.Table() {
			want = append(want, fmt.Sprintf("%s = %d", c.C, c.Kind))
		}
		same(t, "deeplake.h", got, "errs.Table", want)
	})
	t.Run("Python", func(t *testing.T) {
		t.Parallel()
		var got, want []string
		for _, m := range pyClass.FindAllStringSubmatch(need(t, "python/deeplake/_errors.py"), -1) {
			got = append(got, strings.Join(m[1:], " "))
		}
		for _, c := range errs.Table() {
			want = append(want, c.Python+" "+c.Base+" "+strconv.Itoa(int(c.Kind)))
		}
		same(t, "_errors.py", got, "errs.Table", want)
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		for i, c := range errs.Table() {
			if int(c.Kind) != i+1 {
				t.Errorf("row %d is %s with kind %d; the table is in order of kind, without holes", i, c.Name, c.Kind)
			}
		}
	})
}

// TestVersion: the version that C reports is the package's.
func TestVersion(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile(`(?m)^(?:__version__ =|#define DL_VERSION) "([^"]+)"$`)
	same(t, "capi/go.h", names(quoted, need(t, "capi/go.h")), "_version.py", names(quoted, need(t, "python/deeplake/_version.py")))
}
