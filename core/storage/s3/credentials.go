package s3

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

const (
	credentialTime = 8 * time.Second // for one way of getting credentials
	machineTime    = 2 * time.Second // for the metadata service, which is near or not there at all
	machineConnect = time.Second
	containerHost  = "http://169.254.170.2"
	maxCredentials = 4 << 20 // bytes of a connection to a credential service
)

// identity looks up credentials at each call, in the order of Amazon's own tools: the
// settings, the environment, a web identity, the shared files, the container, the machine. It is an
// aws.CredentialsProvider, and it reads the environment that it was given, never the one that the
// process began with.
type identity struct {
	settings storage.Settings
	lookup   func(string) string
	net      *awshttp.BuildableClient
	client   *request.Client // of the store: it knows the secrets
	files    files
}

var _ aws.CredentialsProvider = (*identity)(nil)

// identify checks the settings, without a request.
func identify(s storage.Settings, environ map[string]string, client *request.Client) (*identity, error) {
	if (s.AccessKeyID == "") != (s.SecretAccessKey == "") {
		return nil, errs.New(errs.Invalid, "credentials: access_key_id and secret_access_key go together; give both")
	}
	lookup := request.Lookup(environ)
	id := &identity{settings: s, lookup: lookup, files: filesOf(s.Profile, lookup), client: client}
	transport := client.Transport()
	id.net = awshttp.NewBuildableClient().WithTimeout(credentialTime).WithTransportOptions(func(t *http.Transport) {
		t.Proxy, t.TLSClientConfig, t.TLSHandshakeTimeout = transport.Proxy, transport.TLSClientConfig.Clone(), transport.TLSHandshakeTimeout
		t.DialContext, t.DisableCompression = bounded(transport.DialContext), true
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	})
	return id, nil
}

// bounded returns dial with a bound on the bytes that a connection delivers: the SDK reads answers
// of credential services as a whole, and it takes no client that is not its own where
// AWS_CA_BUNDLE is set.
func bounded(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		b := &boundedConn{Conn: c}
		b.left.Store(maxCredentials)
		return b, nil
	}
}

// frugal bounds answers for a client of the SDK that makes dialers of its own.
type frugal struct{ *awshttp.BuildableClient }

func (f frugal) Do(rq *http.Request) (*http.Response, error) {
	rs, err := f.BuildableClient.Do(rq)
	if err == nil {
		request.Bound(rs)
	}
	return rs, err
}

// boundedConn fails beyond a number of bytes.
type boundedConn struct {
	net.Conn
	left atomic.Int64
}

func (b *boundedConn) Read(p []byte) (int, error) {
	if b.left.Load() <= 0 {
		return 0, errs.New(errs.Denied, "an answer of the credential service is longer than %d MiB", maxCredentials>>20)
	}
	n, err := b.Conn.Read(p)
	b.left.Add(-int64(n))
	return n, err
}

// fixed reports whether asking again cannot give other credentials.
func (id *identity) fixed() bool {
	return id.settings.AccessKeyID != "" || id.settings.Profile == "" && id.lookup("AWS_ACCESS_KEY_ID") != ""
}

// Retrieve gives credentials, or an errs.Denied that says where they were looked for.
func (id *identity) Retrieve(ctx context.Context) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, credentialTime)
	defer cancel()
	s := id.settings
	if s.AccessKeyID != "" {
		return aws.Credentials{
			AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey.Reveal(), SessionToken: s.SessionToken.Reveal(), Source: "settings",
		}, nil
	}
	if s.Profile == "" {
		if key, secret := id.lookup("AWS_ACCESS_KEY_ID"), id.lookup("AWS_SECRET_ACCESS_KEY"); key != "" && secret != "" {
			id.client.Keep(key, secret, id.lookup("AWS_SESSION_TOKEN"))
			return aws.Credentials{AccessKeyID: key, SecretAccessKey: secret, SessionToken: id.lookup("AWS_SESSION_TOKEN"), Source: "environment"}, nil
		}
		if token, role := id.lookup("AWS_WEB_IDENTITY_TOKEN_FILE"), id.lookup("AWS_ROLE_ARN"); token != "" && role != "" {
			return id.found("web identity", ctx, id.webIdentity(token, role))
		}
	}
	shared, err := id.files.load(ctx)
	if err != nil {
		return aws.Credentials{}, err
	}
	if shared != nil && hasIdentity(shared) {
		return id.fromProfile(ctx)
	}
	if s.Profile != "" {
		return aws.Credentials{}, errs.New(errs.Denied, "profile %q has no credentials; give it some, or name another profile", s.Profile)
	}
	return id.ofMachine(ctx)
}

func (id *identity) found(where string, ctx context.Context, p aws.CredentialsProvider) (aws.Credentials, error) { //nolint:revive // p reads better last
	c, err := p.Retrieve(ctx)
	if err != nil {
		return c, errs.New(errs.Denied, "credentials by %s: %w", where, id.client.CleanError(err))
	}
	id.client.Keep(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
	return c, nil
}

func (id *identity) region() string {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if r := id.lookup(name); r != "" {
			return r
		}
	}
	return ""
}

func (id *identity) webIdentity(token, role string) aws.CredentialsProvider {
	region := id.region()
	if region == "" {
		region = defaultRegion
	}
	client := sts.New(sts.Options{Region: region, HTTPClient: id.net, Credentials: aws.AnonymousCredentials{}, RetryMaxAttempts: 2})
	return stscreds.NewWebIdentityRoleProvider(client, role, stscreds.IdentityTokenFile(token), func(o *stscreds.WebIdentityRoleOptions) {
		o.RoleSessionName = id.lookup("AWS_ROLE_SESSION_NAME")
	})
}

// fromProfile lets the SDK follow roles, sign-on sessions and credential processes of the shared
// files.
func (id *identity) fromProfile(ctx context.Context) (aws.Credentials, error) {
	where := "profile " + id.files.profile
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithSharedConfigProfile(id.files.profile),
		config.WithSharedConfigFiles(id.files.config), config.WithSharedCredentialsFiles(id.files.credentials),
		config.WithHTTPClient(id.net), config.WithDefaultRegion(defaultRegion),
		config.WithEC2IMDSClientEnableState(imds.ClientDisabled),
	)
	if err != nil {
		return aws.Credentials{}, errs.New(errs.Denied, "credentials by %s: %w", where, err)
	}
	return id.found(where, ctx, cfg.Credentials)
}

// ofMachine asks the container, then the machine.
func (id *identity) ofMachine(ctx context.Context) (aws.Credentials, error) {
	endpoint := id.lookup("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if rel := id.lookup("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); rel != "" {
		endpoint = containerHost + rel
	}
	if endpoint != "" {
		return id.fromContainer(ctx, endpoint)
	}
	if strings.EqualFold(id.lookup("AWS_EC2_METADATA_DISABLED"), "true") {
		return aws.Credentials{}, id.none(nil)
	}
	short, cancel := context.WithTimeout(ctx, machineTime)
	defer cancel()
	direct := awshttp.NewBuildableClient().WithTimeout(machineTime).WithTransportOptions(func(t *http.Transport) {
		t.Proxy, t.DisableCompression = nil, true
		t.DialContext = (&net.Dialer{Timeout: machineConnect}).DialContext
	})
	p := ec2rolecreds.New(func(o *ec2rolecreds.Options) {
		o.Client = imds.New(imds.Options{HTTPClient: frugal{direct}, Retryer: aws.NopRetryer{}, Endpoint: id.lookup("AWS_EC2_METADATA_SERVICE_ENDPOINT")})
	})
	c, err := p.Retrieve(short)
	if err != nil {
		return c, id.none(err)
	}
	return c, nil
}

func (id *identity) none(err error) error {
	if err != nil {
		err = errors.New("no answer from the metadata service of a cloud machine")
	} else {
		err = errors.New("the metadata service is disabled")
	}
	return errs.New(errs.Denied, "no credentials: none in the settings, in AWS_ACCESS_KEY_ID or in profile %q, and %w; "+
		"give some, or anonymous for a public bucket", id.files.profile, err)
}

// fromContainer asks the endpoint that a container's environment names. The token goes to no
// stranger: over plain HTTP only this machine and the addresses that Amazon gives to its agents are
// asked.
func (id *identity) fromContainer(ctx context.Context, endpoint string) (aws.Credentials, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" && !isAgent(u.Hostname()) {
		return aws.Credentials{}, errs.New(errs.Denied, "credentials by container: AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine")
	}
	token := id.lookup("AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if name := id.lookup("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			return aws.Credentials{}, errs.New(errs.Denied, "credentials by container: read token %q: %w", name, errors.Unwrap(err))
		}
		token = strings.TrimSpace(string(text))
	}
	id.client.Keep(token)
	return id.found("container", ctx, endpointcreds.New(endpoint, func(o *endpointcreds.Options) {
		o.HTTPClient, o.AuthorizationToken = id.net, token
		o.Retryer = aws.NopRetryer{}
	}))
}

func isAgent(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.Equal(net.ParseIP("fd00:ec2::23")))
}

// files are the shared configuration: which of them, and which profile.
type files struct {
	profile     string
	named       bool // by the user: it must exist
	config      []string
	credentials []string
}

func filesOf(profile string, lookup func(string) string) files {
	f := files{profile: profile}
	for _, name := range []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE"} {
		if f.profile == "" {
			f.profile = lookup(name)
		}
	}
	f.named = f.profile != ""
	if !f.named {
		f.profile = config.DefaultSharedConfigProfile
	}
	at := func(variable, name string) []string {
		if file := lookup(variable); file != "" {
			return []string{file}
		}
		if home := lookup("HOME"); home != "" {
			return []string{filepath.Join(home, ".aws", name)}
		}
		return []string{}
	}
	f.config, f.credentials = at("AWS_CONFIG_FILE", "config"), at("AWS_SHARED_CREDENTIALS_FILE", "credentials")
	return f
}

// load reads the profile; nil if there is none and the settings name none.
func (f *files) load(ctx context.Context) (*config.SharedConfig, error) {
	shared, err := config.LoadSharedConfigProfile(ctx, f.profile, func(o *config.LoadSharedConfigOptions) {
		o.ConfigFiles, o.CredentialsFiles = f.config, f.credentials
	})
	var missing config.SharedConfigProfileNotExistError
	switch {
	case errors.As(err, &missing) && !f.named:
		return nil, nil //nolint:nilnil // no profile is no failure
	case errors.As(err, &missing):
		return nil, errs.New(errs.Denied, "profile %q is in neither of %q; check its name, AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE",
			f.profile, append(f.config[:len(f.config):len(f.config)], f.credentials...))
	case err != nil:
		return nil, errs.New(errs.Denied, "profile %q: %w", f.profile, err)
	}
	return &shared, nil
}

// hasIdentity reports whether the profile says how to get credentials; many only name a region.
func hasIdentity(c *config.SharedConfig) bool {
	return c.Credentials.HasKeys() || c.RoleARN != "" || c.CredentialSource != "" || c.CredentialProcess != "" || c.SSOSessionName != "" ||
		c.SSOStartURL != "" || c.WebIdentityTokenFile != "" || c.LoginSession != ""
}
