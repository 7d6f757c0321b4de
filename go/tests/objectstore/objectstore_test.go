package objectstore_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"deeplake/go/tests/objectstore"
)

// childEnv tells the test binary that it is to start a server, say where, and wait to be killed.
const childEnv = "DEEPLAKE_TEST_OBJECTSTORE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	s, err := objectstore.Start(context.Background(), objectstore.Config{Kind: objectstore.KindS3, Dir: os.Getenv(childEnv)})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Endpoint)
	select {}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *objectstore.Server{
		"s3": objectstore.S3, "s3 over tls": objectstore.S3TLS, "gcs": objectstore.GCS,
		"gcs on disk": func(t testing.TB) *objectstore.Server {
			return objectstore.StartFor(t, objectstore.Config{Kind: objectstore.KindGCS, Disk: true})
		},
		"s3 with versions": func(t testing.TB) *objectstore.Server {
			return objectstore.StartFor(t, objectstore.Config{Kind: objectstore.KindS3, Versioning: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			s := start(t)
			t.Logf("up after %v", time.Since(began))
			one, two := s.NewBucket(t), s.NewBucket(t)
			if one == two {
				t.Fatalf("two buckets of one name, %q", one)
			}
			s.Put(t, one, "a/b c+d%é", []byte("x"))
			if err := s.DeleteObject(t.Context(), one, "a/b c+d%é"); err != nil {
				t.Error(err)
			}
			if err := s.PutObject(t.Context(), "no-such-bucket", "a", nil); err == nil {
				t.Error("put into a bucket that does not exist: no error")
			}
		})
	}
}

func TestMinIO(t *testing.T) {
	t.Parallel()
	if os.Getenv("DEEPLAKE_TEST_MINIO") == "" {
		t.Skip("MinIO takes minutes to build; DEEPLAKE_TEST_MINIO=1 asks for it")
	}
	s := objectstore.MinIO(t)
	s.Put(t, s.NewBucket(t), "a/b", []byte("x"))
}

func TestStopped(t *testing.T) {
	t.Parallel()
	s, err := objectstore.Start(t.Context(), objectstore.Config{Kind: objectstore.KindS3})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if rs, err := http.Get(s.Endpoint); err == nil {
		_ = rs.Body.Close()
		t.Error("a stopped server answers")
	}
}

// TestKilledParent: nothing stays behind a test that was killed.
func TestKilledParent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child to its parent")
	}
	if err := objectstore.Build(t.Context()); err != nil { // not within the child
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+t.TempDir())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(strings.TrimSpace(endpoint), "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("the child's server: %v", err)
	}
	defer conn.Close()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	// The connection ends when the server does.
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the server outlives its parent: read gives %v", err)
	}
}
