package gcs

import (
	"errors"
	"net/http"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// TestGarbledListing: what cannot be read is worth another request, but for a server that never
// gives anything else.
func TestGarbledListing(t *testing.T) {
	t.Parallel()
	good := `{"kind": "storage#objects", "items": [{"name": "root/a", "size": "1", "generation": "1"}]}`
	for name, answer := range map[string]string{
		"syntax": `{"kind": "storage#objects", "items": [{"name": "root/a", "size": "1", "generation": "1"]]}`,
		"kind":   `{"kind": "storage#objects", "items": [{"name": "root/a", "size": {}, "generation": "1"}]}`,
		"text":   "hello",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garbled := true
			p := serve(t, storage.Settings{Anonymous: true}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				text := good
				if garbled {
					text = answer
				}
				_, _ = w.Write([]byte(text))
			})
			list := func() (storage.Repeat, error) {
				var fault *storage.Fault
				err := p.List(t.Context(), "", "", func(storage.Object) bool { return true })
				if errors.As(err, &fault) {
					return fault.Repeat, err
				}
				return 0, err
			}
			for range 3 * mostGarbled {
				garbled = true
				if again, err := list(); again != storage.Soon {
					t.Fatalf("between good answers: %v, want one to repeat soon", err)
				}
				garbled = false
				if _, err := list(); err != nil {
					t.Fatal(err)
				}
			}
			garbled = true
			again, err := list()
			for range mostGarbled {
				again, err = list()
			}
			if again != 0 || !errs.Is(err, errs.Storage) {
				t.Errorf("again and again: %v, want one that is final", err)
			}
		})
	}
}
