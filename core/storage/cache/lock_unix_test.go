//go:build unix

package cache

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lockedFile tells the test binary that it is the child, and which file it locks.
const lockedFile = "DEEPLAKE_TEST_LOCKED_FILE"

func opener(path string) func() (*os.File, error) {
	return func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
}

// TestLockChild is the life of the child: it holds bytes 10 to 19 until it is killed.
func TestLockChild(t *testing.T) {
	path := os.Getenv(lockedFile)
	if path == "" {
		t.Skip("is run by TestLocksOfProcesses")
	}
	other, err := newLocker(opener(path)).try(10, 10)
	if err != nil || other != (holder{}) {
		t.Fatal(other, err)
	}
	os.Stdout.WriteString("held\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestLocksOfProcesses: locks keep processes apart, not goroutines, and end with a killed process.
func TestLocksOfProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claims")
	child := exec.Command(os.Args[0], "-test.run=^TestLockChild$", "-test.v")
	child.Env = append(os.Environ(), lockedFile+"="+path)
	if _, err := child.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "held" {
	}
	locks, held := newLocker(opener(path)), holder{pid: child.Process.Pid, from: 10, n: 10}
	for _, c := range []struct {
		at, n int64
		want  holder
	}{{5, 5, holder{}}, {5, 5, holder{}}, {5, 6, held}, {19, 1, held}, {0, 1 << 22, held}, {20, 5, holder{}}} {
		if got, err := locks.try(c.at, c.n); err != nil || got != c.want {
			t.Errorf("bytes %d to %d: held by %v, %v; want %v", c.at, c.at+c.n-1, got, err, c.want)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if got, err := locks.try(10, 10); err != nil || got != (holder{}) {
		t.Errorf("after the death of the holder: held by %v, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("the file has bytes, or is not there: %v", err)
	}
}

// TestLocksWithoutFile: a file that cannot be opened is an error, each time.
func TestLocksWithoutFile(t *testing.T) {
	t.Parallel()
	locks := newLocker(opener(t.TempDir())) // a folder
	for range 2 {
		if _, err := locks.try(0, 1); err == nil {
			t.Error("a folder was locked")
		}
	}
}
