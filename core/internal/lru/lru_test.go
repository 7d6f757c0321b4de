package lru

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/go/tests/clock"
)

func TestCacheForgetsWhatWasUsedLongestAgo(t *testing.T) {
	t.Parallel()
	c := New[string, int](100)
	c.Put("a", 1, 40)
	c.Put("b", 2, 40)
	if _, ok := c.Get("a"); !ok {
		t.Fatal("a was forgotten below the limit")
	}
	c.Put("c", 3, 40)
	if _, ok := c.Get("b"); ok {
		t.Fatal("b was used longest ago and is still there")
	}
	if v, ok := c.Get("a"); !ok || v != 1 {
		t.Fatalf("a = %d, %v, want 1", v, ok)
	}
	if c.Bytes() != 80 {
		t.Fatalf("bytes = %d, want 80", c.Bytes())
	}
}

func TestCacheReplacesAndDrops(t *testing.T) {
	t.Parallel()
	c := New[int, string](10)
	c.Put(1, "old", 4)
	c.Put(1, "new", 6)
	if v, _ := c.Get(1); v != "new" || c.Bytes() != 6 {
		t.Fatalf("got %q in %d bytes, want \"new\" in 6", v, c.Bytes())
	}
	c.Drop(1)
	c.Drop(1)
	if _, ok := c.Get(1); ok || c.Bytes() != 0 {
		t.Fatalf("dropped value is there, %d bytes", c.Bytes())
	}
	c.Put(2, "huge", 1000)
	if _, ok := c.Get(2); !ok {
		t.Fatal("a value above the limit must be kept until the next one")
	}
	c.Put(3, "next", 1)
	if _, ok := c.Get(2); ok {
		t.Fatal("the huge value outlived the next one")
	}
}

func TestLoadIsSharedByThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](100)
		calls := 0
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				v, err := c.Load(t.Context(), "k", func() (int, int64, error) {
					calls++
					clock.Pass(time.Second)
					return 7, 1, nil
				})
				if v != 7 || err != nil {
					t.Errorf("got %d, %v, want 7", v, err)
				}
			})
		}
		wg.Wait()
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
		if v, ok := c.Get("k"); v != 7 || !ok {
			t.Errorf("kept %d, %v, want 7", v, ok)
		}
	})
}

func TestFailedLoadIsTriedByTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New[string, int](100)
		bad := errors.New("bad")
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := c.Load(t.Context(), "k", func() (int, int64, error) {
				clock.Pass(time.Second)
				return 0, 0, bad
			})
			if !errors.Is(err, bad) {
				t.Errorf("got %v, want its own error", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			v, err := c.Load(t.Context(), "k", func() (int, int64, error) { return 8, 1, nil })
			if v != 8 || err != nil {
				t.Errorf("got %d, %v, want 8", v, err)
			}
		})
		wg.Wait()
		func() {
			defer func() { _ = recover() }()
			_, _ = c.Load(t.Context(), "p", func() (int, int64, error) { panic("p") })
		}()
		if v, err := c.Load(t.Context(), "p", func() (int, int64, error) { return 9, 1, nil }); v != 9 || err != nil {
			t.Errorf("after a panic: %d, %v, want 9", v, err)
		}
	})
}
