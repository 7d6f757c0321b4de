package tests

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	codecs "deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/ingest"
	"deeplake/core/storage"
	"deeplake/core/storage/all"
	"deeplake/go/tests/faultproxy"
	"deeplake/go/tests/objectstore"
)

// noisyPicture is a JPEG file of about bytes.
func noisyPicture(t testing.TB, seed uint64, bytesWanted int) []byte {
	t.Helper()
	side := 16
	for side*side < bytesWanted {
		side += 16
	}
	img := image.NewGray(image.Rect(0, 0, side, side))
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 85}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sideBySide calls fn for 0 ... n-1 from 64 goroutines and returns how long all took.
func sideBySide(t testing.TB, n int, fn func(i int) error) time.Duration {
	t.Helper()
	begin := time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := fn(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

// BenchmarkBucketToBucket compares an import whose pictures are copied as they are with loops that
// only read the objects, and only write chunks of the same bytes, with the same number of requests
// at once; and with both loops at once, the limit of this machine and this server. The bar
// is 0.8 of the slower loop. Each case has a server of its own, whose data go with it: two and a
// half GB at most.
func BenchmarkBucketToBucket(b *testing.B) {
	for _, c := range []struct {
		name    string
		objects int
		bytes   int
		network bool
	}{
		{"40 KB", 12000, 40 << 10, false}, {"400 KB", 2000, 400 << 10, false},
		{"40 KB, 25 ms", 12000, 40 << 10, true}, {"400 KB, 25 ms", 2000, 400 << 10, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			server := objectstore.StartFor(b, objectstore.Config{Kind: objectstore.KindS3})
			settings := server.Settings()
			if c.network {
				settings.Endpoint = faultproxy.New(b, faultproxy.Config{Upstream: server.Endpoint, Dialect: faultproxy.DialectS3, Profile: faultproxy.S3()}).URL
			}
			bucket := server.NewBucket(b)
			pictures := make([][]byte, 50)
			for i := range pictures {
				pictures[i] = noisyPicture(b, uint64(i), c.bytes)
			}
			total := int64(0)
			sideBySide(b, c.objects, func(i int) error {
				atomic.AddInt64(&total, int64(len(pictures[i%50])))
				return server.PutObject(b.Context(), bucket, fmt.Sprintf("in/%d/%06d.jpg", i%10, i), pictures[i%50])
			})
			stores, sources := all.New()
			o := storage.Options{Create: true, Settings: settings, Environ: map[string]string{}}
			env := &dataset.Env{Stores: stores, Sources: sources, Codecs: codecs.All(), Writer: "bench"}
			var get, put, together, both time.Duration
			for i := range b.N {
				from := server.URI(bucket, "in")
				get += bareGets(b, sources, from, o, c.objects)
				put += barePuts(b, stores, server.URI(bucket, "put"), o, total)
				begin := time.Now()
				var loops sync.WaitGroup
				loops.Go(func() { bareGets(b, sources, from, o, c.objects) })
				loops.Go(func() { barePuts(b, stores, server.URI(bucket, "put"), o, total) })
				loops.Wait()
				together += time.Since(begin)
				begin = time.Now()
				j, err := ingest.Start(env, server.URI(bucket, "out", fmt.Sprint(i)), server.URI(bucket, "in"), ingest.Options{Storage: o, Source: &o})
				if err != nil {
					b.Fatal(err)
				}
				if r, err := j.Wait(context.Background()); err != nil || r.Rows != int64(c.objects) {
					b.Fatalf("%+v, %v", r, err)
				}
				both += time.Since(begin)
				j.Close()
			}
			rate := func(d time.Duration) float64 { return float64(total) * float64(b.N) / d.Seconds() / 1e6 }
			b.ReportMetric(rate(get), "get-MB/s")
			b.ReportMetric(rate(put), "put-MB/s")
			b.ReportMetric(rate(both), "import-MB/s")
			b.ReportMetric(rate(both)/min(rate(get), rate(put)), "of-slower")
			// Where servers and this program share too few cores, an import can be no faster than
			// the two loops at once.
			b.ReportMetric(rate(together), "both-MB/s")
			b.ReportMetric(together.Seconds()/both.Seconds(), "of-both")
		})
	}
}

func bareGets(b *testing.B, sources storage.Sources, uri string, o storage.Options, n int) time.Duration {
	b.Helper()
	s, err := sources.Open(b.Context(), uri, o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	return sideBySide(b, n, func(i int) error {
		body, err := s.Range(b.Context(), fmt.Sprintf("%d/%06d.jpg", i%10, i), 0, -1, "")
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		_, err = io.ReadFull(body, make([]byte, body.Len()))
		return err
	})
}

func barePuts(b *testing.B, stores storage.Registry, uri string, o storage.Options, total int64) time.Duration {
	b.Helper()
	p, err := stores.Open(b.Context(), uri, o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	chunk := bytes.Repeat([]byte{7}, 8<<20)
	return sideBySide(b, int((total+int64(len(chunk))-1)/int64(len(chunk))), func(i int) error {
		return p.Put(b.Context(), fmt.Sprintf("data/%d", i), chunk)
	})
}
