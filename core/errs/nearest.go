package errs

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that a misspelt name most likely meant, or "" when none is close:
// at most a third of its letters wrong (Levenshtein distance, case ignored).
func Nearest(name string, candidates []string) string {
	best, bestDist := "", len(name)/3+1
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
