//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
)

// readError classifies the system's error for a read of object.
func (p *Provider) readError(op, object string, err error) error {
	switch {
	case anyOf(err, unix.ENOENT, unix.ENOTDIR, unix.EISDIR):
		return errs.Wrap(errs.NotFound, op, object, fmt.Errorf("no such object below %q", p.root))
	case errors.Is(err, unix.ENAMETOOLONG):
		return errs.Wrap(errs.Invalid, op, object, fmt.Errorf("name too long for the file system of %q: %w", p.root, err))
	case anyOf(err, unix.EACCES, unix.EPERM):
		return errs.Wrap(errs.Storage, op, object, fmt.Errorf("not readable below %q: %w; check the permissions", p.root, err))
	case anyOf(err, unix.EMFILE, unix.ENFILE):
		return errs.Wrap(errs.Storage, op, object, fmt.Errorf("%w; raise the limit (ulimit -n)", err))
	}
	return errs.Wrap(errs.Storage, op, object, fmt.Errorf("below %q: %w", p.root, err))
}

// writeError classifies the system's error for a write of object.
func (p *Provider) writeError(op, object string, err error) error {
	switch {
	case anyOf(err, unix.EACCES, unix.EPERM, unix.EROFS):
		return errs.Wrap(errs.ReadOnly, op, object,
			fmt.Errorf("%q is read-only for this process: %w; change its permissions or write to another place", p.root, err))
	case anyOf(err, unix.ENOSPC, unix.EDQUOT, unix.EFBIG):
		return errs.Wrap(errs.Storage, op, object,
			fmt.Errorf("no space left below %q: %w; free some space or raise the quota", p.root, err))
	case errors.Is(err, unix.ENOENT):
		return errs.Wrap(errs.NotFound, op, object, fmt.Errorf("directory %q is gone", p.root))
	case errors.Is(err, unix.ENAMETOOLONG):
		return errs.Wrap(errs.Invalid, op, object, fmt.Errorf("name too long for the file system of %q: %w", p.root, err))
	case anyOf(err, unix.ENOTDIR, unix.EISDIR, unix.ENOTEMPTY):
		return errs.Wrap(errs.Invalid, op, object, fmt.Errorf("one key would be the directory of another below %q: %w", p.root, err))
	case anyOf(err, unix.EMFILE, unix.ENFILE):
		return errs.Wrap(errs.Storage, op, object, fmt.Errorf("%w; raise the limit (ulimit -n)", err))
	}
	return errs.Wrap(errs.Storage, op, object, fmt.Errorf("below %q: %w", p.root, err))
}

func anyOf(err error, targets ...unix.Errno) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func closedError(op, object string) error {
	return errs.Wrap(errs.Closed, op, object, errors.New("the storage was closed"))
}

func canceled(ctx context.Context, op, object string) error {
	if err := ctx.Err(); err != nil {
		return errs.Wrap(errs.Canceled, op, object, err)
	}
	return nil
}
