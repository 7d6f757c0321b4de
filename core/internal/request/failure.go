package request

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// maxText bounds the bytes read of an answer that refuses a request.
const maxText = 16 << 10

// Response is an unexpected response.
type Response struct {
	Method string
	Host   string
	Path   string
	Status int
	Header http.Header
	Text   []byte  // the beginning of the body
	Client *Client // that asked; nil: its secrets are not known
}

// Refusal reads the reason that rs, an answer to rq, gives for a refusal, and closes rs.
func (c *Client) Refusal(rq *http.Request, rs *http.Response) *Response {
	defer rs.Body.Close()
	// half an explanation is better than none
	text, _ := io.ReadAll(io.LimitReader(rs.Body, maxText))
	return &Response{
		Method: rq.Method, Host: rq.URL.Host, Path: rq.URL.Path, Status: rs.StatusCode, Header: rs.Header, Text: text, Client: c,
	}
}

// Clean is Clean of a text of the answer, without secrets.
func (a *Response) Clean(text string, most int) string {
	if a.Client != nil {
		text = a.Client.secrets.scrub(text, leastSecret)
	}
	return Clean(text, most)
}

// requestIDs are the headers with a store's name for a request: S3, Google, and web servers.
var requestIDs = []string{"X-Amz-Request-Id", "X-Guploader-Uploadid", "X-Request-Id"}

// maxID bounds the name of a request.
const maxID = 120

// Identify records the store's name of the request in the innermost classified error of err, which
// explains a. It returns err.
func (a *Response) Identify(err error) error {
	for _, name := range requestIDs {
		id := a.Clean(a.Header.Get(name), maxID)
		var e *errs.Error
		for cause := err; id != "" && errors.As(cause, &e); cause = e.Err {
		}
		if e != nil {
			e.RequestID = id
			break
		}
	}
	return err
}

// Wait is the time that the answer asks to wait (Retry-After), 0 if it does not. An hour is the
// most.
func (a *Response) Wait() time.Duration {
	return RetryAfter(a.Header)
}

// RetryAfter is the time that the head of an answer asks to wait, 0 if it does not. An hour is the
// most.
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	var d time.Duration
	if n, err := strconv.Atoi(text); err == nil {
		d = time.Duration(min(max(n, 0), 3600)) * time.Second
	} else if t, err := http.ParseTime(text); err == nil {
		d = time.Until(t)
	}
	return min(max(d, 0), time.Hour)
}

// IsPage reports whether the answer is a web page: then the address is not that of a store.
func (a *Response) IsPage() bool {
	begin := strings.ToLower(strings.TrimSpace(string(a.Text[:min(len(a.Text), 64)])))
	return IsPage(a.Header) || strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}

// IsPage reports whether the head of an answer announces a web page.
func IsPage(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.TrimSpace(kind) == "text/html"
}

// IsPageOf is IsPage for an answer of an object store to a write. Some stores give an empty answer
// the type of a web page, and no ETag. Whether they have done the write shows when it is read back.
func IsPageOf(rs *http.Response) bool {
	return IsPage(rs.Header) && rs.ContentLength != 0 && rs.StatusCode != http.StatusNoContent
}

// Quote returns the text of the answer, shortened for a message.
func (a *Response) Quote() string {
	const most = 200
	text := a.Clean(string(a.Text), most)
	head := strconv.Itoa(a.Status) + " " + http.StatusText(a.Status)
	if text == "" {
		return head
	}
	return head + `: "` + text + `"`
}

// Explain classifies the answer by its status alone.
func (a *Response) Explain() error {
	err := errs.New(kindOfStatus(a.Status), "%s answers %s", a.Host, a.Quote())
	switch a.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &storage.Fault{Repeat: storage.Later, Wait: a.Wait(), Err: err}
	case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return &storage.Fault{Repeat: storage.Soon, Wait: a.Wait(), Err: err}
	}
	return err
}

func kindOfStatus(status int) errs.Kind {
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return errs.NotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return errs.Denied
	case http.StatusPreconditionFailed:
		return errs.Conflict
	case http.StatusRequestedRangeNotSatisfiable:
		return errs.Corrupt
	}
	return errs.Storage
}

// sendError returns the reason why rq got no answer.
func (c *Client) sendError(rq *http.Request, err error) error { return c.Hide(c.reasonOf(rq, err)) }

func (c *Client) reasonOf(rq *http.Request, err error) error {
	if ctxErr := rq.Context().Err(); ctxErr != nil {
		return errs.New(errs.Canceled, "%w", context.Cause(rq.Context()))
	}
	final := func(format string, args ...any) error {
		return errs.New(errs.Storage, format, args...)
	}
	var (
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		record   tls.RecordHeaderError
		dns      *net.DNSError
		op       *net.OpError
		refused  *errs.Error
	)
	where, role := rq.URL.Host, c.host
	if errors.As(err, &op) && isProxy(op) {
		where, role = c.proxyOf(rq), "proxy"
	}
	switch {
	case errors.As(err, &refused) && refused.Kind == errs.Denied: // by the Guard
		return notPublic(rq.URL.Host, addressOf(err, where))
	case errors.As(err, &unknown):
		return final("certificate of %q: signed by an authority that is not known here; give its certificate as ca_file", where)
	case errors.As(err, &hostname), errors.As(err, &invalid):
		return final("certificate of %q: %w; check the %s", where, c.CleanError(rootOf(err)), role)
	case errors.As(err, &record):
		return final("%q does not speak TLS; check the %s (http instead of https?)", where, role)
	case errors.As(err, &dns) && dns.IsNotFound:
		return final("host %q is not known (DNS); check the %s", dns.Name, role)
	case errors.As(err, &op) && (op.Op == "dial" || isProxy(op)):
		return c.unreachable(where, op)
	}
	if timeout(err) {
		return c.silent(rq, err)
	}
	if strings.Contains(err.Error(), "malformed HTTP") { // net/http has no type for it
		return final("%q does not speak HTTP; check the endpoint (https instead of http, another port?)", rq.URL.Host)
	}
	return &storage.Fault{Repeat: storage.Soon, Err: final("connection to %q broke before the answer: %w", rq.URL.Host, c.CleanError(rootOf(err)))}
}

// later is an error that is not repeated within the call. Another call may succeed.
type later struct{ error }

func (l later) Unwrap() error { return l.error }

// Retryable reports that another call may succeed, for errs.FieldsOf.
func (l later) Retryable() bool { return true }

// isProxy reports that a connection to a proxy failed, not one to the host behind it.
func isProxy(op *net.OpError) bool { return op.Op == "proxyconnect" || op.Op == "socks connect" }

// proxyOf returns the host of the proxy that rq goes through, without its user and password.
func (c *Client) proxyOf(rq *http.Request) string {
	u, err := c.reads.Proxy(rq)
	if err != nil || u == nil {
		return rq.URL.Host
	}
	return u.Host
}

// unreachable returns the error of a connection that did not come about. A host that has answered
// before is worth waiting for; one that never did is most likely the wrong one, and a few tries are
// enough.
func (c *Client) unreachable(where string, op *net.OpError) error {
	what, advice := "host", "the "+c.host+", the network and the proxy"
	if isProxy(op) {
		what, advice = "proxy", "proxy= of the storage, and HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the environment"
	}
	if op.Addr != nil && op.Op == "dial" {
		where += " (" + op.Addr.String() + ")"
	}
	reason := rootOf(op).Error()
	switch {
	case timeout(op):
		reason = "no connection within " + c.limit.String()
	case errors.Is(op, syscall.ECONNREFUSED):
		reason = "connection refused: nothing listens there"
	}
	err := errs.New(errs.Storage, "%s %q cannot be reached: %s; check %s", what, where, reason, advice)
	if !c.reached.Load() && c.failed.Add(1) >= firstTries {
		return later{err}
	}
	return &storage.Fault{Repeat: storage.Soon, Err: err}
}

// silent returns the error of a host that accepts connections and never answers.
func (c *Client) silent(rq *http.Request, err error) error {
	wait := c.wait
	if rq.Method != http.MethodGet && rq.Method != http.MethodHead {
		wait *= patienceFactor
	}
	if strings.Contains(err.Error(), "handshake") {
		wait = c.limit
	}
	told := errs.New(errs.Storage, "host %q does not answer within %v; check the %s, or raise timeout", rq.URL.Host, wait, c.host)
	if !c.reached.Load() {
		return later{told}
	}
	return &storage.Fault{Repeat: storage.Soon, Err: told}
}

// addressOf returns the address that a connection was refused to. Without one it is that of the
// request.
func addressOf(err error, where string) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Addr != nil {
		return op.Addr.String()
	}
	return where
}

func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// rootOf drops the layers that repeat the address, which may hold a signature.
func rootOf(err error) error {
	for {
		var u *url.Error
		var op *net.OpError
		switch {
		case errors.As(err, &op):
			err = op.Err
		case errors.As(err, &u):
			err = u.Err
		default:
			return err
		}
	}
}
