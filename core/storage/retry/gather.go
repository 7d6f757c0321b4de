package retry

import "sync"

// gathers keeps the memory of objects that were put for those to come. A stream does not say how
// long it will be: letting its memory grow from nothing would copy each chunk several times, into
// pages that the system has to clear.
type gathers struct {
	mu   sync.Mutex
	free [classes][][]byte
	held int
}

// classes is the number of sizes of memory.
const classes = 5

// sizeOf is the memory that streams go through, one class after the other. Chunks have 8 MiB and a
// little more, as a rule.
func sizeOf(class int) int {
	return [classes]int{64 << 10, 512 << 10, 2 << 20, 8<<20 + 512<<10, bufferBytes}[class]
}

// heldGathers bounds the memory that waits.
const heldGathers = 48 << 20

// grow gives memory that has data and room for n bytes more, at most bufferBytes in all. data is
// not to be used any more.
func (g *gathers) grow(data []byte, n int) []byte {
	need := len(data) + n
	if need <= cap(data) {
		return data
	}
	class := 0
	for sizeOf(class) < need {
		class++
	}
	bigger := append(g.get(class), data...)
	g.put(data)
	return bigger
}

func (g *gathers) get(class int) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.free[class]
	if len(list) == 0 {
		return make([]byte, 0, sizeOf(class))
	}
	p := list[len(list)-1]
	g.free[class] = list[:len(list)-1]
	g.held -= cap(p)
	return p
}

// put takes memory back, which must not be read any more.
func (g *gathers) put(p []byte) {
	for class := range classes {
		if size := sizeOf(class); cap(p) == size {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.held+size <= heldGathers {
				g.free[class] = append(g.free[class], p[:0])
				g.held += size
			}
			return
		}
	}
}
