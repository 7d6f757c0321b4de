package tests

import (
	"bytes"
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

// noReader are functions that a reader has no use for: the beginnings of their names.
var noReader = []string{
	"deeplake/core/chunk.(*Builder).Seal", "deeplake/core/codec/png.(*encoder).encode", "deeplake/core/dataset.newWriter",
	"deeplake/core/version.(*Txn).Commit", "github.com/BurntSushi/toml.", "github.com/klauspost/compress/zlib.",
	"github.com/klauspost/compress/zstd.(*Encoder).", "github.com/pierrec/lz4/v4.(*Compressor).", "image/jpeg.Encode",
}

// TestReaderLinksNoWriter holds that the linker leaves out of the reader what only writes. A method
// that an interface has, or a type in a table of the reflection, keeps more than it seems.
func TestReaderLinksNoWriter(t *testing.T) {
	t.Parallel()
	// The flags of the compiler are those of tools/web.py, which has compiled the packages then.
	flags := []string{"-gcflags=all=-l", "-gcflags=github.com/klauspost/compress/...=", "-gcflags=golang.org/x/image/...="}
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -dumpdep", "-o", t.TempDir() + "/reader"}, flags...)
	build := exec.CommandContext(t.Context(), "go", append(args, "./core/viz/wasm")...)
	build.Dir = "../.."
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	found := map[string]bool{}
	for line := range bytes.Lines(out) {
		from, to, ok := strings.Cut(strings.TrimSpace(string(line)), " -> ")
		// The linker keeps equal tables of stack objects once, under the name of any function.
		if !ok || strings.HasSuffix(to, ".stkobj") {
			continue
		}
		for _, name := range noReader {
			if strings.HasPrefix(to, name) && !found[name] {
				found[name] = true
				t.Errorf("the reader links %s, because of %s", to, from)
			}
		}
	}
	if !bytes.Contains(out, []byte("-> deeplake/core/viz.(*Service).samples")) {
		t.Errorf("the linker has listed no calls of the reader in %d bytes", len(out))
	}
}
