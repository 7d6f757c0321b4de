package faultproxy

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client is one connection of a client, with the connection to the server that belongs to it.
type client struct {
	p    *Proxy
	conn *net.TCPConn
	host string // of the client
	in   *bufio.Reader
	up   *net.TCPConn // nil: none
	upIn *bufio.Reader
	used time.Time // when up was last used
	bell alarm     // of the one goroutine that answers
}

func newClient(p *Proxy, conn *net.TCPConn) *client {
	host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
	return &client{p: p, conn: conn, host: host, in: bufio.NewReader(conn)}
}

// serve answers the requests of the connection one after the other.
func (c *client) serve() {
	defer c.hangUp()
	defer c.bell.close()
	for {
		rq, err := readHead(c.in)
		if err != nil {
			return
		}
		v := c.p.book.begin(rq)
		x := exchange{client: c, rq: rq, v: v, log: Request{Client: c.host}}
		more := x.run()
		if !more {
			c.hangUp()
			// the body that is still being passed on ends here
			_ = c.conn.SetReadDeadline(time.Now())
		}
		if x.sent != nil {
			<-x.sent
			x.log.Sent = x.bytes
		}
		c.p.book.end(rq, v, x.log)
		if !more || rq.last {
			return
		}
	}
}

// hangUp ends the connection to the server.
func (c *client) hangUp() {
	if c.up != nil {
		c.p.drop(c.up)
		c.up = nil
	}
}

// reset breaks the connection to the client.
func (c *client) reset() { _ = c.conn.SetLinger(0) }

// exchange is one request and its answer.
type exchange struct {
	*client
	rq  *head
	v   verdict
	log Request

	sent  chan struct{} // closed when the request's body was passed on, or could not be
	all   bool          // it was; after sent
	bytes int64         // of it; after sent
}

// run returns whether the connection can carry another request.
func (x *exchange) run() bool {
	if x.bell.sleep(x.v.delay, x.p.closed) != nil {
		return false
	}
	switch x.v.Fault {
	case FaultAnswer:
		return x.madeUp()
	case FaultRefuse:
		x.reset()
		return false
	}
	rs, err := x.forward()
	if err != nil {
		x.reset()
		return false
	}
	return x.answer(rs) && x.settle(rs)
}

// forward passes the request on and gives the head of the answer. A connection that the server has
// closed meanwhile is replaced once.
func (x *exchange) forward() (*head, error) {
	if x.p.config.RewriteHost {
		x.rq.set("Host", x.p.upstream)
	}
	for {
		fresh := x.up == nil
		// The end of an idle connection shows only when it is written to; a body cannot be sent
		// twice.
		if !fresh && x.rq.hasBody() && time.Since(x.used) > time.Second {
			x.hangUp()
			fresh = true
		}
		if fresh {
			up, err := x.p.dial()
			if err != nil {
				return nil, err
			}
			x.up, x.upIn = up, bufio.NewReader(up)
		}
		_, err := x.up.Write(x.rq.raw)
		if err == nil {
			x.pump()
			var rs *head
			if rs, err = x.final(); err == nil {
				return rs, nil
			}
		}
		x.hangUp()
		if fresh || x.rq.hasBody() {
			return nil, err
		}
	}
}

// pump starts to pass on the request's body. Meanwhile the server may answer already, or ask for
// the body first.
func (x *exchange) pump() {
	x.sent = make(chan struct{})
	if !x.rq.hasBody() {
		x.all = true
		close(x.sent)
		return
	}
	bell := new(alarm)
	b := newBody(x.rq, x.in, x.conn, x.up, newPace(x.v.rate, x.v.all, x.p.closed, bell))
	x.p.open.Go(func() {
		defer close(x.sent)
		defer bell.close()
		err := b.relay(-1)
		x.bytes, x.all = b.moved, err == nil
	})
}

// final passes on answers like 100 and gives the first that is none.
func (x *exchange) final() (*head, error) {
	for {
		rs, err := readHead(x.upIn)
		if err != nil {
			return nil, err
		}
		if rs.status/100 != 1 {
			return rs, nil
		}
		if _, err := x.conn.Write(rs.raw); err != nil {
			return nil, err
		}
	}
}

// answer passes the answer on, with the fault.
func (x *exchange) answer(rs *head) (ok bool) {
	none := rs.bodiless(x.rq.method)
	b := newBody(rs, x.upIn, x.up, x.conn, newPace(x.v.rate, x.v.all, x.p.closed, &x.bell))
	if none {
		b.left, b.chunks = 0, nil
	}
	if x.v.Fault == FaultLose {
		b.to, b.pace = nil, nil
		_ = b.relay(-1)
		<-x.sent
		x.reset()
		return false
	}
	defer func() { x.log.Bytes, x.log.Partial = b.moved, !ok }()
	at, hits := x.offset(rs, b)
	if hits {
		x.falsify(rs, at)
	}
	x.log.Status = rs.status
	if x.p.config.RewriteHost {
		rs.raw = bytes.ReplaceAll(rs.raw, []byte("http://"+x.p.upstream), []byte(x.p.URL))
	}
	if _, err := x.conn.Write(rs.raw); err != nil {
		return false
	}
	if hits {
		if more := x.disturb(b, at); !more {
			return false
		}
	}
	return b.relay(-1) == nil
}

// offset is the byte of the fault, and whether the answer has it.
func (x *exchange) offset(rs *head, b *body) (int64, bool) {
	switch x.v.Fault {
	case FaultReset, FaultClose, FaultStall, FaultFlip, FaultCut:
	case FaultShift, FaultNoRange:
		return max(x.v.At, 1), rs.status == http.StatusPartialContent
	case FaultNoLength:
		return 0, b.left > 0
	default:
		return 0, false
	}
	at := x.v.At
	if at == Middle {
		at = max(b.left, 0) / 2
	}
	return at, rs.status/100 == 2 && (b.left < 0 || at < b.left || at == 0)
}

// falsify changes the head of the answer.
func (x *exchange) falsify(rs *head, at int64) {
	switch x.v.Fault {
	case FaultCut:
		if !rs.chunks {
			rs.set("Content-Length", strconv.FormatInt(at, 10))
		}
	case FaultShift:
		rs.set("Content-Range", shifted(rs.field("Content-Range"), at))
	case FaultNoRange:
		rs.setStatus("200 OK")
		rs.status = http.StatusOK
		rs.set("Content-Range", "")
	case FaultNoLength:
		rs.set("Content-Length", "")
		rs.set("Connection", "close")
		rs.last = true
	}
}

// shifted moves both ends of "bytes a-b/size".
func shifted(value string, by int64) string {
	var first, last int64
	size := ""
	if _, err := fmt.Sscanf(value, "bytes %d-%d/%s", &first, &last, &size); err != nil {
		return value
	}
	return fmt.Sprintf("bytes %d-%d/%s", first+by, last+by, size)
}

// disturb passes the body on up to the fault and does it. more: the rest is to follow.
func (x *exchange) disturb(b *body, at int64) (more bool) {
	switch x.v.Fault {
	case FaultShift, FaultNoRange, FaultNoLength:
		return true
	}
	if b.relay(at) != nil {
		return false
	}
	switch x.v.Fault {
	case FaultReset:
		x.reset()
		return false
	case FaultClose:
		return false
	case FaultStall:
		return x.stall()
	case FaultFlip:
		return b.flip() == nil
	case FaultCut:
		to := b.to
		b.to, b.pace = nil, nil // the server's connection stays in step
		if err := b.relay(-1); err != nil {
			return false
		}
		b.moved = at
		if b.chunks != nil {
			b.to = to
			return b.write([]byte("0\r\n\r\n")) == nil
		}
	}
	return true
}

// stall waits for the time of the fault, or until the client leaves.
func (x *exchange) stall() (more bool) {
	if x.v.DelayMS > 0 {
		return sleep(duration(x.v.DelayMS), x.p.closed) == nil
	}
	<-x.sent
	// a client that waits for an answer sends nothing; this ends with it
	_, _ = io.Copy(io.Discard, x.conn)
	return false
}

// settle gets both connections ready for the next request, if they can have one.
func (x *exchange) settle(rs *head) (more bool) {
	ends := rs.last || rs.length < 0 && !rs.chunks && !rs.bodiless(x.rq.method)
	select {
	case <-x.sent:
	default:
		// The server has answered before it had the whole body. A client that is still sending must
		// be able to see the answer before its connection breaks.
		_ = x.up.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		_ = x.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		<-x.sent
	}
	if !x.all || ends {
		x.hangUp()
		_ = x.conn.CloseWrite()
		if !x.all {
			_ = x.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			_, _ = io.CopyN(io.Discard, x.conn, 64<<20)
		}
		return false
	}
	x.used = time.Now()
	return true
}

// madeUp answers in place of the server.
func (x *exchange) madeUp() (more bool) {
	more = true
	if x.rq.hasBody() {
		if x.rq.field("Expect") != "" {
			more = false // the body does not come
		} else if newBody(x.rq, x.in, x.conn, nil, nil).relay(-1) != nil {
			return false
		}
	}
	kind, text := x.madeUpBody()
	if x.rq.method == http.MethodHead {
		text = ""
	}
	var h strings.Builder
	fmt.Fprintf(&h, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n", x.v.Status, http.StatusText(x.v.Status), kind, len(text))
	switch x.p.config.Dialect {
	case DialectS3:
		h.WriteString("X-Amz-Request-Id: INJECTED\r\n")
	case DialectGCS:
		h.WriteString("X-Guploader-Uploadid: INJECTED\r\n")
	}
	if x.v.RetryAfter > 0 {
		fmt.Fprintf(&h, "Retry-After: %d\r\n", x.v.RetryAfter)
	}
	if !more {
		h.WriteString("Connection: close\r\n")
	}
	fmt.Fprintf(&h, "Date: %s\r\n\r\n%s", time.Now().UTC().Format(http.TimeFormat), text)
	x.log.Status, x.log.Bytes = x.v.Status, int64(len(text))
	_, err := io.WriteString(x.conn, h.String())
	return more && err == nil
}

// madeUpBody is an error in the form of the store.
func (x *exchange) madeUpBody() (kind, text string) {
	const message = "injected fault"
	switch x.p.config.Dialect {
	case DialectGCS:
		return "application/json", fmt.Sprintf(`{"error":{"code":%d,"message":%q,"errors":[{"domain":"global","reason":%q,"message":%q}]}}`,
			x.v.Status, message, x.v.Code, message)
	case DialectHTTP:
		return "text/plain", x.v.Code + ": " + message + "\n"
	}
	var b strings.Builder
	b.WriteString(xml.Header + "<Error><Code>")
	_ = xml.EscapeText(&b, []byte(x.v.Code))
	b.WriteString("</Code><Message>" + message + "</Message><RequestId>0</RequestId></Error>")
	return "application/xml", b.String()
}
