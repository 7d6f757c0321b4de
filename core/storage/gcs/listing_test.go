package gcs

import (
	"errors"
	"io"
	"net/http"
	"strings"
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

// TestEndlessListing: a page without an end, and pages without an end, are errors soon.
func TestEndlessListing(t *testing.T) {
	t.Parallel()
	const object = `{"name": "root/a", "size": "1", "generation": "1"}`
	for name, c := range map[string]struct {
		head, more, tail string
		want             string
	}{
		"objects":     {`{"items": [`, object + ",", "", "longer than 16 MiB"},
		"name":        {`{"items": [{"name": "root/`, "aaaaaaaa", "", "longer than 16 MiB"},
		"same object": {`{"items": [` + strings.Repeat(object+",", 999), "", object + `], "nextPageToken": "t"}`, "without a new one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, storage.Settings{Anonymous: true}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, err := io.WriteString(w, c.head)
				for more := strings.Repeat(c.more, 1<<13); more != "" && err == nil; {
					_, err = io.WriteString(w, more)
				}
				_, _ = io.WriteString(w, c.tail)
			})
			err := p.List(t.Context(), "", "", func(storage.Object) bool { return true })
			if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
