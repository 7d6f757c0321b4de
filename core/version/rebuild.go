package version

import (
	"context"
	"fmt"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
)

// rebuild makes a side page from the directories at the ends of its chunks, if all of them are
// there. Some slots belong to no version any more. In version 1 they get one byte, as a slot cannot
// be empty. From version 2 on the page must come out as it was, since its content is its name:
// rebuild tries the chunk that follows the one of the slot before.
func (f *fsck) rebuild(ctx context.Context, id format.UUID, use *sideUse) error {
	n := int64(0)
	for slot := range use.slots {
		n = max(n, slot+1)
	}
	dirs := make([][]byte, n)
	chunks := make([]chunkKey, n)
	for slot := range dirs {
		dirs[slot] = []byte{0}
		chunk, known := use.slots[int64(slot)]
		if !known && slot > 0 {
			chunk = chunkKey{chunks[slot-1].session, chunks[slot-1].ordinal + 1}
		}
		chunks[slot] = chunk
	}
	g := task.New(ctx, markBatch)
	for slot, chunk := range chunks {
		_, known := use.slots[int64(slot)]
		if !known && (f.repo.TSF.Format == format.FirstVersion || f.sizes[chunk.session][chunk.ordinal] == 0) {
			continue
		}
		g.Go(func(ctx context.Context) error {
			_, dir, err := chunkIndex(ctx, f.repo.Store, chunk, format.UUID{}, f.sizes[chunk.session][chunk.ordinal])
			if err == nil {
				dirs[slot] = dir
			} else if !known && isDamage(err) {
				err = nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		if isDamage(err) {
			use.problem.Lost += "; and one of the chunks cannot be read either"
			return nil
		}
		return err
	}
	data, err := format.EncodeSide(dirs)
	if err != nil {
		return err
	}
	if f.repo.TSF.Format > format.FirstVersion {
		if data = format.Salted(data, format.SideSalt(chunks[0].session, chunks[0].ordinal)); format.ContentName(data) != id {
			use.problem.Lost += "; the page cannot be made again as it was, and rechunk() writes a new one"
			return nil
		}
	}
	use.problem.Repair = fmt.Sprintf("from the directories of its %d chunks", len(use.slots))
	if !f.o.Repair {
		return nil
	}
	if err := f.repo.Store.Put(ctx, format.MapKey(id), data); err != nil {
		return errs.Wrap(errs.Storage, "fsck", format.MapKey(id), err)
	}
	use.problem.Done = true
	return nil
}
