package all

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// TestErrorsComeSoon: a wrong address or wrong credentials show within ten seconds, in the words of
// the first error, through all the repetitions. The time to wait for an answer is a fifth of the
// default, so that the test is as much shorter.
func TestErrorsComeSoon(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close()
	answering := func(status int, kind, text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	refusal := func(status int, code string) string {
		return answering(status, "application/xml", "<Error><Code>"+code+"</Code></Error>")
	}
	for _, c := range []struct {
		name, endpoint, want string
		kind                 errs.Kind
	}{
		{"silent", "http://" + silent.Addr().String(), "does not answer within 1s", errs.Storage},
		{"refused", "http://" + refused.Addr().String(), "nothing listens there", errs.Storage},
		{"unknown host", "http://no-such-host.invalid", "(DNS)", errs.Storage},
		{"web page", answering(200, "text/html", "<html>hello</html>"), "does not answer as S3", errs.Storage},
		{"another service", answering(404, "application/json", `{"error": "no"}`), "does not answer as S3", errs.Storage},
		{"missing bucket", refusal(404, "NoSuchBucket"), "create it", errs.NotFound},
		{"denied", refusal(403, "AccessDenied"), "permissions", errs.Denied},
		{"expired", refusal(400, "ExpiredToken"), "expired", errs.Denied},
		{"unknown key", refusal(403, "InvalidAccessKeyId"), "access_key_id", errs.Denied},
		{"wrong secret", refusal(403, "SignatureDoesNotMatch"), "secret_access_key", errs.Denied},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stores, _ := New()
			o := storage.Options{Environ: map[string]string{}, Settings: storage.Settings{
				Endpoint: c.endpoint, AccessKeyID: "k", SecretAccessKey: "hunter2", Timeout: 1, ConnectTimeout: 1,
			}}
			p, err := stores.Open(t.Context(), "s3://bucket/a", o)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			began := time.Now()
			_, getErr := p.Get(t.Context(), "a")
			listErr := p.List(t.Context(), "", "", func(storage.Object) bool { return true })
			putErr := p.Put(t.Context(), "a", nil)
			for op, err := range map[string]error{"get": getErr, "list": listErr, "put": putErr} {
				if silentPut := c.name == "silent" && op == "put"; silentPut {
					// a store may take its time with a write: 30 s by default, and never without
					// end
					continue
				}
				if !errs.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) || strings.Contains(fmt.Sprint(err), "hunter2") {
					t.Errorf("%s: got %v, want kind %v and %q", op, err, c.kind, c.want)
				}
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("three calls took %v", took)
			}
		})
	}
}
