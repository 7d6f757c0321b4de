package dataset

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	"deeplake/core/version/maintain"
)

// beginFor begins a write whose lease stands for days without a renewal.
func beginFor(t *testing.T, d *Dataset, days int) []byte {
	t.Helper()
	return must[[]byte](t)(WritesTo(d).Begin(context.Background(), time.Duration(days)*day))
}

// TestLeasedBase: the commit that a write began on is kept as long as its lease stands, and goes
// with it.
func TestLeasedBase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		name string
		gc   maintain.GCOptions
	}{
		{"with a grace period", maintain.GCOptions{OlderThan: 2 * day, Expire: &maintain.Retention{}}},
		{"without", maintain.GCOptions{Expire: &maintain.Retention{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, _, clock := aged(t, 4)
			clock.on(5) // objects of the version are older than the lease
			token := beginFor(t, d, 9)
			updateNumbers(t, d, 0, 5)
			commit(t, d, "newer")
			clock.on(8)
			dry := c.gc
			dry.DryRun = true
			want := collect(t, d, dry).Expired
			if r := collect(t, d, c.gc); r.Expired != 4 || want != 4 {
				t.Errorf("%d versions are expired, %d if dry; want those below 4", r.Expired, want)
			}
			for _, at := range []int64{11, 12} { // the versions of before have had their grace
				clock.on(at)
				collect(t, d, c.gc)
			}
			if got := opens(t, d, "main", 5); got != "xxoo" {
				t.Errorf("beside the lease, %s are left", got)
			}
			part := inTask(t, d.env, "mem://d", token, "late", func(d *Dataset) {
				wantNumbers(t, d, 4)
				appendNumbers(t, d, 6)
			})
			other := must[*Dataset](t)(Open(ctx, d.env, "mem://d", OpenOptions{}))
			defer func() { _ = other.Close() }()
			must[WriteReport](t)(WritesTo(other).Commit(ctx, token, [][]byte{part}, CommitFragmentsOptions{}))
			wantNumbers(t, other, 5, 6)
			wantWhole(t, other)

			// The lease has ended by itself.
			for _, at := range []int64{15, 18, 21} {
				clock.on(at)
				collect(t, d, c.gc)
			}
			if got := opens(t, d, "main", 5); got != "xxxx" {
				t.Errorf("after the lease, %s are left", got)
			}
			_, err := OpenTask(ctx, d.env, "mem://d", token, "too late", storage.Options{})
			wantError(t, err, errs.NotFound, "version 4", "is expired", "begin the write again")
			wantWhole(t, other)
		})
	}
}

// TestLeasedBaseOfDeletedBranch: a lease keeps the commit of a branch without a name.
func TestLeasedBaseOfDeletedBranch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _, clock := aged(t, 3)
	if err := d.Checkout(ctx, "work", true); err != nil {
		t.Fatal(err)
	}
	updateNumbers(t, d, 0, 50)
	commit(t, d, "on work")
	clock.on(4)
	token := beginFor(t, d, 9)
	if err := d.Checkout(ctx, "main", false); err != nil {
		t.Fatal(err)
	}
	if err := d.Versions().DeleteBranch(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	for _, o := range []maintain.GCOptions{{OlderThan: day}, {}, {OlderThan: day, Expire: &maintain.Retention{}}, {}} {
		clock.on(8)
		collect(t, d, o)
		inTask(t, d.env, "mem://d", token, fmt.Sprint(o), func(d *Dataset) { wantNumbers(t, d, 50) })
	}
	if err := WritesTo(d).End(ctx, token); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, d, maintain.GCOptions{}); r.Objects == 0 {
		t.Errorf("after the lease, a gc removed %+v", r)
	}
	wantWhole(t, d)
}

// TestLeaseOnExpired: a write on a version that is expired is refused at its beginning, and leaves
// no lease.
func TestLeaseOnExpired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, space, _ := aged(t, 3)
	old := must[*Dataset](t)(Open(ctx, d.env, "mem://d", OpenOptions{}))
	defer func() { _ = old.Close() }()
	updateNumbers(t, d, 0, 11)
	commit(t, d, "newer")
	collect(t, d, maintain.GCOptions{OlderThan: 7 * day, Expire: &maintain.Retention{}})
	_, err := WritesTo(old).Begin(ctx, DefaultLease)
	wantError(t, err, errs.NotFound, "begin a distributed write", "version 3", "is expired")
	if left := keysBelow(t, openedStore(t, space, "d"), format.LeasePrefix()); len(left) != 0 {
		t.Errorf("the leases %q are left", left)
	}
	if err := old.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	begin(t, old)
}

// TestLeasesThatNameNoBase: leases of older writers, and damaged ones, keep what tasks write, and
// no version.
func TestLeasesThatNameNoBase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, change := range map[string]func(b format.Binding, data []byte) []byte{
		"older":   func(b format.Binding, _ []byte) []byte { out, _ := format.EncodeLeaseBegun(b, 9*day, nil); return out },
		"damaged": func(_ format.Binding, data []byte) []byte { data[len(data)/2] ^= 1; return data },
		"of a version that is not there": func(b format.Binding, _ []byte) []byte {
			out, _ := format.EncodeLeaseBegun(b, 9*day, &format.BranchPoint{Branch: format.NewUUID(), Version: 1 << 60})
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, space, clock := aged(t, 3)
			store := openedStore(t, space, "d")
			clock.on(4)
			token := beginFor(t, d, 9)
			inTask(t, d.env, "mem://d", token, "early", func(d *Dataset) { appendNumbers(t, d, 7) })
			updateNumbers(t, d, 0, 11)
			commit(t, d, "newer")
			for _, key := range keysBelow(t, store, format.LeasePrefix()) {
				if !strings.HasSuffix(key, ".begun") {
					continue
				}
				b := format.Binding{Dataset: d.repo.TSF.UUID, Key: key}
				if err := store.Put(ctx, key, change(b, must[[]byte](t)(store.Get(ctx, key)))); err != nil {
					t.Fatal(err)
				}
			}
			chunks := len(keysBelow(t, store, "data/"))
			collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{}})
			clock.on(10)
			collect(t, d, maintain.GCOptions{OlderThan: day, Expire: &maintain.Retention{}})
			_, err := OpenTask(ctx, d.env, "mem://d", token, "late", storage.Options{})
			wantError(t, err, errs.NotFound, "version 3", "is expired")
			if n := len(keysBelow(t, store, "data/")); n != chunks-4 { // of versions 2 and 3
				t.Errorf("%d chunks of %d are left", n, chunks)
			}
			wantWhole(t, d)
		})
	}
}

// TestLeasedBaseWithoutObjects removes the objects of a leased base, as a gc of an older build may.
// Other versions are not damaged by it.
func TestLeasedBaseWithoutObjects(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, space, clock := aged(t, 3)
	store := openedStore(t, space, "d")
	clock.on(4)
	beginFor(t, d, 9)
	updateNumbers(t, d, 0, 11)
	commit(t, d, "newer")
	leases := map[string][]byte{}
	for _, key := range keysBelow(t, store, format.LeasePrefix()) {
		leases[key] = must[[]byte](t)(store.Get(ctx, key))
		if err := store.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	if r := collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{}}); r.Objects == 0 {
		t.Fatalf("%+v", r)
	}
	for key, data := range leases {
		if err := store.Put(ctx, key, data); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []maintain.GCOptions{{}, {OlderThan: day}, {OlderThan: day, Expire: &maintain.Retention{}}} {
		if r := collect(t, d, o); r.Objects != 0 {
			t.Errorf("%+v removed %+v", o, r)
		}
	}
	wantNumbers(t, d, 11)
	wantWhole(t, d)
}
