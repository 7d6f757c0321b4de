package lru

import "testing"

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
