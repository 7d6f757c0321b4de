package version_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/versiontest"
)

// rich is a dataset with an object of every kind that this room writes.
func rich(t *testing.T, store storage.Provider) *versiontest.Fixture {
	t.Helper()
	f := versiontest.New(t, store)
	txn := f.Begin(t)
	f.Add(txn, 120_000, 2)
	f.Commit(t, txn, "many rows")
	repo := f.Repo(t)
	repo.Pages.MaxPieces = 40_000 // two leaves
	head, err := repo.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	txn = repo.Begin(head)
	rng := rand.New(rand.NewPCG(1, 1))
	var rows []int64
	for row := int64(0); row < 110_000; row += 2 + rng.Int64N(3) {
		rows = append(rows, row)
	}
	f.Update(txn, 3, rows...)
	names := []string{"a"}
	for i := range 12_000 {
		names = append(names, fmt.Sprintf("class %d %x", i, format.CRC(fmt.Append(nil, i))))
	}
	txn.Schema().ByID(f.Label).ClassNames = names
	txn.Delete([]int64{1, 5})
	rec := f.Commit(t, txn, "rich").Record
	if rec.SchemaPage == nil || rec.Txn == nil || rec.Deleted == nil || rec.Columns[f.X].Root.Height == 0 {
		t.Fatalf("the fixture lacks a kind of object: schema %v, ops %v, deleted %v", rec.SchemaPage, rec.Txn, rec.Deleted)
	}
	return f
}

// readAll reads every object that the newest commit and its writers need.
func readAll(f *versiontest.Fixture) error {
	ctx := context.Background()
	repo, err := version.Open(ctx, f.Store, "test")
	if err != nil {
		return err
	}
	old, err := repo.At(ctx, "1")
	if err != nil {
		return err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return err
	}
	for _, tree := range []chunkmap.Tree{head.Tree(f.X), head.Tree(f.Label), head.RowIDs()} {
		var bad error
		if err := tree.Scan(ctx, 0, head.Record.Rows, func(e format.Entry) bool {
			if !e.Side.IsZero() {
				_, bad = tree.Side(ctx, e.Side)
			}
			return bad == nil
		}); err != nil || bad != nil {
			return errs.Wrap(errs.Storage, "scan", "", fmt.Errorf("%w%w", err, bad))
		}
	}
	txn := repo.Begin(old)
	f.Add(txn, 1, 9)
	return txn.CatchUp(ctx, old)
}

// kinds is the key of one object of each kind that readAll reads.
func kinds(t *testing.T, f *versiontest.Fixture) map[string]string {
	t.Helper()
	base := f.Begin(t).Base()
	e, _, err := base.Tree(f.X).Find(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	head := base.Record
	return map[string]string{
		"tsf": format.TSFKey(), "record": format.RecordKey(head.Branch, head.Version), "schema": format.MapKey(*head.SchemaPage),
		"transaction": format.TxnKey(*head.Txn), "deleted rows": format.MapKey(*head.Deleted),
		"inner page": format.MapKey(head.Columns[f.X].Root.Page), "leaf page": format.MapKey(head.Columns[f.Label].Root.Page),
		"side page": format.MapKey(e.Side),
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inner := versiontest.MemStore(t)
	f := rich(t, inner)
	if err := readAll(f); err != nil {
		t.Fatal(err)
	}
	for kind, key := range kinds(t, f) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			data, err := inner.Get(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			broken := faultstore.New(inner, nil)
			mine := &versiontest.Fixture{Store: broken, X: f.X, Label: f.Label}
			try := func(what string, do faultstore.Action) {
				broken.SetPlan(faultstore.Plan{{Ops: []faultstore.Op{faultstore.Get}, Prefix: key, Times: faultstore.Always, Do: do}})
				err := readAll(mine)
				// An object that is not there is damage, but for the one whose absence means that
				// there is no dataset.
				missing := strings.HasPrefix(what, "missing") && kind == "tsf" && errs.Is(err, errs.NotFound)
				// A flipped digit of tsf.json may read as another version: the object has no frame
				// whose checksum comes first.
				newer := kind == "tsf" && errs.Is(err, errs.Unsupported)
				if !missing && !newer && !errs.Is(err, errs.Corrupt) {
					t.Errorf("%s: %v", what, err)
				}
				if name := key; kind != "tsf" && !versiontest.Contains(err, name) {
					t.Errorf("%s: the object %q is not named in %v", what, name, err)
				}
			}
			try("missing", faultstore.Fail(errs.NotFound))
			for _, n := range []int64{0, 1, 23, 24, int64(len(data)) / 2, int64(len(data)) - 1} {
				try(fmt.Sprintf("truncated to %d", n), faultstore.Truncate(n))
			}
			step := max(1, len(data)/25)
			for at := 0; at < len(data); at += step {
				try(fmt.Sprintf("bit %d of byte %d", at%8, at), faultstore.FlipBit(int64(8*at+at%8)))
			}
		})
	}
}

// TestNewerVersion: objects of a newer version of the library are refused as such.
func TestNewerVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	reframe := func(data []byte) []byte {
		out := slices.Clone(data)
		out[5] = 3
		binary.LittleEndian.PutUint32(out[20:], format.CRC(out[:20]))
		return out
	}
	resum := func(data []byte, old, new string) []byte {
		out := bytes.Replace(data, []byte(old), []byte(new), 1)
		at := bytes.LastIndex(out, []byte(`"crc":"`))
		return append(out[:at:at], fmt.Appendf(nil, "\"crc\":\"%08x\"}\n", format.CRC(out[:at]))...)
	}
	cases := []struct {
		name string
		key  func(f *versiontest.Fixture, rec *format.Record) string
		edit func([]byte) []byte
	}{
		{"tsf.json", func(*versiontest.Fixture, *format.Record) string { return format.TSFKey() }, func(b []byte) []byte { return resum(b, `"format":2`, `"format":3`) }},
		{"a feature", func(*versiontest.Fixture, *format.Record) string { return format.TSFKey() }, func(b []byte) []byte { return resum(b, `"features":[]`, `"features":["x"]`) }},
		{"record", func(_ *versiontest.Fixture, rec *format.Record) string {
			return format.RecordKey(rec.Branch, rec.Version)
		}, reframe},
		{"page", func(f *versiontest.Fixture, rec *format.Record) string {
			return format.MapKey(rec.Columns[f.X].Root.Page)
		}, reframe},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store := versiontest.MemStore(t)
			f := versiontest.New(t, store)
			key := c.key(f, f.Begin(t).Base().Record)
			data, err := store.Get(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Delete(ctx, key); err != nil {
				t.Fatal(err)
			}
			if err := store.Put(ctx, key, c.edit(data)); err != nil {
				t.Fatal(err)
			}
			err = readAll(f)
			if c.name == "page" { // its name is that of another content: nothing of it is believed
				if !errs.Is(err, errs.Corrupt) || !versiontest.Contains(err, key) {
					t.Fatalf("read = %v", err)
				}
				return
			}
			if !errs.Is(err, errs.Unsupported) || !versiontest.Contains(err, "newer version") {
				t.Fatalf("read = %v", err)
			}
		})
	}
}

// TestRecordUnderAnotherKey: a record is believed only where it belongs.
func TestRecordUnderAnotherKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	f := versiontest.New(t, store)
	rec := f.Begin(t).Base().Record
	data, err := store.Get(ctx, format.RecordKey(rec.Branch, rec.Version))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put(ctx, format.RecordKey(rec.Branch, rec.Version+1), data); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Repo(t).Head(ctx); !errs.Is(err, errs.Corrupt) || !versiontest.Contains(err, "version 1") {
		t.Fatalf("head = %v", err)
	}
}

// TestDelete leaves nothing, and a dataset can be made there again.
func TestDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := versiontest.MemStore(t)
	rich(t, store)
	if err := version.Delete(ctx, store); err != nil {
		t.Fatal(err)
	}
	if err := store.List(ctx, "", "", func(o storage.Object) bool {
		t.Errorf("%s is left", o.Key)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := version.Open(ctx, store, "test"); !errs.Is(err, errs.NotFound) || !versiontest.Contains(err, "create it first") {
		t.Fatalf("open = %v", err)
	}
	versiontest.New(t, store)
}
