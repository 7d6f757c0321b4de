package storagetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"deeplake/core/storage"
)

// expected is the listing by the definition.
func expected(objects map[string]int64, prefix, after string, n int) []storage.Object {
	var want []storage.Object
	for key, size := range objects {
		if strings.HasPrefix(key, prefix) && key > after {
			want = append(want, storage.Object{Key: key, Size: size})
		}
	}
	slices.SortFunc(want, func(a, b storage.Object) int { return strings.Compare(a.Key, b.Key) })
	if n >= 0 && n < len(want) {
		want = want[:n]
	}
	return want
}

func sameListing(ctx context.Context, p storage.Provider, objects map[string]int64, prefix, after string, n int) error {
	got, err := listed(ctx, p, prefix, after, n)
	if err != nil {
		return err
	}
	if want := expected(objects, prefix, after, n); !slices.Equal(got, want) {
		return fmt.Errorf("list %q after %q, stopped after %d: got %v, want %v", prefix, after, n, got, want)
	}
	return nil
}

func list(ctx context.Context, p fixture) error {
	if err := sameListing(ctx, p, nil, "", "", -1); err != nil {
		return err
	}
	// "." and "-" sort before "/", "0" and letters behind: order by directories would differ from
	// order by keys.
	keys := []string{
		"a.b", "a/b", "a/b.c", "a/c/d", "a/c.d", "a/c0", "a0", "a-/x", "ab/c", "b/1/2/3", "b/1/2/4", "b/1/25", "b/10", "b/2/1",
		"log/x/00000000000000000001", "log/x/00000000000000000002", "log/x/18446744073709551615", "log/x.y/1", "z", "A/b", "~/~",
	}
	objects := make(map[string]int64)
	for i, key := range keys {
		objects[key] = int64(i * 3)
		if err := p.Put(ctx, key, make([]byte, i*3)); err != nil {
			return err
		}
	}
	afters := append([]string{"", "!", "a", "a/", "a/c/", "a/c/zz", "a/zzz", "b/1", "b/1/2/", "b/1/2/35", "log/", "log/x", "~~"}, keys...)
	other := p.reopen()
	defer other.Close()
	for _, prefix := range []string{"", "a/", "a/c/", "ab/", "b/", "b/1/", "log/", "log/x/", "nothing/", "a/b/", "z/", "a/c/d/e/", "~/"} {
		for _, after := range afters {
			for _, n := range []int{-1, 1, 3} {
				if err := sameListing(ctx, other, objects, prefix, after, n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// listMany crosses the pages in which providers list.
func listMany(ctx context.Context, p fixture) error {
	objects := make(map[string]int64)
	for i := range 1100 {
		key := fmt.Sprintf("many/d%x/%d", i*7919%1024/64, i)
		if i%3 == 0 {
			key = fmt.Sprintf("many/%d", i*7919%100_000)
		}
		objects[key] = 2
		if err := p.Put(ctx, key, []byte("ab")); err != nil {
			return err
		}
	}
	for _, after := range []string{"", "many/5", "many/50000", "many/8/", "many/d8/", "many/df/999"} {
		for _, n := range []int{-1, 1, 255, 256, 257, 1000, 1001} {
			if err := sameListing(ctx, p, objects, "many/", after, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// listCallsBack uses the provider from within a listing.
func listCallsBack(ctx context.Context, p fixture) error {
	for i := range 20 {
		if err := p.Put(ctx, fmt.Sprintf("gc/%d/x", i), []byte("x")); err != nil {
			return err
		}
	}
	var inner error
	count := 0
	err := p.List(ctx, "gc/", "", func(o storage.Object) bool {
		count++
		_, inner = p.Get(ctx, o.Key)
		if inner == nil {
			inner = p.Put(ctx, "elsewhere/"+o.Key, nil)
		}
		if inner == nil {
			inner = p.Delete(ctx, o.Key)
		}
		return inner == nil
	})
	if err == nil {
		err = inner
	}
	if err == nil && count != 20 {
		err = fmt.Errorf("list while deleting: got %d objects, want 20", count)
	}
	return err
}
