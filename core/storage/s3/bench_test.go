//go:build linux || darwin

package s3_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/all"
	"deeplake/core/storage/s3"
)

const (
	benchFileBytes = 64 << 20
	benchReaders   = 16
)

// fileServer gives one large file for every path: the fastest that a client can talk to.
func fileServer(b *testing.B) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "object")
	if err := os.WriteFile(name, random(benchFileBytes), 0o600); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(name)
		if err != nil {
			b.Error(err)
			return
		}
		defer f.Close()
		w.Header().Set("Etag", `"x"`)
		http.ServeContent(w, r, "", time.Time{}, f)
	}))
	b.Cleanup(server.Close)
	return server.URL
}

// BenchmarkRange reads ranges with 16 requests at once: by a bare loop of net/http without a
// signature, by the provider, and by the provider in all its wrapping. The bar is 0.9 of the first
// at 8 MiB, and 0.8 at 256 KiB.
func BenchmarkRange(b *testing.B) {
	url := fileServer(b)
	o := storage.Options{Environ: map[string]string{}}
	o.Settings.Endpoint, o.Settings.AccessKeyID, o.Settings.SecretAccessKey = url, "key", "secret"
	wrapped, _ := all.New()
	stack, err := wrapped.Open(b.Context(), "s3://bucket", o)
	if err != nil {
		b.Fatal(err)
	}
	defer stack.Close()
	alone := open(b, new(s3.Stores), "bucket", o)
	bare := bareLoop(url)
	for _, size := range []int{256 << 10, 8 << 20} {
		for _, c := range []struct {
			name string
			read func(dst []byte, off int64) error
		}{
			{"bare", bare},
			{"provider", func(dst []byte, off int64) error { return alone.ReadAt(b.Context(), "object", dst, off) }},
			{"stack", func(dst []byte, off int64) error { return stack.ReadAt(b.Context(), "object", dst, off) }},
		} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, c.name), func(b *testing.B) { readRanges(b, size, c.read) })
		}
	}
}

func readRanges(b *testing.B, size int, read func(dst []byte, off int64) error) {
	slabs := make([][]byte, benchReaders)
	for i := range slabs {
		slabs[i] = make([]byte, size)
	}
	var next atomic.Int64
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	began := processorTime(b)
	g := task.New(b.Context(), 0)
	for _, slab := range slabs {
		g.Go(func(context.Context) error {
			for {
				i := next.Add(1)
				if i > int64(b.N) {
					return nil
				}
				if err := read(slab, i*int64(size)%(benchFileBytes-int64(size)+1)); err != nil {
					return err
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N), "cpu-us/op")
}

// processorTime returns the CPU time of the process, client and server. It is steady on a shared
// machine.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bareLoop reads without any check, as code does that trusts the server.
func bareLoop(url string) func(dst []byte, off int64) error {
	transport := &http.Transport{MaxIdleConnsPerHost: 4 * benchReaders, DisableCompression: true}
	return func(dst []byte, off int64) error {
		rq, err := http.NewRequest(http.MethodGet, url+"/bucket/object", nil)
		if err != nil {
			return err
		}
		rq.Header["Range"] = []string{fmt.Sprintf("bytes=%d-%d", off, off+int64(len(dst))-1)}
		rs, err := transport.RoundTrip(rq)
		if err != nil {
			return err
		}
		defer rs.Body.Close()
		_, err = io.ReadFull(rs.Body, dst)
		return err
	}
}
