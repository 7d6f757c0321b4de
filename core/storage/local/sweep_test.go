//go:build linux || darwin

package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"deeplake/core/storage"
)

// TestSweep: temporary files older than the bound go, younger ones and objects stay; a dry run only
// counts.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	root := t.TempDir()
	p, err := Open(ctx, root, storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	if err := p.Put(ctx, "data/a/0", []byte("whole")); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	dated := func(name string, at time.Time) string {
		path := filepath.Join(root, name)
		if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := dated("data/a/"+tempPrefix+"old", now.Add(-2*time.Hour))
	young := dated("data/a/"+tempPrefix+"young", now)
	object := dated("data/a/1", now.Add(-2*time.Hour))
	for _, dry := range []bool{true, false} {
		n, bytes, err := p.(*Provider).Sweep(ctx, now.Add(-time.Hour), dry)
		if err != nil || n != 1 || bytes != 5 {
			t.Fatalf("dry %v: swept %d files of %d bytes, %v, want 1 of 5", dry, n, bytes, err)
		}
		if _, err := os.Stat(old); (err == nil) != dry {
			t.Fatalf("dry %v: the old file: %v", dry, err)
		}
	}
	for _, path := range []string{young, object} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	var seen []storage.Object
	if err := p.List(ctx, "data/", "", func(o storage.Object) bool {
		seen = append(seen, o)
		return true
	}); err != nil || len(seen) != 2 || !seen[1].Modified.Equal(now.Add(-2*time.Hour)) {
		t.Fatalf("listed %v, %v, want the date of data/a/1", seen, err)
	}
}
