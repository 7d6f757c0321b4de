package s3

import (
	"context"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

const (
	firstPage = 100 // most listings look for the newest few of something
	fullPage  = 1000
	// mostIdle bounds the pages in a row that show no object. Stores may leave some empty.
	mostIdle = 1000
)

// List shows the objects of the dataset; storage.Provider. Objects whose names break the rules of
// keys are not shown.
func (p *Provider) List(ctx context.Context, prefix, after string, fn func(storage.Object) bool) error {
	if prefix != "" {
		if err := storage.CheckKey(strings.TrimSuffix(prefix, "/")); err != nil || !strings.HasSuffix(prefix, "/") {
			return errs.Op("list", prefix).New(errs.Invalid, `not a prefix (want "" or a key and "/")`)
		}
	}
	return p.list(ctx, prefix, after, firstPage, func(name string, o *types.Object) bool {
		if storage.CheckKey(name) != nil {
			return true
		}
		return fn(storage.Object{Key: name, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
	})
}

// Objects shows what lies below the source's address; storage.Source.
func (s *Source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	return s.list(ctx, prefix, after, fullPage, func(name string, o *types.Object) bool {
		if name == "" { // the marker of the folder itself
			return true
		}
		return fn(storage.Entry{Key: name, Size: aws.ToInt64(o.Size), Tag: aws.ToString(o.ETag), Modified: aws.ToTime(o.LastModified)})
	})
}

// list goes through the pages; fn gets names relative to the part's own prefix.
func (p *part) list(ctx context.Context, prefix, after string, first int32, fn func(name string, o *types.Object) bool) error {
	var token *string
	last := after
	idle := 0 // pages in a row without an object
	for size := first; ; size = fullPage {
		if err := p.admit(ctx, "list", prefix); err != nil {
			return err
		}
		out, err := p.page(ctx, prefix, after, token, size)
		if err != nil {
			return errs.Wrap(errs.Storage, "list", p.prefix+prefix, err)
		}
		p.garbled.Store(0)
		if idle++; idle > mostIdle {
			return errs.Op("list", p.prefix+prefix).New(errs.Storage, "%q gives %d pages in a row without a new object; check the endpoint", p.host(), mostIdle)
		}
		for i := range out.Contents {
			name, err := p.nameOf(out, &out.Contents[i])
			if err != nil {
				return errs.Wrap(errs.Storage, "list", p.prefix+prefix, err)
			}
			// Names that a server lists twice, or too early, are left out here.
			if name <= last && last != "" || !strings.HasPrefix(name, prefix) {
				continue
			}
			last, idle = name, 0
			if !fn(name, &out.Contents[i]) {
				return nil
			}
			if err := p.admit(ctx, "list", prefix); err != nil {
				return err
			}
		}
		if token = out.NextContinuationToken; !aws.ToBool(out.IsTruncated) || token == nil {
			return nil
		}
	}
}

func (p *part) nameOf(out *s3.ListObjectsV2Output, o *types.Object) (string, error) {
	name := aws.ToString(o.Key)
	if out.EncodingType == types.EncodingTypeUrl {
		var err error
		if name, err = url.QueryUnescape(name); err != nil {
			return "", errs.New(errs.Storage, "%q lists a name that is not URL-encoded as it says", p.host())
		}
	}
	name, ok := strings.CutPrefix(name, p.prefix)
	if !ok {
		return "", errs.New(errs.Storage, "%q lists an object outside of the prefix that was asked for", p.host())
	}
	return name, nil
}

// page asks for one page. Names come encoded, since XML cannot hold every byte.
func (p *part) page(ctx context.Context, prefix, after string, token *string, size int32) (*s3.ListObjectsV2Output, error) {
	in := &s3.ListObjectsV2Input{
		Bucket: &p.bucket, Prefix: aws.String(p.prefix + prefix), MaxKeys: &size, EncodingType: types.EncodingTypeUrl,
		ContinuationToken: token, RequestPayer: types.RequestPayer(p.payer()),
	}
	if after != "" && token == nil {
		in.StartAfter = aws.String(p.prefix + after)
	}
	limited, cancel := context.WithTimeout(ctx, p.net.Patience())
	defer cancel()
	out, err := p.api.ListObjectsV2(limited, in, p.here)
	if err != nil {
		return nil, p.apiError(ctx, err)
	}
	return out, nil
}
