package transform

import "deeplake/core/errs"

// arena hands out pieces of large blocks, all of which are given back at once.
type arena struct {
	blocks [][]int32
	block  int // that is being cut
	used   int // numbers of it
}

const blockInts = 64 << 10

// ints gives n numbers of any content. Where there is no memory, nothing has changed.
func (a *arena) ints(n int) ([]int32, error) {
	n = max(n, 1)
	for ; a.block < len(a.blocks); a.block, a.used = a.block+1, 0 {
		if b := a.blocks[a.block]; len(b)-a.used >= (n+3)&^3 {
			a.used += (n + 3) &^ 3
			return b[a.used-(n+3)&^3:][:n:n], nil
		}
	}
	size := max(blockInts, (n+3)&^3)
	b := allocate(size)
	if b == nil {
		return nil, errNoMemory()
	}
	a.blocks = append(a.blocks, b)
	a.used = (n + 3) &^ 3
	return b[:n:n], nil
}

func errNoMemory() error {
	return errs.Op("transform a picture", "").New(errs.Internal, "out of memory")
}

func (a *arena) reset() { a.block, a.used = 0, 0 }

func (a *arena) free() {
	for _, b := range a.blocks {
		release(b)
	}
	*a = arena{}
}
