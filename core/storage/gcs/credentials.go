package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

const (
	scope        = "https://www.googleapis.com/auth/devstorage.read_write"
	metadataHost = "169.254.169.254"
	// metadataPatience bounds the search for a metadata server, which only machines of Google's
	// have.
	metadataPatience = 1.0
	maxCredentials   = 1 << 20
)

// identity says who asks. All methods may be called in parallel.
type identity struct {
	make    func() (auth.TokenProvider, error) // nil: anonymous
	fixed   bool                               // the token is the user's, and there is no other
	project string                             // of the credentials
	quota   string                             // that requests are counted for
	side    []*request.Client                  // to the servers that give tokens

	mu     sync.Mutex
	tokens auth.TokenProvider // nil: to be made
	token  *auth.Token        // the last one of tokens
	forgot int                // how often tokens were given up
	asking *question          // nil: no request for a token is under way
}

// identify returns the identity of the settings, else of the environment, else of the machine. A
// server that is not Google's gets the identity of the settings only: a foreign URL must not
// collect tokens.
func identify(o storage.Options, google bool) (*identity, error) {
	s, env := o.Settings, request.Lookup(o.Environ)
	switch {
	case s.Anonymous:
		return &identity{}, nil
	case s.BearerToken != "":
		token := auth.Token{Value: s.BearerToken.Reveal(), Type: "Bearer"}
		return &identity{fixed: true, make: func() (auth.TokenProvider, error) { return fixed{token}, nil }}, nil
	case s.CredentialsFile != "":
		return fromFile(o, s.CredentialsFile)
	case !google:
		return &identity{}, nil
	}
	if name := env("GOOGLE_APPLICATION_CREDENTIALS"); name != "" {
		return fromFile(o, name)
	}
	if name := userFile(env); name != "" {
		if _, err := os.Stat(name); err == nil {
			return fromFile(o, name)
		}
	}
	return fromMetadata(env)
}

// userFile is where gcloud keeps the user's credentials for programs.
func userFile(env func(string) string) string {
	folder := env("CLOUDSDK_CONFIG")
	if folder == "" {
		home := env("HOME")
		if home == "" {
			return ""
		}
		folder = filepath.Join(home, ".config", "gcloud")
	}
	return filepath.Join(folder, "application_default_credentials.json")
}

// fromFile takes a service account's key, or what gcloud or a federation has written.
func fromFile(o storage.Options, name string) (*identity, error) {
	about, _, err := readCredentials(name)
	if err != nil {
		return nil, err
	}
	side := o.Settings
	side.CAFile = "" // that of the store
	net, err := request.NewClient("network", side, o.Environ)
	if err != nil {
		return nil, err
	}
	net.Keep(about.PrivateKey, about.ClientSecret, about.RefreshToken)
	id := &identity{project: about.Project, quota: about.Quota, side: []*request.Client{net}}
	id.make = func() (auth.TokenProvider, error) {
		// Read again each time: the file may have been replaced.
		about, text, err := readCredentials(name)
		if err != nil {
			return nil, err
		}
		creds, err := credentials.NewCredentialsFromJSON(about.Type, text, &credentials.DetectOptions{
			Scopes: []string{scope}, Client: &http.Client{Transport: net, Timeout: net.Patience()},
		})
		if err != nil {
			return nil, errs.Op("read Google credentials", name).New(errs.Invalid, "%w", err)
		}
		return creds, nil
	}
	_, err = id.provider() // a file that is wrong is told at once
	return id, err
}

// credentialsFile has the fields of a file of credentials that are of use here.
type credentialsFile struct {
	Type    credentials.CredType `json:"type"`
	Project string               `json:"project_id"`
	Quota   string               `json:"quota_project_id"`

	PrivateKey   string `json:"private_key"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
}

func readCredentials(name string) (*credentialsFile, []byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, errs.Op("read Google credentials", name).New(errs.Invalid, "%w; check credentials_file and GOOGLE_APPLICATION_CREDENTIALS", errors.Unwrap(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCredentials))
	if err != nil {
		return nil, nil, errs.Op("read Google credentials", name).New(errs.Invalid, "%w", errors.Unwrap(err))
	}
	about := &credentialsFile{}
	// The error has no details of the JSON: they would show a part of a key.
	if json.Unmarshal(text, about) != nil || about.Type == "" {
		return nil, nil, errs.Op("read Google credentials", name).New(errs.Invalid, `not a JSON object with a "type"; want the key of a service account, or what gcloud writes`)
	}
	return about, text, nil
}

// fromMetadata asks the machine, which knows if it is one of Google's.
func fromMetadata(env func(string) string) (*identity, error) {
	host := env("GCE_METADATA_HOST")
	if host == "" {
		host = metadataHost
	}
	// Not through a proxy, hence no environment.
	net, err := request.NewClient("network", storage.Settings{ConnectTimeout: metadataPatience, Timeout: 2 * metadataPatience}, map[string]string{})
	if err != nil {
		return nil, err
	}
	return &identity{side: []*request.Client{net}, make: func() (auth.TokenProvider, error) {
		return auth.NewCachedTokenProvider(&machine{net: net, host: host}, nil), nil
	}}, nil
}

// Close drops the idle connections to servers that give tokens.
func (id *identity) Close() {
	for _, c := range id.side {
		c.Close()
	}
}

func (id *identity) anonymous() bool { return id.make == nil }

// forget drops the token, so that the next request has a new one. It is false where there is no
// other.
func (id *identity) forget() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.fixed || id.make == nil {
		return false
	}
	id.tokens, id.token = nil, nil
	id.forgot++
	return true
}

// remedy says how the user can mend a refusal.
func (id *identity) remedy() string {
	switch {
	case id.make == nil:
		return "give credentials, or ask its owner to make the bucket public"
	case id.fixed:
		return "give a bearer_token that is valid and may do this"
	}
	return `ask the bucket's owner for a role, or use other credentials (credentials_file, GOOGLE_APPLICATION_CREDENTIALS, "gcloud auth application-default login")`
}

func (id *identity) provider() (auth.TokenProvider, error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.tokens == nil {
		tokens, err := id.make()
		if err != nil {
			return nil, err
		}
		id.tokens = tokens
	}
	return id.tokens, nil
}

// authorize adds the token to rq.
func (id *identity) authorize(ctx context.Context, rq *http.Request) error {
	if id.make == nil {
		return nil
	}
	token, err := id.access(ctx)
	if err != nil {
		return err
	}
	rq.Header.Set("Authorization", "Bearer "+token.Value)
	if id.quota != "" {
		rq.Header.Set("X-Goog-User-Project", id.quota)
	}
	return nil
}

// staleTime is the time before the end of a token at which it is requested again. The library
// fetches a new one beside the old one from a little later on.
const staleTime = 4 * time.Minute

// access gives a token. One caller at a time asks for it, and the others wait for the answer as
// long as their contexts last: the library would let them wait for a lock.
func (id *identity) access(ctx context.Context) (*auth.Token, error) {
	for {
		id.mu.Lock()
		if t := id.token; t != nil && (t.Expiry.IsZero() || time.Until(t.Expiry) > staleTime) {
			id.mu.Unlock()
			return t, nil
		}
		asking := id.asking
		if asking == nil {
			id.asking = &question{done: make(chan struct{})}
		}
		id.mu.Unlock()
		if asking == nil {
			return id.ask(ctx)
		}
		select {
		case <-asking.done:
			if asking.err != nil && !errs.Is(asking.err, errs.Canceled) {
				// else only who asked has given up
				return nil, asking.err
			}
		case <-ctx.Done():
			return nil, errs.New(errs.Canceled, "%w", context.Cause(ctx))
		}
	}
}

// question is one for a token.
type question struct {
	done chan struct{} // closed when there is an answer
	err  error         // valid then
}

// ask asks for a token, for all who wait for one.
func (id *identity) ask(ctx context.Context) (token *auth.Token, err error) {
	id.mu.Lock()
	forgot := id.forgot
	id.mu.Unlock()
	defer func() {
		id.mu.Lock()
		defer id.mu.Unlock()
		if err == nil && id.forgot == forgot {
			id.token = token
		}
		id.asking.err = err
		close(id.asking.done)
		id.asking = nil
	}()
	tokens, err := id.provider()
	if err != nil {
		return nil, err
	}
	if token, err = tokens.Token(ctx); err != nil {
		err = tokenError(ctx, err)
		for _, c := range id.side {
			err = c.Hide(err)
		}
		return nil, err
	}
	return token, nil
}

func tokenError(ctx context.Context, err error) error {
	var refused *auth.Error
	switch {
	case ctx.Err() != nil:
		return errs.New(errs.Canceled, "%w", context.Cause(ctx))
	case errs.KindOf(err) != errs.Internal: // of the transport, or our own
		return err
	case errors.As(err, &refused) && refused.Response != nil:
		return errs.Op("get an access token", "").New(errs.Denied, "%w; the credentials are revoked or expired, or this machine's clock is wrong: "+
			`run "gcloud auth application-default login", or take another key`, request.CleanError(refused))
	}
	return errs.Op("get an access token", "").New(errs.Denied, "%w", request.CleanError(err))
}

// fixed is a token that never changes.
type fixed struct{ token auth.Token }

// Token returns it.
func (f fixed) Token(context.Context) (*auth.Token, error) {
	t := f.token
	return &t, nil
}

// machine asks the metadata server of a machine in Google's cloud.
type machine struct {
	net  *request.Client
	host string
}

// Token asks for the token of the machine's service account.
func (m *machine) Token(ctx context.Context) (*auth.Token, error) {
	const path = "/computeMetadata/v1/instance/service-accounts/default/token"
	rq, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.host+path, nil)
	if err != nil {
		return nil, noCredentials(err)
	}
	rq.Header.Set("Metadata-Flavor", "Google")
	rs, err := m.net.RoundTrip(rq)
	if err != nil {
		return nil, noCredentials(err)
	}
	defer rs.Body.Close()
	var answer struct {
		Token   string `json:"access_token"`
		Type    string `json:"token_type"`
		Seconds int    `json:"expires_in"`
	}
	text, err := io.ReadAll(io.LimitReader(rs.Body, maxCredentials))
	if err != nil || rs.StatusCode != http.StatusOK || json.Unmarshal(text, &answer) != nil || answer.Token == "" {
		return nil, noCredentials(errs.New(errs.Storage, "metadata server %q answers %d", m.host, rs.StatusCode))
	}
	return &auth.Token{Value: answer.Token, Type: answer.Type, Expiry: time.Now().Add(time.Duration(answer.Seconds) * time.Second)}, nil
}

func noCredentials(err error) error {
	return errs.New(errs.Denied, `no Google credentials found: %s; run "gcloud auth application-default login", set `+
		"GOOGLE_APPLICATION_CREDENTIALS, give credentials_file, or say anonymous for a public bucket", err.Error())
}
