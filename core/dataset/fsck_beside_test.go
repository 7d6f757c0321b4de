package dataset

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// besideStore calls beside before and after each call, and counts writes.
type besideStore struct {
	storage.Provider
	beside func()
	writes []string
}

func (s *besideStore) Get(ctx context.Context, key string) ([]byte, error) {
	s.beside()
	return s.Provider.Get(ctx, key)
}

func (s *besideStore) ReadAt(ctx context.Context, key string, dst []byte, off int64) error {
	s.beside()
	return s.Provider.ReadAt(ctx, key, dst, off)
}

func (s *besideStore) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	s.beside()
	defer s.beside()
	return s.Provider.List(ctx, prefix, after, fn)
}

func (s *besideStore) Put(ctx context.Context, key string, data []byte) error {
	s.writes = append(s.writes, key)
	return s.Provider.Put(ctx, key, data)
}

func (s *besideStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	s.writes = append(s.writes, key)
	return s.Provider.PutIfAbsent(ctx, key, data)
}

// TestFsckBesideWriters: commits, rechunk, branches that come and go, expiry and a collection
// without grace run at every call of fsck in turn. Nothing is wrong with the dataset, so nothing is
// reported, and nothing is repaired.
func TestFsckBesideWriters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for first := range 40 {
		space := &mem.Space{}
		env := &Env{Stores: storage.Registry{"mem": space.Open}, Codecs: all.All(), Writer: "test"}
		d := numberedDataset(t, env, "mem://d")
		steps := []func(n int){
			func(n int) { appendNumbers(t, d, int64(n), int64(n+1)); commit(t, d, "append") },
			func(n int) { updateNumbers(t, d, 0, int64(n)); commit(t, d, "update") },
			func(int) { must[RechunkReport](t)(d.Rechunk(ctx, RechunkOptions{})) },
			func(n int) {
				if err := d.Versions().CreateBranch(ctx, fmt.Sprintf("b%d", n), "main"); err != nil {
					t.Fatal(err)
				}
			},
			func(n int) {
				if err := d.Versions().DeleteBranch(ctx, fmt.Sprintf("b%d", n-1)); err != nil && !errs.Is(err, errs.NotFound) {
					t.Fatal(err)
				}
			},
			func(int) {
				must[maintain.GCReport](t)(d.Versions().GC(ctx, maintain.GCOptions{Expire: &maintain.Retention{Last: 1}}))
			},
		}
		for n := range 3 {
			steps[0](n)
		}
		store := &besideStore{Provider: openedStore(t, space, "d"), beside: func() {}}
		repo := must[*version.Repo](t)(version.Open(ctx, store, "test"))
		var turn sync.Mutex
		calls := 0
		store.beside = func() {
			turn.Lock()
			defer turn.Unlock()
			if n := calls - first; n >= 0 && n < 4*len(steps) {
				steps[n%len(steps)](n)
			}
			calls++
		}
		r, err := maintain.Fsck(ctx, repo, maintain.FsckOptions{MapsOnly: true, Repair: true})
		if err != nil || len(r.Problems) > 0 {
			t.Errorf("steps from call %d on: %v, %+v", first, err, r.Problems)
		}
		if len(store.writes) > 0 {
			t.Errorf("steps from call %d on: fsck wrote %q", first, store.writes)
		}
		store.beside = func() {}
		if r, err := maintain.Fsck(ctx, repo, maintain.FsckOptions{}); err != nil || len(r.Problems) > 0 {
			t.Errorf("afterwards: %v, %+v", err, r.Problems)
		}
	}
}
