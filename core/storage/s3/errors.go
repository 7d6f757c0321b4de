package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

// refusal is a store's answer to a request that it refuses.
type refusal struct {
	*request.Response
	code    string // "NoSuchKey"; "" where there is no body, as after HEAD
	message string
	region  string // where the bucket is, if that was the reason
}

const (
	maxMessage = 300
	maxCode    = 64
)

// mostGarbled is the number of unreadable answers in a row after which the server is not taken for
// S3.
const mostGarbled = 4

// refusalOf reads the XML of an error. A body that is none leaves code and message empty.
func refusalOf(a *request.Response) *refusal {
	r := &refusal{Response: a}
	var body struct {
		XMLName xml.Name
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
		Region  string `xml:"Region"`
	}
	if xml.NewDecoder(bytes.NewReader(a.Text)).Decode(&body) == nil && body.XMLName.Local == "Error" {
		r.code, r.message, r.region = strings.TrimSpace(body.Code), body.Message, strings.TrimSpace(body.Region)
	}
	if region := a.Header.Get("X-Amz-Bucket-Region"); region != "" {
		r.region = region
	}
	r.code, r.message = a.Clean(r.code, maxCode), a.Clean(r.message, maxMessage)
	if strings.Trim(r.region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || len(r.region) > maxCode {
		r.region = "" // it would become a part of a host
	}
	return r
}

// said is the answer in the store's words.
func (r *refusal) said() string {
	if r.code == "" {
		return r.Quote()
	}
	if r.message == "" {
		return r.code
	}
	return r.code + ": " + r.message
}

// missingBucket marks the error of a bucket that is not there, which must not pass for a missing
// object.
type missingBucket = storage.NoBucket

// invalidRequest marks how a store refuses, among other things, to copy a large object with one
// request.
type invalidRequest struct{ error }

func (i *invalidRequest) Unwrap() error { return i.error }

// explain returns the meaning of an answer other than the requested one; request.Dialect.Explain.
func (s *store) explain(a *request.Response) error {
	return s.net.Hide(a.Identify(s.meaning(refusalOf(a))))
}

func (s *store) meaning(r *refusal) error {
	// The words count, not the type that the server gives them: several send XML as text/html. Load
	// balancers in front of a store send pages when they are busy.
	if r.code == "" && r.Method != http.MethodHead && len(r.Text) > 0 && !busy(r.Status) && (r.IsPage() || r.Status < http.StatusInternalServerError) {
		return errs.New(errs.Storage, "%q does not answer as S3 (got %s); check the endpoint and the proxy", r.Host, r.Quote())
	}
	if r.code == "NoSuchKey" {
		s.seen.Store(true)
	}
	if err := s.elsewhere(r); err != nil {
		return err
	}
	switch r.code {
	case "NoSuchBucket":
		return s.noBucket()
	case "RequestTimeTooSkewed":
		return s.skewed(r)
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "InvalidToken":
		return s.expired(r)
	case "InvalidAccessKeyId", "XAdminUserNotFound", "InvalidClientTokenId", "UnrecognizedClientException":
		return errs.New(errs.Denied, "the access key is not known at %q (%s); check access_key_id and the endpoint", s.host(), r.code)
	case "SignatureDoesNotMatch":
		return errs.New(errs.Denied, "the secret key does not belong to the access key, or a proxy changes requests (%q answers %s); "+
			"check secret_access_key", s.host(), r.code)
	case "SlowDown", "ServiceUnavailable", "Throttling", "ThrottlingException", "TooManyRequests", "TooManyRequestsException",
		"RequestLimitExceeded", "BandwidthLimitExceeded", "ReduceYourRequestRate", "SlowDownRead", "SlowDownWrite":
		return s.again(storage.Later, r)
	case "InternalError", "RequestTimeout", "OperationAborted", "ConditionalRequestConflict", "IncompleteBody", "BadDigest",
		"XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch":
		return s.again(storage.Soon, r)
	case "InvalidObjectState":
		return errs.New(errs.Storage, "the object is in an archive class and cannot be read (%s); restore it first", r.code)
	case "NotImplemented":
		return errs.New(errs.Unsupported, "%q cannot do this (%s)", s.host(), r.said())
	case "EntityTooLarge", "InvalidRequest":
		return &invalidRequest{errs.New(errs.Storage, "bucket %q at %q answers %s", s.bucket, s.host(), r.said())}
	case "ObjectParentIsFile", "KeyTooLongError":
		return errs.New(errs.Invalid, "%q refuses the key (%s)", s.host(), r.said())
	}
	return s.byStatus(r)
}

// busy reports whether the same request may succeed later.
func busy(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// byStatus explains answers whose code is unknown or missing.
func (s *store) byStatus(r *refusal) error {
	switch r.Status {
	case http.StatusNotFound:
		if r.code == "" && r.Method == http.MethodPut {
			return s.noBucket() // an object need not exist to be put
		}
		if r.code == "" || r.code == "NoSuchKey" {
			return errs.New(errs.NotFound, "no such object in bucket %q", s.bucket)
		}
		return errs.New(errs.NotFound, "bucket %q at %q answers %s", s.bucket, s.host(), r.said())
	case http.StatusUnauthorized, http.StatusForbidden:
		return s.denied(r)
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return s.again(storage.Later, r)
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return s.again(storage.Soon, r)
	case http.StatusPreconditionFailed, http.StatusNotModified: // MinIO of 2023 answers a write so
		return errs.New(errs.Conflict, "the object has changed since it was looked at (%s)", r.said())
	}
	return errs.New(errs.Storage, "bucket %q at %q answers %s", s.bucket, s.host(), r.said())
}

func (s *store) noBucket() error {
	return &missingBucket{Err: errs.New(errs.NotFound, "bucket %q does not exist at %q; check its name, or create it", s.bucket, s.host())}
}

// refused returns the meaning of the answer rs to rq. A store that cannot do a request may know it
// without the checksum; a condition is tried without it by package prove.
func (s *store) refused(rq *http.Request, rs *http.Response) error {
	err := s.explain(s.net.Refusal(rq, rs))
	if errs.Is(err, errs.Unsupported) && s.settings.Checksums != whenRequired && rq.Header.Get("If-None-Match") == "" {
		return errs.New(errs.Unsupported, `%w; try checksums="when_required"`, err)
	}
	return err
}

func (s *store) again(repeat storage.Repeat, r *refusal) error {
	return &storage.Fault{Repeat: repeat, Wait: r.Wait(), Err: errs.New(errs.Storage, "bucket %q at %q answers %s", s.bucket, s.host(), r.said())}
}

// elsewhere is the error of a bucket in another region. Where the user has not said the region, the
// next try goes there.
func (s *store) elsewhere(r *refusal) error {
	switch r.code {
	case "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "Redirect":
	default:
		moved := r.Status == http.StatusBadRequest && r.code == "" && r.region != "" // HEAD
		if (r.Status/100 != 3 || r.Status == http.StatusNotModified) && !moved {
			return nil
		}
	}
	asked := s.where.Load().region
	if s.move(r.region) {
		return &storage.Fault{Repeat: storage.Refresh, Err: errs.New(errs.Storage, "bucket %q is in region %q (asked in %q)", s.bucket, r.region, asked)}
	}
	if now := s.where.Load().region; now != asked || now == r.region && !s.fixed {
		// Another request has moved it meanwhile.
		return &storage.Fault{Repeat: storage.Refresh, Err: errs.New(errs.Storage, "bucket %q is in region %q (asked elsewhere)", s.bucket, now)}
	}
	if r.region != "" && r.region != asked {
		return errs.New(errs.Storage, "bucket %q is in region %q, not in %q; set region to %q", s.bucket, r.region, asked, r.region)
	}
	return errs.New(errs.Storage, "bucket %q is not in region %q (%q answers %s); set region and endpoint to the bucket's", s.bucket, asked, s.host(), r.said())
}

// skewed takes over the store's clock. If that is no news, another try would fail alike.
func (s *store) skewed(r *refusal) error {
	ahead, news := s.net.SetDate(r.Header)
	way := "behind"
	if ahead < 0 {
		way = "ahead of"
	}
	err := errs.New(errs.Storage, "this machine's clock is %v %s that of %q (%s); set it right", ahead.Abs().Round(time.Second), way, s.host(), r.code)
	if news {
		return &storage.Fault{Repeat: storage.Refresh, Err: err}
	}
	return err
}

func (s *store) expired(r *refusal) error {
	err := errs.New(errs.Denied, "the session token has expired or is not valid (%q answers %s); get new credentials", s.host(), r.code)
	if s.forget() {
		return &storage.Fault{Repeat: storage.Refresh, Err: err}
	}
	return err
}

func (s *store) denied(r *refusal) error {
	remedy := "check the permissions of these credentials"
	if s.creds == nil {
		remedy = "it is not public: give credentials instead of anonymous"
	}
	if r.code == "" {
		remedy += ", and the bucket's name"
	}
	return errs.New(errs.Denied, "access to bucket %q at %q denied (%s); %s", s.bucket, s.host(), r.said(), remedy)
}

// apiError classifies an error of the SDK. It keeps the classification of the connections below,
// and not the SDK's words around it.
func (s *store) apiError(ctx context.Context, err error) error {
	return s.net.Hide(s.classify(ctx, err))
}

func (s *store) classify(ctx context.Context, err error) error {
	var (
		missing *missingBucket
		invalid *invalidRequest
		fault   *storage.Fault
		known   *errs.Error
		api     smithy.APIError
		broken  *net.OpError
		garbled *smithy.DeserializationError
	)
	switch {
	case ctx.Err() != nil:
		return errs.New(errs.Canceled, "%w", context.Cause(ctx))
	case errors.As(err, &missing):
		return missing
	case errors.As(err, &invalid):
		return invalid
	case errors.As(err, &fault):
		return fault
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.DeadlineExceeded):
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%q does not answer within %v", s.host(), s.net.Patience())}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &broken):
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "connection to %q broke within the answer: %w", s.host(), s.net.CleanError(deepest(err)))}
	case errors.As(err, &garbled) && s.garbled.Add(1) < mostGarbled:
		return &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "%q gives an answer that cannot be read: %w", s.host(), s.net.CleanError(deepest(err)))}
	case errors.As(err, &api): // an error behind a status of 200
		a := &request.Response{Method: http.MethodPost, Host: s.host(), Status: http.StatusOK, Header: http.Header{}, Client: s.net}
		return s.meaning(&refusal{Response: a, code: a.Clean(api.ErrorCode(), maxCode), message: a.Clean(api.ErrorMessage(), maxMessage)})
	}
	return errs.New(errs.Storage, "%q does not answer as S3 (%w); check the endpoint and the proxy", s.host(), s.net.CleanError(deepest(err)))
}

// deepest drops the layers of the SDK, which repeat each other.
func deepest(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
