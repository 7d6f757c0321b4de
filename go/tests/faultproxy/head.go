package faultproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// head is the part before the body of a request or an answer, byte by byte: a signature covers the
// names and the values of headers, and the server must see the bytes that the client has signed.
type head struct {
	raw    []byte // up to and with the empty line
	method string // of a request
	target string
	status int   // of an answer
	length int64 // Content-Length; -1: none
	chunks bool  // the body is chunked
	last   bool  // the connection ends after this
}

const maxHeadBytes = 256 << 10

// readHead reads up to the empty line. An error with no byte read is the bare error of the
// connection.
func readHead(in *bufio.Reader) (*head, error) {
	var raw []byte
	for {
		line, err := in.ReadSlice('\n')
		raw = append(raw, line...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			// A line longer than the buffer comes in pieces.
		case err != nil && len(raw) == 0:
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("head breaks off after %d bytes: %w", len(raw), err)
		case len(line) <= 2 && len(raw) > len(line) && raw[len(raw)-len(line)-1] == '\n':
			return parseHead(raw)
		}
		if len(raw) > maxHeadBytes {
			return nil, fmt.Errorf("head is longer than %d bytes", maxHeadBytes)
		}
	}
}

func parseHead(raw []byte) (*head, error) {
	if !bytes.HasSuffix(raw, []byte("\r\n\r\n")) {
		return nil, errors.New("head has lines that do not end as HTTP's do")
	}
	first, _, _ := bytes.Cut(raw, []byte("\r\n"))
	words := strings.SplitN(string(first), " ", 3)
	if len(words) < 2 {
		return nil, fmt.Errorf("%q is no first line of HTTP", first)
	}
	h := &head{raw: raw, length: -1}
	version := words[0]
	if strings.HasPrefix(version, "HTTP/") {
		status, err := strconv.Atoi(words[1])
		if err != nil || status < 100 || status > 999 {
			return nil, fmt.Errorf("%q is no first line of HTTP", first)
		}
		h.status = status
	} else if len(words) == 3 {
		h.method, h.target, version = words[0], words[1], words[2]
	}
	if text := h.field("Content-Length"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("content length %q is no count", text)
		}
		h.length = n
	}
	h.chunks = strings.EqualFold(h.field("Transfer-Encoding"), "chunked")
	connection := h.field("Connection")
	h.last = strings.EqualFold(connection, "close") || version == "HTTP/1.0" && !strings.EqualFold(connection, "keep-alive")
	return h, nil
}

// field is the value of a header, "" if there is none.
func (h *head) field(name string) string {
	_, value := h.find(name)
	return string(value)
}

// find gives the whole line of a header, with its end, and the value within.
func (h *head) find(name string) (line, value []byte) {
	rest := h.raw
	for {
		_, after, more := bytes.Cut(rest, []byte("\n"))
		if !more {
			return nil, nil
		}
		rest = after
		if len(rest) > len(name) && rest[len(name)] == ':' && strings.EqualFold(string(rest[:len(name)]), name) {
			end := bytes.IndexByte(rest, '\n') + 1
			return rest[:end], bytes.TrimSpace(rest[len(name)+1 : end])
		}
	}
}

// set changes a header's value, or adds the header; "" removes it.
func (h *head) set(name, value string) {
	line, _ := h.find(name)
	var fresh []byte
	if value != "" {
		fresh = fmt.Appendf(nil, "%s: %s\r\n", name, value)
	}
	if line != nil {
		h.raw = bytes.Replace(h.raw, line, fresh, 1)
	} else if fresh != nil {
		h.raw = append(append(h.raw[:len(h.raw)-2:len(h.raw)-2], fresh...), "\r\n"...)
	}
}

// setStatus changes the first line of an answer.
func (h *head) setStatus(line string) {
	_, rest, _ := bytes.Cut(h.raw, []byte("\r\n"))
	h.raw = append([]byte("HTTP/1.1 "+line+"\r\n"), rest...)
}

// bodiless says that no body follows, whatever the headers say.
func (h *head) bodiless(method string) bool {
	return method == "HEAD" || h.status == 204 || h.status == 304 || h.status/100 == 1
}

// hasBody says whether a body follows a request.
func (h *head) hasBody() bool { return h.length > 0 || h.chunks }
