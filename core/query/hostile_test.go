package query_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/query"
)

// hostileQueries are texts of at most 1 MiB that ask for more depth, plans or work than any reader
// needs.
func hostileQueries() map[string]string {
	with := "WITH a0 AS (SELECT id FROM dataset)"
	names := "abcdefghijklmnopqrstuvwxyz"
	last := "a0"
	for i := range 26 {
		name := names[i:i+1] + "1"
		with += ", " + name + " AS (SELECT p.id FROM " + last + " p JOIN " + last + " q ON p.id = q.id)"
		last = name
	}
	return map[string]string{
		"sum":       "SELECT 1" + strings.Repeat("+1", 400_000),
		"and":       "SELECT id WHERE id=1" + strings.Repeat(" AND id=1", 100_000),
		"concat":    "SELECT id" + strings.Repeat("||id", 200_000),
		"index":     "SELECT id" + strings.Repeat("[0]", 300_000),
		"is null":   "SELECT id" + strings.Repeat(" IS NULL", 100_000),
		"like":      "SELECT id" + strings.Repeat(" LIKE id", 100_000),
		"union":     "SELECT id" + strings.Repeat(" UNION SELECT id", 60_000),
		"intersect": "SELECT id" + strings.Repeat(" INTERSECT SELECT id", 50_000),
		"joins":     "SELECT 1 FROM dataset d" + strings.Repeat(" CROSS JOIN dataset", 40_000),
		"with":      with + " SELECT id FROM " + last,
		"parens":    "SELECT " + strings.Repeat("(", 500_000),
		"nots":      "SELECT " + strings.Repeat("NOT ", 200_000) + "x",
		"arrays":    "SELECT " + strings.Repeat("[", 500_000),
		"cases":     "SELECT " + strings.Repeat("CASE WHEN ", 90_000),
	}
}

// TestHostileQueries prepares each of them: it is refused, or done within seconds and a bounded
// stack.
func TestHostileQueries(t *testing.T) {
	for name, text := range hostileQueries() {
		t.Run(name, func(t *testing.T) {
			old := debug.SetMaxStack(256 << 20)
			defer debug.SetMaxStack(old)
			_, err := query.Prepare(t.Context(), text, numbers(10), nil, query.Options{})
			if !errs.Is(err, errs.Invalid) {
				t.Fatalf("got %.200v, want a refusal", err)
			}
			for _, words := range []string{"a query has at most 65536 operators", "a query has at most 10000 joins", "lie within each other", "are read more than 1000 times"} {
				if strings.Contains(err.Error(), words) {
					return
				}
			}
			t.Fatalf("got %.200v, want a limit named", err)
		})
	}
}

// TestLongQueriesWork holds the limits away from queries that programs write.
func TestLongQueriesWork(t *testing.T) {
	for name, text := range map[string]string{
		"or":    "SELECT id WHERE id = 0" + strings.Repeat(" OR id = 1", 4_000),
		"sum":   "SELECT id + id" + strings.Repeat("+id", 4_000) + " LIMIT 2",
		"in":    "SELECT id WHERE id IN (0" + strings.Repeat(", 1", 100_000) + ")",
		"union": "SELECT id WHERE id < 2" + strings.Repeat(" UNION SELECT id WHERE id < 2", 200),
	} {
		if rows := ask(t, numbers(10), text, query.Options{}); len(rows) != 2 {
			t.Errorf("%s: %d rows, want 2", name, len(rows))
		}
	}
}
