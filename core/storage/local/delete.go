//go:build linux || darwin

package local

import (
	"context"
	"slices"

	"golang.org/x/sys/unix"
)

// Delete removes the files, then the directories that became empty, but never the root. It goes on
// after a failure and returns the first. Removals become durable when the system likes.
func (p *Provider) Delete(ctx context.Context, keys ...string) error {
	const op = "delete"
	if p.closed.Load() {
		return closedError(op, p.root)
	}
	var first error
	emptied := make(map[string]bool)
	for _, key := range keys {
		err := p.admit(ctx, op, key)
		if err == nil {
			err = p.unlink(op, key)
		}
		if err != nil {
			if first == nil {
				first = err
			}
			if ctx.Err() != nil {
				break
			}
			continue
		}
		p.files.drop(key)
		emptied[parentOf(key)] = true
	}
	p.prune(emptied)
	return first
}

// unlink removes one file. A directory is no object, hence missing.
func (p *Provider) unlink(op, key string) error {
	err := ignoringEINTR(func() error { return unix.Unlink(p.path(key)) })
	if err == nil || anyOf(err, unix.ENOENT, unix.ENOTDIR, unix.EISDIR) {
		return nil
	}
	if st, statErr := p.stat(p.path(key)); statErr == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return nil // macOS says EPERM for a directory
	}
	return p.writeError(op, key, err)
}

// prune removes those of the directories that are empty, and their parents that become so. It
// forgets them first: a writer that comes in between finds the directory missing and makes it
// again.
func (p *Provider) prune(candidates map[string]bool) {
	todo := make([]string, 0, len(candidates))
	for dir := range candidates {
		todo = append(todo, dir)
	}
	slices.Sort(todo)
	for _, dir := range slices.Backward(todo) { // children before parents
		for ; dir != ""; dir = parentOf(dir) {
			if unix.Rmdir(p.path(dir)) != nil {
				break
			}
			p.dirs.forget(dir)
		}
	}
}
