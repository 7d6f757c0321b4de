package origin

import (
	"slices"
	"strings"
)

// SplitNames are the names of parts of a dataset, in the order of their labels.
func SplitNames() []string {
	return []string{"train", "training", "validation", "valid", "val", "dev", "eval", "evaluation", "test", "testing"}
}

// Split returns the part that a folder's name stands for, such as "train", or "val" for "val2017";
// "": none.
func Split(folder string) string {
	name := strings.ToLower(strings.TrimRight(folder, "0123456789"))
	if slices.Contains(SplitNames(), name) {
		return name
	}
	return ""
}
