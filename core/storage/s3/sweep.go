package s3

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

var _ storage.Sweeper = (*Provider)(nil)

// Sweep ends the uploads below the prefix that were begun before and never completed;
// storage.Sweeper. Their parts take room, and show in no listing of objects.
func (p *Provider) Sweep(ctx context.Context, before time.Time, dry bool) (n, bytes int64, err error) {
	const op = "sweep"
	in := &s3.ListMultipartUploadsInput{Bucket: &p.bucket, Prefix: &p.prefix, RequestPayer: types.RequestPayer(p.payer())}
	for {
		if err := p.part.admit(ctx, op, p.URI()); err != nil {
			return n, bytes, err
		}
		out, err := p.uploads(ctx, in)
		if err != nil {
			return n, bytes, errs.Wrap(errs.Storage, op, p.URI(), err)
		}
		for _, u := range out.Uploads {
			if !aws.ToTime(u.Initiated).Before(before) {
				continue
			}
			size, err := p.sweepOne(ctx, &u, dry)
			if err != nil && !errs.Is(err, errs.NotFound) {
				// its writer, or another sweep, was faster
				return n, bytes, errs.Wrap(errs.Storage, op, aws.ToString(u.Key), err)
			}
			n++
			bytes += size
		}
		if !aws.ToBool(out.IsTruncated) || out.NextKeyMarker == nil {
			return n, bytes, nil
		}
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
	}
}

func (p *Provider) uploads(ctx context.Context, in *s3.ListMultipartUploadsInput) (*s3.ListMultipartUploadsOutput, error) {
	limited, cancel := context.WithTimeout(ctx, p.net.Patience())
	defer cancel()
	out, err := p.api.ListMultipartUploads(limited, in, p.here)
	if err != nil {
		return nil, p.apiError(ctx, err)
	}
	return out, nil
}

// sweepOne ends one upload and says how many bytes its parts have.
func (p *Provider) sweepOne(ctx context.Context, u *types.MultipartUpload, dry bool) (int64, error) {
	limited, cancel := context.WithTimeout(ctx, p.net.Patience())
	defer cancel()
	var size int64
	parts := s3.NewListPartsPaginator(p.api, &s3.ListPartsInput{Bucket: &p.bucket, Key: u.Key, UploadId: u.UploadId})
	for parts.HasMorePages() {
		out, err := parts.NextPage(limited, p.here)
		if err != nil {
			return 0, p.apiError(ctx, err)
		}
		for _, part := range out.Parts {
			size += aws.ToInt64(part.Size)
		}
	}
	if dry {
		return size, nil
	}
	_, err := p.api.AbortMultipartUpload(limited, &s3.AbortMultipartUploadInput{Bucket: &p.bucket, Key: u.Key, UploadId: u.UploadId}, p.here)
	if err != nil {
		return 0, p.apiError(ctx, err)
	}
	return size, nil
}
