package table

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"deeplake/core/dataset/origin"
)

// SplitColumn names the column of the parts that names of files make.
const SplitColumn = "split"

// splitOf returns the part that a file belongs to: a folder has its name, such as "train", or the
// name of the file begins with it, as in "train-00000-of-00002.parquet". "": none.
func splitOf(key string) string {
	folders := strings.Split(path.Dir(key), "/")
	slices.Reverse(folders)
	for _, folder := range folders {
		if name := origin.Split(folder); name != "" {
			return name
		}
	}
	word := path.Base(key)
	if end := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		word = word[:end]
	}
	return origin.Split(word)
}

// splits makes a column of the parts that the files belong to, if all do and there are several.
func (s *source) splits() {
	of := make([]string, len(s.files))
	for i, f := range s.files {
		if of[i] = splitOf(f.key); of[i] == "" {
			return
		}
	}
	for _, name := range origin.SplitNames() {
		if slices.Contains(of, name) {
			s.parted = append(s.parted, name)
		}
	}
	if len(s.parted) < 2 || slices.ContainsFunc(s.parts, func(p partition) bool { return p.name == SplitColumn }) {
		s.parted = nil
		return
	}
	s.parts = append(s.parts, partition{name: SplitColumn})
	for i, f := range s.files {
		if f.values == nil {
			f.values = map[string]string{}
		}
		f.values[SplitColumn] = of[i]
	}
}

// splitsOf are the parts that the dataset has a column for.
func (im *importer) splitsOf() []string {
	if _, there := im.tensors[SplitColumn]; !there {
		return nil
	}
	return im.source.parted
}
