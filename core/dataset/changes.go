package dataset

import "sync"

// maxUpdated bounds the rows of a tensor that are listed as updated. Updates of more rows take
// chunks of their own, which a new view of the tensor reads as fast as others.
const maxUpdated = 1 << 16

// changes counts the changes of a dataset since it was opened, and remembers which samples the
// latest ones have updated. A view of uncommitted rows seals the chunks that are being filled; an
// older view is as good for samples that were not updated since.
type changes struct {
	mu      sync.Mutex
	count   uint64
	all     uint64 // count at the last change that may concern every sample
	updated map[string]*updates
}

// updates are those of one tensor.
type updates struct {
	last uint64           // count at the last one
	many uint64           // count at the last one that is not listed
	rows map[int64]uint64 // count at the last one, by row
}

// now returns the count, which a view keeps.
func (c *changes) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// everything notes a change that may concern every sample, and the numbers of rows.
func (c *changes) everything() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	c.all, c.updated = c.count, nil
}

// update notes that rows of tensors were updated.
func (c *changes) update(tensors []string, rows []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	if c.updated == nil {
		c.updated = map[string]*updates{}
	}
	for _, name := range tensors {
		u := c.updated[name]
		if u == nil {
			u = &updates{rows: map[int64]uint64{}}
			c.updated[name] = u
		}
		u.last = c.count
		if len(u.rows)+len(rows) > maxUpdated {
			u.many, u.rows = c.count, map[int64]uint64{}
			continue
		}
		for _, row := range rows {
			u.rows[row] = c.count
		}
	}
}

// since reports whether a sample may have changed after the count since. Tensor "" is all of them,
// row -1 all rows.
func (c *changes) since(since uint64, tensor string, row int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all > since {
		return true
	}
	if tensor != "" {
		u := c.updated[tensor]
		return u != nil && u.since(since, row)
	}
	for _, u := range c.updated {
		if u.since(since, row) {
			return true
		}
	}
	return false
}

func (u *updates) since(since uint64, row int64) bool {
	if row < 0 {
		return u.last > since
	}
	return u.many > since || u.rows[row] > since
}
