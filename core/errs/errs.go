// Package errs classifies every failure. It owns the kinds, one table of their names in Go, C and
// Python, and the fields that programs read from a failure. It imports nothing of the project, and
// formats for no particular front end.
//
// A message reads "operation object: problem (got, want); remedy". It is lower case, quotes
// names, and ends without a full stop.
package errs

import (
	"context"
	"errors"
	"fmt"
)

// Kind classifies a failure by the caller's remedy.
type Kind uint8

// The kinds. The values are the C status codes, hence stable within an ABI major version.
const (
	Invalid     Kind = 1  // an argument is wrong
	Type        Kind = 2  // a dtype, shape or htype does not fit
	Range       Kind = 3  // an index is outside the rows or bounds
	NotFound    Kind = 4  // a named thing does not exist
	Exists      Kind = 5  // a named thing exists already
	Corrupt     Kind = 6  // stored bytes are damaged
	Unsupported Kind = 7  // written by a newer version, or not built in
	Conflict    Kind = 8  // another writer committed something that contradicts this commit
	ReadOnly    Kind = 9  // a write to something opened or mounted for reading
	Storage     Kind = 10 // the store failed: no space, I/O error, unreachable
	Closed      Kind = 11 // use after close
	Canceled    Kind = 12 // the caller gave up, or a deadline passed
	Forked      Kind = 13 // a handle of the parent process used in a forked child
	Internal    Kind = 14 // a bug in this library
	Denied      Kind = 15 // the store refuses: credentials or permissions
	Device      Kind = 16 // a GPU failed, or has too little memory
	Worker      Kind = 17 // a process that works for the caller has ended
)

// Class is one line of the table: the names of a kind in the three languages.
type Class struct {
	Kind   Kind
	Name   string // lower-case name, as in a log
	C      string // enumerator of dl_status in capi/include/deeplake.h
	Python string // exception in deeplake._errors
	Base   string // the built-in that the exception also derives from
}

// Table lists every class in order of Kind. The tests of the three languages walk it.
func Table() []Class {
	return []Class{
		{Invalid, "invalid", "DL_INVALID", "InvalidArgumentError", "ValueError"},
		{Type, "type", "DL_TYPE", "TensorTypeError", "TypeError"},
		{Range, "range", "DL_RANGE", "OutOfRangeError", "IndexError"},
		{NotFound, "not found", "DL_NOT_FOUND", "NotFoundError", "LookupError"},
		{Exists, "exists", "DL_EXISTS", "AlreadyExistsError", "ValueError"},
		{Corrupt, "corrupt", "DL_CORRUPT", "CorruptError", "ValueError"},
		{Unsupported, "unsupported", "DL_UNSUPPORTED", "UnsupportedError", "NotImplementedError"},
		{Conflict, "conflict", "DL_CONFLICT", "ConflictError", "RuntimeError"},
		{ReadOnly, "read-only", "DL_READ_ONLY", "ReadOnlyError", "PermissionError"},
		{Storage, "storage", "DL_STORAGE", "StorageError", "OSError"},
		{Closed, "closed", "DL_CLOSED", "ClosedError", "ValueError"},
		{Canceled, "canceled", "DL_CANCELED", "CanceledError", "RuntimeError"},
		{Forked, "forked", "DL_FORKED", "ForkedError", "RuntimeError"},
		{Internal, "internal", "DL_INTERNAL", "InternalError", "RuntimeError"},
		{Denied, "denied", "DL_DENIED", "AccessDeniedError", "PermissionError"},
		{Device, "device", "DL_DEVICE", "DeviceError", "RuntimeError"},
		{Worker, "worker", "DL_WORKER", "WorkerError", "RuntimeError"},
	}
}

// String returns the table's name of k.
func (k Kind) String() string {
	if k >= 1 && int(k) <= len(Table()) {
		return Table()[k-1].Name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is a classified failure. Op is the operation and Object the thing that it was done to.
// Both may be empty. FieldsOf reads all of them from a chain of errors.
type Error struct {
	Kind      Kind
	Op        string
	Object    string
	RequestID string // of the store's answer; not part of the message
	row       int64  // of the sample at fault, plus one; 0: none is known
	machine   bool   // it is about this machine, not about a sample
	Err       error
}

// Error renders "op object: cause".
func (e *Error) Error() string {
	head := e.Op
	if e.Object != "" {
		if head != "" {
			head += " "
		}
		head += fmt.Sprintf("%q", e.Object)
	}
	if head == "" {
		return e.Err.Error()
	}
	return head + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error of kind k that names no operation, from a format that may use %w. The place
// that knows the operation uses Op, or Wrap on the way out.
func New(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...)}
}

// InRow is New for a failure of the samples of one row of a dataset, which RowOf reads. The message
// names the row.
func InRow(k Kind, row int64, format string, args ...any) error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...), row: row + 1}
}

// At is an operation and the object that it works on. Its errors carry both.
type At struct{ op, object string }

// Op returns the operation op on an object, "" for none.
func Op(op, object string) At { return At{op, object} }

// New makes an error of kind k from a format, which may use %w. The message begins with the
// operation and the quoted object.
func (a At) New(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Op: a.op, Object: a.object, Err: fmt.Errorf(format, args...)}
}

// Wrap adds the verb and the object to err and keeps its kind; an unclassified err becomes k. A
// canceled context is Canceled, wherever it was noticed; a deadline may be that of one request, and
// becomes k. Wrap(nil) is nil.
func Wrap(k Kind, op, object string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := kindOf(err); ok {
		k = known
	} else if errors.Is(err, context.Canceled) {
		k = Canceled
	}
	return &Error{Kind: k, Op: op, Object: object, Err: err}
}

// KindOf returns the kind of the outermost classified error in err's chain, Internal if there is
// none.
func KindOf(err error) Kind {
	if k, ok := kindOf(err); ok {
		return k
	}
	return Internal
}

// Is reports whether err is classified as k.
func Is(err error, k Kind) bool {
	known, ok := kindOf(err)
	return ok && known == k
}

// OfMachine marks err as an error about this machine, such as a missing library. All samples fail
// with it, so OfSample is false.
func OfMachine(err error) error {
	return &Error{Kind: KindOf(err), Err: err, machine: true}
}

// OfSample reports whether err is about the content of a sample. Failures of a store or of the
// machine, bugs and cancellations are not.
func OfSample(err error) bool {
	var e *Error
	for rest := err; errors.As(rest, &e); rest = e.Err {
		if e.machine {
			return false
		}
	}
	switch KindOf(err) {
	case Corrupt, Unsupported, Type, Invalid, Range:
		return true
	}
	return false
}

// Cause returns the error of an operation whose context has ended: the cause of the context if that
// is classified, else Canceled.
func Cause(ctx context.Context, op string) error {
	cause := context.Cause(ctx)
	if _, known := kindOf(cause); known {
		return cause
	}
	return Op(op, "").New(Canceled, "%w", cause)
}

func kindOf(err error) (Kind, bool) {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind, true
	}
	return 0, false
}
