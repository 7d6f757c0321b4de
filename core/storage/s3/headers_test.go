package s3

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"deeplake/core/storage"
)

// heard is a store that executes and keeps all requests.
type heard struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	h.mu.Lock()
	h.requests = append(h.requests, r)
	h.mu.Unlock()
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"):
		io.WriteString(w, `<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`)
	case r.Method == http.MethodPost && q.Has("uploads"):
		io.WriteString(w, `<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>`)
	case r.Method == http.MethodPost && q.Has("uploadId"):
		io.WriteString(w, `<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>`)
	case r.Method == http.MethodPost:
		io.WriteString(w, `<DeleteResult></DeleteResult>`)
	case r.Header.Get("X-Amz-Copy-Source") != "":
		h.copy(w, r)
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Length", "12000000000")
		w.Header().Set("Etag", `"large"`)
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Range", "bytes 0-0/1")
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, "x")
	default:
		w.Header().Set("Etag", `"part"`)
	}
}

// copy refuses whole objects, as Amazon does above 5 GB.
func (h *heard) copy(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("partNumber") {
		io.WriteString(w, `<CopyPartResult><ETag>"p"</ETag></CopyPartResult>`)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	io.WriteString(w, `<Error><Code>InvalidRequest</Code><Message>The specified copy source is larger than the maximum</Message></Error>`)
}

// all does everything once.
func (h *heard) all(t *testing.T, p storage.Provider) {
	t.Helper()
	ctx := t.Context()
	s, err := storage.Create(ctx, p, "large")
	if err != nil {
		t.Fatal(err)
	}
	_, writeErr := s.Write(make([]byte, 17<<20))
	_, copyErr := p.(storage.Copier).CopyFrom(ctx, p, "huge", "copy")
	err = errors.Join(writeErr, s.Finish(ctx), copyErr,
		p.Put(ctx, "a", []byte("x")), p.PutIfAbsent(ctx, "b", []byte("x")), p.ReadAt(ctx, "a", make([]byte, 1), 0), p.ReadAt(ctx, "a", nil, 0),
		p.List(ctx, "", "", func(storage.Object) bool { return true }), p.Delete(ctx, "a"), p.Delete(ctx, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
}

func overTLS(t *testing.T, o *storage.Options) *heard {
	t.Helper()
	h := &heard{}
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Settings.Endpoint, o.Settings.CAFile, o.Environ = server.URL, file, map[string]string{}
	return h
}

func opened(t *testing.T, o storage.Options) storage.Provider {
	t.Helper()
	p, err := new(Stores).Open(t.Context(), "bucket", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestRequesterPays: every single request says so.
func TestRequesterPays(t *testing.T) {
	t.Parallel()
	o := storage.Options{Settings: keys()}
	o.Settings.RequesterPays = true
	h := overTLS(t, &o)
	h.all(t, opened(t, o))
	for _, r := range h.requests {
		if r.Header.Get("X-Amz-Request-Payer") != "requester" {
			t.Errorf("%s %s does not say who pays", r.Method, r.URL)
		}
	}
}

// TestEncryption: what makes an object says how it is encrypted.
func TestEncryption(t *testing.T) {
	t.Parallel()
	o := storage.Options{Settings: keys()}
	o.Settings.Encryption, o.Settings.EncryptionKey = "aws:kms", "key-1"
	h := overTLS(t, &o)
	h.all(t, opened(t, o))
	made := 0
	for _, r := range h.requests {
		q := r.URL.Query()
		makes := r.Method == http.MethodPut && !q.Has("partNumber") || r.Method == http.MethodPost && q.Has("uploads")
		got := r.Header.Get("X-Amz-Server-Side-Encryption") + " " + r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id")
		if makes && got != "aws:kms key-1" || !makes && got != " " {
			t.Errorf("%s %s: encryption %q", r.Method, r.URL, got)
		}
		if makes {
			made++
		}
	}
	if made != 5 {
		t.Errorf("%d requests make objects, want 5", made)
	}
}

// TestCustomerKey: the key goes with all that reads or writes content, and is in no error.
func TestCustomerKey(t *testing.T) {
	t.Parallel()
	const key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	o := storage.Options{Settings: keys()}
	o.Settings.CustomerKey = key
	h := overTLS(t, &o)
	h.all(t, opened(t, o))
	for _, r := range h.requests {
		q := r.URL.Query()
		plain := q.Has("list-type") || q.Has("delete") || r.Method == http.MethodDelete
		if got := r.Header.Get("X-Amz-Server-Side-Encryption-Customer-Key"); (got == key) == plain {
			t.Errorf("%s %s: customer's key %q", r.Method, r.URL, got)
		}
		copies := r.Header.Get("X-Amz-Copy-Source") != ""
		if got := r.Header.Get("X-Amz-Copy-Source-Server-Side-Encryption-Customer-Key"); (got == key) != copies {
			t.Errorf("%s %s: customer's key of the source %q", r.Method, r.URL, got)
		}
	}
}

// TestPayloads: the signed parts of a body, and its checksums.
func TestPayloads(t *testing.T) {
	t.Parallel()
	plain := &heard{}
	server := httptest.NewServer(plain)
	t.Cleanup(server.Close)
	for _, r := range []struct {
		name, checksums string
		tls             bool
		hash, crc       string // of Put("a", "x")
	}{
		{"TLS", "", true, unsignedPayload, "qTxfkw=="},
		{"plain", "", false, unsignedPayload, "qTxfkw=="},
		{"TLS without checksums", whenRequired, true, unsignedPayload, ""},
		{"plain without checksums", whenRequired, false, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", ""},
	} {
		o := storage.Options{Settings: keys()}
		o.Settings.Checksums = r.checksums
		h := overTLS(t, &o)
		if !r.tls {
			h, o.Settings.Endpoint = plain, server.URL
			h.requests = nil
		}
		if err := opened(t, o).Put(t.Context(), "a", []byte("x")); err != nil {
			t.Fatal(err)
		}
		got := h.requests[0].Header
		if got.Get("X-Amz-Content-Sha256") != r.hash || got.Get(checksumHeader) != r.crc {
			t.Errorf("%s: hash %q, checksum %q, want %q and %q", r.name, got.Get("X-Amz-Content-Sha256"), got.Get(checksumHeader), r.hash, r.crc)
		}
		if signed := got.Get("Authorization"); r.crc != "" && !strings.Contains(signed, "x-amz-checksum-crc32c") {
			t.Errorf("%s: the checksum is not signed: %q", r.name, signed)
		}
	}
}

// TestLargeCopy: an object too large for one copy is copied in parts of one version.
func TestLargeCopy(t *testing.T) {
	t.Parallel()
	o := storage.Options{Settings: keys()}
	h := overTLS(t, &o)
	p := opened(t, o)
	if done, err := p.(storage.Copier).CopyFrom(t.Context(), p, "a", "b"); !done || err != nil {
		t.Fatal(done, err)
	}
	ranges := map[string]bool{}
	for _, r := range h.requests {
		if span := r.Header.Get("X-Amz-Copy-Source-Range"); span != "" {
			ranges[span] = true
			if r.Header.Get("X-Amz-Copy-Source-If-Match") != `"large"` {
				t.Errorf("%s is not of the version that was measured", span)
			}
		}
	}
	if len(ranges) != 12 || !ranges["bytes=0-1073741823"] || !ranges["bytes=11811160064-11999999999"] {
		t.Errorf("copied %v", ranges)
	}
}

// TestRegionIsSigned: a bucket that turns out to be elsewhere is found there, by reads, writes and
// listings.
func TestRegionIsSigned(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	signed := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		region := strings.Split(r.Header.Get("Authorization"), "/")[2]
		mu.Lock()
		signed[region]++
		mu.Unlock()
		if region != "eu-west-1" {
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		new(heard).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	calls := []func(p storage.Provider) error{
		func(p storage.Provider) error { return p.ReadAt(t.Context(), "a", make([]byte, 1), 0) },
		func(p storage.Provider) error { return p.Put(t.Context(), "a", nil) },
		func(p storage.Provider) error {
			return p.List(t.Context(), "", "", func(storage.Object) bool { return true })
		},
	}
	for i, call := range calls {
		o := storage.Options{Settings: keys(), Environ: map[string]string{}}
		o.Settings.Endpoint = server.URL
		p := opened(t, o)
		var f *storage.Fault
		if err := call(p); !errors.As(err, &f) || f.Repeat != storage.Refresh {
			t.Errorf("call %d: %v", i, err)
		}
		if err := call(p); err != nil {
			t.Errorf("call %d, once more: %v", i, err)
		}
	}
	if signed["us-east-1"] != len(calls) || signed["eu-west-1"] != len(calls) {
		t.Errorf("requests by region: %v", signed)
	}
}
