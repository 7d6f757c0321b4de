package storage

import (
	"encoding/json"
	"net/url"
	"strings"
)

// Options are the arguments of an opener besides the address.
type Options struct {
	Create   bool // the store may be created
	Settings Settings
	// Links are where text stored in a dataset may lead besides the dataset's own store; see
	// LinkPolicy.
	Links []LinkRule
	// Named are addresses that the user has named in this session: stored text may lead there too.
	Named []string
	// Public refuses addresses of this machine and of private networks: stored text, not the user,
	// chose the host.
	Public bool
	// FollowLinks permits symbolic links that lead out of a source folder.
	FollowLinks bool
	// Environ is the environment as the caller sees it now: the values of the variables that an
	// opener may ask for. A nil map means the environment of the process.
	Environ map[string]string
}

// Settings are a user's options for a store (deeplake.Storage in Python). The zero value of
// each field is its default; a field that a store has no use for is ignored. Secrets hide
// themselves in every form of printing.
type Settings struct {
	Endpoint  string `json:"endpoint"` // base URL of a store that is not Amazon's or Google's
	Region    string `json:"region"`
	Profile   string `json:"profile"` // of the shared config and credentials files
	Anonymous bool   `json:"anonymous"`
	// bucket in the path, not in the host; default: with an endpoint
	PathStyle *bool `json:"path_style"`

	AccessKeyID     string `json:"access_key_id"`
	SecretAccessKey Secret `json:"secret_access_key"`
	SessionToken    Secret `json:"session_token"`
	BearerToken     Secret `json:"bearer_token"`     // GCS and HTTP: an OAuth access token
	CredentialsFile string `json:"credentials_file"` // GCS: a service account's key

	RequesterPays bool   `json:"requester_pays"`
	UserProject   string `json:"user_project"` // GCS: the project that pays
	// server-side encryption of new objects: "AES256", "aws:kms"
	Encryption    string `json:"encryption"`
	EncryptionKey string `json:"encryption_key"`
	// base64 of a 256-bit key that the store does not keep (SSE-C)
	CustomerKey Secret `json:"customer_key"`
	// "when_required" for S3-likes that refuse the SDK's default checksums
	Checksums string            `json:"checksums"`
	Headers   map[string]Secret `json:"headers"` // HTTP: sent with every request

	AllowInsecure bool `json:"allow_insecure"` // secrets may travel over plain HTTP
	// redirections, and hosts that stored text names, may be on private networks
	AllowPrivate bool `json:"allow_private"`

	CAFile string `json:"ca_file"` // PEM of further certificate authorities
	Proxy  string `json:"proxy"`   // URL; default: the environment's

	MaxConnections int `json:"max_connections"` // requests at once; default 64
	// bytes requested and not read yet; default 256 MiB
	MaxBytesInFlight int64 `json:"max_bytes_in_flight"`
	// seconds until a connection must stand; default 3
	ConnectTimeout float64 `json:"connect_timeout"`
	// seconds without an answer, or of a body below 1 MB/s, until a request is given up; default 5
	Timeout float64 `json:"timeout"`
	// seconds that one call may take with its repetitions; default 60
	RetryTime   float64 `json:"retry_time"`
	MaxAttempts int     `json:"max_attempts"` // default 10
	// ask again when a first byte is late; default true
	Hedge *bool `json:"hedge"`

	// MaxPixels bounds the image files of datasets there: height times width of one file. No store
	// looks at it; it travels with the store because it says how far what lies there is trusted. 0:
	// codec.DefaultMaxPixels.
	MaxPixels int64 `json:"max_pixels"`

	CacheDir   string `json:"cache_dir"`   // "": no disk cache
	CacheBytes int64  `json:"cache_bytes"` // bound of the disk cache; default 16 GiB
	// bound of the memory cache; default 0: none
	CacheMemoryBytes int64 `json:"cache_memory_bytes"`
}

// Secrets returns the values that no message may show.
func (s *Settings) Secrets() []string {
	out := []string{s.AccessKeyID, s.SecretAccessKey.Reveal(), s.SessionToken.Reveal(), s.BearerToken.Reveal(), s.CustomerKey.Reveal()}
	for _, value := range s.Headers {
		out = append(out, value.Reveal())
		if _, token, found := strings.Cut(value.Reveal(), " "); found { // "Basic ...", "Bearer ..."
			out = append(out, token)
		}
	}
	if u, err := url.Parse(s.Proxy); err == nil && u.User != nil {
		password, _ := u.User.Password()
		out = append(out, password)
	}
	return out
}

// Secret is text that must not be seen: it prints, formats and marshals as "***".
type Secret string

const hidden = "***"

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the secret.
func (s Secret) GoString() string { return s.String() }

// MarshalJSON hides the secret.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// Reveal is the text itself, for the one request that needs it.
func (s Secret) Reveal() string { return string(s) }
