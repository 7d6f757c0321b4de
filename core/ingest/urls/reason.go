package urls

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
)

// refusal is the outcome of an answer without the object.
func refusal(rs *http.Response) outcome {
	out := outcome{reason: strings.TrimSpace(strconv.Itoa(rs.StatusCode) + " " + http.StatusText(rs.StatusCode))}
	switch status := rs.StatusCode; {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status/100 == 5:
		out.again, out.wait = true, request.RetryAfter(rs.Header)
	case status == http.StatusNoContent:
		out.reason = "the answer is empty"
	}
	return out
}

// failure is the outcome of a request that broke.
func (f *Fetcher) failure(ctx context.Context, j *job, err error) outcome {
	if ctx.Err() != nil {
		return f.stopped(j, context.Cause(ctx))
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
	limit := f.guard.Limit.String()
	dial := errors.As(err, &op) && op.Op == "dial"
	proxy := op != nil && (op.Op == "proxyconnect" || op.Op == "socks connect")
	switch {
	case errors.As(err, &refused) && refused.Kind == errs.Denied:
		return outcome{reason: "the address is private; allow it with allow_private"}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return outcome{reason: "this machine has too many files and connections open", again: true}
	case proxy:
		return outcome{reason: "the proxy cannot be reached", again: true}
	case errors.As(err, &dns) && dns.IsNotFound:
		return outcome{reason: "the host does not exist", mute: true}
	case errors.As(err, &dns):
		return outcome{reason: "the address of the host cannot be found (DNS)", again: true, mute: true}
	case errors.As(err, &unknown):
		return outcome{reason: "the certificate is signed by an authority that is not known here"}
	case errors.As(err, &hostname), errors.As(err, &invalid):
		return outcome{reason: "the certificate is not valid for the host or the time"}
	case errors.As(err, &record):
		return outcome{reason: "the host does not speak TLS"}
	case dial && op.Timeout():
		return outcome{reason: "no connection within " + limit, mute: true}
	case errors.Is(err, syscall.ECONNREFUSED):
		return outcome{reason: "connection refused", again: true, mute: true}
	case dial:
		return outcome{reason: "the host cannot be reached", again: true, mute: true}
	}
	// net/http has no types for these.
	text := err.Error()
	switch {
	case strings.Contains(text, "TLS handshake timeout"):
		return outcome{reason: "no TLS connection within " + limit, mute: true}
	case strings.Contains(text, "headers exceeded"):
		return outcome{reason: "the head of the answer is longer than " + amount(maxHead)}
	case strings.Contains(text, "malformed"):
		return outcome{reason: "the host does not speak HTTP"}
	}
	return outcome{reason: "the connection broke", again: true, mute: !j.heard}
}

// stopped is the outcome of a request that was ended.
func (f *Fetcher) stopped(j *job, cause error) outcome {
	limit := f.o.Timeout
	if errors.Is(cause, errSilence) {
		limit = f.o.Silence
	}
	switch {
	case !j.heard:
		return outcome{reason: "no answer within " + limit.String(), mute: true}
	case errors.Is(cause, errSilence):
		return outcome{reason: "the answer stopped for " + limit.String()}
	}
	return outcome{reason: "not complete within " + limit.String()}
}

// amount writes a number of bytes.
func amount(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + " KiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
