package query_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/array"
	"deeplake/core/query"
	"deeplake/go/tests/clock"
)

// farTable is a table behind a network: a type takes a second, and is remembered.
type farTable struct {
	*memTable
	mu    sync.Mutex
	known map[int]bool
}

var _ query.RemoteTable = (*farTable)(nil)

func (*farTable) Remote() bool { return true }

func (t *farTable) Resolve(ctx context.Context, column int) (array.Type, error) {
	t.mu.Lock()
	known := t.known[column]
	t.mu.Unlock()
	if !known {
		clock.Pass(time.Second)
		t.mu.Lock()
		t.known[column] = true
		t.mu.Unlock()
	}
	return t.memTable.Resolve(ctx, column)
}

// TestTypesAreLearntAtOnce: the columns that a query names wait for the network together, and so do
// those of a star. Other columns are left alone.
func TestTypesAreLearntAtOnce(t *testing.T) {
	t.Parallel()
	for text, columns := range map[string]int{
		"SELECT id, x + 1 WHERE k > 1 ORDER BY x": 3,
		"SELECT *":                      4,
		"SELECT k FROM dataset LIMIT 1": 1,
	} {
		synctest.Test(t, func(t *testing.T) {
			table := &farTable{memTable: numbers(10).memTable, known: map[int]bool{}}
			began := time.Now()
			if _, err := query.Prepare(t.Context(), text, table, nil, query.Options{}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != time.Second || len(table.known) != columns {
				t.Errorf("%s: %d types took %v, want %d", text, len(table.known), took, columns)
			}
		})
	}
}
