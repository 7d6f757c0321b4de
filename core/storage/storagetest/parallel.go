package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// putIfAbsentRace lets 64 goroutines, half of them on another provider of the store, fight for 50
// keys.
func putIfAbsentRace(ctx context.Context, p fixture) error {
	const rivals, keys = 64, 50
	other := p.reopen()
	defer other.Close()
	var winners [keys]atomic.Int64 // number of winners * 1000 + the last one
	g := task.New(ctx, 0)
	for rival := range rivals {
		mine := p.Provider
		if rival%2 == 1 {
			mine = other
		}
		g.Go(func(ctx context.Context) error {
			for i := range keys {
				key := fmt.Sprintf("log/%02d", i)
				err := mine.PutIfAbsent(ctx, key, content(200, uint64(rival)))
				if err == nil {
					winners[i].Add(1000 + int64(rival))
				} else if err := wants(errs.Exists, err, "put-if-absent %q in a race", key); err != nil {
					return err
				}
				if got, err := mine.Get(ctx, key); err != nil || len(got) != 200 {
					return fmt.Errorf("get %q, which somebody has put: %d bytes, %w", key, len(got), err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range winners {
		key, w := fmt.Sprintf("log/%02d", i), winners[i].Load()
		if w/1000 != 1 {
			return fmt.Errorf("put-if-absent %q: %d winners, want 1", key, w/1000)
		}
		if err := holds(ctx, p, key, content(200, uint64(w%1000))); err != nil {
			return fmt.Errorf("not the winner's content: %w", err)
		}
	}
	return nil
}

// parallelUse writes, reads and lists at the same time.
func parallelUse(ctx context.Context, p fixture) error {
	const workers, objects = 8, 25
	if err := p.Put(ctx, "p/base", content(100_000, 999)); err != nil {
		return err
	}
	g := task.New(ctx, 0)
	for w := range uint64(workers) {
		g.Go(func(ctx context.Context) error {
			for i := range uint64(objects) {
				key, data := fmt.Sprintf("p/%d/%d", w, i), content(1000, w*objects+i)
				if err := p.Put(ctx, key, data); err != nil {
					return err
				}
				if err := holds(ctx, p, key, data); err != nil {
					return err
				}
				if err := holds(ctx, p, "p/base", content(100_000, 999)); err != nil {
					return err
				}
			}
			mine, err := listed(ctx, p, fmt.Sprintf("p/%d/", w), "", -1)
			if err == nil && len(mine) != objects {
				err = fmt.Errorf("list of worker %d: got %d objects, want %d", w, len(mine), objects)
			}
			return err
		})
	}
	return g.Wait()
}

// readWhileDeleting: a reader sees the whole object or none.
func readWhileDeleting(ctx context.Context, p fixture) error {
	const readers, rounds = 4, 30
	data := content(64_000, 7)
	var done atomic.Bool
	g := task.New(ctx, 0)
	for range readers {
		g.Go(func(ctx context.Context) error {
			dst := make([]byte, len(data))
			for !done.Load() {
				err := p.ReadAt(ctx, "victim/a", dst, 0)
				if err == nil && string(dst) != string(data) {
					return fmt.Errorf("read while deleting: %s", difference(dst, data))
				}
				got, getErr := p.Get(ctx, "victim/a")
				if getErr == nil && string(got) != string(data) {
					return fmt.Errorf("get while deleting: %s", difference(got, data))
				}
				for _, err := range []error{err, getErr} {
					if err != nil && !errs.Is(err, errs.NotFound) {
						return fmt.Errorf("reading while deleting: %w", err)
					}
				}
			}
			return nil
		})
	}
	g.Go(func(ctx context.Context) error {
		defer done.Store(true)
		for range rounds {
			if err := errors.Join(p.Put(ctx, "victim/a", data), p.Delete(ctx, "victim/a"), absent(ctx, p, "victim/a")); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

// operations calls everything once and returns the errors by name.
func operations(ctx context.Context, p storage.Provider) map[string]error {
	_, getErr := p.Get(ctx, "there")
	_, createErr := createAndFinish(ctx, p, "new/c")
	return map[string]error{
		"get":           getErr,
		"read":          p.ReadAt(ctx, "there", make([]byte, 1), 0),
		"put":           p.Put(ctx, "new/a", []byte("x")),
		"put-if-absent": p.PutIfAbsent(ctx, "new/b", []byte("x")),
		"list":          p.List(ctx, "", "", func(storage.Object) bool { return true }),
		"delete":        p.Delete(ctx, "there"),
		"create":        createErr,
	}
}

func canceled(ctx context.Context, p fixture) error {
	if err := p.Put(ctx, "there", []byte("x")); err != nil {
		return err
	}
	if err := holds(ctx, p, "there", []byte("x")); err != nil { // warm
		return err
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	for op, err := range operations(gone, p.Provider) {
		if err := wants(errs.Canceled, err, "%s with a cancelled context", op); err != nil {
			return err
		}
	}
	if err := sameListing(ctx, p, map[string]int64{"there": 1}, "", "", -1); err != nil {
		return fmt.Errorf("a cancelled call did something: %w", err)
	}

	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range 5 {
		if err := p.Put(ctx, fmt.Sprintf("there%d", i), nil); err != nil {
			return err
		}
	}
	err := p.List(stop, "", "", func(storage.Object) bool { cancel(); return true })
	return wants(errs.Canceled, err, "list that is cancelled while it runs")
}

func closed(ctx context.Context, p fixture) error {
	other := p.reopen()
	if err := errors.Join(p.Put(ctx, "there", []byte("x")), holds(ctx, p, "there", []byte("x"))); err != nil {
		return err
	}
	open, err := storage.Create(ctx, p.Provider, "new/open")
	if err != nil {
		return err
	}
	if err := p.Close(); err != nil {
		return err
	}
	for op, err := range operations(ctx, p.Provider) {
		if err := wants(errs.Closed, err, "%s after close", op); err != nil {
			return err
		}
	}
	if err := wants(errs.Closed, open.Finish(ctx), "finish after close"); err != nil {
		return err
	}
	if err := wants(errs.Closed, p.Close(), "second close"); err != nil {
		return err
	}
	if err := sameListing(ctx, other, map[string]int64{"there": 1}, "", "", -1); err != nil {
		return fmt.Errorf("the other provider, or a closed one did something: %w", err)
	}
	return other.Close()
}

func uri(_ context.Context, p fixture) error {
	other := p.reopen()
	defer other.Close()
	if p.URI() == "" || p.URI() != other.URI() {
		return fmt.Errorf("uri: got %q and, of the same store, %q", p.URI(), other.URI())
	}
	return nil
}
