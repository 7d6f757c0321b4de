package chunk

import "deeplake/core/errs"

// maxPacking is the number of blocks of a builder that are compressed beside it. More would not
// help a machine with fewer cores, and their memory is bounded.
const maxPacking = 8

// packing is a block that is being compressed beside its builder.
type packing struct {
	items  int64
	raw    []byte
	stored []byte // once done is closed, with err
	err    error
	done   chan struct{}
}

// packBeside begins to compress the open block. The builder goes on with the next one.
func (b *Builder) packBeside() error {
	if err := b.settle(maxPacking - 1); err != nil {
		return err
	}
	p := &packing{items: b.inBlock, raw: b.block, done: make(chan struct{})}
	p.err = errs.Op("compress a block", "").New(errs.Internal, "the codec did not return")
	pack := b.packed
	b.packing, b.unpacked = append(b.packing, p), b.unpacked+int64(len(p.raw))
	b.session.packing++
	if b.spare == nil {
		b.spare = make([]byte, 0, cap(p.raw))
	}
	b.block, b.spare, b.inBlock = b.spare[:0], nil, 0
	b.session.Go(func() {
		defer close(p.done)
		p.stored, p.err = pack(p.raw)
	})
	return nil
}

// Settle waits for the blocks that are being compressed, and writes them. A caller that will not
// add rows soon frees their memory by it.
func (b *Builder) Settle() error {
	err := b.settle(0)
	b.spare = nil
	return err
}

// settle writes the oldest blocks that are being compressed until no more than left are left.
func (b *Builder) settle(left int) error {
	for b.failed == nil && len(b.packing) > left {
		p := b.packing[0]
		<-p.done
		b.packing, b.unpacked = b.packing[1:], b.unpacked-int64(len(p.raw))
		b.session.packing--
		if b.failed = p.err; b.failed == nil {
			b.addBlock(p.items, p.stored)
			b.failed = b.write(p.stored)
			if cap(p.raw) <= keptBlock {
				b.spare = p.raw
			}
		}
	}
	return b.failed
}
