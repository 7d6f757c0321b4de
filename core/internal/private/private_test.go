//go:build unix

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"deeplake/core/errs"
)

// stranger is another account than those of the tests.
const stranger = 54321

// within fails a test whose call waits, as the open of a FIFO does.
func within(t *testing.T, call func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the call waits")
		return nil
	}
}

func fifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func give(t *testing.T, path string, account int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root alone gives files to other accounts")
	}
	if err := os.Lchown(path, account, account); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestModes tells for each mode whether a folder and a file of this account are accepted.
func TestModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode         fs.FileMode
		folder, file bool
	}{
		{0o700, true, true},
		{0o755, true, true},
		{0o1777, true, false},
		{0o1770, true, false},
		{0o777, false, false},
		{0o757, false, false},
		{0o702, false, false},
	} {
		name := fmt.Sprintf("%04o", c.mode)
		dir := t.TempDir()
		chmod(t, dir, c.mode&0o777|fs.ModeSticky*(c.mode>>9&1))
		if _, err := Open(dir); c.folder != (err == nil) || err != nil && !errs.Is(err, errs.Invalid) {
			t.Errorf("folder of mode %s: got %v", name, err)
		}
		if err := Check(dir); c.folder != (err == nil) {
			t.Errorf("folder of mode %s is checked: got %v", name, err)
		}
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		chmod(t, file, c.mode&0o777)
		if got, err := ReadFile(file, 4); c.file != (err == nil && string(got) == "text") || err != nil && !errs.Is(err, errs.Invalid) {
			t.Errorf("file of mode %s: got %q, %v", name, got, err)
		}
	}
}

// TestGroups: the group of the user's own number may write, any other not.
func TestGroups(t *testing.T) {
	t.Parallel()
	me := os.Geteuid()
	for _, group := range []int{me, me + 1} {
		good := group == me && me != 0
		info := fakeInfo{mode: fs.ModeDir | 0o775, stat: syscall.Stat_t{Uid: uint32(me), Gid: uint32(group)}}
		if err := check("folder", info); good != (err == nil) {
			t.Errorf("group %d of account %d: got %v", group, me, err)
		}
	}
}

type fakeInfo struct {
	fs.FileInfo
	mode fs.FileMode
	stat syscall.Stat_t
}

func (f fakeInfo) Mode() fs.FileMode { return f.mode }
func (f fakeInfo) IsDir() bool       { return f.mode.IsDir() }
func (f fakeInfo) Sys() any          { return &f.stat }

// TestStrangers: what another account owns is refused, whatever its mode.
func TestStrangers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	give(t, dir, stranger)
	if _, err := Open(dir); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "belongs to account 54321") {
		t.Errorf("folder: got %v", err)
	}
	tmp := t.TempDir()
	chmod(t, tmp, 0o777|fs.ModeSticky)
	d, err := Open(tmp)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(tmp, "theirs"), 0o777), os.WriteFile(filepath.Join(tmp, "theirs", "mine"), nil, 0o600), os.WriteFile(filepath.Join(tmp, "file"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	give(t, filepath.Join(tmp, "theirs"), stranger)
	give(t, filepath.Join(tmp, "file"), stranger)
	if err := d.Folder("theirs"); !errs.Is(err, errs.Invalid) {
		t.Errorf("a folder in /tmp: got %v", err)
	}
	if _, err := d.File("theirs/mine", os.O_RDWR); !errs.Is(err, errs.Invalid) {
		t.Errorf("a file in a folder in /tmp: got %v", err)
	}
	if _, err := d.File("file", os.O_RDWR); !errs.Is(err, errs.Invalid) {
		t.Errorf("a file in /tmp: got %v", err)
	}
	if _, err := d.Files("theirs"); !errs.Is(err, errs.Invalid) {
		t.Errorf("the files of a folder in /tmp: got %v", err)
	}
	if err := d.Remove("theirs/mine"); !errs.Is(err, errs.Invalid) {
		t.Errorf("removal from a folder in /tmp: got %v", err)
	}
}

// TestNothingOutside: neither links nor names with dots lead out of the folder.
func TestNothingOutside(t *testing.T) {
	t.Parallel()
	out, dir := t.TempDir(), t.TempDir()
	victim := filepath.Join(out, "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("data"), 0o600), os.Symlink(out, filepath.Join(dir, "link")), os.Symlink(victim, filepath.Join(dir, "file")), os.Symlink(filepath.Join(out, "new"), filepath.Join(dir, "new"))); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link/victim", "file", "new", "../x", "link/new"} {
		if f, err := d.File(name, os.O_RDWR|os.O_CREATE); err == nil {
			t.Errorf("%q was opened: %s", name, f.Name())
		}
	}
	if err := d.Remove("link/victim"); err == nil {
		t.Error("a file outside was removed")
	}
	if err := d.Folder("link"); err == nil {
		t.Error("a link counts as a folder")
	}
	if files, err := d.Files("link"); err == nil {
		t.Errorf("%v are outside", files)
	}
	d.Touch("file", time.Unix(0, 0))
	entries, err := os.ReadDir(out)
	if info, failed := os.Stat(victim); err != nil || failed != nil || len(entries) != 1 || info.ModTime().Unix() == 0 || info.Size() != 4 {
		t.Errorf("the folder outside has changed: %v, %v, %v", entries, err, failed)
	}
}

// TestFIFOs: none is waited for.
func TestFIFOs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo(t, filepath.Join(dir, "file"))
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"file, read":  func() error { _, err := d.File("file", os.O_RDONLY); return err },
		"file, write": func() error { _, err := d.File("file", os.O_RDWR); return err },
		"folder":      func() error { return d.Folder("file") },
		"below":       func() error { _, err := d.File("file/x", os.O_RDONLY); return err },
		"files":       func() error { _, err := d.Files("file"); return err },
		"read":        func() error { _, err := ReadFile(filepath.Join(dir, "file"), 10); return err },
	} {
		if err := within(t, call); err == nil {
			t.Errorf("%s: a FIFO was accepted", name)
		}
	}
	if files, err := d.Files("."); err != nil || len(files) != 0 {
		t.Errorf("got the files %v, %v, want none", files, err)
	}
}

// TestFolderThatGoesAway is made again.
func TestFolderThatGoesAway(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	if err := d.Folder("x"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "x")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v", info, err)
	}
	if names, err := d.Folders(); err != nil || len(names) != 1 || names[0] != "x" {
		t.Errorf("got %v, %v", names, err)
	}
}

// TestReadFile has a bound.
func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(path, 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := ReadFile(path, 4); !errs.Is(err, errs.Invalid) {
		t.Errorf("a file that is too long: got %v", err)
	}
	if _, err := ReadFile(path+"x", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if err := Check(path + "x"); err != nil {
		t.Errorf("no folder: got %v", err)
	}
}
