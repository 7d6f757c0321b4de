package array

import (
	"unsafe"

	"deeplake/core/tensor"
)

// Work is the account of one call of a function: the memory that the call may allocate, and whether
// the caller still wants the result. One goroutine uses it. Its error sticks: after it, functions
// may return any column, so the caller asks Err before it uses the result. A nil Work bounds
// nothing. The zero value bounds a batch alone.
type Work struct {
	what  string
	alive func() error
	grow  func(bytes int64) error
	made  int64 // reserved so far
	allow int64 // of the arguments: a result as large as they are is not bounded by MaxBatch
	steps int   // left before the next call of alive
	err   error
}

// NewWork returns the account of a call of what. alive fails once the caller has given up. grow
// counts bytes against the budget of the caller. Both may be nil.
func NewWork(what string, alive func() error, grow func(bytes int64) error) *Work {
	return &Work{what: what, alive: alive, grow: grow, steps: stepsBetween}
}

// stepsBetween is the number of elementary steps between two looks at the caller: about 100
// microseconds.
const stepsBetween = 1 << 14

// Step counts n elementary steps, of a few nanoseconds each. It returns false soon after the caller
// gave up, or if the call has failed.
func (w *Work) Step(n int) bool {
	if w == nil {
		return true
	}
	w.steps -= n
	return w.steps > 0 || w.look()
}

func (w *Work) look() bool {
	if w.err != nil {
		return false
	}
	w.steps = stepsBetween
	if w.alive != nil {
		w.fail(w.alive())
	}
	return w.err == nil
}

// fail keeps the first error. No step follows it.
func (w *Work) fail(err error) {
	if err != nil && w.err == nil {
		w.err, w.steps = err, 0
	}
}

// Err returns the error that ended the call, nil if none did.
func (w *Work) Err() error {
	if w == nil {
		return nil
	}
	return w.err
}

// Reserve counts bytes that the call allocates next. It returns false beyond MaxBatch, beyond the
// budget of the caller, and after an error.
func (w *Work) Reserve(bytes int64) bool {
	switch {
	case w == nil || bytes == 0:
		return w.Err() == nil
	case w.err != nil:
		return false
	}
	w.made += bytes
	switch {
	case bytes < 0 || w.made < 0, w.made > MaxBatch && w.made > w.allow:
		w.fail(TooLarge(w.what))
	case w.grow != nil:
		w.fail(w.grow(bytes))
	}
	return w.err == nil
}

// Allow lets the call make as many bytes as its arguments have, whatever MaxBatch is: the batch was
// cut for the size of its inputs.
func (w *Work) Allow(bytes int64) {
	if w != nil {
		w.allow += bytes
	}
}

// Return takes back bytes that were reserved, once the memory is free.
func (w *Work) Return(bytes int64) {
	if w == nil || bytes == 0 {
		return
	}
	w.made -= bytes
	if w.grow != nil {
		_ = w.grow(-bytes) // a smaller sum is within every budget that a larger one was
	}
}

// Scratch returns room for n elements: that of v, or more of it after its memory is reserved.
func Scratch[T any](w *Work, v []T, n int) ([]T, bool) {
	if n <= len(v) {
		return v, w.Err() == nil
	}
	var one T
	n = max(n, Block)
	w.Return(int64(len(v)) * int64(unsafe.Sizeof(one)))
	return Room[T](w, n)
}

// Made returns the bytes that were reserved.
func (w *Work) Made() int64 {
	if w == nil {
		return 0
	}
	return w.made
}

// Room allocates n elements after their memory is reserved; false, it may not.
func Room[T any](w *Work, n int) ([]T, bool) {
	var one T
	if !w.Reserve(int64(n) * int64(unsafe.Sizeof(one))) {
		return nil, false
	}
	return make([]T, n), true
}

// RoomOf is NewVector after its memory is reserved.
func RoomOf(w *Work, d tensor.DType, n int) (Vector, bool) {
	if !w.Reserve(int64(n) * elementSize(d)) {
		return nil, false
	}
	return NewVector(d, n), true
}

// elementSize returns the bytes of an element of Data, of a text without its characters.
func elementSize(d tensor.DType) int64 {
	switch {
	case d == tensor.Float16 || d == tensor.BFloat16:
		return 4
	case d.Fixed():
		return int64(d.Size())
	}
	return TextBytes
}
