// Package faultstore injects faults: a storage.Provider around another one that fails, loses,
// truncates, corrupts and delays calls as a Plan says. It records all calls. Only tests may import
// it.
package faultstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Op names a storage call.
type Op string

// The calls. Create, Write and Finish are those of a stream; Abort is no call, as it cannot fail.
const (
	Get         Op = "get"
	ReadAt      Op = "read"
	Range       Op = "range"
	Put         Op = "put"
	PutIfAbsent Op = "put-if-absent"
	List        Op = "list"
	Delete      Op = "delete"
	Create      Op = "create"
	Write       Op = "write"
	Finish      Op = "finish"
)

// Writing is every Op that changes the store, in a new slice.
func Writing() []Op { return []Op{Put, PutIfAbsent, Delete, Create, Write, Finish} }

// Reading is every Op that does not, in a new slice.
func Reading() []Op { return []Op{Get, ReadAt, Range, List} }

// Call is one call. Key is the prefix of a List, and the keys of a Delete with blanks between.
type Call struct {
	Op    Op
	Key   string
	Bytes int // given to a write, asked of a ReadAt
}

// String is "op key".
func (c Call) String() string { return string(c.Op) + " " + c.Key }

// Plan is the faults of a Store. For each call the first that hits decides; all that match count
// it.
type Plan []Fault

// Fault says which calls an Action hits. The zero value but for Do hits the first call of all.
//
//	Fault{Skip: 7, Do: Fail(errs.Storage)}                                        the call number 7, from 0
//	Fault{Ops: []Op{Put}, Prefix: "map/", Times: Always, Do: Fail(errs.ReadOnly)} each Put below map/
type Fault struct {
	Ops    []Op   // calls that match; empty: all
	Prefix string // of the keys that match
	Skip   int    // that many matching calls are let through first
	Times  int    // that many are hit then; 0 means 1
	Do     Action
}

// Always as Fault.Times hits every matching call after the skipped ones.
const Always = int(^uint(0) >> 1)

func (f *Fault) matches(c Call) bool {
	if len(f.Ops) > 0 && !slices.Contains(f.Ops, c.Op) {
		return false
	}
	if c.Op == Delete && f.Prefix != "" {
		return slices.ContainsFunc(strings.Fields(c.Key), func(key string) bool { return strings.HasPrefix(key, f.Prefix) })
	}
	return strings.HasPrefix(c.Key, f.Prefix)
}

// Action is the fate of a call that a rule hits. See the functions that make one.
type Action struct {
	before  func(*Store, Call) error // an error replaces the call
	after   func(*Store, Call) error // an error replaces the answer of a call that was done
	read    func(data []byte, off int64) ([]byte, error)
	full    bool // the disk is, after space bytes
	space   int64
	waiting *gate
	delay   time.Duration
	body    func(*body)
}

type gate struct {
	reached chan<- struct{}
	release <-chan struct{}
}

// Fail does not do the call and answers with an error of kind.
func Fail(kind errs.Kind) Action {
	return Action{before: func(_ *Store, c Call) error { return injected(kind, c, "call not done") }}
}

// FailWith does not do the call and answers with err.
func FailWith(err error) Action {
	return Action{before: func(*Store, Call) error { return err }}
}

// LostAnswer does the call and answers with errs.Storage, as a connection that breaks before the
// answer.
func LostAnswer() Action {
	return Action{after: func(_ *Store, c Call) error { return injected(errs.Storage, c, "answer lost") }}
}

// Crash fails the call and all later ones with errs.Storage, without doing them. Abort removes
// nothing. The inner provider then holds the objects that a killed process leaves.
func Crash() Action {
	return Action{before: func(s *Store, c Call) error { s.crash(); return injected(errs.Storage, c, "crashed") }}
}

// CrashAfter does the call, and from then on none, as Crash does.
func CrashAfter() Action {
	return Action{after: func(s *Store, c Call) error { s.crash(); return injected(errs.Storage, c, "crashed") }}
}

// NoSpace lets n bytes through, over all the calls that it hits, and answers with the error of a
// full disk from then on. A Write of a stream stores what fits. Its Fault is usually {Times:
// Always}; calls that write no bytes pass.
func NoSpace(n int64) Action { return Action{full: true, space: n} }

// FlipBit inverts the bit number bit of the object, the lowest of byte 0 being number 0, in what
// Get and ReadAt return.
func FlipBit(bit int64) Action {
	return Action{read: func(data []byte, off int64) ([]byte, error) {
		if at := bit/8 - off; at >= 0 && at < int64(len(data)) {
			data[at] ^= 1 << (bit % 8)
		}
		return data, nil
	}}
}

// Truncate lets Get and ReadAt see only the first n bytes of the object.
func Truncate(n int64) Action {
	return Action{read: func(data []byte, off int64) ([]byte, error) {
		if off+int64(len(data)) <= n {
			return data, nil
		}
		kept := data[:max(0, n-off)]
		return kept, fmt.Errorf("object is truncated (got %d bytes at offset %d, want %d)", len(kept), off, len(data))
	}}
}

// Block sends on reached, if that is not nil, and waits until release is closed; then the call is
// done. A context that ends meanwhile answers errs.Canceled instead. Write of a stream has no
// context and waits on.
func Block(reached chan<- struct{}, release <-chan struct{}) Action {
	return Action{waiting: &gate{reached, release}}
}

// Again does not do the call and answers with a storage.Fault of kind r, for which the store
// demands the wait.
func Again(r storage.Repeat, wait time.Duration) Action {
	return Action{before: func(_ *Store, c Call) error {
		return &storage.Fault{Repeat: r, Wait: wait, Err: injected(errs.Storage, c, "call not done")}
	}}
}

// AgainAfter is Again with an answer that takes d.
func AgainAfter(d time.Duration, r storage.Repeat) Action {
	a := Again(r, 0)
	a.delay = d
	return a
}

// LostFault does the call and answers with a storage.Fault that lets the caller ask again.
func LostFault() Action {
	return Action{after: func(_ *Store, c Call) error {
		return &storage.Fault{Repeat: storage.Soon, Err: injected(errs.Storage, c, "answer lost")}
	}}
}

// Delay does the call after d, or not at all if the context ends before.
func Delay(d time.Duration) Action { return Action{delay: d} }

// BreakAt lets a Range give n bytes and then a storage.Fault.
func BreakAt(n int64) Action { return Action{body: func(b *body) { b.breakAt = n }} }

// StallAt lets a Range give n bytes and then nothing until its context ends.
func StallAt(n int64) Action { return Action{body: func(b *body) { b.stallAt = n }} }

// Slow lets a Range give n bytes per second, a tenth of them at a time.
func Slow(n int64) Action { return Action{body: func(b *body) { b.pace = n }} }

// Replaced lets a Range answer as if the object had another tag.
func Replaced(tag string) Action { return Action{body: func(b *body) { b.tag = tag }} }

func injected(kind errs.Kind, c Call, what string) error {
	return errs.Wrap(kind, string(c.Op), c.Key, errors.New(what+" (injected fault)"))
}
