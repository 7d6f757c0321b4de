package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

// Checks for stores across a network: ranges and their tags, races in which all begin at once,
// listings that show the newest objects, copies within the store.

// ranges asks for pieces in every form, of providers that are a storage.Ranger.
func ranges(ctx context.Context, p fixture) error {
	r, ok := storage.As[storage.Ranger](p.Provider)
	if !ok {
		return nil
	}
	data := content(300_000, 1)
	if err := errors.Join(p.Put(ctx, "data/a", data), p.Put(ctx, "data/empty", nil)); err != nil {
		return err
	}
	tag := ""
	for _, c := range []struct{ off, n, want int64 }{
		{0, -1, 300_000}, {0, 300_000, 300_000}, {0, 1, 1}, {0, 0, 0}, {17, 0, 0}, {300_000, 0, 0}, {299_999, 1, 1}, {299_999, -1, 1},
		{123_456, 100_000, 100_000}, {200_000, -1, 100_000}, {299_990, 1000, 10}, {0, 1 << 40, 300_000}, {5, 1 << 40, 299_995},
	} {
		got, err := ranged(ctx, r, "data/a", c.off, c.n, tag)
		if err != nil {
			return err
		}
		if !bytes.Equal(got.data, data[c.off:c.off+c.want]) || got.len != c.want || got.size != 300_000 && got.size != -1 {
			return fmt.Errorf("range of %d bytes at %d: got %d bytes, length %d of %d; want %d of 300000 or -1",
				c.n, c.off, len(got.data), got.len, got.size, c.want)
		}
		if tag == "" {
			tag = got.tag // the later ranges are pinned to it
		}
		if got.tag != tag && c.n != 0 {
			return fmt.Errorf("range of %d bytes at %d: tag %q, want %q as before", c.n, c.off, got.tag, tag)
		}
	}
	for _, n := range []int64{-1, 0, 5} {
		if got, err := ranged(ctx, r, "data/empty", 0, n, ""); err != nil || len(got.data) != 0 {
			return fmt.Errorf("range of %d bytes of an empty object: got %d bytes, %w", n, len(got.data), err)
		}
	}
	return all(
		func() error { return rangeBounds(ctx, r, tag) },
		func() error { return rangeLeft(ctx, r, p) },
	)
}

// rangeBounds requests ranges outside of the object.
func rangeBounds(ctx context.Context, r storage.Ranger, tag string) error {
	for _, c := range []struct {
		key, tag string
		off, n   int64
		want     errs.Kind
	}{
		{"data/a", "", 300_000, 1, errs.Corrupt}, {"data/a", "", 300_000, -1, errs.Corrupt}, {"data/a", tag, 300_000, -1, errs.Corrupt},
		{"data/empty", "", 1, 1, errs.Corrupt}, {"data/empty", "", 1, -1, errs.Corrupt}, {"data/a", "", 300_001, 1, errs.Corrupt}, {"data/a", "", 300_001, -1, errs.Corrupt}, {"data/a", tag, 1 << 40, 5, errs.Corrupt},
		{"data/a", "", -1, 5, errs.Invalid}, {"data/b", "", 0, 5, errs.NotFound}, {"data/b", tag, 0, -1, errs.NotFound},
		{"data/a", otherTag(tag), 0, 5, errs.Conflict}, {"data/a", otherTag(tag), 0, -1, errs.Conflict},
	} {
		if c.tag == "" && c.want == errs.Conflict {
			continue // the store gives no tags
		}
		_, err := ranged(ctx, r, c.key, c.off, c.n, c.tag)
		if err := wants(c.want, err, "range of %d bytes at %d of %q with tag %q", c.n, c.off, c.key, c.tag); err != nil {
			return err
		}
	}
	return nil
}

// otherTag is a tag that no object has, in the form of those that objects have: a number of digits,
// or a quoted text.
func otherTag(tag string) string {
	other := []byte(tag)
	for i := len(other) - 1; i >= 0; i-- {
		if other[i] >= '0' && other[i] < '9' || other[i] >= 'a' && other[i] < 'f' {
			other[i]++
			return string(other)
		}
	}
	return ""
}

// rangeLeft gives bodies up early, and goes on.
func rangeLeft(ctx context.Context, r storage.Ranger, p fixture) error {
	for range 5 {
		b, err := r.Range(ctx, "data/a", 0, -1, "")
		if err != nil {
			return err
		}
		var one [1]byte
		if _, err := io.ReadFull(b, one[:]); err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return fmt.Errorf("close of a body that was not read: %w", err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	b, err := r.Range(gone, "data/a", 0, -1, "")
	if err != nil {
		cancel()
		return err
	}
	cancel()
	_ = b.Close()
	_, err = r.Range(gone, "data/a", 0, 1, "")
	if err := wants(errs.Canceled, err, "range with a cancelled context"); err != nil {
		return err
	}
	return holds(ctx, p, "data/a", content(300_000, 1))
}

// piece is the result of a range request.
type piece struct {
	data      []byte
	len, size int64
	tag       string
}

func ranged(ctx context.Context, r storage.Ranger, key string, off, n int64, tag string) (piece, error) {
	b, err := r.Range(ctx, key, off, n, tag)
	if err != nil {
		return piece{}, fmt.Errorf("range of %d bytes at %d of %q: %w", n, off, key, err)
	}
	defer b.Close()
	data, err := io.ReadAll(b)
	if err != nil {
		err = fmt.Errorf("body of %d bytes at %d of %q: %w", n, off, key, err)
	}
	return piece{data, b.Len(), b.Size(), b.Tag()}, err
}

// startTogether is 60 rounds in which 24 rivals, each on one of four providers of the store, want
// the same key at the same moment.
func startTogether(ctx context.Context, p fixture) error {
	const rivals, rounds, openings = 24, 60, 4
	providers := []storage.Provider{p.Provider}
	for range openings - 1 {
		other := p.reopen()
		defer other.Close()
		providers = append(providers, other)
	}
	for round := range rounds {
		key := fmt.Sprintf("log/b/%020d", round)
		start := make(chan struct{})
		var winners, winner atomic.Int64
		g := task.New(ctx, 0)
		for rival := range rivals {
			g.Go(func(ctx context.Context) error {
				<-start
				err := providers[rival%openings].PutIfAbsent(ctx, key, content(500, uint64(rival)))
				if err == nil {
					winners.Add(1)
					winner.Store(int64(rival))
					return nil
				}
				return wants(errs.Exists, err, "put-if-absent %q", key)
			})
		}
		close(start)
		if err := g.Wait(); err != nil {
			return err
		}
		if winners.Load() != 1 {
			return fmt.Errorf("round %d: %d of %d rivals put %q, want 1", round, winners.Load(), rivals, key)
		}
		if err := holds(ctx, providers[round%openings], key, content(500, uint64(winner.Load()))); err != nil {
			return fmt.Errorf("round %d: not the winner's content: %w", round, err)
		}
	}
	return nil
}

// takingNumbers lets 8 writers take the next free number 25 times each, as commits do.
func takingNumbers(ctx context.Context, p fixture) error {
	const writers, each = 8, 25
	g := task.New(ctx, 0)
	for w := range writers {
		g.Go(func(ctx context.Context) error {
			next := 0
			for done := 0; done < each; next++ {
				err := p.PutIfAbsent(ctx, fmt.Sprintf("log/n/%04d", next), content(64, uint64(w*each+done)))
				if err == nil {
					done++
				} else if err := wants(errs.Exists, err, "put-if-absent of number %d", next); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	found, err := listed(ctx, p, "log/n/", "", -1)
	if err != nil {
		return err
	}
	if len(found) != writers*each || found[len(found)-1].Key != fmt.Sprintf("log/n/%04d", writers*each-1) {
		return fmt.Errorf("%d numbers are taken, want %d without a gap", len(found), writers*each)
	}
	seen := map[string]bool{}
	for _, o := range found {
		data, err := p.Get(ctx, o.Key)
		if err != nil {
			return err
		}
		seen[string(data)] = true
	}
	if len(seen) != writers*each {
		return fmt.Errorf("%d of %d writes are there", len(seen), writers*each)
	}
	return nil
}

// listAfterWrite: a listing shows the writes, replacements and removals just before it, from every
// provider.
func listAfterWrite(ctx context.Context, p fixture) error {
	other := p.reopen()
	defer other.Close()
	var last storage.Object
	for i := range 100 {
		o := storage.Object{Key: fmt.Sprintf("log/l/%05d", 99999-i), Size: int64(i)}
		put := p.Put
		if i%2 == 0 {
			put = p.PutIfAbsent
		}
		if err := put(ctx, o.Key, make([]byte, i)); err != nil {
			return err
		}
		first, err := listed(ctx, other, "log/l/", "", 1)
		if err != nil {
			return err
		}
		if len(first) != 1 || first[0].Key != o.Key || first[0].Size != o.Size {
			return fmt.Errorf("list right after the write of %q: begins with %v", o.Key, first)
		}
		if last.Key != "" {
			if err := p.Delete(ctx, last.Key); err != nil {
				return err
			}
			found, err := listed(ctx, other, "log/l/", "", -1)
			if err != nil || len(found) != 1 {
				return fmt.Errorf("list right after the delete of %q: got %v, %w", last.Key, found, err)
			}
		}
		last = o
	}
	return nil
}

// copies tries providers that are a storage.Copier.
func copies(ctx context.Context, p fixture) error {
	c, ok := storage.As[storage.Copier](p.Provider)
	if !ok {
		return nil
	}
	from := p.reopen()
	defer from.Close()
	for i, size := range []int{0, 1, 100_000} {
		key, data := fmt.Sprintf("data/%d", i), content(size, uint64(i))
		if err := from.Put(ctx, key, data); err != nil {
			return err
		}
		done, err := c.CopyFrom(ctx, from, key, "copy/"+key)
		if err != nil {
			return fmt.Errorf("copy of %d bytes: %w", size, err)
		}
		if !done {
			if err := absent(ctx, p, "copy/"+key); err != nil {
				return fmt.Errorf("after a copy that was not done: %w", err)
			}
			continue
		}
		if err := errors.Join(holds(ctx, p, "copy/"+key, data), holds(ctx, p, key, data)); err != nil {
			return err
		}
	}
	done, err := c.CopyFrom(ctx, from, "data/missing", "copy/missing")
	if !done && err == nil {
		return nil
	}
	return wants(errs.NotFound, err, "copy of a missing object")
}
