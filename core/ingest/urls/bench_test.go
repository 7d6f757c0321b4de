package urls

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/storage"
)

const (
	benchLatency = 25 * time.Millisecond
	benchSize    = 20 << 10
	benchHosts   = 64
)

// serveBench answers with little work: an object after a latency, 404 for "/missing", nothing for
// "/silent".
func serveBench(b *testing.B) (port string) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	body := make([]byte, benchSize)
	found := []byte("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(benchSize) + "\r\nContent-Type: image/jpeg\r\n\r\n" + string(body))
	missing := []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot here\n")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadString('\n')
					for rest := line; err == nil && rest != "\r\n"; {
						rest, err = in.ReadString('\n')
					}
					if err != nil {
						return
					}
					answer := found
					switch {
					case strings.HasPrefix(line, "GET /missing"):
						answer = missing
					case strings.HasPrefix(line, "GET /silent"):
						_, _ = in.ReadByte() // until the client goes
						return
					}
					t := time.NewTimer(benchLatency)
					<-t.C
					if _, err := c.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()[strings.LastIndex(l.Addr().String(), ":"):]
}

// benchURLs is n objects on hosts of the loopback network, with per mille that are missing or
// silent.
func benchURLs(port string, n, missing, silent int) []string {
	out := make([]string, n)
	for i := range out {
		name := "object"
		switch k := i * 7919 % 1000; {
		case k < missing:
			name = "missing"
		case k < missing+silent:
			name = "silent"
		}
		out[i] = fmt.Sprintf("http://127.0.0.%d%s/%s/%d", 1+i%benchHosts, port, name, i)
	}
	return out
}

// BenchmarkFetch is the case of a large table of pictures: 2 % are missing and 1 % never answer.
// requests/s counts all. The link is this machine with a latency of 25 ms.
func BenchmarkFetch(b *testing.B) {
	port := serveBench(b)
	for _, c := range []struct {
		name            string
		missing, silent int
	}{{"good", 0, 0}, {"failing", 20, 10}} {
		b.Run(c.name, func(b *testing.B) {
			f, err := New(b.Context(), Options{Timeout: 2 * time.Second, Memory: 1 << 30, Storage: storage.Settings{AllowPrivate: true}, Environ: map[string]string{}})
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			all := benchURLs(port, b.N, c.missing, c.silent)
			b.SetBytes(benchSize)
			b.ReportAllocs()
			b.ResetTimer()
			const size = 1024
			var flying []*Batch
			failed := 0
			for len(all) > 0 || len(flying) > 0 {
				for len(all) > 0 && len(flying) < 64 {
					n := min(size, len(all))
					flying = append(flying, f.Start(all[:n]))
					all = all[n:]
				}
				results, err := flying[0].Wait(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range results {
					if r.Reason != "" {
						failed++
					}
				}
				flying[0].Release()
				flying = flying[1:]
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(float64(failed)/float64(b.N), "failed")
		})
	}
}

// BenchmarkLink measures the same link by as many loops of net/http, with good objects alone.
func BenchmarkLink(b *testing.B) {
	port := serveBench(b)
	all := benchURLs(port, b.N, 0, 0)
	t := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	defer t.CloseIdleConnections()
	b.SetBytes(benchSize)
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 256 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
				rq, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, all[i], nil)
				rs, err := t.RoundTrip(rq)
				if err != nil {
					b.Error(err)
					return
				}
				data := make([]byte, rs.ContentLength)
				_, _ = io.ReadFull(rs.Body, data)
				rs.Body.Close()
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
