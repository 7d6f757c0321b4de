package dataset

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
	"deeplake/core/version/maintain"
)

// unlisted is a store that cannot list its objects, as a web server.
type unlisted struct{ storage.Provider }

func (u unlisted) List(context.Context, string, string, func(storage.Object) bool) error {
	return errs.Op("list", u.URI()).New(errs.Unsupported, "not here")
}

// onWeb makes the datasets of d's environment readable at web://, where nothing can be listed.
func onWeb(d *Dataset) {
	d.env.Stores["web"] = func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		p, err := d.env.Stores.Open(ctx, "mem://"+rest, o)
		return unlisted{p}, err
	}
}

// TestCopyUnlisted: a dataset can be copied from a store that lists nothing, with all that its rows
// need and nothing else. With history it cannot.
func TestCopyUnlisted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, store := damagedDataset(t)
	onWeb(d)
	want := numbersIn(t, d)
	usual := must[maintain.CopyReport](t)(Copy(ctx, d.env, "mem://d", "mem://usual", CopyOptions{}))
	r := must[maintain.CopyReport](t)(Copy(ctx, d.env, "web://d", "mem://c", CopyOptions{}))
	if r.Objects != usual.Objects || r.Bytes != usual.Bytes {
		t.Errorf("%+v, and where objects are listed %+v", r, usual)
	}
	c := must[*Dataset](t)(Open(ctx, d.env, "mem://c", OpenOptions{}))
	defer c.Close()
	wantNumbers(t, c, want...)
	if f := must[maintain.FsckReport](t)(c.Versions().Fsck(ctx, maintain.FsckOptions{})); len(f.Problems) != 0 || f.Orphans != 0 {
		t.Errorf("the copy: %+v", f)
	}
	_, err := Copy(ctx, d.env, "web://d", "mem://h", CopyOptions{CopyOptions: maintain.CopyOptions{History: true}})
	wantError(t, err, errs.Unsupported, "list")
	for _, prefix := range []string{"data/", "map/"} {
		key := keysBelow(t, store, prefix)[0]
		if prefix == "map/" {
			key = "map/" + d.head.Record.RowIDs.Page.String()
		}
		data := must[[]byte](t)(store.Get(ctx, key))
		if err := store.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		_, err := Copy(ctx, d.env, "web://d", "mem://part", CopyOptions{})
		wantError(t, err, errs.Corrupt, key)
		if found := must[bool](t)(Exists(ctx, d.env, "mem://part", storage.Options{})); found {
			t.Errorf("without %q a copy was made", key)
		}
		if err := store.Put(ctx, key, data); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCopyUnlistedTiles has chunks whose sizes no page tells.
func TestCopyUnlistedTiles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := fresh(t, TensorSpec{HType: "image", Compression: "png", ChunkBytes: 4096})
	onWeb(d)
	var want []tensor.Sample
	for i, shape := range [][]int64{{40, 60, 3}, {200, 333, 3}, {9, 9, 3}} {
		want = append(want, picture(uint64(i), true, shape...))
		if err := appendOne(d, want[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(ctx, ""); err != nil {
		t.Fatal(err)
	}
	must[maintain.CopyReport](t)(Copy(ctx, d.env, strings.Replace(d.URI(), "mem://", "web://", 1), "mem://tiles", CopyOptions{}))
	c := must[*Dataset](t)(Open(ctx, d.env, "mem://tiles", OpenOptions{}))
	defer c.Close()
	for i, got := range readAll(t, must[*View](t)(c.View(ctx)), "x") {
		if !bytes.Equal(got, want[i].Data) {
			t.Errorf("picture %d differs", i)
		}
	}
}
