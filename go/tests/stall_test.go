package tests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// entering is the place in Go's runtime where a goroutine no longer notices that the world is to
// stop, and does not yet count as being in C.
const entering = "\t// As soon as we switch to _Gsyscall, we are in danger of losing our P.\n"

// TestStall holds that Go does not stand still for a minute when it misses a thread that goes to C,
// as the comment of capi/beat.go has it. Threads of C stay longer at that place of the runtime than
// they really do, so that it misses one soon.
func TestStall(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the program waits at barriers, which not all systems have")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: " + err.Error())
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	found, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	scheduler := filepath.Join(strings.TrimSpace(string(found)), "src", "runtime", "proc.go")
	text, err := os.ReadFile(scheduler)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), entering) != 1 {
		t.Skipf("%s has no line %q; find out whether %s misses threads, and else drop beat and this test", scheduler, strings.TrimSpace(entering), runtime.Version())
	}
	dir := t.TempDir()
	slower, overlay, program := filepath.Join(dir, "proc.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "stall")
	slow := strings.Replace(string(text), entering, "\tif gp.m.isextra {\n\t\tusleep(300)\n\t}\n"+entering, 1)
	files, err := json.Marshal(map[string]map[string]string{"Replace": {
		scheduler: slower,
		filepath.Join(root, "go", "tests", "testdata", "stall", "beat.go"): filepath.Join(root, "capi", "beat.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{slower: []byte(slow), overlay: files} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build(t, root, "go", "build", "-overlay", overlay, "-o", program, "./go/tests/testdata/stall")

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program).CombinedOutput()
	if err != nil {
		t.Fatalf("Go stands still: %v\n%s", err, out)
	}
	if len(out) == 0 {
		t.Skip("Go missed no thread")
	}
	t.Logf("Go stood still for %s", out)
}
