package cache

import "sync"

// ClaimPatience is the time that a claim without a sign of life is waited for.
const ClaimPatience = claimPatience

// LockTable stands for the locks of a file in tests: processes of it are numbers.
type LockTable struct {
	mu   sync.Mutex
	held map[int]map[int64]bool // bytes by process
	err  error
}

// Break lets every lock fail from now on.
func (t *LockTable) Break(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// Kill drops the locks of a process, as the system does when it ends.
func (t *LockTable) Kill(pid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, pid)
}

// Held counts the locked bytes.
func (t *LockTable) Held() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, bytes := range t.held {
		n += len(bytes)
	}
	return n
}

// NewDiskOf makes the layer of a process of the table.
func NewDiskOf(dir string, limit int64, t *LockTable, pid int) *Disk {
	d := NewDisk(dir, limit)
	d.claimed = newClaims(tableLocks{t, pid})
	return d
}

type tableLocks struct {
	table *LockTable
	pid   int
}

// mostTable bounds the bytes of one lock that are remembered: a lock may be for a TiB of pages.
const mostTable = 512

func (l tableLocks) try(at, n int64) (holder, error) {
	t := l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return holder{}, t.err
	}
	n = min(n, mostTable)
	for pid, bytes := range t.held {
		for b := at; pid != l.pid && b < at+n; b++ {
			if !bytes[b] {
				continue
			}
			h := holder{pid: pid, from: b}
			for ; bytes[h.from-1]; h.from-- {
			}
			for ; bytes[h.from+h.n]; h.n++ {
			}
			return h, nil
		}
	}
	if t.held == nil {
		t.held = map[int]map[int64]bool{}
	}
	if t.held[l.pid] == nil {
		t.held[l.pid] = map[int64]bool{}
	}
	for b := at; b < at+n; b++ {
		t.held[l.pid][b] = true
	}
	return holder{}, nil
}

func (l tableLocks) unlock(at, n int64) {
	l.table.mu.Lock()
	defer l.table.mu.Unlock()
	for b := at; b < at+min(n, mostTable); b++ {
		delete(l.table.held[l.pid], b)
	}
}
