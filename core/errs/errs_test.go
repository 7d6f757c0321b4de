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
	if Wrap(Storage, "op", "", nil) != nil {
		t.Error("Wrap(nil) is not nil")
	}
	if KindOf(io.EOF) != Internal || Is(io.EOF, Internal) {
		t.Error("an unclassified error must count as internal and be no kind")
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	names := []string{"images", "labels", "boxes"}
	for name, want := range map[string]string{
		"imges": `; did you mean "images"?`, "Labels": `; did you mean "labels"?`, "bxes": `; did you mean "boxes"?`, "embedding": "", "": "",
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
