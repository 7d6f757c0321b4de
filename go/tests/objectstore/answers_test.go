package objectstore

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAnotherProgramAtThePort: a program that took the port in between is not taken for the server,
// whatever it answers.
func TestAnotherProgramAtThePort(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{KindS3, KindGCS} {
		for _, status := range []int{http.StatusOK, http.StatusForbidden} {
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				_, _ = w.Write([]byte("F"))
			}))
			defer other.Close()
			s := &Server{Kind: kind, Endpoint: other.URL, Region: region, AccessKey: accessKey, SecretKey: secretKey}
			if err := s.answers(t.Context()); err == nil || !strings.Contains(err.Error(), "F") {
				t.Errorf("%s, status %d: error %v", kind, status, err)
			}
		}
	}
}
