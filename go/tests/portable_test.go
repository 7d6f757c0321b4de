package tests

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPortable sees to it that the core builds without a C compiler on systems that this one is
// not. It runs nothing.
//
// The packages below the network are compiled. Those that reach it stand on two SDKs, minutes of
// compiling for each system: of them it holds that every package they need has files there, and
// that their own files are those that are compiled here, so that nothing of theirs can fail there
// alone.
func TestPortable(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library for other systems")
	}
	t.Parallel()
	here := coreFiles(t)
	for _, target := range []struct {
		os, arch string
		compile  bool // linux on arm64 is compiled for, and run, by the continuous integration
	}{{"linux", "arm64", false}, {"darwin", "arm64", true}, {"windows", "amd64", true}} {
		t.Run(target.os+" "+target.arch, func(t *testing.T) {
			env := []string{"GOOS=" + target.os, "GOARCH=" + target.arch}
			build := []string{"build", "-gcflags=all=-N -l"} // a third faster
			for name, there := range coreFiles(t, env...) {
				if !there.network {
					build = append(build, name)
				} else if got, want := there.files, here[name].files; got != want {
					t.Errorf("%s reaches the network and has files [%s] there, want those it has here [%s]", name, got, want)
				}
			}
			if len(build) < 10 || len(build) > len(here)-2 {
				t.Fatalf("of %d packages %d are below the network", len(here), len(build)-2)
			}
			slices.Sort(build[2:])
			if target.compile {
				goCommand(t, env, build...)
			}
		})
	}
}

// corePackage lists the files and imports of one package on some system.
type corePackage struct {
	files   string
	network bool // it needs net/http
}

// coreFiles lists the core for a system without C; it fails where a package that is needed has no
// files there.
func coreFiles(t *testing.T, env ...string) map[string]corePackage {
	t.Helper()
	goCommand(t, env, "list", "-deps", "./core/...")
	packages := map[string]corePackage{}
	for line := range strings.Lines(goCommand(t, env, "list", "-f", "{{.ImportPath}}\t{{.GoFiles}}\t{{.Deps}}", "./core/...")) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			t.Fatalf("go list gave %q", line)
		}
		network := slices.Contains(strings.Fields(strings.Trim(fields[2], "[]")), "net/http")
		packages[fields[0]] = corePackage{files: strings.Trim(fields[1], "[]"), network: network}
	}
	return packages
}

// goCommand runs go in the root of the project, without cgo, and returns its output.
func goCommand(t *testing.T, env []string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = theProject(t).root
	c.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOTOOLCHAIN=local"), env...)
	var complaints strings.Builder
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go %s for %v: %v\n%s", args[0], env, err, complaints.String())
	}
	return string(out)
}
