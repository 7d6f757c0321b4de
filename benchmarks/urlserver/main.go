// Command urlserver answers the URLs of test_url_columns.py, and reads them with a bare loop.
//
//	urlserver -serve FOLDER             prints its port, and answers until its standard input ends
//	urlserver -fetch FILE -workers N    reads the URLs in the lines of a file; prints a line of JSON
//
// The first part of a path names its answer: ok is a JPEG file, by its number; gone is 404; busy is
// 503; reset breaks the connection; mute never answers. It listens at all addresses, so that each of
// 127.0.0.1, 127.0.0.2 and so on is a host, and answers this machine alone. HTTP is written by hand:
// with net/http the server would take as much of the cores as the loop that reads from it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	folder := flag.String("serve", "", "folder with class folders of JPEG files")
	latency := flag.Duration("latency", 25*time.Millisecond, "from a request to its answer")
	list := flag.String("fetch", "", "file with a URL in each line")
	workers := flag.Int("workers", 256, "requests at once")
	flag.Parse()
	var err error
	switch {
	case *folder != "":
		err = serve(*folder, *latency)
	case *list != "":
		err = fetch(*list, *workers)
	default:
		err = errors.New("want -serve or -fetch")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// server has all its answers in memory.
type server struct {
	latency time.Duration
	files   [][]byte // with their heads
}

var (
	gone = []byte("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	busy = []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
)

// serve answers until the standard input ends.
func serve(folder string, latency time.Duration) error {
	names, err := filepath.Glob(filepath.Join(folder, "*", "*.jpg"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no JPEG file in the folders of %s (%w)", folder, err)
	}
	s := &server{latency: latency}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n", len(data))
		s.files = append(s.files, append([]byte(head), data...))
	}
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if from, ok := c.RemoteAddr().(*net.TCPAddr); !ok || !from.IP.IsLoopback() {
			_ = c.Close()
			continue
		}
		go s.answer(c.(*net.TCPConn))
	}
}

// answer answers the requests of a connection.
func (s *server) answer(c *net.TCPConn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, 1024)
	for {
		path, last, err := request(in)
		if err != nil {
			return
		}
		kind, number, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if kind == "mute" {
			_, _ = io.Copy(io.Discard, in) // until the client closes
			return
		}
		time.Sleep(s.latency)
		out := gone
		switch n, err := strconv.Atoi(number); {
		case kind == "ok" && err == nil && n >= 0:
			out = s.files[n%len(s.files)]
		case kind == "busy":
			out = busy
		case kind == "reset":
			_ = c.SetLinger(0)
			return
		}
		if _, err := c.Write(out); err != nil || last {
			return
		}
	}
}

// request reads the head of a request: its path, and whether the connection ends with it.
func request(in *bufio.Reader) (path string, last bool, err error) {
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			words := strings.Fields(string(line))
			if len(words) != 3 || words[0] != "GET" {
				return "", false, errors.New("not a GET request")
			}
			path = words[1]
		case len(line) == 0:
			return path, last, nil
		case bytes.EqualFold(line, []byte("connection: close")):
			last = true
		}
	}
}

// fetch reads the bodies of all URLs, in order, and keeps none.
func fetch(list string, workers int) error {
	data, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	urls := strings.Fields(string(data))
	send := &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}
	var next, size, failed atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range workers {
		all.Go(func() {
			for at := next.Add(1) - 1; at < int64(len(urls)); at = next.Add(1) - 1 {
				n, err := read(send, urls[at])
				size.Add(n)
				if err != nil {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"count": int64(len(urls)) - failed.Load(), "failed": failed.Load(), "bytes": size.Load(), "seconds": time.Since(began).Seconds(),
	})
}

func read(send http.RoundTripper, url string) (int64, error) {
	rq, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	rs, err := send.RoundTrip(rq)
	if err != nil {
		return 0, err
	}
	defer rs.Body.Close()
	n, err := io.Copy(io.Discard, rs.Body)
	if err == nil && rs.StatusCode != http.StatusOK {
		err = errors.New(rs.Status)
	}
	return n, err
}
