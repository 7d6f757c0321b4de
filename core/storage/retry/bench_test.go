package retry_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"deeplake/core/storage"
	"deeplake/core/storage/cache"
	"deeplake/core/storage/limit"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
)

// instant is a Ranger that answers at once, and leaves the caller's memory unchanged.
type instant struct {
	storage.Provider
	size int64
}

type nothing struct{ left, size int64 }

func (i instant) Range(_ context.Context, _ string, off, n int64, _ string) (storage.Body, error) {
	if n < 0 || n > i.size-off {
		n = i.size - off
	}
	return &nothing{n, i.size}, nil
}

func (b *nothing) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	n := min(b.left, int64(len(p)))
	b.left -= n
	return int(n), nil
}
func (b *nothing) Close() error { return nil }
func (b *nothing) Len() int64   { return b.left }
func (b *nothing) Size() int64  { return b.size }
func (b *nothing) Tag() string  { return "tag" }

// BenchmarkReadAt measures the time that the decorators add to a request.
func BenchmarkReadAt(b *testing.B) {
	var space mem.Space
	inner, err := space.Open(b.Context(), "place", storage.Options{Create: true})
	if err != nil {
		b.Fatal(err)
	}
	far := instant{inner, 64 << 20}
	for _, c := range []struct {
		name string
		p    storage.Provider
	}{
		{"limit", limit.New(storage.Settings{}).Provider(far)},
		{"retry", retry.New(retry.Options{}).Provider(far)},
		{"retry over limit", retry.New(retry.Options{}).Provider(limit.New(storage.Settings{}).Provider(far))},
		{"memory, hit", cache.New(far, cache.NewMemory(64<<20), nil)},
		{"disk, hit", cache.New(far, cache.NewDisk(b.TempDir(), 1<<30), nil)},
		{"disk, miss", cache.New(far, cache.NewDisk(b.TempDir(), 1<<30), nil)},
	} {
		for _, n := range []int{40 << 10, 256 << 10, 4 << 20} {
			b.Run(fmt.Sprintf("%s/%d KiB", c.name, n>>10), func(b *testing.B) {
				dst := make([]byte, n)
				miss := c.name == "disk, miss"
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					key := "k"
					if miss {
						key = fmt.Sprint("k", n, i)
					}
					var err error
					if c.name == "limit" { // it has no ReadAt of its own for a Ranger
						var body storage.Body
						if body, err = c.p.(storage.Ranger).Range(b.Context(), key, 0, int64(n), ""); err == nil {
							_, err = io.ReadFull(body, dst)
							body.Close()
						}
					} else {
						err = c.p.ReadAt(b.Context(), key, dst, 0)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
