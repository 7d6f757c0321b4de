package faultproxy_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"deeplake/go/tests/faultproxy"
)

// BenchmarkRelay reads a file from a server, directly and through the proxy. cpu-s/GB counts
// client, server and proxy, all in this process: the difference between two lines is the cost of
// the proxy.
func BenchmarkRelay(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("0123456789abcdef"), 1<<19), 0o600); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	b.Cleanup(server.Close)
	for _, size := range []int{64 << 10, 256 << 10, 8 << 20} {
		for name, link := range map[string]*faultproxy.Link{"direct": nil, "proxy": {}, "90 MB/s": {Rate: 90_000_000}} {
			b.Run(fmt.Sprintf("%s/%d KiB", name, size>>10), func(b *testing.B) {
				url := server.URL
				if link != nil {
					p, err := faultproxy.Start(faultproxy.Config{Upstream: url, Profile: faultproxy.Profile{Link: *link}})
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(p.Close)
					url = p.URL
				}
				relay(b, url+"/f", size)
			})
		}
	}
}

func relay(b *testing.B, url string, size int) {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}
	b.Cleanup(transport.CloseIdleConnections)
	b.SetBytes(int64(size))
	before := processorTime(b)
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		slab := make([]byte, size)
		for pb.Next() {
			rq, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
			if err != nil {
				b.Error(err)
				return
			}
			rq.Header.Set("Range", fmt.Sprintf("bytes=0-%d", size-1))
			rs, err := transport.RoundTrip(rq)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.ReadFull(rs.Body, slab); err != nil {
				b.Error(err)
			}
			_, _ = rs.Body.Read(slab[:1])
			_ = rs.Body.Close()
		}
	})
	b.ReportMetric((processorTime(b)-before)/(float64(b.N)*float64(size)/1e9), "cpu-s/GB")
}

func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
