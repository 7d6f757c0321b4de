package stream

import (
	"sync"
	"unsafe"

	"deeplake/core/slab"
)

// memory gives the memory of a batch. Columns take from it in parallel.
type memory struct {
	ring  *slab.Ring
	mu    sync.Mutex
	batch *Batch
}

// own releases a slab with the batch.
func (m *memory) own(s *slab.Slab) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batch.slabs = append(m.batch.slabs, s)
}

// hold keeps a value until the batch is released.
func (m *memory) hold(v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batch.keep = append(m.batch.keep, v)
}

// bytes returns n bytes of undefined content.
func (m *memory) bytes(n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	s, err := m.ring.Get(n)
	if err != nil {
		return nil, err
	}
	m.own(s)
	return s.Bytes()[:n:n], nil
}

// elements returns n elements of undefined content.
func elements[T any](m *memory, n int64) ([]T, error) {
	var one T
	data, err := m.bytes(n * int64(unsafe.Sizeof(one)))
	if len(data) == 0 {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n), nil
}

// offsets returns where n rows begin and the last one ends.
func (m *memory) offsets(n int64, size func(i int64) int64) ([]int64, error) {
	ends, err := elements[int64](m, n+1)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	for i := range n {
		ends[i] = at
		at += size(i)
	}
	ends[n] = at
	return ends, nil
}

// valid returns a bit for each of n rows, nil if none is missing.
func (m *memory) valid(n int64, missing func(i int64) bool) ([]byte, error) {
	first := int64(0)
	for first < n && !missing(first) {
		first++
	}
	if first == n {
		return nil, nil
	}
	return m.bits(n, func(i int64) bool { return !missing(i) })
}

// bits returns n bits.
func (m *memory) bits(n int64, set func(i int64) bool) ([]byte, error) {
	out, err := m.bytes((n + 7) / 8)
	if err != nil {
		return nil, err
	}
	for i := range out {
		b := byte(0)
		for k := range min(8, n-int64(i)*8) {
			if set(int64(i)*8 + k) {
				b |= 1 << k
			}
		}
		out[i] = b
	}
	return out, nil
}
