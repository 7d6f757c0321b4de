package samplecache

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// found is a file of the directory.
type found struct {
	path  string
	bytes int64
	used  time.Time
}

// reserve makes space for a new file of size bytes, and reports whether there is enough. The caller
// holds the lock of a file, but not that of d.
func (d *Disk) reserve(size int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size > d.limit {
		return false
	}
	if !d.counted || d.added > d.limit/recount || d.total+size > d.limit {
		d.makeSpace(size)
	}
	if d.total+size > d.limit {
		return false
	}
	d.total += size
	d.added += size
	return true
}

// makeSpace counts the files and removes those used longest ago until size bytes fit, but none that
// this process uses. The lock is held.
func (d *Disk) makeSpace(size int64) {
	files := d.list()
	d.counted, d.total, d.added = true, 0, 0
	for _, f := range files {
		d.total += f.bytes
	}
	if d.total+size <= d.limit {
		return
	}
	ours := make(map[string]bool, len(d.files))
	for _, f := range d.files {
		ours[f.path] = true
	}
	slices.SortFunc(files, func(a, b found) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, f := range files {
		if d.total+size <= d.limit {
			return
		}
		if !ours[f.path] && d.own.Remove(f.path) == nil {
			d.total -= f.bytes
		}
	}
}

// list finds the files of all runs, and removes unfinished files of killed processes.
func (d *Disk) list() (files []found) {
	folders, err := d.own.Folders()
	if err != nil {
		return nil // the next write fails, and says why
	}
	for _, folder := range folders {
		entries, err := d.own.Files(folder)
		if err != nil {
			continue // not a folder of ours
		}
		for _, info := range entries {
			path := folder + "/" + info.Name()
			switch {
			case strings.HasSuffix(info.Name(), suffix):
				files = append(files, found{path, info.Size(), info.ModTime()})
			case strings.HasPrefix(info.Name(), newPrefix) && time.Since(info.ModTime()) > newAge:
				_ = d.own.Remove(path) // the next one tries again
			}
		}
	}
	return files
}
