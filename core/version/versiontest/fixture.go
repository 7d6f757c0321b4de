// Package versiontest has the dataset of the tests of package version and package maintain.
package versiontest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/version"
)

// Fixture is a dataset of the two tensors x and label and BaseRows rows, without any chunk object:
// package version reads none.
type Fixture struct {
	Store    storage.Provider
	X, Label format.UUID // of the tensors
}

// BaseRows is the number of rows of a new fixture.
const BaseRows = 10

// New returns the fixture of a new dataset in a store.
func New(t testing.TB, store storage.Provider) *Fixture {
	t.Helper()
	repo, head, err := version.Create(context.Background(), store, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	return Fill(t, store, repo, head)
}

// Fill adds tensors and rows to an empty dataset.
func Fill(t testing.TB, store storage.Provider, repo *version.Repo, head *version.Snapshot) *Fixture {
	t.Helper()
	f := &Fixture{Store: store, X: format.NewUUID(), Label: format.NewUUID()}
	txn := repo.Begin(head)
	txn.Schema().Tensors = append(txn.Schema().Tensors,
		format.TensorSchema{ID: f.X, Name: "x", HType: "generic", Compression: "none", ChunkBytes: 1 << 20},
		format.TensorSchema{ID: f.Label, Name: "label", HType: "class_label", DType: "int64", Compression: "none", ChunkBytes: 1 << 20, ClassNames: []string{"a"}})
	f.Add(txn, BaseRows, 1)
	f.Commit(t, txn, "base")
	return f
}

// Add appends n rows as chunks of a session.
func (f *Fixture) Add(txn *version.Txn, n int64, session byte) {
	at := txn.Rows()
	for _, id := range []format.UUID{f.X, f.Label} {
		txn.AddChunk(id, format.Entry{Session: Numbered(session), Bytes: 100}, []format.RowRange{{Start: at, Count: n}}, false, []byte{session})
	}
	txn.Extend(n)
}

// AddChunks appends chunks of twenty rows each to x, and their rows to the label as one chunk.
func (f *Fixture) AddChunks(txn *version.Txn, chunks int64, session byte) {
	const rows = 20
	at := txn.Rows()
	for i := range chunks {
		txn.AddChunk(f.X, format.Entry{Session: Numbered(session), Ordinal: i, Bytes: 100}, []format.RowRange{{Start: at + rows*i, Count: rows}}, false, []byte{session})
	}
	txn.AddChunk(f.Label, format.Entry{Session: Numbered(session), Bytes: 100}, []format.RowRange{{Start: at, Count: rows * chunks}}, false, []byte{session})
	txn.Extend(rows * chunks)
}

// Update replaces rows of x by the items of a chunk of a session.
func (f *Fixture) Update(txn *version.Txn, session byte, rows ...int64) {
	var runs []format.RowRange
	for _, row := range rows {
		runs = append(runs, format.RowRange{Start: row, Count: 1})
	}
	txn.AddChunk(f.X, format.Entry{Session: Numbered(session), Ordinal: 7, Bytes: 100}, runs, true, []byte{session})
}

// AddLarge appends a row of x whose chunk has a directory that fills a side page.
func (f *Fixture) AddLarge(txn *version.Txn, session byte) {
	dir := make([]byte, format.SideTarget+1)
	dir[0] = session
	at := txn.Rows()
	txn.AddChunk(f.X, format.Entry{Session: Numbered(session), Ordinal: 1, Bytes: 100}, []format.RowRange{{Start: at, Count: 1}}, false, dir)
	txn.Extend(1)
}

// Rewrite gives rows of x other chunks, which say the same.
func (f *Fixture) Rewrite(txn *version.Txn, session byte, first, rows int64) {
	txn.RewriteChunk(f.X, format.Entry{Session: Numbered(session), Ordinal: 9, Bytes: 100}, []format.RowRange{{Start: first, Count: rows}}, []byte{session})
}

// Repo opens the dataset.
func (f *Fixture) Repo(t testing.TB) *version.Repo {
	t.Helper()
	repo, err := version.Open(context.Background(), f.Store, "test")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// Begin returns a transaction of a writer of its own.
func (f *Fixture) Begin(t testing.TB) *version.Txn {
	t.Helper()
	repo := f.Repo(t)
	head, err := repo.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return repo.Begin(head)
}

// Commit commits a transaction, and fails the test if it cannot.
func (f *Fixture) Commit(t testing.TB, txn *version.Txn, message string) *version.Snapshot {
	t.Helper()
	s, err := txn.Commit(context.Background(), message, "tester")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// State returns the content of a commit without the uuids, which differ from run to run: one word
// for each live row, with the session of x and of label and the item in it, then the names.
func State(t testing.TB, s *version.Snapshot) []string {
	t.Helper()
	ctx := context.Background()
	var out []string
	for i := range s.Rows() {
		row := s.Live.Physical(i)
		word := ""
		for _, ts := range s.Schema.Tensors {
			e, ok, err := s.Tree(ts.ID).Find(ctx, row)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				word += ts.Name + "- "
				continue
			}
			dirs, err := s.Tree(ts.ID).Side(ctx, e.Side)
			if err != nil || e.Slot >= int64(len(dirs)) || dirs[e.Slot][0] != e.Session[0] {
				t.Fatalf("row %d of %q: side page with %d slots has not the directory of slot %d: %v", row, ts.Name, len(dirs), e.Slot, err)
			}
			word += fmt.Sprintf("%s%d.%d ", ts.Name, e.Session[0], e.First+row-e.Row)
		}
		if _, ok, err := s.RowIDs().Find(ctx, row); err != nil || !ok {
			t.Fatalf("row %d has no identity: %v", row, err)
		}
		out = append(out, word)
	}
	for _, ts := range s.Schema.Tensors {
		out = append(out, fmt.Sprintf("%s %v", ts.Name, ts.ClassNames))
	}
	return append(out, fmt.Sprint(s.Schema.Info))
}

// Mixed appends, updates and deletes rows, and changes class names and info.
func (f *Fixture) Mixed(txn *version.Txn) {
	f.Add(txn, 3, 2)
	f.Update(txn, 3, 2, BaseRows-1, BaseRows) // across the end of the stored rows
	txn.Delete([]int64{4, BaseRows + 1})
	txn.Schema().ByID(f.Label).ClassNames = []string{"a", "b"}
	txn.SetInfo(map[string]any{"k": "v"})
}

// MemStore returns an empty store in memory.
func MemStore(t testing.TB) storage.Provider {
	t.Helper()
	space := &mem.Space{}
	p, err := space.Open(context.Background(), "v", storage.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Numbered returns a uuid that is easy to recognise.
func Numbered(n byte) format.UUID { return format.UUID{0: n, 15: 1} }

// Contains reports whether err is an error with this text.
func Contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
