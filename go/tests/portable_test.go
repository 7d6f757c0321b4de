package tests

import (
	"os"
	"os/exec"
	"testing"
)

// TestPortable compiles and vets what has to build everywhere without a C compiler: the core, for systems that this
// one is not. It does not run anything.
func TestPortable(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the standard library for other systems")
	}
	t.Parallel()
	for _, target := range []struct{ os, arch string }{{"linux", "arm64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		t.Run(target.os+" "+target.arch, func(t *testing.T) {
			vet := exec.CommandContext(t.Context(), "go", "vet", "./core/...")
			vet.Dir = theProject(t).root
			vet.Env = append(os.Environ(), "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOOS="+target.os, "GOARCH="+target.arch)
			if out, err := vet.CombinedOutput(); err != nil {
				t.Errorf("go vet for %s: %v\n%s", target.os, err, out)
			}
		})
	}
}
