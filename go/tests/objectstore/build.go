package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// program is one server that is built from tools/objectstore.
type program struct {
	name   string // of the binary
	pkg    string // that is built
	module string // the folder with its go.mod, below the root
}

var (
	versitygw = program{"versitygw", "github.com/versity/versitygw/cmd/versitygw", "tools/objectstore"}
	fakeGCS   = program{"fake-gcs-server", "github.com/fsouza/fake-gcs-server", "tools/objectstore"}
	minio     = program{"minio", "github.com/minio/minio", "tools/objectstore/minio"}
)

// Build builds the servers of the tests (S3 and GCS) into build/servers, unless they are there.
// Processes that call it at once build once.
func Build(ctx context.Context) error {
	for _, p := range []program{versitygw, fakeGCS} {
		if _, err := p.binary(ctx); err != nil {
			return err
		}
	}
	return nil
}

// BuildMinIO builds the server that nothing starts unasked. It takes minutes, more than a test may
// on a busy machine.
func BuildMinIO(ctx context.Context) error {
	_, err := minio.binary(ctx)
	return err
}

// root is the folder of the project's go.mod, looked for upwards from the working directory.
func root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		text, readErr := os.ReadFile(filepath.Join(dir, "go.mod"))
		if readErr == nil && strings.HasPrefix(string(text), "module deeplake\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod of the project in the working directory or above; run inside the checkout")
		}
	}
	return "", err
}

// binary is the path of the built program.
func (p program) binary(ctx context.Context) (string, error) {
	top, err := root()
	if err != nil {
		return "", err
	}
	module := filepath.Join(top, filepath.FromSlash(p.module))
	pinned, err := pins(module)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(top, "build", "servers")
	out, stamp := filepath.Join(dir, p.name), filepath.Join(dir, p.name+".pins")
	if current(out, stamp, pinned) {
		return out, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if current(out, stamp, pinned) { // another process built it meanwhile
		return out, nil
	}
	if err := p.build(ctx, module, out); err != nil {
		return "", err
	}
	return out, os.WriteFile(stamp, []byte(pinned), 0o644)
}

func (p program) build(ctx context.Context, module, out string) error {
	fresh := out + ".new"
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", fresh, p.pkg)
	c.Dir = module
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	// A test that runs out of time must not leave a compiler behind; see launch.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.SysProcAttr = dieWithParent()
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", p.name, err, text)
	}
	return os.Rename(fresh, out)
}

// pins changes when the pinned versions do.
func pins(module string) (string, error) {
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func current(out, stamp, pinned string) bool {
	_, err := os.Stat(out)
	text, readErr := os.ReadFile(stamp)
	return err == nil && readErr == nil && string(text) == pinned
}

// lock waits for the lock of a file. It ends with the process, too.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %q: %w", name, err)
	}
	return func() { _ = f.Close() }, nil
}
