// Package storagetest owns the conformance suite of storage.Provider. It checks every promise of
// the interface through the interface alone. It knows no provider, and only tests may import it.
package storagetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// Open makes a new, empty store and returns a provider of it. reopen returns one more provider of
// the same store each time it is called, as another process would open it. Open registers what has
// to be cleaned up with t.Cleanup; closing a provider that the suite closed already must be
// harmless there.
type Open func(t *testing.T) (p storage.Provider, reopen func() storage.Provider)

// Run checks every promise in a subtest of its own, each in a new store. The subtests run in
// parallel.
func Run(t *testing.T, open Open) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, reopen := open(t)
			if err := c.run(t.Context(), fixture{p, reopen}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// fixture is the provider under test. It is no storage.Streamer itself: pass p.Provider to
// storage.Create.
type fixture struct {
	storage.Provider
	reopen func() storage.Provider
}

// check is one promise. It returns an error rather than failing a test, so that the suite can be
// tried on providers that break a promise.
type check struct {
	name string
	run  func(ctx context.Context, p fixture) error
}

func checks() []check {
	return []check{
		{"round trip", roundTrip},
		{"slices belong to one side", ownership},
		{"replace", replace},
		{"read bounds", readBounds},
		{"missing", missing},
		{"put if absent", putIfAbsent},
		{"bad keys", badKeys},
		{"odd keys", oddKeys},
		{"list", list},
		{"list many", listMany},
		{"list calls back", listCallsBack},
		{"delete", remove},
		{"stream", stream},
		{"stream abort", streamAbort},
		{"streams side by side", streamsSideBySide},
		{"put if absent race", putIfAbsentRace},
		{"start together", startTogether},
		{"taking numbers", takingNumbers},
		{"list after write", listAfterWrite},
		{"ranges", ranges},
		{"copies", copies},
		{"parallel use", parallelUse},
		{"read while deleting", readWhileDeleting},
		{"canceled", canceled},
		{"closed", closed},
		{"uri", uri},
	}
}

// content is n bytes that differ from place to place and from seed to seed.
func content(n int, seed uint64) []byte {
	data := make([]byte, n)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range data {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		data[i] = byte(x)
	}
	return data
}

// holds checks that key holds exactly want, by Get and by ReadAt.
func holds(ctx context.Context, p storage.Provider, key string, want []byte) error {
	got, err := p.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("get %q: %w", key, err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("get %q: %s", key, difference(got, want))
	}
	part := make([]byte, len(want))
	if err := p.ReadAt(ctx, key, part, 0); err != nil {
		return fmt.Errorf("read %q: %w", key, err)
	}
	if !bytes.Equal(part, want) {
		return fmt.Errorf("read %q: %s", key, difference(part, want))
	}
	return nil
}

func difference(got, want []byte) string {
	if len(got) != len(want) {
		return fmt.Sprintf("got %d bytes, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d is 0x%02x, want 0x%02x", i, got[i], want[i])
		}
	}
	return "no difference"
}

// wants checks the class of an error.
func wants(kind errs.Kind, err error, format string, args ...any) error {
	if errs.Is(err, kind) {
		return nil
	}
	return fmt.Errorf("%s: got error %v, want one of kind %q", fmt.Sprintf(format, args...), err, kind)
}

// absent checks that neither Get, ReadAt nor List know key.
func absent(ctx context.Context, p storage.Provider, key string) error {
	_, err := p.Get(ctx, key)
	if err := wants(errs.NotFound, err, "get %q", key); err != nil {
		return err
	}
	if err := wants(errs.NotFound, p.ReadAt(ctx, key, make([]byte, 1), 0), "read %q", key); err != nil {
		return err
	}
	keys, err := listed(ctx, p, "", "", -1)
	if err != nil {
		return err
	}
	for _, o := range keys {
		if o.Key == key {
			return fmt.Errorf("list: shows %q, which is absent", key)
		}
	}
	return nil
}

// listed collects a listing, at most n objects where n is not negative.
func listed(ctx context.Context, p storage.Provider, prefix, after string, n int) ([]storage.Object, error) {
	var found []storage.Object
	stopped := false
	err := p.List(ctx, prefix, after, func(o storage.Object) bool {
		if stopped {
			err := fmt.Errorf("list %q: called after it was stopped", prefix)
			found = append(found, storage.Object{Key: err.Error(), Size: -1})
			return false
		}
		o.Modified = time.Time{} // the store's own; compared by none of the cases
		found = append(found, o)
		stopped = len(found) == n
		return !stopped
	})
	if err != nil {
		return nil, fmt.Errorf("list %q after %q: %w", prefix, after, err)
	}
	return found, nil
}

// all runs steps until one fails.
func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
