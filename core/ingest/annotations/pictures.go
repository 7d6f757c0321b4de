package annotations

import (
	"strings"
	"sync/atomic"
)

// pictureNames finds the pictures that a file with annotations names.
type pictureNames struct {
	names []string
	exact map[string]int32
	// the ends of names, for pictures that lie in fewer folders than their names say; -1: it ends
	// several names
	ends map[string]int32
	seen []atomic.Bool
}

// has reports whether a picture of that name was added.
func (n *pictureNames) has(name string) bool {
	_, ok := n.exact[cleanName(name)]
	return ok
}

// add adds a picture.
func (n *pictureNames) add(name string) {
	if n.exact == nil {
		n.exact, n.ends = map[string]int32{}, map[string]int32{}
	}
	name = cleanName(name)
	n.exact[name] = int32(len(n.names))
	n.names = append(n.names, name)
}

// addEnd lets the last picture be found by another name, unless it is that of several.
func (n *pictureNames) addEnd(name string) {
	last := int32(len(n.names) - 1)
	if i, ok := n.ends[name]; ok && i != last {
		last = -1
	}
	n.ends[name] = last
}

// finish ends the adding of pictures.
func (n *pictureNames) finish() { n.seen = make([]atomic.Bool, len(n.names)) }

// find returns the picture of a file: that with the longest name that ends the file's.
func (n *pictureNames) find(key string) (int32, bool) {
	for _, by := range []map[string]int32{n.exact, n.ends} {
		for name, isMore := key, true; isMore; _, name, isMore = strings.Cut(name, "/") {
			if i, ok := by[name]; ok {
				return i, i >= 0
			}
		}
	}
	return 0, false
}

// lost calls fn for the pictures with names behind after that were not seen.
func (n *pictureNames) lost(after string, fn func(key string)) {
	for i, name := range n.names {
		if !n.seen[i].Load() && name > after {
			fn(name)
		}
	}
}
