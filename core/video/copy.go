package video

import (
	"context"

	"deeplake/core/internal/task"
)

// copyBytes is the size of the pieces of Copy, but for one part that is larger.
const copyBytes = 4 << 20

// Copy passes the file of a row to fn, piece by piece and in order. Each piece is checked before,
// and of a linked file, that it is the one that was linked. The next piece is read while fn has
// one, so two are in memory. fn does not keep a piece.
func (r *Reader) Copy(ctx context.Context, row int64, fn func(piece []byte) error) error {
	s, err := r.find(ctx, row)
	if err != nil {
		return err
	}
	next, memory, spare := s.piece(0), []byte(nil), []byte(nil)
	if err := s.readInto(ctx, &next, memory); err != nil {
		return r.fail(row, err)
	}
	for len(next.data) > 0 {
		now := next
		next, memory = s.piece(now.to), spare
		g := task.New(ctx, 0)
		g.Go(func(ctx context.Context) error { return r.fail(row, s.readInto(ctx, &next, memory)) })
		if err = fn(now.data); err != nil {
			g.Stop()
		}
		if failed := g.Wait(); err == nil {
			err = failed
		}
		if err != nil {
			return err
		}
		spare = now.data
	}
	return nil
}

// piece returns the bytes of the file from a byte on that Copy reads together; none at the end.
func (s *stored) piece(from int64) run {
	to := min(from+copyBytes, s.table.Bytes)
	if to > from && len(s.ends) > 0 {
		// Parts are small against the piece, but for those of one large packet.
		part := s.partAt(to - 1)
		if to = s.ends[part]; to-from > copyBytes && s.start(part) > from {
			to = s.start(part)
		}
	}
	return run{from: from, to: to, pieces: []piece{{from, to}}}
}

// readInto reads a run into memory if there is enough.
func (s *stored) readInto(ctx context.Context, r *run, memory []byte) error {
	if r.to == r.from {
		return nil
	}
	r.data = memory[:0]
	return s.readRun(ctx, r, nil)
}
