package s3

import (
	"context"
	"crypto/md5" //nolint:gosec // the protocol asks for it
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyendpoints "github.com/aws/smithy-go/endpoints"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

const (
	emptySHA256     = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	unsignedPayload = "UNSIGNED-PAYLOAD"
	whenRequired    = "when_required"
)

// store is a bucket with the connections, credentials and settings it is reached with. Providers
// and sources of equal address and settings share one. All methods may be called in parallel.
type store struct {
	bucket   string
	settings storage.Settings
	net      *request.Client
	read     request.Dialect
	api      *s3.Client
	identity *identity
	creds    *aws.CredentialsCache // nil: anonymous
	signer   *v4.Signer
	customer *customerKey
	secure   bool // TLS
	fixed    bool // the user has said the region, so it is not corrected
	where    atomic.Pointer[target]
	garbled  atomic.Int32 // answers that could not be read since the last one that could
	// the bucket has answered, so that a missing object does not mean a missing bucket
	seen atomic.Bool
}

// customerKey is a key of server-side encryption that the store does not keep.
type customerKey struct{ key, md5 string }

// connect makes the store. Nothing is sent.
func connect(ctx context.Context, bucket string, o storage.Options) (*store, error) {
	s := &store{bucket: bucket, settings: o.Settings, signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}
	if err := s.locate(ctx, o); err != nil {
		return nil, err
	}
	if err := s.checkSettings(); err != nil {
		return nil, err
	}
	network := o.Settings
	if network.CAFile == "" {
		network.CAFile = request.Lookup(o.Environ)("AWS_CA_BUNDLE")
	}
	var err error
	if s.net, err = request.NewClient("endpoint", network, o.Environ); err != nil {
		return nil, err
	}
	var provider aws.CredentialsProvider = aws.AnonymousCredentials{}
	if !o.Settings.Anonymous {
		if s.identity, err = identify(o.Settings, o.Environ, s.net); err != nil {
			return nil, err
		}
		s.creds = aws.NewCredentialsCache(s.identity, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = time.Minute })
		provider = s.creds
	}
	s.read = request.Dialect{Sign: s.signRead, Explain: s.explain, Admit: admit}
	s.api = s3.New(s3.Options{
		Region: s.where.Load().region, Credentials: provider, HTTPClient: &wire{s}, HTTPSignerV4: &clocked{s}, Retryer: aws.NopRetryer{},
		RequestChecksumCalculation: s.sdkChecksums(), ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		DisableS3ExpressSessionAuth: aws.Bool(true), DisableLogOutputChecksumValidationSkipped: true,
		DisableMultiRegionAccessPoints: true,
	})
	return s, nil
}

// admit refuses web pages from servers that do not speak S3. An object may be a web page too, but
// then the answer has the headers of a store.
func admit(host string, h http.Header) error {
	if !request.IsPage(h) {
		return nil
	}
	for name := range h {
		if strings.HasPrefix(name, "X-Amz-") {
			return nil
		}
	}
	return errs.New(errs.Storage, "%q does not answer as S3 (got a web page); check the endpoint and the proxy", host)
}

// locate finds endpoint and region in the settings, the environment and the profile.
func (s *store) locate(ctx context.Context, o storage.Options) error {
	lookup := request.Lookup(o.Environ)
	endpoint, region := o.Settings.Endpoint, o.Settings.Region
	s.fixed = region != ""
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if endpoint == "" && lookup("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") != "true" {
			endpoint = lookup(name)
		}
	}
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if region == "" {
			region = lookup(name)
		}
	}
	if endpoint == "" || region == "" {
		f := filesOf(o.Settings.Profile, lookup)
		shared, err := f.load(ctx)
		if err != nil && !o.Settings.Anonymous {
			return err
		}
		if shared != nil && region == "" {
			region = shared.Region
		}
		if shared != nil && endpoint == "" && lookup("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") != "true" {
			endpoint, _, _ = shared.GetServiceBaseEndpoint(ctx, s3.ServiceID)
			if endpoint == "" {
				endpoint = shared.BaseEndpoint
			}
		}
	}
	where, err := targetOf(ctx, s.bucket, endpoint, region, o.Settings.PathStyle)
	if err != nil {
		return err
	}
	s.settings.Endpoint = endpoint
	s.secure = where.base.Scheme == "https"
	s.where.Store(where)
	return nil
}

func (s *store) checkSettings() error {
	switch s.settings.Encryption {
	case "", "AES256", "aws:kms", "aws:kms:dsse":
	default:
		return errs.New(errs.Invalid, `encryption %q is not known (want "AES256", "aws:kms" or "aws:kms:dsse")`, s.settings.Encryption)
	}
	switch s.settings.Checksums {
	case "", "when_supported", whenRequired:
	default:
		return errs.New(errs.Invalid, `checksums %q is not known (want "when_supported" or "when_required")`, s.settings.Checksums)
	}
	if s.settings.CustomerKey == "" {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(s.settings.CustomerKey.Reveal())
	switch {
	case err != nil || len(key) != 32:
		return errs.New(errs.Invalid, "customer_key: not the base64 of 32 bytes")
	case s.settings.Encryption != "":
		return errs.New(errs.Invalid, "customer_key and encryption exclude each other; give one")
	case !s.secure:
		return errs.New(errs.Invalid, "customer_key: would travel unencrypted to %q; use an https endpoint", s.host())
	}
	sum := md5.Sum(key) //nolint:gosec // the protocol asks for it
	s.customer = &customerKey{key: s.settings.CustomerKey.Reveal(), md5: base64.StdEncoding.EncodeToString(sum[:])}
	return nil
}

func (s *store) sdkChecksums() aws.RequestChecksumCalculation {
	if s.settings.Checksums == whenRequired {
		return aws.RequestChecksumCalculationWhenRequired
	}
	return aws.RequestChecksumCalculationWhenSupported
}

func (s *store) host() string { return s.where.Load().base.Host }

// move takes over the region that the store has named. It reports whether that is news and allowed.
func (s *store) move(region string) bool {
	old := s.where.Load()
	if region == "" || region == old.region || s.fixed {
		return false
	}
	next, err := targetOf(context.Background(), s.bucket, s.settings.Endpoint, region, s.settings.PathStyle)
	return err == nil && s.where.CompareAndSwap(old, next)
}

// request is a request for an object, still unsigned; its header has room and belongs to the
// caller.
func (s *store) request(method string, u *url.URL) *http.Request {
	h := make(http.Header, 12)
	if s.settings.RequesterPays {
		h["X-Amz-Request-Payer"] = []string{"requester"}
	}
	return &http.Request{Method: method, URL: u, Host: u.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
}

// unlock adds the customer's key, which reads need as well.
func (s *store) unlock(h http.Header) {
	if s.customer != nil {
		h["X-Amz-Server-Side-Encryption-Customer-Algorithm"] = []string{"AES256"}
		h["X-Amz-Server-Side-Encryption-Customer-Key"] = []string{s.customer.key}
		h["X-Amz-Server-Side-Encryption-Customer-Key-Md5"] = []string{s.customer.md5}
	}
}

func (s *store) signRead(ctx context.Context, rq *http.Request) error {
	return s.sign(ctx, rq, emptySHA256)
}

// sign completes rq, whose payload has the hash.
func (s *store) sign(ctx context.Context, rq *http.Request, hash string) error {
	if s.creds == nil {
		return nil
	}
	creds, err := s.creds.Retrieve(ctx)
	if err != nil {
		return s.apiError(ctx, err)
	}
	rq.Header["X-Amz-Content-Sha256"] = []string{hash}
	err = s.signer.SignHTTP(ctx, creds, rq, hash, "s3", s.where.Load().region, s.net.Now())
	if err != nil {
		return errs.Op("sign", "").New(errs.Internal, "%w", err)
	}
	return nil
}

// forget drops the credentials, and reports whether others may come of it.
func (s *store) forget() bool {
	if s.creds == nil || s.identity.fixed() {
		return false
	}
	s.creds.Invalidate()
	return true
}

func (s *store) close() { s.net.Close() }

// clocked is the SDK's signer by the store's clock.
type clocked struct{ s *store }

// SignHTTP signs as the SDK asks, but for the time.
func (c *clocked) SignHTTP(
	ctx context.Context, creds aws.Credentials, r *http.Request, hash, service, region string, _ time.Time, _ ...func(*v4.SignerOptions),
) error {
	return c.s.signer.SignHTTP(ctx, creds, r, hash, service, region, c.s.net.Now())
}

// wire is the connections as the SDK sees them: it gets good answers only, refusals are errors,
// classified as ours are.
type wire struct{ s *store }

// Do sends rq.
func (w *wire) Do(rq *http.Request) (*http.Response, error) {
	rs, err := w.s.net.Do(rq)
	if err != nil {
		return nil, err
	}
	if rs.StatusCode >= http.StatusMultipleChoices || request.IsPageOf(rs) {
		return nil, w.s.refused(rq, rs)
	}
	w.s.seen.Store(true)
	request.Bound(rs)
	return rs, nil
}

// here directs a call of the SDK to where the bucket is.
func (s *store) here(o *s3.Options) {
	where := s.where.Load()
	o.Region = where.region
	o.EndpointResolverV2 = &resolver{where.base}
}

// resolver gives the SDK the target of its requests.
type resolver struct{ base *url.URL }

// ResolveEndpoint gives the URL of the bucket.
func (r *resolver) ResolveEndpoint(context.Context, s3.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return smithyendpoints.Endpoint{URI: *r.base}, nil
}

func (s *store) payer() string {
	if s.settings.RequesterPays {
		return "requester"
	}
	return ""
}

func (s *store) copySource(name string) string { return s.bucket + "/" + escaped(name) }
