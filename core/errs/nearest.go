package errs

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that a misspelt name most likely meant, or "" when none is close.
// That is the shortest one that begins with the name, or else the one with the fewest wrong
// letters (Levenshtein distance): one of a short name, a third and one of a longer one. Case is
// ignored.
func Nearest(name string, candidates []string) string {
	begun := ""
	for _, c := range candidates {
		if len(name) > 1 && len(c) > len(name) && strings.EqualFold(c[:len(name)], name) && (begun == "" || len(c) < len(begun)) {
			begun = c
		}
	}
	if begun != "" && !slices.ContainsFunc(candidates, func(c string) bool { return strings.EqualFold(c, name) }) {
		return begun
	}
	best, bestDist := "", 1
	if len(name) > 4 { // two letters that changed places count as two
		bestDist = len(name)/3 + 1
	}
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c), bestDist); d < bestDist || (d == bestDist && best == "") {
			best, bestDist = c, d
		}
	}
	return best
}

// Suggest is `; did you mean "x"?` for the nearest candidate, or "".
func Suggest(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return `; did you mean "` + n + `"?`
	}
	return ""
}

// OneOf refuses a value of the setting called name that is none of want.
func OneOf(name, got string, want ...string) error {
	if slices.Contains(want, got) {
		return nil
	}
	return New(Invalid, "%s is %q (want one of %q)%s", name, got, want, Suggest(got, want))
}

// distance is the Levenshtein distance of a and b, cut off at limit+1.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
