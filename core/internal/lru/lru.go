// Package lru owns a map with a bound in bytes that evicts the least recently used entry. It holds
// nothing that would have to be written back.
package lru

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// errUnfinished is the error of a load until fn returns, so that it stands if fn panics.
var errUnfinished = errors.New("load: not finished")

// Cache keeps values by key up to a number of bytes. All methods may be called in parallel.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	limit int64
	used  int64
	items map[K]*list.Element
	order *list.List // front: used last
	loads map[K]*load[V]
}

// load is a value on its way.
type load[V any] struct {
	done  chan struct{}
	value V
	err   error
}

type item[K comparable, V any] struct {
	key   K
	value V
	bytes int64
}

// New makes a cache of at most limit bytes. One value larger than limit stays until the next Put.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, items: map[K]*list.Element{}, order: list.New(), loads: map[K]*load[V]{}}
}

// Get returns the value of key and marks it as used.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		var zero V
		return zero, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*item[K, V]).value, true
}

// Put keeps value, which counts as bytes, and drops the values used longest ago until the limit
// holds.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.remove(e)
	}
	c.items[key] = c.order.PushFront(&item[K, V]{key, value, bytes})
	c.used += bytes
	for c.used > c.limit && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

// Load returns the value of key, made by fn unless it is there. Concurrent callers of the same key
// share one call of fn. If it fails, each of the others calls its own fn. fn returns the arguments
// of Put. Errors are not cached.
func (c *Cache[K, V]) Load(ctx context.Context, key K, fn func() (V, int64, error)) (V, error) {
	c.mu.Lock()
	if e, ok := c.items[key]; ok {
		c.order.MoveToFront(e)
		v := e.Value.(*item[K, V]).value
		c.mu.Unlock()
		return v, nil
	}
	if l := c.loads[key]; l != nil {
		c.mu.Unlock()
		select {
		case <-l.done:
			if l.err == nil {
				return l.value, nil
			}
		case <-ctx.Done():
			// fn decides the error of an ended context.
		}
		v, bytes, err := fn()
		if err == nil {
			c.Put(key, v, bytes)
		}
		return v, err
	}
	l := &load[V]{done: make(chan struct{}), err: errUnfinished}
	c.loads[key] = l
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.loads, key)
		c.mu.Unlock()
		close(l.done)
	}()
	v, bytes, err := fn()
	if err == nil {
		c.Put(key, v, bytes)
	}
	l.value, l.err = v, err
	return v, err
}

// Drop forgets key.
func (c *Cache[K, V]) Drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.remove(e)
	}
}

// Bytes returns the sum of the sizes of the values.
func (c *Cache[K, V]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

func (c *Cache[K, V]) remove(e *list.Element) {
	it := c.order.Remove(e).(*item[K, V])
	delete(c.items, it.key)
	c.used -= it.bytes
}
