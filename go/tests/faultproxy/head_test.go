package faultproxy

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

func TestHead(t *testing.T) {
	t.Parallel()
	text := "GET /a?b=c HTTP/1.1\r\nHost: here\r\nX-range: no\r\nRange:bytes=1-2\r\ncontent-length: 7 \r\n\r\nbody"
	in := bufio.NewReaderSize(strings.NewReader(text), 16) // lines are longer than the buffer
	h, err := readHead(in)
	if err != nil {
		t.Fatal(err)
	}
	if h.method != "GET" || h.target != "/a?b=c" || h.length != 7 || h.field("range") != "bytes=1-2" || h.field("Missing") != "" {
		t.Errorf("got %+v", h)
	}
	if string(h.raw)+"body" != text {
		t.Errorf("the head is not as it came: %q", h.raw)
	}
	h.set("Host", "there")
	h.set("Range", "")
	h.set("New", "1")
	if want := "GET /a?b=c HTTP/1.1\r\nHost: there\r\nX-range: no\r\ncontent-length: 7 \r\nNew: 1\r\n\r\n"; string(h.raw) != want {
		t.Errorf("got %q, want %q", h.raw, want)
	}
}

// FuzzHead: whatever comes, a head that is taken is given back byte for byte, and can be changed.
func FuzzHead(f *testing.F) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.0 99\r\n\r\n", "\r\n\r\n", "GET /\n\n",
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := readHead(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		if !bytes.HasPrefix(text, h.raw) || h.length < -1 {
			t.Fatalf("head %q of %q, length %d", h.raw, text, h.length)
		}
		h.set("New", "1")
		if h.field("New") != "1" {
			t.Errorf("a header that was set is not there: %q", h.raw)
		}
	})
}
