//go:build linux || darwin

package local

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"deeplake/core/storage"
)

var _ storage.Sweeper = (*Provider)(nil)

// modified is when the content of a file was last written.
func modified(st *unix.Stat_t) time.Time {
	sec, nsec := st.Mtim.Unix()
	return time.Unix(sec, nsec).UTC()
}

// Sweep removes temporary files of ended writers. A file that vanishes meanwhile is no error.
func (p *Provider) Sweep(ctx context.Context, before time.Time, dry bool) (n, bytes int64, err error) {
	const op = "sweep"
	if p.closed.Load() {
		return 0, 0, closedError(op, p.root)
	}
	err = filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err := canceled(ctx, op, p.root); err != nil {
			return err
		}
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return p.readError(op, path, err)
		}
		if !d.Type().IsRegular() || !strings.HasPrefix(d.Name(), tempPrefix) {
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.ModTime().Before(before) {
			return nil //nolint:nilerr // it was removed, or is in use
		}
		if !dry {
			if err := os.Remove(path); err != nil {
				if os.IsNotExist(err) {
					return nil
				}
				return p.writeError(op, path, err)
			}
		}
		n++
		bytes += info.Size()
		return nil
	})
	return n, bytes, err
}
