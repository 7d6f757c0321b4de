package annotations

import (
	"slices"
	"strconv"
	"strings"
)

// look notes how many numbers the lines of a file have behind the class. It reports whether all are
// labels.
func look(text string, kinds map[int]bool) bool {
	found, isOther := false, false
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		isOther = isOther || !isLabel(fields)
		if isLabel(fields) {
			found, kinds[len(fields)-1] = true, true
		}
	}
	return found && !isOther
}

// isLabel reports whether a line is the number of a class, and four numbers or more.
func isLabel(fields []string) bool {
	if _, err := classNumber(fields[0]); err != nil || len(fields) < 5 {
		return false
	}
	return !slices.ContainsFunc(fields[1:], func(f string) bool {
		_, err := strconv.ParseFloat(f, 64)
		return err != nil
	})
}

// decide takes what kinds of lines there are.
func (y *yolo) decide(kinds map[int]bool) {
	for n := range kinds {
		switch {
		case y.points > 0:
			y.scores = y.scores || n == 5+y.points*y.axes
		case n == 5:
			y.scores = true
		case n >= 6 && n%2 == 0:
			y.outlines = true
		}
	}
}

// classNumber reads the number of a class. Some programs write it as "0.0".
func classNumber(text string) (int, error) { return strconv.Atoi(strings.TrimSuffix(text, ".0")) }
