package errs

import (
	"slices"
	"strings"
)

// Nearest returns the candidate that a misspelt name most likely meant, or "" when none is close.
// That is the shortest one that begins with the name, or else the one with the fewest wrong
// letters: at most a third of them, or one. Case is ignored.
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
	best, bestDist := "", max(1, len(name)/3)
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

// distance is the number of letters to insert, delete or replace to get from a to b, cut off at
// limit+1. Two neighbours that changed places count as one (optimal string alignment).
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) > limit {
		return limit + 1
	}
	rows := [3][]int{} // of a's letters: two before, one before, and the present one
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[2] {
		rows[2][j] = j
	}
	for i := 1; i <= len(a); i++ {
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
		rows[2][0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[2][j] = min(rows[1][j]+1, rows[2][j-1]+1, rows[1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[2][j] = min(rows[2][j], rows[0][j-2]+1)
			}
		}
	}
	return rows[2][len(b)]
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
