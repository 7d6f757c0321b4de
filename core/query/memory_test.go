package query_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"deeplake/core/array"
	"deeplake/core/errs"
	"deeplake/core/query"
)

// texts is a table of n rows with a text of size bytes, a number and an array.
func texts(n, size int) *memTable {
	text := make([]string, n)
	ids := make([]int64, n)
	for i := range text {
		text[i] = strings.Repeat("ab", size/2)
		ids[i] = int64(i)
	}
	t := &memTable{name: "dataset", n: n, zone: n}
	for name, c := range map[string]*array.Column{"id": array.FromInts(ids, nil), "text": array.FromStrings(text, nil)} {
		t.fields = append(t.fields, query.Field{Name: name, Type: c.Type})
		t.types = append(t.types, c.Type)
		t.columns = append(t.columns, c)
	}
	return t
}

// TestMemoryIsOneBudget: live batches, computed columns and the work space of functions count
// within one budget, before they are allocated.
func TestMemoryIsOneBudget(t *testing.T) {
	const budget, slack = 64 << 20, 192 << 20
	table := texts(10, 1000)
	columns := make([]string, 40)
	for i := range columns {
		columns[i] = "REPEAT(text, 300) || '" + strings.Repeat("x", i) + "' AS c" + strings.Repeat("x", i)
	}
	refused := map[string]string{
		"a row":           "SELECT REPEAT(text, 100000) AS r",
		"a batch":         "SELECT REPEAT(text, 10000) AS r",
		"columns":         "SELECT " + strings.Join(columns, ", "),
		"a condition":     "SELECT id WHERE LENGTH(REPEAT(text, 100000)) > 1",
		"a constant":      "SELECT REPEAT('abc', 100000000) AS r LIMIT 1",
		"a pattern":       "SELECT REGEXP_REPLACE(REPEAT(text, 10), 'a', '" + strings.Repeat("c", 10_000) + "') AS r",
		"STRING_AGG":      "SELECT STRING_AGG(a.text || b.text || c.text || d.text) AS s FROM dataset a, dataset b, dataset c, dataset d",
		"STRING_AGG long": "SELECT STRING_AGG(text, '" + strings.Repeat("c", 900_000) + "') AS s FROM (SELECT a.text AS text FROM dataset a, dataset b)",
		"LIST":            "SELECT LIST(REPEAT(a.text, 2000)) AS l FROM dataset a JOIN dataset b ON a.id < b.id",
		"ORDER BY":        "SELECT id ORDER BY REPEAT(text, 10000)",
		"CASE":            "SELECT CASE WHEN id < 5 THEN REPEAT(text, 20000) ELSE text END AS c",
		"a subquery":      "SELECT LENGTH(r) AS n FROM (SELECT REPEAT(text, 10000) AS r)",
		"UNION":           "SELECT REPEAT(text, 4000) AS r UNION ALL SELECT REPEAT(text, 5000) AS r",
		"arrays":          "SELECT ARRAY[ARRAY[a.id, b.id, c.id, d.id], ARRAY[a.id, b.id, c.id, d.id]] + 0.5 AS x FROM dataset a, dataset b, dataset c, dataset d, dataset e, dataset f",
	}
	for name, text := range refused {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := answer(t.Context(), text, table, nil, query.Options{Threads: 2, Budget: budget})
		runtime.ReadMemStats(&after)
		if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "more than 64 MB of memory") {
			t.Errorf("%s: %.200v, want an error about memory", name, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > budget+slack {
			t.Errorf("%s: %d MiB were allocated within a budget of %d", name, made>>20, budget>>20)
		}
	}
}

// TestMemoryIsReturned: batches that end give their memory back, so that a query may compute more
// than its budget in all.
func TestMemoryIsReturned(t *testing.T) {
	t.Parallel()
	table := texts(4000, 1000)
	for _, text := range []string{
		"SELECT SUM(LENGTH(REPEAT(text, 100))) AS n", "SELECT COUNT(*) AS n WHERE LENGTH(REPEAT(text, 100)) = 100000",
		"SELECT LENGTH(REPEAT(text, 100)) AS n ORDER BY n LIMIT 1", "SELECT MAX(LENGTH(r)) AS n FROM (SELECT REPEAT(text, 100) AS r)",
		"SELECT LENGTH(CASE WHEN id % 2 = 0 THEN REPEAT(text, 100) ELSE text END) AS n LIMIT 1",
	} {
		if rows := ask(t, table, text, query.Options{Threads: 2, Budget: 64 << 20, Batch: 50}); len(rows) != 1 {
			t.Errorf("%s: %d rows, want one", text, len(rows))
		}
	}
}

// TestInterrupt: a query ends soon after its context, wherever it is: in a function, a join, an
// aggregate, an order, or before its first row. Users are promised 200 ms; a busy machine gets ten
// times as much.
func TestInterrupt(t *testing.T) {
	table := texts(3000, 4000)
	many := make([]string, 3000)
	for i := range many {
		many[i] = "LEVENSHTEIN(text, '" + strings.Repeat("c", i%50) + "') AS c" + strings.Repeat("x", i)
	}
	for name, text := range map[string]string{
		"LEVENSHTEIN":    "SELECT LEVENSHTEIN(text, REPEAT(text, 10)) AS n",
		"a constant":     "SELECT LEVENSHTEIN(REPEAT('ab', 1000000), REPEAT('ba', 1000000)) AS n",
		"ILIKE":          "SELECT id WHERE REPEAT(text, 100) ILIKE '%" + strings.Repeat("ab", 500) + "c%'",
		"LIKE":           "SELECT id WHERE REPEAT(text, 100) LIKE '%" + strings.Repeat("ab", 500) + "_c%'",
		"REGEXP_MATCHES": "SELECT id WHERE REGEXP_MATCHES(REPEAT(text, 100), '(a?b?){200}c')",
		"REGEXP_REPLACE": "SELECT REGEXP_REPLACE(REPEAT(text, 50), 'a', 'c') AS r",
		"SPLIT":          "SELECT SPLIT(REPEAT(text, 20), 'a') AS r",
		"wide":           "SELECT " + strings.Join(many[:1000], ", "),
		"STRING_AGG":     "SELECT STRING_AGG(a.text || b.text) AS s FROM dataset a JOIN dataset b ON a.id < b.id",
		"a join":         "SELECT COUNT(*) AS n FROM dataset a JOIN dataset b ON LEVENSHTEIN(a.text, b.text) > 1",
		"an order":       "SELECT a.id FROM dataset a, dataset b ORDER BY a.text || b.text",
		"DISTINCT":       "SELECT DISTINCT a.text || b.text AS t FROM dataset a, dataset b",
		"GROUP BY":       "SELECT a.text || b.text AS t, COUNT(*) AS n FROM dataset a, dataset b GROUP BY a.text || b.text",
		"BM25":           "SELECT id ORDER BY BM25_SIMILARITY(REPEAT(text, 100) || ' a', 'ab') LIMIT 3",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var gone time.Time
		timer := time.AfterFunc(100*time.Millisecond, func() {
			gone = time.Now()
			cancel()
		})
		_, _, err := answer(ctx, text, table, nil, query.Options{Threads: 2, Budget: 1 << 40})
		took := time.Since(gone)
		if timer.Stop() || !errs.Is(err, errs.Canceled) {
			t.Errorf("%s: %.200v, want an interrupt; it has to run for more than 100 ms", name, err)
		} else if took > 2*time.Second {
			t.Errorf("%s ended %s after its caller was gone", name, took)
		} else if took > 200*time.Millisecond {
			t.Logf("%s: %s", name, took)
		}
		cancel()
	}
}
