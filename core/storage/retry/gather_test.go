package retry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/storage/retry"
)

// clinging is a store that goes on reading the memory of failed requests.
type clinging struct {
	storage.Provider
	fail  int
	given [][]byte // in those
	want  [][]byte // its content
}

func (c *clinging) Put(ctx context.Context, key string, data []byte) error {
	if c.fail > 0 {
		c.fail--
		c.given, c.want = append(c.given, data), append(c.want, bytes.Clone(data))
		return errs.Op("put", key).New(errs.Storage, "%w", &storage.Fault{Repeat: storage.Soon, Err: errors.New("cut off")})
	}
	return c.Provider.Put(ctx, key, data)
}

// TestStreamsShareMemory writes objects of many sizes in pieces of many sizes. Each has
// the right content, and memory that a failed request may still read is not overwritten.
func TestStreamsShareMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		space := &mem.Space{}
		inner := open(t, space)
		below := &clinging{Provider: inner}
		p := retry.New(retry.Options{Random: func() float64 { return 0.5 }}).Provider(below)
		defer func() { _ = p.Close() }()
		data := pattern(20 << 20)
		for i, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 3 << 20, 8<<20 + 100, 16 << 20, 16<<20 + 1, 9 << 20, 70_000, 8 << 20} {
			for _, piece := range []int{1 << 20, 100_001} {
				want := data[i : i+size]
				if below.fail = i % 3; size > 16<<20 {
					// sent in pieces, each repeated by its sender
					below.fail = 0
				}
				key := fmt.Sprintf("s%d-%d", i, piece)
				w, err := storage.Create(ctx, p, key)
				if err != nil {
					t.Fatal(err)
				}
				for part := range slices.Chunk(want, piece) {
					if _, err := w.Write(part); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Finish(ctx); err != nil {
					t.Fatal(err)
				}
				if got, err := inner.Get(ctx, key); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes in pieces of %d come out wrong: %d bytes, %v", size, piece, len(got), err)
				}
			}
		}
		if len(below.given) == 0 {
			t.Fatal("no request failed")
		}
		for i := range below.given {
			if !bytes.Equal(below.given[i], below.want[i]) {
				t.Fatalf("what failed request %d was given has changed", i)
			}
		}
	})
}
