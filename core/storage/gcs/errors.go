package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	gcloud "cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

// errSlow is the cause of a request that was given up.
var errSlow = errors.New("the store does not answer")

// maxMessage bounds the quotation of an answer.
const maxMessage = 300

// mostGarbled is the number of unreadable answers in a row after which the server is not taken for
// Google's.
const mostGarbled = 4

// refusal is Google's answer to a request that it refuses.
type refusal struct {
	request.Response
	reason  string // "notFound", "rateLimitExceeded"
	message string
	formal  bool // it came as the JSON that Google gives
}

// refusalOf reads the JSON of an error, or takes the text as the message.
func refusalOf(a *request.Response) *refusal {
	r := &refusal{Response: *a}
	var body struct {
		Error struct {
			Message string `json:"message"`
			Errors  []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	switch {
	case json.Unmarshal(a.Text, &body) == nil && body.Error.Message != "":
		r.message, r.formal = body.Error.Message, true
		if len(body.Error.Errors) > 0 {
			r.reason = body.Error.Errors[0].Reason
		}
	case !a.IsPage():
		r.message = string(a.Text)
	}
	r.message = a.Clean(r.message, maxMessage)
	return r
}

// explain returns the meaning of a refusal for any request; Dialect.Explain.
func (c *Client) explain(a *request.Response) error {
	return c.net.Hide(a.Identify(c.meaning(refusalOf(a))))
}

func (c *Client) meaning(r *refusal) error {
	if r.IsPage() || r.Status/100 == 3 {
		return notGoogle(c.base.Host, r.Status)
	}
	switch {
	case r.Status == http.StatusUnauthorized:
		return c.unauthorized(r)
	case r.Status == http.StatusForbidden && strings.HasSuffix(r.reason, "LimitExceeded"), r.Status == http.StatusTooManyRequests,
		r.Status == http.StatusServiceUnavailable:
		err := errs.New(errs.Storage, "%s", r.quoted("the store asks for fewer requests"))
		return &storage.Fault{Repeat: storage.Later, Wait: r.Wait(), Err: err}
	case r.Status == http.StatusForbidden:
		return errs.New(errs.Denied, "%s; %s", r.quoted("permission denied"), c.id.remedy())
	case r.Status == http.StatusNotFound && strings.Contains(r.message, "bucket does not exist"):
		return &storage.NoBucket{Err: errs.New(errs.NotFound, "%s", r.quoted("there is no such bucket"))}
	case r.Status == http.StatusNotFound:
		return errs.New(errs.NotFound, "no such object")
	case r.Status == http.StatusBadRequest && strings.Contains(r.message, "requester pays"):
		return errs.New(errs.Denied, "%s; give user_project, the project that pays", r.quoted("the requester pays for this bucket"))
	case r.Status == http.StatusBadRequest && strings.Contains(r.message, "customer-supplied encryption key"):
		return errs.New(errs.Denied, "%s; give the customer_key that it was written with", r.quoted("the object is encrypted"))
	case r.Status == http.StatusConflict:
		// Two requests on one name met: one of them has to come again.
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%s", r.quoted("the store was asked twice at once"))}
	case r.Status == http.StatusBadRequest:
		return errs.New(errs.Storage, "%s", r.quoted("the store refuses the request"))
	}
	return r.Explain()
}

func notGoogle(host string, status int) error {
	return errs.New(errs.Storage, "%q answers %d with a web page, not as Google Cloud Storage; check the endpoint and the proxy", host, status)
}

// unauthorized is a token that is not taken, or none where one is needed.
func (c *Client) unauthorized(r *refusal) error {
	if c.id.anonymous() {
		return errs.New(errs.Denied, "%s; %s", r.quoted("nobody in particular may do that"), c.id.remedy())
	}
	err := errs.New(errs.Denied, "%s; %s", r.quoted("the access token is refused: it has expired, or is not valid"), c.id.remedy())
	if c.id.forget() {
		return &storage.Fault{Repeat: storage.Refresh, Err: err}
	}
	return err
}

func (r *refusal) quoted(what string) string {
	if r.message == "" || r.message == http.StatusText(r.Status) {
		return what + " (" + http.StatusText(r.Status) + ")"
	}
	return what + ` ("` + r.message + `")`
}

// noBucket reports whether an error of Google's client speaks of the bucket.
func noBucket(err error) bool {
	var g *googleapi.Error
	return errors.As(err, &g) && strings.Contains(g.Message+g.Body, "bucket does not exist")
}

// readError is the error of a range request.
func (p *root) readError(ctx context.Context, op, key string, err error) error {
	var gone *storage.NoBucket
	if errors.As(err, &gone) {
		return p.bucketMissing(op, key)
	}
	if errs.Is(err, errs.NotFound) && !p.seen.Load() && ctx.Err() == nil {
		// Not every server tells a missing bucket from a missing object.
		probe := p.list(ctx, "", "", func(string, *gcloud.ObjectAttrs) bool { return false })
		if errors.As(probe, &gone) {
			return errs.Wrap(errs.NotFound, op, key, gone)
		}
	}
	return errs.Wrap(errs.Storage, op, key, err)
}

func (p *root) bucketMissing(op, key string) error {
	return errs.Wrap(errs.NotFound, op, key, &storage.NoBucket{Err: errs.New(errs.NotFound,
		"there is no bucket %q at %q; check its name, or create it", p.bucket, p.client.base.Host)})
}

// unknownBucket is bucketMissing, unless the answer is not in Google's words: then it may be that
// of any server.
func (p *root) unknownBucket(op, key string, r *refusal) error {
	if r.formal || p.seen.Load() {
		return p.bucketMissing(op, key)
	}
	return errs.Wrap(errs.NotFound, op, key, &storage.NoBucket{Err: errs.New(errs.NotFound,
		"there is no bucket %q at %q, or that is not Google Cloud Storage (it answers %s); check the bucket's name and the endpoint",
		p.bucket, p.client.base.Host, r.Quote())})
}

// sdkError classifies an error of Google's client.
func (p *root) sdkError(ctx context.Context, err error) error {
	return p.client.net.Hide(p.classify(ctx, err))
}

func (p *root) classify(ctx context.Context, err error) error {
	var g *googleapi.Error
	switch {
	case errs.KindOf(err) != errs.Internal: // of the transport below: already classified
		var known *errs.Error
		var fault *storage.Fault
		if errors.As(err, &fault) {
			return fault
		}
		errors.As(err, &known)
		return known
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errSlow):
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%q does not answer within %v", p.client.base.Host, p.client.net.Patience())}
	case ctx.Err() != nil:
		return errs.New(errs.Canceled, "%w", context.Cause(ctx))
	case errors.As(err, &g):
		return p.client.explain(p.answer(g))
	}
	if unreadable(err) && p.garbled.Add(1) >= mostGarbled {
		return errs.New(errs.Storage, "%q does not answer as Google Cloud Storage; check the endpoint", p.client.base.Host)
	}
	return &storage.Fault{Repeat: storage.Soon, Err: errs.Op("request to", p.client.base.Host).New(errs.Storage, "%w", p.client.net.CleanError(err))}
}

// unreadable reports whether err is about an answer that is not the JSON that was requested.
func unreadable(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	// some have no type
	return errors.As(err, &syntax) || errors.As(err, &kind) || strings.Contains(err.Error(), "json: ")
}

// answer returns the response behind an error of Google's client.
func (p *root) answer(g *googleapi.Error) *request.Response {
	return &request.Response{Host: p.client.base.Host, Status: g.Code, Header: g.Header, Text: []byte(g.Body), Client: p.client.net}
}

// writeError is the error of a request that changes an object. Only the bucket can be missing.
func (p *root) writeError(ctx context.Context, op, key string, ifAbsent bool, err error) error {
	var g *googleapi.Error
	if errors.As(err, &g) {
		switch {
		case g.Code == http.StatusPreconditionFailed && ifAbsent:
			return errs.Op(op, key).New(errs.Exists, "the object exists already")
		case g.Code == http.StatusNotFound && !p.answer(g).IsPage():
			return p.client.net.Hide(p.unknownBucket(op, key, refusalOf(p.answer(g))))
		}
	}
	return errs.Wrap(errs.Storage, op, key, p.sdkError(ctx, err))
}

// listError is the error of a listing. Only the bucket can be missing.
func (p *root) listError(ctx context.Context, op, prefix string, err error) error {
	return p.writeError(ctx, op, prefix, false, err)
}

// copyError is the error of a copy, where the source can be missing.
func (p *root) copyError(ctx context.Context, op, key string, err error) error {
	var gone *storage.NoBucket
	err = p.sdkError(ctx, err)
	if errors.As(err, &gone) {
		return errs.Op(op, key).New(errs.NotFound, "%w; check the buckets of both", err)
	}
	return errs.Wrap(errs.Storage, op, key, err)
}
