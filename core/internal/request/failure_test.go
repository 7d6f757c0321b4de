package request

import (
	"errors"
	"net/http"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"X-Amz-Request-Id": "A1", "X-Guploader-Uploadid": "B2", "X-Request-Id": "C3", "Date": ""} {
		a := &Response{Header: http.Header{name: {want + "\t"}}}
		explained := &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "the store is slow")}
		err := errs.Wrap(errs.Storage, "put", "key", a.Identify(explained))
		got := errs.FieldsOf(err)
		if got != (errs.Fields{Operation: "put", Object: "key", RequestID: want, Retry: errs.RetryYes}) || err.Error() != `put "key": the store is slow` {
			t.Errorf("%s: %+v of %v, want the id %q", name, got, err, want)
		}
	}
	foreign := errors.New("no")
	a := &Response{Header: http.Header{"X-Amz-Request-Id": {"A1"}}}
	if err := a.Identify(foreign); !errors.Is(err, foreign) || a.Identify(nil) != nil {
		t.Errorf("an error of another package became %v", err)
	}
}
