//go:build unix

package names

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"deeplake/core/errs"
)

// TestConfigurationOfOthers: what other accounts can change names no dataset.
func TestConfigurationOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(config, data string) error
		want   string
	}{
		"file that others can write": {func(config, _ string) error { return os.Chmod(config, 0o666) }, "other accounts can write it (mode 0666)"},
		"FIFO": {func(config, _ string) error {
			if err := os.Remove(config); err != nil {
				return err
			}
			return syscall.Mkfifo(config, 0o600)
		}, "got a FIFO, want a regular file"},
		"long file": {func(config, _ string) error { return os.Truncate(config, maxConfiguration+1) }, "more than 1048576 bytes"},
		"folder of names that others can write": {func(_, data string) error {
			if err := os.MkdirAll(data, 0o700); err != nil {
				return err
			}
			return os.Chmod(data, 0o777)
		}, "other accounts can write it (mode 0777)"},
	} {
		home, e := configured(t, "")
		if err := c.change(home+"/.config/deeplake/config.toml", home+"/.local/share/deeplake"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := Resolve("deeplake://acme/x", e)
			done <- err
		}()
		select {
		case err := <-done:
			if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the call waits", name)
		}
	}
}
