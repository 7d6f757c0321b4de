package errs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestTableIsInOrderOfKind(t *testing.T) {
	t.Parallel()
	for i, c := range Table() {
		if int(c.Kind) != i+1 || c.Kind.String() != c.Name || c.C == "" || c.Python == "" || c.Base == "" {
			t.Errorf("line %d is %+v", i, c)
		}
	}
}

func TestWrapKeepsTheKind(t *testing.T) {
	t.Parallel()
	inner := New(Corrupt, "block %d is damaged: %w", 3, io.ErrUnexpectedEOF)
	err := fmt.Errorf("outer: %w", Wrap(Storage, "read chunk", "data/x/1", inner))
	if KindOf(err) != Corrupt || !Is(err, Corrupt) || Is(err, Storage) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v is %v", err, KindOf(err))
	}
	if want := `outer: read chunk "data/x/1": block 3 is damaged: unexpected EOF`; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if err := Wrap(Storage, "list", "s3://b", fmt.Errorf("ends: %w", context.Canceled)); !Is(err, Canceled) {
		t.Error(err, "is not canceled")
	}
	if err := Wrap(Storage, "list", "s3://b", context.DeadlineExceeded); !Is(err, Storage) {
		t.Error(err, "the deadline of a request is not the end of its caller")
	}
	if Wrap(Storage, "op", "", nil) != nil {
		t.Error("Wrap(nil) is not nil")
	}
	if KindOf(io.EOF) != Internal || Is(io.EOF, Internal) {
		t.Error("an unclassified error must count as internal and be no kind")
	}
}

// TestOfSample: an error about the machine is none of a sample, however it is wrapped.
func TestOfSample(t *testing.T) {
	t.Parallel()
	lacks := Op("find FFmpeg", "").New(Unsupported, "there is none")
	for want, all := range map[bool][]error{
		true:  {lacks, New(Corrupt, "cut"), Wrap(Storage, "read", "x", New(Type, "text"))},
		false: {OfMachine(lacks), Wrap(Corrupt, "decode", "x", fmt.Errorf("row 3: %w", OfMachine(lacks))), New(Storage, "gone"), io.EOF, nil},
	} {
		for _, err := range all {
			if OfSample(err) != want {
				t.Errorf("%v: want %t", err, want)
			}
		}
	}
	if err := OfMachine(lacks); !Is(err, Unsupported) || err.Error() != lacks.Error() {
		t.Error(err)
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	names := []string{"images", "emb", "labels", "lab2_scores", "boxes", "drop"}
	for name, want := range map[string]string{
		"imges": `; did you mean "images"?`, "Labels": `; did you mean "labels"?`, "bxes": `; did you mean "boxes"?`,
		"lab": `; did you mean "labels"?`, "LA": `; did you mean "labels"?`, "embedding": "", "embs": `; did you mean "emb"?`, "lables": `; did you mean "labels"?`, "lbales": `; did you mean "labels"?`, "boss": "", "drpo": `; did you mean "drop"?`, "loads": "", "": "",
	} {
		if got := Suggest(name, names); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCauseOfAContext(t *testing.T) {
	t.Parallel()
	closed := New(Closed, "dataset is closed")
	for name, c := range map[string]struct {
		cause error
		kind  Kind
		text  string
	}{
		"ours":    {closed, Closed, "dataset is closed"},
		"foreign": {errors.New("enough"), Canceled, "load batch: enough"},
		"none":    {nil, Canceled, "load batch: context canceled"},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(c.cause)
		if err := Cause(ctx, "load batch"); !Is(err, c.kind) || err.Error() != c.text || c.cause != nil && !errors.Is(err, c.cause) {
			t.Errorf("%s: %v, want %q of kind %v", name, err, c.text, c.kind)
		}
	}
}

// fault is an error that knows that it is worth repeating, as storage.Fault does.
type fault struct{ error }

func (f *fault) Retryable() bool { return true }
func (f *fault) Unwrap() error   { return f.error }

func TestFieldsOfAChain(t *testing.T) {
	t.Parallel()
	answered := &Error{Kind: Storage, RequestID: "A1", Err: errors.New("answers 500")}
	for name, c := range map[string]struct {
		err  error
		want Fields
		text string
	}{
		"operation on an object": {Op("open dataset", "d").New(NotFound, "there is none at %q", "x"), Fields{"open dataset", "d", "", RetryNo}, `open dataset "d": there is none at "x"`},
		"operation alone":        {Op("merge", "").New(Invalid, "no"), Fields{Operation: "merge"}, "merge: no"},
		"any text":               {Op("THE long operation of a store", "d").New(NotFound, "no"), Fields{"THE long operation of a store", "d", "", RetryNo}, `THE long operation of a store "d": no`},
		"a format names none":    {New(Invalid, "open %q: no", "d"), Fields{}, `open "d": no`},
		"sentence":               {New(Invalid, "the store is gone: no"), Fields{}, "the store is gone: no"},
		"cause":                  {Op("read", "k").New(Storage, "%w", io.EOF), Fields{"read", "k", "", RetryUnknown}, `read "k": EOF`},
		"innermost object": {Wrap(Storage, "open dataset", "s3://b", Wrap(Storage, "read", "k", Op("list", "").New(Storage, "no"))),
			Fields{"read", "k", "", RetryUnknown}, `open dataset "s3://b": read "k": list: no`},
		"answered": {Wrap(Storage, "put", "k", answered), Fields{"put", "k", "A1", RetryNo}, `put "k": answers 500`},
		"fault":    {Wrap(Storage, "put", "k", &fault{answered}), Fields{"put", "k", "A1", RetryYes}, `put "k": answers 500`},
		"joined":   {fmt.Errorf("%w, and %w", io.EOF, Wrap(Storage, "put", "k", io.EOF)), Fields{"put", "k", "", RetryUnknown}, `EOF, and put "k": EOF`},
		"foreign":  {io.EOF, Fields{}, "EOF"},
	} {
		if got := FieldsOf(c.err); got != c.want || c.err.Error() != c.text {
			t.Errorf("%s: %+v and %q, want %+v and %q", name, got, c.err, c.want, c.text)
		}
	}
	if err := Op("read", "k").New(Storage, "%w", io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("%v does not wrap its cause", err)
	}
}
