package s3

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// roleAnswer is the answer of the services that know a role, as Amazon documents it.
const roleAnswer = `{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"of-role","SecretAccessKey":"s","Token":"session","Expiration":"2126-01-01T00:00:00Z","LastUpdated":"2026-01-01T00:00:00Z"}`

// machineService is the metadata service of a cloud machine, in its second version: who has no
// token gets nothing.
func machineService(w http.ResponseWriter, r *http.Request) {
	const path = "/latest/meta-data/iam/security-credentials/"
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		_, _ = w.Write([]byte("t0ken"))
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "t0ken":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == path:
		_, _ = w.Write([]byte("worker"))
	case r.URL.Path == path+"worker":
		_, _ = w.Write([]byte(roleAnswer))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// containerService is the agent beside a container.
func containerService(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "let me in" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, _ = w.Write([]byte(strings.Replace(roleAnswer, "of-role", "of-container", 1)))
}

// TestRoles: where nothing else says who asks, the container does, or else the machine.
func TestRoles(t *testing.T) {
	t.Parallel()
	machine, agent := httptest.NewServer(http.HandlerFunc(machineService)), httptest.NewServer(http.HandlerFunc(containerService))
	t.Cleanup(machine.Close)
	t.Cleanup(agent.Close)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("let me in\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env map[string]string
		key string
	}{
		"machine":                        {map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.URL}, "of-role"},
		"container":                      {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "let me in"}, "of-container"},
		"container, its token in a file": {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file}, "of-container"},
		"container before machine":       {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "let me in", "AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.URL}, "of-container"},
		"keys before both":               {map[string]string{"AWS_ACCESS_KEY_ID": "of-env", "AWS_SECRET_ACCESS_KEY": "s", "AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.URL}, "of-env"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.env["HOME"] = filepath.Dir(file) // without files of Amazon's
			s := connected(t, storage.Options{Environ: c.env})
			got, err := s.creds.Retrieve(t.Context())
			if err != nil || got.AccessKeyID != c.key || got.AccessKeyID != "of-env" && got.SessionToken != "session" {
				t.Fatalf("got %q, %v; want %q with a session", got.AccessKeyID, err, c.key)
			}
		})
	}
}

// TestEndlessCredentials: an endless answer of a credential service is an error after a few MiB.
func TestEndlessCredentials(t *testing.T) {
	t.Parallel()
	sent := make(chan int64, 4)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			machineService(w, r)
			return
		}
		n, block := int64(0), []byte(strings.Repeat(" ", 64<<10))
		for n < 1<<30 {
			k, err := w.Write(block)
			if n += int64(k); err != nil {
				break
			}
		}
		sent <- n
	}))
	t.Cleanup(endless.Close)
	for name, env := range map[string]map[string]string{
		"machine":   {"AWS_EC2_METADATA_SERVICE_ENDPOINT": endless.URL},
		"container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": endless.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "let me in"},
	} {
		env["HOME"] = t.TempDir()
		s := connected(t, storage.Options{Environ: env})
		if c, err := s.creds.Retrieve(t.Context()); !errs.Is(err, errs.Denied) || name == "container" && !strings.Contains(err.Error(), "longer than 4 MiB") {
			t.Errorf("%s: %q, %v", name, c.AccessKeyID, err)
		}
		// The rest lies in buffers of the system.
		if n := <-sent; n > 32<<20 {
			t.Errorf("%s: the service has sent %d bytes", name, n)
		}
	}
}
