package gcs

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/auth"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/go/tests/clock"
)

// slowTokens gives tokens after a minute, unless a test makes it fail.
type slowTokens struct {
	asked atomic.Int64
	life  time.Duration
	fail  atomic.Bool
}

func (s *slowTokens) Token(ctx context.Context) (*auth.Token, error) {
	s.asked.Add(1)
	select {
	case <-time.After(time.Minute):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.fail.Load() {
		return nil, errors.New("no")
	}
	return &auth.Token{Value: "t0ken", Expiry: time.Now().Add(s.life)}, nil
}

// TestTokens: one caller requests a token, waiting callers leave when their time is over, and a
// token is used as long as it lasts.
func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &slowTokens{life: time.Hour}
		id := &identity{make: func() (auth.TokenProvider, error) { return server, nil }}
		get := func(ctx context.Context) error {
			rq, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://x", nil)
			err := id.authorize(ctx, rq)
			if got := rq.Header.Get("Authorization"); err == nil && got != "Bearer t0ken" {
				t.Errorf("asked as %q", got)
			}
			return err
		}
		began := time.Now()
		g := task.New(t.Context(), 0)
		for range 20 {
			g.Go(get)
		}
		for range 20 { // some of them may be the first to ask, and give up
			g.Go(func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if err := get(ctx); !errs.Is(err, errs.Canceled) || time.Since(began) > time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil || time.Since(began) > 2*time.Minute {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		asked := server.asked.Load()
		clock.Pass(50 * time.Minute)
		if err := get(t.Context()); err != nil || server.asked.Load() != asked {
			t.Fatalf("asked %d times, then %d, %v", asked, server.asked.Load(), err)
		}
		clock.Pass(7 * time.Minute)
		if err := get(t.Context()); err != nil || server.asked.Load() != asked+1 {
			t.Fatalf("near its end: asked %d times, want one more than %d, %v", server.asked.Load(), asked, err)
		}
		server.fail.Store(true)
		if err := get(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !id.forget() {
			t.Fatal("there is no other token")
		}
		if err := get(t.Context()); !errs.Is(err, errs.Denied) {
			t.Fatal(err)
		}
		server.fail.Store(false)
		if err := get(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
