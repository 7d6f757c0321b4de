package all

import (
	"bufio"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// echo starts a server that gives one answer to all requests: `answer`, with each "@" replaced by
// what of extracts from the request.
func echo(t *testing.T, answer string, of func(*http.Request) string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength)
				_, _ = fmt.Fprint(c, strings.ReplaceAll(answer, "@", of(r)))
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// echoes lists the places of an answer in which a server can repeat a secret, written @.
func echoes() map[string]string {
	const closed = "Connection: close\r\n\r\n"
	return map[string]string{
		"malformed header":     "HTTP/1.1 200 OK\r\n@ x\r\n\r\n",
		"Content-Length":       "HTTP/1.1 200 OK\r\nContent-Length: @\r\n\r\n",
		"two Content-Lengths":  "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: @\r\n\r\n",
		"Transfer-Encoding":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: @\r\n\r\n",
		"Content-Range":        "HTTP/1.1 206 P\r\nContent-Length: 1\r\nContent-Range: @\r\n\r\nx",
		"Content-Range of 416": "HTTP/1.1 416 P\r\nContent-Length: 0\r\nContent-Range: @\r\n\r\n",
		"Location":             "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: http://@.invalid/@?x=@\r\n\r\n",
		"Location of no URL":   "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: ht!tp://%zz@\r\n\r\n",
		"status text":          "HTTP/1.1 499 @\r\nContent-Length: 0\r\n\r\n",
		"status":               "HTTP/1.1 @\r\n\r\n",
		"protocol":             "@ 200 OK\r\n\r\n",
		"body":                 "HTTP/1.1 403 F\r\n" + closed + "@",
		"body cut off":         "HTTP/1.1 403 F\r\n" + closed + strings.Repeat("x", 185) + " @",
		"XML":                  "HTTP/1.1 403 F\r\n" + closed + "<Error><Code>@</Code><Message>@</Message></Error>",
		"XML of a region":      "HTTP/1.1 400 F\r\n" + closed + "<Error><Code>AuthorizationHeaderMalformed</Code><Region>@</Region></Error>",
		"XML of a copy":        "HTTP/1.1 400 F\r\n" + closed + "<Error><Code>InvalidRequest</Code><Message>@</Message></Error>",
		"JSON":                 `HTTP/1.1 403 F` + "\r\n" + closed + `{"error":{"message":"@","errors":[{"reason":"@"}]}}`,
		"body of success":      "HTTP/1.1 200 OK\r\n" + closed + "<@><@",
		"JSON of success":      "HTTP/1.1 200 OK\r\n" + closed + `{"kind": @}`,
		"error after success":  "HTTP/1.1 200 OK\r\n" + closed + "<Error><Code>@</Code><Message>@</Message></Error>",
		"name of a request":    "HTTP/1.1 403 F\r\nContent-Length: 0\r\nX-Amz-Request-Id: @\r\nX-Request-Id: @\r\nX-Guploader-Uploadid: @\r\n\r\n",
		"region":               "HTTP/1.1 301 F\r\nContent-Length: 0\r\nX-Amz-Bucket-Region: @\r\n\r\n",
		"Content-Encoding":     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Encoding: @\r\nContent-Type: @\r\n\r\nx",
		"size of a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n@\r\nx",
		"trailer":              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: @ x\r\n\r\n0\r\n\r\n",
		"ETag":                 "HTTP/1.1 206 P\r\nContent-Length: 1\r\nContent-Range: bytes 0-0/1\r\nETag: \"@\"\r\n\r\nx",
		"web page":             "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + closed + "<html>@",
	}
}

// TestErrorsRepeatNoSecret: whatever a server repeats of a request, wherever and in whatever form,
// no error shows a secret of it.
func TestErrorsRepeatNoSecret(t *testing.T) {
	t.Parallel()
	const plain, odd = "hunter2Abc0123456789", `hunter2<&"+/=\ 123456`
	signature := func(r *http.Request) string {
		_, after, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
		return after
	}
	authorization := func(r *http.Request) string { return r.Header.Get("Authorization") }
	always := func(text string) func(*http.Request) string {
		return func(*http.Request) string { return text }
	}
	s3 := func(id, key, token string) storage.Settings {
		return storage.Settings{AccessKeyID: id, SecretAccessKey: storage.Secret(key), SessionToken: storage.Secret(token)}
	}
	quoted, _ := json.Marshal(odd)
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(odd))
	cases := []struct {
		name, uri, query string
		of               func(*http.Request) string
		settings         storage.Settings
		environ          map[string]string
	}{
		{"S3 key", "s3://bucket/a", "", always(plain), s3(plain, "zzzzzzz", ""), nil},
		{"S3 secret", "s3://bucket/a", "", always(plain), s3("kkkkkkk", plain, ""), nil},
		{"S3 secret in capitals", "s3://bucket/a", "", always(strings.ToUpper(plain)), s3("kkkkkkk", plain, ""), nil},
		{"S3 secret as XML", "s3://bucket/a", "", always(escaped.String()), s3("kkkkkkk", odd, ""), nil},
		{"S3 token", "s3://bucket/a", "", always(plain), s3("kkkkkkk", "zzzzzzz", plain), nil},
		{"S3 signature", "s3://bucket/a", "", signature, s3("kkkkkkk", "zzzzzzz", ""), nil},
		{"S3 header", "s3://bucket/a", "", authorization, s3("kkkkkkk", "zzzzzzz", ""), nil},
		{"S3 secret of the environment", "s3://bucket/a", "", always(plain), storage.Settings{}, map[string]string{
			"AWS_ACCESS_KEY_ID": "kkkkkkk", "AWS_SECRET_ACCESS_KEY": plain,
		}},
		{"GCS token", "gs://bucket/a", "", always(plain), storage.Settings{BearerToken: plain}, nil},
		{"GCS header", "gs://bucket/a", "", authorization, storage.Settings{BearerToken: plain}, nil},
		{"GCS token as JSON", "gs://bucket/a", "", always(string(quoted[1 : len(quoted)-1])), storage.Settings{BearerToken: odd}, nil},
		{"HTTP token", "", "", always(plain), storage.Settings{BearerToken: plain}, nil},
		{"HTTP header", "", "", always(plain), storage.Settings{Headers: map[string]storage.Secret{"X-Mine": plain}}, nil},
		{"HTTP header in a URL", "", "", always(url.QueryEscape(odd)), storage.Settings{Headers: map[string]storage.Secret{"X-Mine": odd}}, nil},
		{"HTTP password", "", "", always("aHVudGVyMjpBYmM"), storage.Settings{Headers: map[string]storage.Secret{"Authorization": "Basic aHVudGVyMjpBYmM"}}, nil},
		{"signed URL", "", "?X-Amz-Signature=" + plain, always(plain), storage.Settings{}, nil},
	}
	for _, c := range cases {
		for place, answer := range echoes() {
			t.Run(c.name+" in "+place, func(t *testing.T) {
				t.Parallel()
				said := make(chan string, 100)
				address := echo(t, answer, func(r *http.Request) string {
					text := c.of(r)
					select {
					case said <- text:
					default:
					}
					return text
				})
				settings, uri := c.settings, c.uri
				settings.RetryTime, settings.MaxAttempts, settings.Timeout, settings.AllowInsecure, settings.AllowPrivate = 0.2, 2, 1, true, true
				if uri == "" {
					uri = address + "/d/a"
				} else {
					settings.Endpoint = address
				}
				failed := failures(t, uri, c.query, storage.Options{Environ: c.environ, Settings: settings})
				secrets := []string{"hunter2", "ahvudgvy"}
				for len(said) > 0 {
					_, signature, _ := strings.Cut(<-said, "Signature=")
					secrets = append(secrets, signature)
				}
				for _, err := range failed {
					text := strings.ToLower(fmt.Sprintf("%v %+v %+v", err, err, errs.FieldsOf(err)))
					for _, s := range secrets {
						if len(s) > 0 && strings.Contains(text, strings.ToLower(s)) {
							t.Errorf("%.600s", text)
						}
					}
				}
			})
		}
	}
}

// failures runs every kind of request, and returns the errors.
func failures(t *testing.T, uri, query string, o storage.Options) (out []error) {
	stores, sources := New()
	if o.Environ == nil {
		o.Environ = map[string]string{}
	}
	note := func(err error) {
		if err != nil {
			out = append(out, err)
		}
	}
	read := func(from storage.Ranger, name string) {
		for _, n := range []int64{0, 1, -1} {
			b, err := from.Range(t.Context(), name, 0, n, `"tag"`)
			if note(err); err == nil {
				_, err = io.ReadAll(b)
				note(err)
				b.Close()
			}
		}
	}
	if source, err := sources.Open(t.Context(), uri+query, o); err == nil {
		read(source, "a")
		note(source.Objects(t.Context(), "", "", func(storage.Entry) bool { return true }))
		source.Close()
	} else {
		note(err)
	}
	if query != "" {
		return out
	}
	store, err := stores.Open(t.Context(), uri, o)
	if note(err); err != nil {
		return out
	}
	defer store.Close()
	_, err = store.Get(t.Context(), "a")
	note(err)
	note(store.List(t.Context(), "", "", func(storage.Object) bool { return true }))
	if from, ok := store.(storage.Ranger); ok {
		read(from, "a")
	}
	note(store.ReadAt(t.Context(), "a", make([]byte, 1), 0))
	if strings.HasPrefix(uri, "http") {
		return out
	}
	note(store.Put(t.Context(), "a", []byte("x")))
	note(store.PutIfAbsent(t.Context(), "a", []byte("x")))
	note(store.Delete(t.Context(), "a"))
	if into, ok := store.(storage.Copier); ok {
		_, err := into.CopyFrom(t.Context(), store, "a", "b")
		note(err)
	}
	return out
}
