package tests

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestReaderIsSmall holds that the reader of exported pages links nothing that makes connections: a
// megabyte that a browser has already.
func TestReaderIsSmall(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./core/viz/wasm")
	list.Dir = "../.."
	list.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, "deeplake/core/storage/fetchstore") {
		t.Fatalf("the reader has %d packages, without its store", len(packages))
	}
	for _, name := range packages {
		if slices.Contains(noNet, name) || strings.HasPrefix(name, "deeplake/core/storage/s3") || strings.HasPrefix(name, "deeplake/core/storage/gcs") {
			t.Errorf("the reader imports %s", name)
		}
	}
}
