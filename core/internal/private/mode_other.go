//go:build !unix

package private

import "io/fs"

const (
	nonblock  = 0
	directory = 0
	writable  = 0
)

// owned accepts everything: files have no owners here that Go knows.
func owned(string, fs.FileInfo) error { return nil }

// check accepts everything.
func check(string, fs.FileInfo) error { return nil }
