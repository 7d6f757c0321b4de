package tests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestC builds a C program against the library as users get it, and runs each case of the program.
// The library is the one named by DEEPLAKE_LIB, as `make test-go` does, or else built here.
func TestC(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the linker's list of exports is for GNU ld")
	}
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: " + err.Error())
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	library, program := os.Getenv("DEEPLAKE_LIB"), filepath.Join(dir, "abi")
	if library == "" {
		library = filepath.Join(dir, "libdeeplake.so")
		exports := "-Wl,--exclude-libs,ALL -Wl,--version-script=" + filepath.Join(root, "capi", "exports.map")
		build(t, root, "go", "build", "-buildmode=c-shared", "-ldflags", `-extldflags "`+exports+`"`, "-o", library, "./capi")
	}
	build(t, root, compiler, "-std=gnu11", "-Wall", "-Wextra", "-Icapi/include", "go/tests/testdata/abi.c", "-o", program,
		library, "-Wl,-rpath,"+filepath.Dir(library), "-lpthread")

	for _, c := range []struct{ name, arg string }{
		{"batches", ""}, {"loader", ""}, {"exports", ""}, {"stored", ""}, {"arguments", ""}, {"queries", ""}, {"versions", ""}, {"forked", ""}, {"threads", ""}, {"distributed", ""},
		{"panic", "call"}, {"panic", "task"},
	} {
		t.Run(c.name+c.arg, func(t *testing.T) {
			t.Parallel()
			if c.arg == "" {
				c.arg = filepath.Join(t.TempDir(), "dataset")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if out, err := exec.CommandContext(ctx, program, c.name, c.arg).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	t.Run("symbols", func(t *testing.T) { checkSymbols(t, library) })
}

func build(t *testing.T, dir string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// checkSymbols: the library shows the functions of the contract and nothing else.
func checkSymbols(t *testing.T, library string) {
	nm, err := exec.LookPath("nm")
	if err != nil {
		t.Skip(err)
	}
	out, err := exec.CommandContext(t.Context(), nm, "-D", "--defined-only", "--format=posix", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for line := range strings.Lines(string(out)) {
		if name, _, ok := strings.Cut(line, " "); ok {
			shown = append(shown, strings.TrimSpace(name))
		}
	}
	same(t, "libdeeplake.so", shown, "deeplake.h", names(declared, contractText(t)))
}
