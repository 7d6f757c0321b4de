package errs

// Retry says whether a repetition of the failed operation may succeed.
type Retry int8

// The values of Retry; C has the same numbers.
const (
	RetryUnknown Retry = -1
	RetryNo      Retry = 0
	RetryYes     Retry = 1
)

// Fields are the facts of a failure that programs read. An empty text is unknown.
type Fields struct {
	Operation string // "read", "put", "open dataset"
	Object    string // a key, a URI, the name of a tensor
	RequestID string // the store's name of the request that failed
	Retry     Retry
}

// FieldsOf reads the fields of a failure. Operation and Object are those of the innermost error
// that names an object: the source knows best. RequestID is the innermost one.
func FieldsOf(err error) Fields {
	f := Fields{Retry: retryOf(KindOf(err))}
	alone := "" // the innermost operation without an object
	walk(err, func(err error) {
		if r, ok := err.(interface{ Retryable() bool }); ok {
			f.Retry = RetryNo
			if r.Retryable() {
				f.Retry = RetryYes
			}
		}
		e, ok := err.(*Error)
		if !ok {
			return
		}
		if e.RequestID != "" {
			f.RequestID = e.RequestID
			if f.Retry == RetryUnknown {
				f.Retry = RetryNo // the store has answered, and the provider found no fault
			}
		}
		if e.Object != "" {
			f.Operation, f.Object = e.Op, e.Object
		} else if e.Op != "" {
			alone = e.Op
		}
	})
	if f.Operation == "" && f.Object == "" {
		f.Operation = alone
	}
	return f
}

// RowOf returns the row of a dataset at fault, as the innermost error names it. ok is false if none
// does.
func RowOf(err error) (row int64, ok bool) {
	walk(err, func(err error) {
		if e, is := err.(*Error); is && e.row > 0 {
			row, ok = e.row-1, true
		}
	})
	return row, ok
}

// retryOf returns the Retry that follows from the kind alone.
func retryOf(k Kind) Retry {
	switch k {
	case Storage, Conflict, Canceled:
		return RetryUnknown
	}
	return RetryNo
}

// walk visits err and its causes, the outermost first.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		walk(x.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, cause := range x.Unwrap() {
			walk(cause, visit)
		}
	}
}
