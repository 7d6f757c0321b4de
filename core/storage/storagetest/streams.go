package storagetest

import (
	"context"
	"errors"
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

func stream(ctx context.Context, p fixture) error {
	for _, pieces := range [][]int{{}, {0}, {1}, {100, 0, 3 << 20, 7}, {5 << 20, 5 << 20}} {
		key := fmt.Sprintf("data/%d", len(pieces))
		if err := streamOne(ctx, p, key, pieces); err != nil {
			return fmt.Errorf("stream of pieces %v: %w", pieces, err)
		}
	}
	return replaceByStream(ctx, p)
}

func streamOne(ctx context.Context, p fixture, key string, pieces []int) error {
	if err := p.Delete(ctx, key); err != nil {
		return err
	}
	s, err := storage.Create(ctx, p.Provider, key)
	if err != nil {
		return err
	}
	defer s.Abort()
	var want []byte
	for i, n := range pieces {
		piece := content(n, uint64(i))
		want = append(want, piece...)
		if got, err := s.Write(piece); err != nil || got != n {
			return fmt.Errorf("write of %d bytes: got %d, %w", n, got, err)
		}
		clear(piece) // the stream must not keep it
		if err := absent(ctx, p, key); err != nil {
			return fmt.Errorf("before finish: %w", err)
		}
	}
	g := task.New(ctx, 0) // Finish comes from another goroutine
	g.Go(s.Finish)
	if err := g.Wait(); err != nil {
		return err
	}
	s.Abort()
	if s.Finish(ctx) == nil {
		return errors.New("second finish: no error")
	}
	other := p.reopen()
	defer other.Close()
	return errors.Join(holds(ctx, p, key, want), holds(ctx, other, key, want))
}

func replaceByStream(ctx context.Context, p fixture) error {
	if err := p.Put(ctx, "data/x", content(100, 1)); err != nil {
		return err
	}
	if err := holds(ctx, p, "data/x", content(100, 1)); err != nil {
		return err
	}
	s, err := storage.Create(ctx, p.Provider, "data/x")
	if err != nil {
		return err
	}
	if _, err := s.Write(content(50, 2)); err != nil {
		return err
	}
	if err := holds(ctx, p, "data/x", content(100, 1)); err != nil {
		return fmt.Errorf("before finish: %w", err)
	}
	if err := s.Finish(ctx); err != nil {
		return err
	}
	return holds(ctx, p, "data/x", content(50, 2))
}

func streamAbort(ctx context.Context, p fixture) error {
	s, err := storage.Create(ctx, p.Provider, "data/new/a")
	if err != nil {
		return err
	}
	if _, err := s.Write(content(1<<20, 0)); err != nil {
		return err
	}
	s.Abort()
	s.Abort()
	if s.Finish(ctx) == nil {
		return errors.New("finish after abort: no error")
	}
	if _, err := s.Write([]byte("x")); err == nil {
		return errors.New("write after abort: no error")
	}
	if err := absent(ctx, p, "data/new/a"); err != nil {
		return err
	}

	s, err = storage.Create(ctx, p.Provider, "data/new/b")
	if err != nil {
		return err
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := wants(errs.Canceled, s.Finish(gone), "finish with a cancelled context"); err != nil {
		return err
	}
	s.Abort()
	return absent(ctx, p, "data/new/b")
}

func streamsSideBySide(ctx context.Context, p fixture) error {
	const streams, pieces = 8, 20
	g := task.New(ctx, 0)
	for i := range uint64(streams) {
		g.Go(func(ctx context.Context) error {
			s, err := storage.Create(ctx, p.Provider, fmt.Sprintf("data/s/%d", i))
			if err != nil {
				return err
			}
			defer s.Abort()
			for j := range uint64(pieces) {
				if _, err := s.Write(content(50_000, i*pieces+j)); err != nil {
					return err
				}
			}
			return s.Finish(ctx)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range uint64(streams) {
		var want []byte
		for j := range uint64(pieces) {
			want = append(want, content(50_000, i*pieces+j)...)
		}
		if err := holds(ctx, p, fmt.Sprintf("data/s/%d", i), want); err != nil {
			return err
		}
	}
	return nil
}
