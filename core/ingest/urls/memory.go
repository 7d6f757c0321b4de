package urls

// memory counts the bytes of objects that are not released. Fetcher.mu guards it.
type memory struct {
	used  int64
	usual int64 // size of an object: a moving mean
}

const (
	// firstBytes is the memory of a body before its length has proved true.
	firstBytes = 64 << 10
	// bodyBytes is the memory of a body of unknown length at first.
	bodyBytes = 32 << 10
)

// give takes n bytes from the used ones.
func (m *memory) give(n int64) { m.used -= n }

// saw takes the size of an object over into the usual one.
func (m *memory) saw(size int64) { m.usual += (size - m.usual) / 16 }

// admit reserves what j is likely to take, if there is room for it.
func (f *Fetcher) admit(j *job) bool { return f.reserve(j, max(j.need, f.memory.usual)) }

// reserve makes j hold at least n bytes of the budget. It returns false, and changes nothing, if
// they do not fit and the batch is not exempt.
func (f *Fetcher) reserve(j *job, n int64) bool {
	more := n - j.held
	if more <= 0 {
		return true
	}
	if !f.queue.isExempt(j.batch) && f.memory.used+more > f.o.Memory {
		return false
	}
	f.memory.used += more
	j.held = n
	return true
}

// hold is reserve for workers.
func (f *Fetcher) hold(j *job, n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reserve(j, n)
}
