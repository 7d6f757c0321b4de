package annotations

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Names counts the files of a source by folder and kind, and holds the first names of each. Its
// memory is bounded.
type Names struct {
	folders map[string]*folder
	words   map[string]bool // the last parts of the names of folders with pictures
}

// folder is a folder that has files itself. Kinds are the ends of names in small letters, such as
// ".txt"; those of pictures are one kind.
type folder struct {
	count map[string]int64
	first map[string][]string // at most firstNames
}

// picture is the kind of all files with pictures.
const picture = "picture"

const (
	maxFolders = 20_000
	firstNames = 16
)

// kindOf returns the kind of a file that layouts look for; "": none.
func kindOf(key string) string {
	switch ext := strings.ToLower(path.Ext(key)); ext {
	case ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif":
		return picture
	case ".json", ".xml", ".txt", ".yaml", ".yml", ".csv", ".names":
		return ext
	}
	return ""
}

// Add notes a file.
func (n *Names) Add(key string) {
	kind := kindOf(key)
	if kind == "" {
		return
	}
	if n.folders == nil {
		n.folders, n.words = map[string]*folder{}, map[string]bool{}
	}
	dir := path.Dir(key)
	f := n.folders[dir]
	if f == nil {
		if len(n.folders) == maxFolders {
			return
		}
		f = &folder{map[string]int64{}, map[string][]string{}}
		n.folders[dir] = f
	}
	if kind == picture {
		for part := range strings.SplitSeq(dir, "/") {
			n.words[part] = true
		}
	}
	if f.count[kind]++; len(f.first[kind]) < firstNames {
		f.first[kind] = append(f.first[kind], key)
	}
}

// all returns the folders with files of a kind, in order.
func (n *Names) all(kind string) (dirs []string) {
	for _, dir := range slices.Sorted(maps.Keys(n.folders)) {
		if n.folders[dir].count[kind] > 0 {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// PictureFolders returns the folders that have pictures themselves, in order.
func (n *Names) PictureFolders() []string { return n.all(picture) }

// few returns the files of a kind in folders that have at most firstNames of them.
func (n *Names) few(kind string) (keys []string) {
	for _, dir := range n.all(kind) {
		if f := n.folders[dir]; f.count[kind] == int64(len(f.first[kind])) {
			keys = append(keys, f.first[kind]...)
		}
	}
	return keys
}

// allFirst returns the first files of a kind in each folder.
func (n *Names) allFirst(kind string) (keys []string) {
	for _, dir := range n.all(kind) {
		keys = append(keys, n.folders[dir].first[kind]...)
	}
	return keys
}

// pictures returns the number of pictures in a folder itself.
func (n *Names) pictures(dir string) int64 {
	if f := n.folders[dir]; f != nil {
		return f.count[picture]
	}
	return 0
}

// hasFolder reports whether pictures lie below a folder that is called by a word.
func (n *Names) hasFolder(word string) bool {
	if n.words[word] {
		return true
	}
	for name := range n.words {
		if isNamed(name, word) {
			return true
		}
	}
	return false
}

// below reports whether pictures lie below a folder.
func (n *Names) below(dir string) bool {
	for other, f := range n.folders {
		if f.count[picture] > 0 && (other == dir || strings.HasPrefix(other, dir+"/")) {
			return true
		}
	}
	return false
}

// replaced returns a name with another name of one folder in it, the last one that is called old;
// "": there is none.
func replaced(key, old, new string) string {
	parts := strings.Split(key, "/")
	for i := len(parts) - 2; i >= 0; i-- {
		if parts[i] == old {
			parts[i] = new
			return strings.Join(parts, "/")
		}
	}
	return ""
}

// withExt returns a name with another end.
func withExt(key, ext string) string { return strings.TrimSuffix(key, path.Ext(key)) + ext }
