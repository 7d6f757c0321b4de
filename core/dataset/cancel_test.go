package dataset

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
)

// refusing is a store that asks for a later request while full, as an overloaded service does.
type refusing struct {
	storage.Provider
	full bool
}

func (s *refusing) Put(ctx context.Context, key string, data []byte) error {
	if s.full {
		return &storage.Fault{Repeat: storage.Later, Err: errs.New(errs.Storage, "slow down")}
	}
	return s.Provider.Put(ctx, key, data)
}

// TestCanceledFlush: a commit that is cancelled in the waits between attempts returns at once,
// however many chunks are on their way. The rows are there for the next commit.
func TestCanceledFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		space := &mem.Space{}
		store := &refusing{}
		policy := retry.New(retry.Options{Settings: storage.Settings{RetryTime: 600, MaxAttempts: 1000}})
		open := func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
			p, err := space.Open(ctx, name, o)
			store.Provider = p
			return policy.Provider(store), err
		}
		env := &Env{Stores: storage.Registry{"mem": open}, Codecs: all.All(), Writer: "test"}
		d := must[*Dataset](t)(Create(t.Context(), env, "mem://d", CreateOptions{}))
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
			// more than finish at once
			if err := d.CreateTensor(t.Context(), TensorSpec{Name: name, DType: "int64"}); err != nil {
				t.Fatal(err)
			}
		}
		commit(t, d, "tensors")
		cols := rowsOf([]int64{1, 2, 3})[:1]
		for _, name := range []string{"b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
			col := cols[0]
			col.Tensor = name
			cols = append(cols, col)
		}
		cols[0].Tensor = "a"
		if err := d.Append(t.Context(), cols, 3); err != nil {
			t.Fatal(err)
		}
		store.full = true
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := d.Commit(ctx, "three")
		if took := time.Since(began); !errs.Is(err, errs.Canceled) || took > 3*time.Second {
			t.Errorf("got %v after %v, want cancelled after 3s", err, took)
		}
		store.full = false
		commit(t, d, "three")
		if v := must[*View](t)(d.View(t.Context())); v.Len() != 3 {
			t.Errorf("%d rows, want 3", v.Len())
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
