// Package mediatest has what tests of videos share: the FFmpeg of the environment, the files that
// FFmpeg has described, and a container for the packets of a test. Programs must not import it.
package mediatest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// FFmpeg returns the library that load finds: that of the machine, or that of PyAV in the
// environment of the tests. A test without one is skipped, but it fails where one was promised: by
// PyAV, by DEEPLAKE_FFMPEG, or by `make test-go`, which sets DEEPLAKE_LIB.
func FFmpeg[L any](t testing.TB, load func(folders []string) (L, error)) L {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(root(t), ".venv/lib/python3*/site-packages/av.libs"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := load(folders)
	if err == nil {
		return l
	}
	if runtime.GOOS == "linux" && (len(folders) > 0 || os.Getenv("DEEPLAKE_FFMPEG") != "" || os.Getenv("DEEPLAKE_LIB") != "") {
		t.Fatal(err)
	}
	t.Skipf("no FFmpeg: %v", err)
	return l
}

// Fixture returns a file of the tests of core/media/mp4.
func Fixture(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(root(t), "core/media/mp4/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// root returns the folder of the project. Tests run in that of their package.
func root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		above := filepath.Dir(folder)
		if above == folder {
			t.Fatal("no folder above the tests has go.mod")
		}
		folder = above
	}
}
