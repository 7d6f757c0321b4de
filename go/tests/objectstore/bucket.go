package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// MakeBucket makes an empty bucket under a name of its own.
func (s *Server) MakeBucket(ctx context.Context) (string, error) {
	name := "b-" + strings.ToLower(rand.Text())
	if s.Kind == KindGCS {
		body := fmt.Appendf(nil, `{"name":%q}`, name)
		return name, s.do(ctx, http.MethodPost, "/storage/v1/b?project=test", "application/json", body)
	}
	return name, s.do(ctx, http.MethodPut, "/"+name, "", nil)
}

// PutObject stores an object under any name that the protocol allows, as another program would.
func (s *Server) PutObject(ctx context.Context, bucket, name string, data []byte) error {
	if s.Kind == KindGCS {
		target := "/upload/storage/v1/b/" + bucket + "/o?uploadType=media&name=" + url.QueryEscape(name)
		return s.do(ctx, http.MethodPost, target, "application/octet-stream", data)
	}
	return s.do(ctx, http.MethodPut, objectPath(bucket, name), "application/octet-stream", data)
}

// DeleteObject removes an object.
func (s *Server) DeleteObject(ctx context.Context, bucket, name string) error {
	if s.Kind == KindGCS {
		return s.do(ctx, http.MethodDelete, "/storage/v1/b/"+bucket+"/o/"+url.PathEscape(name), "", nil)
	}
	return s.do(ctx, http.MethodDelete, objectPath(bucket, name), "", nil)
}

// objectPath escapes as signatures of S3 want it: all but the unreserved characters and "/".
func objectPath(bucket, name string) string {
	escaped := strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	return "/" + bucket + "/" + strings.ReplaceAll(escaped, "%2F", "/")
}

// answers lists the buckets. A program that took the port before the server does not answer so.
func (s *Server) answers(ctx context.Context) error {
	target, want := "/", "ListAllMyBucketsResult"
	if s.Kind == KindGCS {
		target, want = "/storage/v1/b?project=test", "storage#buckets"
	}
	text, err := s.request(ctx, http.MethodGet, target, "", nil)
	if err == nil && !bytes.Contains(text, []byte(want)) {
		err = fmt.Errorf("%s is not the server: it answers %q, want %s", s.Endpoint, text, want)
	}
	return err
}

// do sends one request and wants a 2xx.
func (s *Server) do(ctx context.Context, method, target, contentType string, body []byte) error {
	_, err := s.request(ctx, method, target, contentType, body)
	return err
}

// request is do, and returns the beginning of the answer.
func (s *Server) request(ctx context.Context, method, target, contentType string, body []byte) ([]byte, error) {
	rq, err := http.NewRequestWithContext(ctx, method, s.Endpoint+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		rq.Header.Set("Content-Type", contentType)
	}
	if s.Kind == KindS3 {
		if err := s.sign(ctx, rq, body); err != nil {
			return nil, err
		}
	}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	rs, err := client.Do(rq)
	if err != nil {
		return nil, err
	}
	defer rs.Body.Close()
	text, err := io.ReadAll(io.LimitReader(rs.Body, 4096))
	if err == nil && rs.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %s: %s", method, target, rs.Status, text)
	}
	return text, err
}

func (s *Server) sign(ctx context.Context, rq *http.Request, body []byte) error {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	rq.Header.Set("X-Amz-Content-Sha256", hash)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	who := aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey}
	return signer.SignHTTP(ctx, who, rq, hash, "s3", s.Region, time.Now())
}

// client trusts the server's authority.
func (s *Server) client() (*http.Client, error) {
	transport := &http.Transport{}
	if s.CAFile != "" {
		text, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(text)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}
