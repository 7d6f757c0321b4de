package viz

import (
	"context"
	"sync"
	"sync/atomic"
)

// counts are the statistics of all rows that are being counted.
type counts struct {
	mu  sync.Mutex
	all map[countKey]*running
}

// countKey names a tensor of a view.
type countKey struct{ view, column string }

// running is one count. It looks at every row a number of times.
type running struct {
	looked atomic.Int64
	total  int64
}

// begin notes a count, and returns its end. Where a column is counted twice at once, the later
// count is shown.
func (c *counts) begin(key countKey, total int64) (r *running, end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[countKey]*running{}
	}
	r = &running{total: total}
	c.all[key] = r
	return r, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.all[key] == r {
			delete(c.all, key)
		}
	}
}

// get returns the count of a column, nil if there is none.
func (c *counts) get(key countKey) *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[key]
}

// progressInfo says how much of a count is done.
type progressInfo struct {
	Done  int64 `json:"done"`
	Total int64 `json:"total"` // 0: nothing is counted, or nothing is known of it
}

func (s *Service) progress(_ context.Context, body []byte) (any, error) {
	var in struct {
		ofView
		Column string `json:"column"`
	}
	_, done, err := s.views.use(body, &in)
	if err != nil {
		return nil, err
	}
	defer done()
	r := s.counts.get(countKey{in.View, in.Column})
	if r == nil {
		return progressInfo{}, nil
	}
	return progressInfo{Done: min(r.looked.Load(), r.total), Total: r.total}, nil
}
