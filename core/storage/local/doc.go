// Package local owns the provider of a directory of the local file system: atomicity, durability,
// and the descriptors that keep reads cheap. It never looks into the bytes, retries nothing, and
// caches no content.
//
// An object is a file of the key's path below the root. A file is written under a temporary name
// (".tmp-...", never listed), synchronised, and only then given its name, so that a name always
// stands for whole content. Names become durable when their directory is synchronised: PutIfAbsent
// does that for every directory written since the last time, before it gives its own object a name.
// A power failure therefore leaves at most some temporary or unreferenced files, never a commit
// that points at missing data.
//
// Linux and macOS only; elsewhere Open says so.
package local

import "fmt"

// MaxWholeBytes bounds what Put takes and Get returns. It protects a reader from a file that claims
// an absurd length; larger objects are written with Create and read with ReadAt.
const MaxWholeBytes = 1 << 30

// tempPrefix begins the name of every file that has not got its own name yet.
const tempPrefix = ".tmp-"

// uriOf is the address of the directory at an absolute path.
func uriOf(root string) string { return fmt.Sprintf("file://%s", root) }
