package s3

import (
	"context"
	"net"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

const (
	// where a search for the right one begins, and what S3-likes call theirs
	defaultRegion    = "us-east-1"
	cloudflareRegion = "auto"
	maxS3Key         = 1024
)

// split takes "bucket/prefix" apart; prefix is "" or ends with "/".
func split(rest string) (bucket, prefix string, err error) {
	bucket, prefix, _ = strings.Cut(rest, "/")
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	switch {
	case len(bucket) < 3 || len(bucket) > 255 || strings.Trim(bucket, letters) != "":
		return "", "", errs.New(errs.Invalid, `bucket %q is not a name (want 3 to 255 letters, digits, ".", "-" and "_")`, bucket)
	case strings.HasSuffix(bucket, "--x-s3"):
		return "", "", errs.New(errs.Unsupported, "bucket %q is a directory bucket (S3 Express); use a general purpose bucket", bucket)
	}
	if prefix = strings.TrimRight(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return bucket, prefix, nil
}

// checkPrefix holds the prefix of a Provider to the rules of keys.
func checkPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if err := storage.CheckKey(strings.TrimSuffix(prefix, "/")); err != nil {
		return err
	}
	if len(prefix)+storage.MaxKeyBytes > maxS3Key {
		return errs.New(errs.Invalid, "prefix has %d bytes, want at most %d, to leave room for keys", len(prefix), maxS3Key-storage.MaxKeyBytes)
	}
	return nil
}

// target is the address for requests to a bucket. It changes when the bucket turns out to lie in
// another region.
type target struct {
	region string
	base   *url.URL // of the bucket
}

// targetOf returns the known parts of a bucket's target before the first request.
func targetOf(ctx context.Context, bucket, endpoint, region string, pathStyle *bool) (*target, error) {
	if endpoint == "" {
		return amazon(ctx, bucket, region, pathStyle)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errs.New(errs.Invalid, `endpoint is not the URL of a store (want for example "https://objects.example.com")`)
	}
	if region == "" {
		region = defaultRegion
		if strings.HasSuffix(u.Hostname(), ".r2.cloudflarestorage.com") {
			region = cloudflareRegion
		}
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath, u.Fragment = "", ""
	if inHost := pathStyle != nil && !*pathStyle && net.ParseIP(u.Hostname()) == nil; inHost {
		u.Host = bucket + "." + u.Host
	} else {
		u.Path += "/" + bucket
	}
	return &target{region: region, base: u}, nil
}

// amazon asks the SDK's table of partitions and regions.
func amazon(ctx context.Context, bucket, region string, pathStyle *bool) (*target, error) {
	if region == "" {
		region = defaultRegion
	}
	e, err := s3.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, s3.EndpointParameters{
		Bucket: &bucket, Region: &region, ForcePathStyle: aws.Bool(pathStyle != nil && *pathStyle),
		UseFIPS: aws.Bool(false), UseDualStack: aws.Bool(false), Accelerate: aws.Bool(false), UseGlobalEndpoint: aws.Bool(false),
		DisableMultiRegionAccessPoints: aws.Bool(true),
	})
	if err != nil {
		return nil, errs.New(errs.Invalid, "bucket %q in region %q: %w; check both names", bucket, region, err)
	}
	u := e.URI
	u.Path = strings.TrimRight(u.Path, "/")
	return &target{region: region, base: &u}, nil
}

// url is the address of the object called name, which may be any bytes.
func (p *target) url(name string) *url.URL {
	u := *p.base
	u.RawPath = u.EscapedPath() + "/" + escaped(name)
	u.Path = u.Path + "/" + name
	return &u
}

// escaped is name as the signature wants it: every byte but letters, digits, "-", ".", "_", "~" and
// "/" as %XX.
func escaped(name string) string {
	const hex = "0123456789ABCDEF"
	extra := 0
	for i := 0; i < len(name); i++ {
		if !plain(name[i]) {
			extra += 2
		}
	}
	if extra == 0 {
		return name
	}
	out := make([]byte, 0, len(name)+extra)
	for i := 0; i < len(name); i++ {
		if c := name[i]; plain(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}

func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '/' || c == '-' || c == '.' || c == '_' || c == '~'
}
