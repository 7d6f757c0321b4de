package gcs

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	gcloud "cloud.google.com/go/storage"
	"google.golang.org/api/option"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

const googleEndpoint = "https://storage.googleapis.com"

// Client is connections to Google Cloud Storage, or to a server that speaks like it, and the
// identity that requests are made with. All methods may be called in parallel.
type Client struct {
	net      *request.Client
	id       *identity
	api      *gcloud.Client
	dialect  *request.Dialect
	base     *url.URL
	project  string // that pays; "" the bucket's
	kmsKey   string // for new objects
	customer *customerKey
	settings storage.Settings
}

// customerKey is a key that the store does not keep.
type customerKey struct {
	key    []byte
	header http.Header // of reads
}

// Connect makes a client of the settings. It reads files of credentials, and sends nothing. ctx
// ends with the call.
func Connect(_ context.Context, o storage.Options) (*Client, error) {
	env := request.Lookup(o.Environ)
	base, google, err := endpoint(o.Settings.Endpoint, env("STORAGE_EMULATOR_HOST"))
	if err != nil {
		return nil, err
	}
	customer, err := parseCustomerKey(o.Settings.CustomerKey)
	if err != nil {
		return nil, err
	}
	// Messages name the setting that the user can change.
	side := "endpoint"
	if google {
		side = "network"
	}
	transport, err := request.NewClient(side, o.Settings, o.Environ)
	if err != nil {
		return nil, err
	}
	id, err := identify(o, google)
	if err != nil {
		return nil, err
	}
	secret := customer != nil || !id.anonymous()
	if secret && base.Scheme == "http" && !o.Settings.AllowInsecure && !request.IsLoopback(base.Host) {
		return nil, errs.New(errs.Denied, "endpoint %q: credentials and keys would travel unencrypted; use https, anonymous=True, or allow_insecure=True", base.Host)
	}
	c := &Client{
		net: transport, id: id, base: base, customer: customer, kmsKey: kmsKey(o.Settings), settings: o.Settings,
		project: o.Settings.UserProject,
	}
	if c.project == "" && o.Settings.RequesterPays {
		if c.project = id.project; c.project == "" {
			return nil, errs.New(errs.Invalid, "requester_pays: the credentials name no project; give user_project, the project that pays")
		}
	}
	c.dialect = &request.Dialect{
		Sign: id.authorize, Tag: generation, Require: requireGeneration, Explain: c.explain,
	}
	home := func(u *url.URL) bool {
		return u.Scheme == base.Scheme && u.Host == base.Host || google && u.Scheme == "https" && isGoogle(u.Hostname())
	}
	// The context serves to find credentials, which the client is told not to do.
	c.api, err = gcloud.NewClient(context.Background(),
		option.WithHTTPClient(&http.Client{Transport: &authorized{net: transport, id: id, home: home}, CheckRedirect: noRedirect}),
		option.WithoutAuthentication(), option.WithEndpoint(base.String()+"/storage/v1/"))
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "connect to", base.Host, err)
	}
	c.api.SetRetry(gcloud.WithPolicy(gcloud.RetryNever))
	return c, nil
}

// Close drops the idle connections. Requests in flight go on.
func (c *Client) Close() {
	c.net.Close()
	c.id.Close()
}

// endpoint is the base URL: of the settings, else of the environment, else Google's. google reports
// whether it is Google's, which may see the user's credentials.
func endpoint(given, emulator string) (base *url.URL, google bool, err error) {
	text := given
	if text == "" {
		text = emulator
		if text != "" && !strings.Contains(text, "://") {
			text = "http://" + text
		}
	}
	if text == "" {
		text = googleEndpoint
	}
	base, err = url.Parse(strings.TrimRight(text, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil || base.RawQuery != "" {
		// A URL may hold a password, so the message does not repeat it.
		return nil, false, errs.New(errs.Invalid, `endpoint: not a base URL (want for example "https://storage.googleapis.com")`)
	}
	host := base.Hostname()
	google = base.Scheme == "https" && isGoogle(host)
	return base, google, nil
}

func isGoogle(host string) bool {
	return host == "googleapis.com" || strings.HasSuffix(host, ".googleapis.com")
}

// kmsKey is the name of a key that the store keeps.
func kmsKey(s storage.Settings) string {
	if s.CustomerKey != "" {
		return ""
	}
	return s.EncryptionKey
}

func parseCustomerKey(text storage.Secret) (*customerKey, error) {
	if text == "" {
		return nil, nil
	}
	key, err := base64.StdEncoding.DecodeString(text.Reveal())
	if err != nil || len(key) != 32 {
		return nil, errs.New(errs.Invalid, "customer_key: not the base64 of 256 bits")
	}
	sum := sha256.Sum256(key)
	return &customerKey{key: key, header: http.Header{
		"X-Goog-Encryption-Algorithm":  {"AES256"},
		"X-Goog-Encryption-Key":        {base64.StdEncoding.EncodeToString(key)},
		"X-Goog-Encryption-Key-Sha256": {base64.StdEncoding.EncodeToString(sum[:])},
	}}, nil
}

// authorized is the transport of Google's client: it adds the token to each request.
type authorized struct {
	net  *request.Client
	id   *identity
	home func(*url.URL) bool // whether a URL is of the store
}

// RoundTrip sends a copy of rq with the token of now. It sends nothing to another host: the address
// of an upload that goes on in parts is the server's to choose.
func (a *authorized) RoundTrip(rq *http.Request) (*http.Response, error) {
	if !a.home(rq.URL) {
		if rq.Body != nil {
			rq.Body.Close()
		}
		return nil, errs.New(errs.Denied, "the store sends an upload on to %q, which is not its own host; check the endpoint", rq.URL.Host)
	}
	rq = rq.Clone(rq.Context())
	if err := a.id.authorize(rq.Context(), rq); err != nil {
		if rq.Body != nil {
			rq.Body.Close()
		}
		return nil, err
	}
	rs, err := a.net.RoundTrip(rq)
	if err == nil && request.IsPage(rs.Header) && rs.StatusCode/100 == 2 {
		rs.Body.Close()
		return nil, notGoogle(rq.URL.Host, rs.StatusCode)
	}
	if err == nil {
		request.Bound(rs)
	}
	return rs, err
}

// CloseIdleConnections drops the idle connections.
func (a *authorized) CloseIdleConnections() { a.net.Close() }

// noRedirect hands a redirection to the caller, as an answer that Google does not give.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
