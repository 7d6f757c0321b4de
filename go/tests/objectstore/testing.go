package objectstore

import (
	"context"
	"sync"
	"testing"
)

// S3 gives a server of the S3 protocol (versitygw). Tests that use one at the same time share it;
// each makes a bucket of its own. It stops when the last of them has ended.
func S3(t testing.TB) *Server { return running.get(t, Config{Kind: KindS3}) }

// S3TLS is S3 over HTTPS; Server.CAFile is the authority to trust.
func S3TLS(t testing.TB) *Server { return running.get(t, Config{Kind: KindS3, TLS: true}) }

// MinIO is S3 by another server. It is built on first use, which takes minutes.
func MinIO(t testing.TB) *Server { return running.get(t, Config{Kind: KindS3, MinIO: true}) }

// GCS is a server of Google Cloud Storage's protocols (fake-gcs-server), shared as S3 is. Objects
// lie in memory.
func GCS(t testing.TB) *Server { return running.get(t, Config{Kind: KindGCS}) }

// StartFor starts a server for one test alone.
func StartFor(t testing.TB, c Config) *Server {
	t.Helper()
	c.Dir = t.TempDir()
	s, err := Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// NewBucket makes an empty bucket under a name of its own.
func (s *Server) NewBucket(t testing.TB) string {
	t.Helper()
	name, err := s.MakeBucket(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// Put stores an object as another program would.
func (s *Server) Put(t testing.TB, bucket, name string, data []byte) {
	t.Helper()
	if err := s.PutObject(context.Background(), bucket, name, data); err != nil {
		t.Fatal(err)
	}
}

// pool holds the servers that tests of this process share.
type pool struct {
	mu    sync.Mutex
	users map[Config]int
	up    map[Config]*Server
}

var running = &pool{users: map[Config]int{}, up: map[Config]*Server{}}

func (p *pool) get(t testing.TB, c Config) *Server {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.up[c]
	if s == nil {
		var err error
		if s, err = Start(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		p.up[c] = s
	}
	p.users[c]++
	t.Cleanup(func() { p.release(t, c) })
	return s
}

func (p *pool) release(t testing.TB, c Config) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.up[c]
	select {
	case <-s.process.ended:
		t.Errorf("the server ended by itself: %v\n%s", s.process.err, s.process.output.text())
	default:
	}
	if p.users[c]--; p.users[c] == 0 {
		s.Stop()
		delete(p.up, c)
	}
}
