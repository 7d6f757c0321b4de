package scan

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"deeplake/core/array"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/tensor"
)

// dying is a store that is written to until its process is killed.
type dying struct {
	storage.Provider
	left *atomic.Int64 // calls that still change something
}

func (d dying) alive() error {
	if d.left.Add(-1) < 0 {
		return errs.New(errs.Storage, "the process is gone")
	}
	return nil
}

func (d dying) Put(ctx context.Context, key string, data []byte) error {
	if err := d.alive(); err != nil {
		return err
	}
	return d.Provider.Put(ctx, key, data)
}

func (d dying) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := d.alive(); err != nil {
		return err
	}
	return d.Provider.PutIfAbsent(ctx, key, data)
}

func (d dying) Delete(ctx context.Context, keys ...string) error {
	if err := d.alive(); err != nil {
		return err
	}
	return d.Provider.Delete(ctx, keys...)
}

// TestMaterializeKilled kills a copy at each of its writes. It leaves nothing, an empty dataset, or
// all rows, and the copy can run again.
func TestMaterializeKilled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := must[*dataset.View](t)(small(t, env, "mem://d").View(ctx))
	a := ask(t, env, v, "SELECT x + 1 AS more, name WHERE x > 4 ORDER BY x")
	killed := func(writes int64) *dataset.Env {
		left := &atomic.Int64{}
		left.Store(writes)
		e := *env
		e.Stores = storage.Registry{"mem": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
			p, err := env.Stores.Open(ctx, "mem://"+rest, o)
			return dying{p, left}, err
		}}
		return &e
	}
	for writes := int64(0); ; writes++ {
		err := a.Materialize(ctx, killed(writes), Copy{URI: "mem://copy", Threads: 1})
		if err == nil {
			if writes < 5 {
				t.Errorf("a copy takes %d writes", writes)
			}
			break
		}
		if d, err := dataset.Open(ctx, env, "mem://copy", dataset.OpenOptions{}); err == nil {
			if w := must[*dataset.View](t)(d.View(ctx)); w.Len() > 0 && says(t, Plain(w), "more") != "6 9 10" {
				t.Errorf("after %d writes: %s", writes, says(t, Plain(w), "more"))
			}
			_ = d.Close()
		}
		if err := a.Materialize(ctx, env, Copy{URI: "mem://copy"}); err != nil && !errs.Is(err, errs.Exists) {
			t.Errorf("again after %d writes: %v", writes, err)
		}
		d := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://copy", dataset.OpenOptions{}))
		if got := says(t, Plain(must[*dataset.View](t)(d.View(ctx))), "more"); got != "6 9 10" {
			t.Errorf("again after %d writes: %s", writes, got)
		}
		_ = d.Close()
		if err := dataset.Delete(ctx, env, "mem://copy", storage.Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMaterializeTogether begins a second copy while a first one is under way: one of them is
// refused, and nothing is mixed.
func TestMaterializeTogether(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := must[*dataset.View](t)(small(t, env, "mem://d").View(ctx))
	for _, empty := range []bool{false, true} {
		if empty {
			_ = must[*dataset.Dataset](t)(dataset.Create(ctx, env, "mem://copy", dataset.CreateOptions{})).Close()
		}
		first := ask(t, env, v, "SELECT x")
		first.table.fields = append(first.table.fields, &field{name: "slow", typ: array.Of(tensor.Int64), compute: func(ctx context.Context, rows []int64) (*array.Column, error) {
			if err := ask(t, env, v, "SELECT x AS y LIMIT 2").Materialize(ctx, env, Copy{URI: "mem://copy"}); err != nil {
				t.Error(err)
			}
			return array.FromInts(make([]int64, len(rows)), nil), nil
		}})
		if err := first.Materialize(ctx, env, Copy{URI: "mem://copy"}); !errs.Is(err, errs.Conflict) {
			t.Errorf("the slower one: %v", err)
		}
		d := must[*dataset.Dataset](t)(dataset.Open(ctx, env, "mem://copy", dataset.OpenOptions{}))
		w := must[*dataset.View](t)(d.View(ctx))
		if names := w.Names(); !slices.Equal(names, []string{"y"}) || says(t, Plain(w), "y") != "5 3" {
			t.Errorf("there is %q of %d rows", names, w.Len())
		}
		_ = d.Close()
		if err := dataset.Delete(ctx, env, "mem://copy", storage.Options{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMaterializeIntoEmpty: a failing copy keeps an empty dataset that existed before.
func TestMaterializeIntoEmpty(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	env := testEnv()
	v := must[*dataset.View](t)(small(t, env, "mem://d").View(ctx))
	_ = must[*dataset.Dataset](t)(dataset.Create(ctx, env, "mem://copy", dataset.CreateOptions{})).Close()
	a := ask(t, env, v, "SELECT x")
	a.table.fields = append(a.table.fields, &field{name: "no", typ: array.Of(tensor.Int64), compute: func(context.Context, []int64) (*array.Column, error) {
		return nil, errs.New(errs.Invalid, "no")
	}})
	if err := a.Materialize(ctx, env, Copy{URI: "mem://copy"}); !errs.Is(err, errs.Invalid) {
		t.Fatal(err)
	}
	if found := must[bool](t)(dataset.Exists(ctx, env, "mem://copy", storage.Options{})); !found {
		t.Error("the empty dataset is gone")
	}
	if err := ask(t, env, v, "SELECT x").Materialize(ctx, env, Copy{URI: "mem://copy"}); err != nil {
		t.Error(err)
	}
	if err := ask(t, env, v, "SELECT x").Materialize(ctx, env, Copy{URI: "mem://copy"}); !errs.Is(err, errs.Exists) {
		t.Errorf("over rows: %v", err)
	}
}
