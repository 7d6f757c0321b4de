package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

func roundTrip(ctx context.Context, p fixture) error {
	for i, size := range []int{0, 1, 4095, 5 << 20} {
		data := content(size, uint64(i))
		put, once := fmt.Sprintf("put/%d", size), fmt.Sprintf("once/%d", size)
		if err := p.Put(ctx, put, data); err != nil {
			return err
		}
		if err := p.PutIfAbsent(ctx, once, data); err != nil {
			return err
		}
		other := p.reopen()
		for _, key := range []string{put, once} {
			if err := errors.Join(holds(ctx, p, key, data), holds(ctx, other, key, data), parts(ctx, p, key, data)); err != nil {
				return err
			}
		}
		if err := other.Close(); err != nil {
			return err
		}
	}
	return nil
}

// parts reads pieces of key.
func parts(ctx context.Context, p fixture, key string, data []byte) error {
	for _, r := range [][2]int{{0, 0}, {0, 1}, {1, 1}, {len(data) / 2, 10_000}, {len(data) - 1, 1}, {len(data), 0}} {
		off, n := r[0], r[1]
		if off < 0 || off+n > len(data) {
			continue
		}
		got := make([]byte, n)
		if err := p.ReadAt(ctx, key, got, int64(off)); err != nil {
			return fmt.Errorf("read %d bytes at %d: %w", n, off, err)
		}
		if string(got) != string(data[off:off+n]) {
			return fmt.Errorf("read %d bytes at %d of %q: %s", n, off, key, difference(got, data[off:off+n]))
		}
	}
	return nil
}

func ownership(ctx context.Context, p fixture) error {
	data := content(100, 1)
	for _, put := range []func(context.Context, string, []byte) error{p.Put, p.PutIfAbsent} {
		key := fmt.Sprintf("key%d", data[0])
		given := append([]byte(nil), data...)
		if err := put(ctx, key, given); err != nil {
			return err
		}
		clear(given)
		got, err := p.Get(ctx, key)
		if err != nil {
			return err
		}
		if string(got) != string(data) {
			return fmt.Errorf("put %q: keeps the caller's slice", key)
		}
		clear(got)
		if err := holds(ctx, p, key, data); err != nil {
			return fmt.Errorf("get %q: hands out its own slice: %w", key, err)
		}
		data[0]++
	}
	return nil
}

func replace(ctx context.Context, p fixture) error {
	for i, size := range []int{1000, 10, 2000} {
		data := content(size, uint64(i))
		if err := p.Put(ctx, "hint/a", data); err != nil {
			return err
		}
		if err := holds(ctx, p, "hint/a", data); err != nil {
			return fmt.Errorf("after %d replacements: %w", i, err)
		}
	}
	return nil
}

func readBounds(ctx context.Context, p fixture) error {
	if err := p.Put(ctx, "data/a", content(100, 0)); err != nil {
		return err
	}
	for _, c := range []struct {
		n    int
		off  int64
		want errs.Kind
	}{
		{101, 0, errs.Corrupt}, {1, 100, errs.Corrupt}, {50, 51, errs.Corrupt}, {1, 1 << 40, errs.Corrupt},
		{10, math.MaxInt64 - 3, errs.Corrupt}, {1, -1, errs.Invalid}, {1, math.MinInt64, errs.Invalid},
	} {
		err := p.ReadAt(ctx, "data/a", make([]byte, c.n), c.off)
		if err := wants(c.want, err, "read %d bytes at %d of 100", c.n, c.off); err != nil {
			return err
		}
		if !strings.Contains(err.Error(), "data/a") {
			return fmt.Errorf("error %q does not name the key", err)
		}
	}
	return holds(ctx, p, "data/a", content(100, 0))
}

func missing(ctx context.Context, p fixture) error {
	if err := p.Put(ctx, "dir/there", []byte("x")); err != nil {
		return err
	}
	for _, key := range []string{"a", "dir", "dir/a", "dir/there/below", "dir/ther", "dir/therex"} {
		if err := absent(ctx, p, key); err != nil {
			return err
		}
		if _, err := p.Get(ctx, key); !strings.Contains(err.Error(), key) {
			return fmt.Errorf("error %q does not name the key", err)
		}
	}
	return nil
}

func putIfAbsent(ctx context.Context, p fixture) error {
	first, second := []byte("first"), []byte("second, longer")
	other := p.reopen()
	defer other.Close()
	return all(
		func() error { return p.PutIfAbsent(ctx, "log/a", first) },
		func() error {
			return wants(errs.Exists, p.PutIfAbsent(ctx, "log/a", second), "put-if-absent of a taken key")
		},
		func() error {
			return wants(errs.Exists, other.PutIfAbsent(ctx, "log/a", second), "put-if-absent from elsewhere")
		},
		func() error { return holds(ctx, p, "log/a", first) },
		func() error { return p.Put(ctx, "log/b", first) },
		func() error {
			return wants(errs.Exists, other.PutIfAbsent(ctx, "log/b", second), "put-if-absent of a key that was put")
		},
		func() error { return p.Delete(ctx, "log/a") },
		func() error { return other.PutIfAbsent(ctx, "log/a", second) },
		func() error { return holds(ctx, p, "log/a", second) },
	)
}

func badKeys(ctx context.Context, p fixture) error {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "../a", "a\nb", "a\x00b", "a\\b", "\x7f", "a\xff", "a\u2028b",
		strings.Repeat("0123456789/", 81) + "0123456789", // 901 bytes
	} {
		_, getErr := p.Get(ctx, key)
		_, createErr := createAndFinish(ctx, p.Provider, key)
		for op, err := range map[string]error{
			"get": getErr, "read": p.ReadAt(ctx, key, make([]byte, 1), 0), "put": p.Put(ctx, key, nil),
			"put-if-absent": p.PutIfAbsent(ctx, key, nil), "delete": p.Delete(ctx, key), "create": createErr,
		} {
			if err := wants(errs.Invalid, err, "%s of key %q", op, key); err != nil {
				return err
			}
		}
	}
	for _, prefix := range []string{"a", "/", "/a/", "a//", "../", "a/../"} {
		err := p.List(ctx, prefix, "", func(storage.Object) bool { return true })
		if err := wants(errs.Invalid, err, "list of prefix %q", prefix); err != nil {
			return err
		}
	}
	found, err := listed(ctx, p, "", "", -1)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("a bad key left %q behind", found[0].Key)
	}
	return err
}

// createAndFinish writes an empty stream; a provider may refuse at either step.
func createAndFinish(ctx context.Context, p storage.Provider, key string) (storage.Stream, error) {
	s, err := storage.Create(ctx, p, key)
	if err != nil {
		return nil, err
	}
	return s, s.Finish(ctx)
}

func oddKeys(ctx context.Context, p fixture) error {
	keys := []string{
		"a.b", "a-b", "a/b", "~", "!", "%2F", "...", ".hidden", "x/..y", "x/.z", "#?&+=,;:@$'()*[]{}|^`\"<>",
		"UPPER/case", "golden retriever/a b", " c/d ", "ä", "café/猫 1.jpg", "🐈",
		strings.Repeat("0123456789/", 81) + "012345678", // 900 bytes
	}
	for i, key := range keys {
		if err := p.Put(ctx, key, content(10, uint64(i))); err != nil {
			return err
		}
	}
	for i, key := range keys {
		if err := holds(ctx, p, key, content(10, uint64(i))); err != nil {
			return err
		}
	}
	found, err := listed(ctx, p, "", "", -1)
	if err == nil && len(found) != len(keys) {
		err = fmt.Errorf("list: got %d objects, want %d", len(found), len(keys))
	}
	return err
}

func remove(ctx context.Context, p fixture) error {
	if err := p.Delete(ctx); err != nil {
		return fmt.Errorf("delete of nothing: %w", err)
	}
	for _, key := range []string{"a/b/c", "a/b/d", "a/e", "f"} {
		if err := p.Put(ctx, key, []byte(key)); err != nil {
			return err
		}
		if err := holds(ctx, p, key, []byte(key)); err != nil { // leaves the object warm
			return err
		}
	}
	steps := []func() error{
		func() error { return p.Delete(ctx, "a/b/c", "never/there", "a/b", "a/b/c") },
		func() error { return absent(ctx, p, "a/b/c") },
		func() error { return holds(ctx, p, "a/b/d", []byte("a/b/d")) },
		func() error { return p.Put(ctx, "a/b/c", []byte("again")) },
		func() error { return holds(ctx, p, "a/b/c", []byte("again")) },
		func() error { return p.Delete(ctx, "a/b/c", "a/b/d") },
		func() error { return p.Put(ctx, "a/b", []byte("now an object")) },
		func() error { return holds(ctx, p, "a/b", []byte("now an object")) },
		func() error { return holds(ctx, p, "a/e", []byte("a/e")) },
		func() error { return p.Delete(ctx, "a/b", "a/e", "f") },
	}
	if err := all(steps...); err != nil {
		return err
	}
	found, err := listed(ctx, p, "", "", -1)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("list after everything was deleted: got %q", found[0].Key)
	}
	return errors.Join(err, p.Put(ctx, "a/b/c", nil))
}
