package main

import (
	"sync"

	"deeplake/core/errs"
)

// table maps handles of one kind to values. A handle is the kind (8 bits), the generation of its
// slot (24) and slot + 1 (32). So closed handles and handles of another kind are told from live
// ones. The zero value with a kind and a name is empty. All methods may be called in parallel.
type table[T any] struct {
	kind  uint8
	name  string // for messages
	mu    sync.RWMutex
	slots []slot[T]
	free  []uint32
}

type slot[T any] struct {
	generation uint32
	live       bool
	value      T
}

const generationMask = 1<<24 - 1

// put makes a handle for v.
func (t *table[T]) put(v T) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var i uint32
	if n := len(t.free); n > 0 {
		i, t.free = t.free[n-1], t.free[:n-1]
	} else {
		i = uint32(len(t.slots))
		t.slots = append(t.slots, slot[T]{})
	}
	s := &t.slots[i]
	s.live, s.value = true, v
	return uint64(t.kind)<<56 | uint64(s.generation)<<32 | uint64(i+1)
}

// get finds the value of a handle.
func (t *table[T]) get(id uint64) (T, error) {
	t.mu.RLock()
	s, err := t.find(id)
	if err != nil {
		t.mu.RUnlock()
		var none T
		return none, err
	}
	v := s.value
	t.mu.RUnlock()
	return v, nil
}

// take finds the value of a handle and ends the handle. Exactly one caller gets it.
func (t *table[T]) take(id uint64) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var none T
	s, err := t.find(id)
	if err != nil {
		return none, err
	}
	v := s.value
	s.value, s.live = none, false
	s.generation = (s.generation + 1) & generationMask
	t.free = append(t.free, uint32(id)-1)
	return v, nil
}

// find checks a handle. The caller holds the lock.
func (t *table[T]) find(id uint64) (*slot[T], error) {
	i := uint32(id) - 1 // wraps for 0
	if uint8(id>>56) != t.kind || int64(i) >= int64(len(t.slots)) {
		return nil, errs.New(errs.Invalid, "use %s handle 0x%x: it never was one", t.name, id)
	}
	s := &t.slots[i]
	if !s.live || s.generation != uint32(id>>32)&generationMask {
		return nil, errs.New(errs.Closed, "use %s handle 0x%x: it is closed", t.name, id)
	}
	return s, nil
}
