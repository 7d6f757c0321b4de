package s3_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/s3"
)

// TestGarbledListing: an answer that breaks off is worth another request, and so is one that is not
// XML, but for a server that never gives anything else.
func TestGarbledListing(t *testing.T) {
	t.Parallel()
	good := `<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>` +
		`<Contents><Key>root/a</Key><Size>1</Size></Contents></ListBucketResult>`
	for name, c := range map[string]struct {
		text string
		cut  bool           // the connection ends early
		last storage.Repeat // of many in a row
	}{
		"broken off": {good[:100], true, storage.Soon},
		"flipped":    {strings.Replace(good, "</Key>", "<oKey>", 1), false, 0},
		"number":     {strings.Replace(good, "<Size>1", "<Size>q", 1), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garbled := true
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/xml")
				text := good
				if garbled {
					text = c.text
				}
				if garbled && c.cut {
					w.Header().Set("Content-Length", "1000")
				}
				_, _ = w.Write([]byte(text))
			}))
			t.Cleanup(server.Close)
			settings := storage.Settings{Endpoint: server.URL, Region: "us-east-1", AccessKeyID: "a", SecretAccessKey: "b"}
			p := open(t, new(s3.Stores), "bucket/root", storage.Options{Settings: settings, Environ: map[string]string{}})
			list := func() (storage.Repeat, error) {
				var fault *storage.Fault
				err := p.List(t.Context(), "", "", func(storage.Object) bool { return true })
				if errors.As(err, &fault) {
					return fault.Repeat, err
				}
				return 0, err
			}
			for range 6 {
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
			for range 6 {
				again, err = list()
			}
			if again != c.last || !errs.Is(err, errs.Storage) {
				t.Errorf("again and again: %v, repeat %d, want %d", err, again, c.last)
			}
		})
	}
}

// TestEndlessListing: a page without an end, and pages without an end, are errors soon.
func TestEndlessListing(t *testing.T) {
	t.Parallel()
	const head, object = `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>`,
		`<Contents><Key>root/a</Key><Size>1</Size></Contents>`
	for name, c := range map[string]struct {
		write func(w io.Writer)
		want  string
	}{
		"objects":     {func(w io.Writer) { endless(w, head, object) }, "longer than 16 MiB"},
		"name":        {func(w io.Writer) { endless(w, head+"<Contents><Key>root/", "aaaaaaaa") }, "longer than 16 MiB"},
		"deep":        {func(w io.Writer) { endless(w, head, "<a>") }, "longer than 16 MiB"},
		"token":       {func(w io.Writer) { endless(w, head+"<NextContinuationToken>", "tttttttt") }, "longer than 16 MiB"},
		"same object": {func(w io.Writer) { _, _ = io.WriteString(w, head+object+"</ListBucketResult>") }, "without a new object"},
		"no objects":  {func(w io.Writer) { _, _ = io.WriteString(w, head+"</ListBucketResult>") }, "without a new object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.write(w) }))
			t.Cleanup(server.Close)
			settings := storage.Settings{Endpoint: server.URL, Region: "us-east-1", AccessKeyID: "a", SecretAccessKey: "b"}
			p := open(t, new(s3.Stores), "bucket/root", storage.Options{Settings: settings, Environ: map[string]string{}})
			err := p.List(t.Context(), "", "", func(storage.Object) bool { return true })
			if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// endless writes head, and text until the reader leaves.
func endless(w io.Writer, head, text string) {
	_, err := io.WriteString(w, head)
	for text = strings.Repeat(text, 1<<13); err == nil; {
		_, err = io.WriteString(w, text)
	}
}
