package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/mem"
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
	"deeplake/core/version/maintain"
)

const day = 24 * time.Hour

// on moves a clock to a day that is later than any that the machine's own clock has put into a
// record.
func (c *clock) on(day int64) { c.days.Store(40_000 + day) }

// aged returns a dataset with a commit a day on main, by the clock of its store: version n is made
// on day n and shows n.
func aged(t *testing.T, versions int) (*Dataset, *mem.Space, *clock) {
	t.Helper()
	env, space, clock := datedEnv()
	clock.on(1)
	d := numberedDataset(t, env, "mem://d") // versions 0 and 1
	d.repo.Now = clock.now
	for n := 2; n <= versions; n++ {
		clock.on(int64(n))
		if n == 2 {
			appendNumbers(t, d, int64(n))
		} else {
			updateNumbers(t, d, 0, int64(n))
		}
		commit(t, d, fmt.Sprint("day ", n))
	}
	return d, space, clock
}

// noise returns text that does not compress well.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(' ' + 1 + r.IntN(90))
	}
	return string(b)
}

// opens tells whether each version can be opened: "x" for one that is expired.
func opens(t *testing.T, d *Dataset, branch string, versions int) string {
	t.Helper()
	var out strings.Builder
	for n := 2; n <= versions; n++ {
		at, err := Open(context.Background(), d.env, "mem://d", OpenOptions{At: fmt.Sprintf("%s@%d", branch, n)})
		if err != nil {
			wantError(t, err, errs.NotFound, "is expired", "log()")
			out.WriteByte('x')
			continue
		}
		if got := numbersIn(t, at); len(got) == 0 || branch == "main" && got[0] != int64(n) {
			t.Fatalf("version %d of %q shows %v", n, branch, got)
		}
		out.WriteByte('o')
		_ = at.Close()
	}
	return out.String()
}

func collect(t *testing.T, d *Dataset, o maintain.GCOptions) maintain.GCReport {
	t.Helper()
	return must[maintain.GCReport](t)(d.Versions().GC(context.Background(), o))
}

func wantWhole(t *testing.T, d *Dataset) {
	t.Helper()
	if r := must[maintain.FsckReport](t)(d.Versions().Fsck(context.Background(), maintain.FsckOptions{})); len(r.Problems) != 0 {
		t.Fatalf("%+v", r.Problems)
	}
}

// TestRetention: versions expire at their time, and their data goes after the grace period.
func TestRetention(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep maintain.Retention
		want string // of versions 2 to 10
	}{
		// on day 10; version 6 was it until day 7
		"all that was head in the last four days": {maintain.Retention{Age: 4 * day}, "xxxxooooo"},
		"the head":                   {maintain.Retention{}, "xxxxxxxxo"},
		"three":                      {maintain.Retention{Last: 3}, "xxxxxxooo"},
		"two days and at least five": {maintain.Retention{Age: 2 * day, Last: 5}, "xxxxooooo"},
		"more than there are":        {maintain.Retention{Last: 100}, "ooooooooo"},
		"longer than it is old":      {maintain.Retention{Age: 50_000 * day}, "ooooooooo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, space, clock := aged(t, 10)
			store := openedStore(t, space, "d")
			all := len(keysBelow(t, store, "data/"))
			gone := int64(strings.Count(c.want, "x"))
			if gone > 0 {
				gone += 2 // versions 0 and 1
			}
			dry := collect(t, d, maintain.GCOptions{OlderThan: 3 * day, Expire: &c.keep, DryRun: true})
			if got := opens(t, d, "main", 10); strings.Contains(got, "x") || dry.Expired < gone {
				t.Fatalf("after a dry run: %s, %+v", got, dry)
			}
			r := collect(t, d, maintain.GCOptions{OlderThan: 3 * day, Expire: &c.keep})
			if got := opens(t, d, "main", 10); got != c.want || r.Expired != gone {
				t.Fatalf("%s are left, %d expired; want %s, %d", got, r.Expired, c.want, gone)
			}
			if n := len(keysBelow(t, store, "data/")); n != all || r.Objects != 0 || r.Commits != 11 {
				t.Fatalf("within the grace period: %d objects of %d, %+v", n, all, r)
			}
			wantWhole(t, d)
			clock.on(14)
			r = collect(t, d, maintain.GCOptions{OlderThan: 3 * day})
			// An update replaces one chunk in each of the two tensors.
			if n, want := len(keysBelow(t, store, "data/")), 2*strings.Count(c.want, "o"); n != want || r.Expired != 0 || r.Commits != 11-gone {
				t.Fatalf("after it: %d chunks, want %d; %+v", n, want, r)
			}
			if got := opens(t, d, "main", 10); got != c.want {
				t.Fatalf("%s are left, want %s", got, c.want)
			}
			wantWhole(t, d)
			if log := must[[]version.Committed](t)(d.Log(context.Background(), 0)); len(log) != 11 {
				t.Fatalf("the log has %d commits", len(log))
			}
		})
	}
	d, _, _ := aged(t, 2)
	for _, keep := range []maintain.Retention{{Age: -1}, {Last: -1}} {
		_, err := d.Versions().GC(context.Background(), maintain.GCOptions{Expire: &keep})
		wantError(t, err, errs.Invalid)
	}
}

// TestRetentionNow: without a grace period versions and data go at once, and a dry run says how
// much.
func TestRetentionNow(t *testing.T) {
	t.Parallel()
	d, _, _ := aged(t, 10)
	o := maintain.GCOptions{Expire: &maintain.Retention{Last: 2}, DryRun: true}
	dry := collect(t, d, o)
	o.DryRun = false
	if r := collect(t, d, o); r.Objects == 0 || r.Bytes != dry.Bytes || r.Expired != 9 || r.Commits != 2 {
		t.Fatalf("%+v, dry %+v", r, dry)
	}
	if got := opens(t, d, "main", 10); got != "xxxxxxxoo" {
		t.Fatalf("%s are left", got)
	}
	if r := collect(t, d, o); r.Objects != 0 || r.Expired != 0 {
		t.Fatalf("a second time: %+v", r)
	}
}

// TestRetentionKeepsWhatIsInUse: names, pinned readers and slow writers.
func TestRetentionKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _, clock := aged(t, 10)
	open := func(o OpenOptions) *Dataset {
		t.Helper()
		at := must[*Dataset](t)(Open(ctx, d.env, "mem://d", o))
		t.Cleanup(func() { _ = at.Close() })
		return at
	}
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v3", "3", ""))
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v4", "4", ""))
	if err := d.Versions().CreateBranch(ctx, "from5", "5"); err != nil {
		t.Fatal(err)
	}
	// Readers and a writer that began before.
	reader, head, slow := open(OpenOptions{At: "6"}), open(OpenOptions{}), open(OpenOptions{})
	updateNumbers(t, slow, 0, 100)
	updateNumbers(t, d, 0, 11)
	commit(t, d, "day 11")
	keep := &maintain.Retention{}
	first := collect(t, d, maintain.GCOptions{OlderThan: 7 * day, Expire: keep})
	if got := opens(t, d, "main", 11); got != "xooxxxxxxo" || first.Expired != 9 || first.Objects != 0 {
		t.Fatalf("%s are left: %+v", got, first)
	}
	_, err := d.Versions().CreateTag(ctx, "late", "main@8", "")
	wantError(t, err, errs.NotFound, "expired")
	_, err = reader.Versions().CreateTag(ctx, "late", "", "")
	wantError(t, err, errs.NotFound, `create tag "late"`, "expired")
	wantError(t, reader.Versions().CreateBranch(ctx, "late", ""), errs.NotFound, "expired")
	wantError(t, reader.Versions().CreateBranch(ctx, "late", reader.head.Record.UUID.String()), errs.NotFound, "expired")
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v3 too", "v3", ""))
	clock.on(17) // the grace period is not over, also for writers since day 10
	if r := collect(t, d, maintain.GCOptions{OlderThan: 7 * day, Expire: keep}); r.Objects != 0 {
		t.Fatalf("in the grace period: %+v", r)
	}
	wantNumbers(t, reader, 6)
	wantNumbers(t, head, 10)
	if _, err := slow.Commit(ctx, "slow"); !errs.Is(err, errs.Conflict) {
		// it and day 11 update the same row
		t.Fatal(err)
	}
	clock.on(18)
	if r := collect(t, d, maintain.GCOptions{OlderThan: 7 * day, Expire: keep}); r.Objects == 0 {
		t.Fatalf("after the grace period: %+v", r)
	}
	for at, want := range map[string]int64{"v3": 3, "v3 too": 3, "v4": 4, "main@4": 4, "from5": 5, "main": 11} {
		wantNumbers(t, open(OpenOptions{At: at}), want)
	}
	// version 8
	_, err = Open(ctx, d.env, "mem://d", OpenOptions{At: clock.now().Add(-10 * day).Format(time.RFC3339)})
	wantError(t, err, errs.NotFound, "version 8", "expired")
	_, err = Open(ctx, d.env, "mem://d", OpenOptions{At: head.head.Record.UUID.String()[:12]})
	wantError(t, err, errs.NotFound, "expired")
	_, err = d.Versions().Diff(ctx, "main@8", "")
	wantError(t, err, errs.NotFound, "expired")
	diff := must[*version.Diff](t)(d.Versions().Diff(ctx, "v3", ""))
	if len(diff.Tensors) != 2 || diff.Tensors[0].Updated.Count != 1 {
		t.Fatalf("%+v", diff)
	}
	// A deleted tag keeps its commit for one grace period.
	if err := d.Versions().DeleteTag(ctx, "v4"); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, d, maintain.GCOptions{OlderThan: 7 * day}); r.Objects != 0 {
		t.Fatalf("a tag deleted just now: %+v", r)
	}
	clock.on(26)
	if r := collect(t, d, maintain.GCOptions{OlderThan: 7 * day}); r.Objects == 0 {
		t.Fatalf("a tag deleted long ago: %+v", r)
	}
	wantWhole(t, d)
}

// TestRetentionAndMerges: merges and diffs find the parts of expired commits that they need. These
// are the schema of a merge base, the identities of rows of a deleted branch, deletions, and the
// changes of each commit.
func TestRetentionAndMerges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, order := range []string{"work first", "main first"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			d, space, clock := aged(t, 3)
			if err := d.SetInfo(ctx, map[string]any{"large": noise(2 * format.InlineSchema)}); err != nil {
				// a page of its own
				t.Fatal(err)
			}
			appendNumbers(t, d, 31, 32)
			commit(t, d, "base")
			if d.head.Record.SchemaPage == nil {
				t.Fatal("the schema is in the record")
			}
			name := "work"
			if err := d.Checkout(ctx, name, true); err != nil {
				t.Fatal(err)
			}
			appendNumbers(t, d, 40)
			if err := d.DeleteRows(ctx, []int64{1}); err != nil {
				t.Fatal(err)
			}
			commit(t, d, "on work")
			into := map[string]string{"work first": "main", "main first": "work"}
			// A merge takes in a commit that is soon expired.
			from := name
			if into[order] == name {
				from = "main"
				if err := d.Checkout(ctx, "main", false); err != nil {
					t.Fatal(err)
				}
				updateNumbers(t, d, 0, 50)
				appendNumbers(t, d, 51)
				commit(t, d, "on main")
			}
			if err := d.Checkout(ctx, into[order], false); err != nil {
				t.Fatal(err)
			}
			must[TagInfo](t)(d.Versions().CreateTag(ctx, "before", "", ""))
			if _, done, err := d.Merge(ctx, from, version.OnConflictError, ""); err != nil || !done {
				t.Fatal(done, err)
			}
			for _, branch := range []string{from, into[order]} {
				if err := d.Checkout(ctx, branch, false); err != nil {
					t.Fatal(err)
				}
				updateNumbers(t, d, 2, 60)
				appendNumbers(t, d, 61)
				commit(t, d, "on")
				appendNumbers(t, d, 62)
				commit(t, d, "and on")
			}
			before := must[*version.Diff](t)(d.Versions().Diff(ctx, "before", ""))
			clock.on(20)
			r := collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{}})
			if r.Objects == 0 || r.Expired < 6 {
				t.Fatalf("%+v", r)
			}
			wantWhole(t, d)
			after := must[*version.Diff](t)(d.Versions().Diff(ctx, "before", ""))
			if fmt.Sprintf("%+v", before) != fmt.Sprintf("%+v", after) {
				t.Fatalf("a diff over expired commits says\n%+v, want\n%+v", after, before)
			}
			must[[]LogEntry](t)(d.Versions().Graph(ctx, 0, true))
			if _, done, err := d.Merge(ctx, from, version.OnConflictTheirs, "again"); err != nil || !done {
				t.Fatal(done, err)
			}
			want := numbersIn(t, d)
			wantWhole(t, d)
			// A copy takes the expiries along.
			must[maintain.CopyReport](t)(Copy(ctx, d.env, "mem://d", "mem://c", CopyOptions{CopyOptions: maintain.CopyOptions{History: true}}))
			c := must[*Dataset](t)(Open(ctx, d.env, "mem://c", OpenOptions{Branch: into[order]}))
			defer c.Close()
			wantNumbers(t, c, want...)
			wantWhole(t, c)
			_, err := Open(ctx, d.env, "mem://c", OpenOptions{At: "main@3"})
			wantError(t, err, errs.NotFound, "expired")
			collect(t, c, maintain.GCOptions{})
			// A branch without a name keeps nothing of its own.
			if err := d.Checkout(ctx, "main", false); err != nil {
				t.Fatal(err)
			}
			if err := d.Versions().DeleteBranch(ctx, name); err != nil {
				t.Fatal(err)
			}
			clock.on(40)
			collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{}, OlderThan: 7 * day})
			clock.on(60)
			collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{}, OlderThan: 7 * day})
			wantWhole(t, d)
			must[*version.Diff](t)(d.Versions().Diff(ctx, "before", ""))
			if n := len(keysBelow(t, openedStore(t, space, "d"), "refs/expired/")); n < 2 {
				t.Fatalf("%d expiries", n)
			}
		})
	}
}

// TestRetentionWithoutName: commits merged from a deleted branch expire by their own time, and not
// before the branch has been gone for the grace period.
func TestRetentionWithoutName(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, _, clock := aged(t, 3)
	if err := d.Checkout(ctx, "work", true); err != nil {
		t.Fatal(err)
	}
	updateNumbers(t, d, 0, 40)
	commit(t, d, "on work")
	taken := d.head.Record.UUID.String()
	if err := d.Checkout(ctx, "main", false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Merge(ctx, "work", version.OnConflictError, ""); err != nil {
		t.Fatal(err)
	}
	clock.on(10)
	if err := d.Versions().DeleteBranch(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	clock.on(15)
	collect(t, d, maintain.GCOptions{OlderThan: 7 * day, Expire: &maintain.Retention{}})
	at := must[*Dataset](t)(Open(ctx, d.env, "mem://d", OpenOptions{At: taken}))
	defer at.Close()
	wantNumbers(t, at, 40)
	clock.on(18)
	collect(t, d, maintain.GCOptions{OlderThan: 7 * day, Expire: &maintain.Retention{Age: 30 * day}})
	again := must[*Dataset](t)(Open(ctx, d.env, "mem://d", OpenOptions{At: taken}))
	defer again.Close()
	collect(t, d, maintain.GCOptions{OlderThan: 7 * day, Expire: &maintain.Retention{}})
	_, err := Open(ctx, d.env, "mem://d", OpenOptions{At: taken})
	wantError(t, err, errs.NotFound, "expired")
	wantWhole(t, d)
}

// TestGCAfterDeletionOfNames: without a grace period, names that were deleted at the very time of
// the gc keep nothing.
func TestGCAfterDeletionOfNames(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, space, _ := aged(t, 3) // its clock stands still
	store := openedStore(t, space, "d")
	before := len(keysBelow(t, store, "data/"))
	if err := d.Checkout(ctx, "work", true); err != nil {
		t.Fatal(err)
	}
	updateNumbers(t, d, 0, 50)
	commit(t, d, "on work")
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v1", "work", ""))
	if err := d.Checkout(ctx, "main", false); err != nil {
		t.Fatal(err)
	}
	if err := d.Versions().DeleteBranch(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, d, maintain.GCOptions{}); r.Objects != 0 {
		t.Fatalf("with a tag left: %+v", r)
	}
	if err := d.Versions().DeleteTag(ctx, "v1"); err != nil {
		t.Fatal(err)
	}
	r := collect(t, d, maintain.GCOptions{})
	if n := len(keysBelow(t, store, "data/")); r.Objects == 0 || r.Young != 0 || n != before {
		t.Fatalf("%d chunks are left, want %d; %+v", n, before, r)
	}
	wantWhole(t, d)
}

// TestRetentionAfterShorterGrace: the removals of a gc are no damage to a gc with a longer grace
// period, whether versions expired or lost their names. Damage of a kept version still is.
func TestRetentionAfterShorterGrace(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, space, clock := aged(t, 5)
	store := openedStore(t, space, "d")
	must[TagInfo](t)(d.Versions().CreateTag(ctx, "v3", "3", ""))
	if err := d.Checkout(ctx, "work", true); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		updateNumbers(t, d, 0, int64(50+n))
		commit(t, d, "on work")
	}
	if err := d.Checkout(ctx, "main", false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Merge(ctx, "work", version.OnConflictError, ""); err != nil {
		t.Fatal(err)
	}
	clock.on(6)
	if r := collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{}}); r.Objects == 0 {
		t.Fatalf("%+v", r)
	}
	collect(t, d, maintain.GCOptions{OlderThan: 7 * day})
	if err := d.Versions().DeleteTag(ctx, "v3"); err != nil {
		t.Fatal(err)
	}
	if err := d.Versions().DeleteBranch(ctx, "work"); err != nil {
		t.Fatal(err)
	}
	clock.on(7)
	if r := collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{}}); r.Objects == 0 {
		t.Fatalf("%+v", r)
	}
	left := keysBelow(t, store, "")
	for _, age := range []time.Duration{day / 2, 2 * day, 7 * day} {
		if r := collect(t, d, maintain.GCOptions{OlderThan: age}); r.Objects != 0 {
			t.Fatalf("with a grace period of %s: %+v", age, r)
		}
	}
	wantWhole(t, d)
	for _, key := range left {
		if !strings.HasPrefix(key, "map/") {
			continue
		}
		data := must[[]byte](t)(store.Get(ctx, key))
		if err := store.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
		lost := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{})).Problems
		if len(lost) != 1 || lost[0].Key != key {
			t.Fatalf("without %q: %+v", key, lost)
		}
		if lost[0].What != "side page" { // gc needs none
			_, err := d.Versions().GC(ctx, maintain.GCOptions{OlderThan: 7 * day})
			wantError(t, err, errs.Corrupt, "nothing was removed", key)
		}
		if err := store.Put(ctx, key, data); err != nil {
			t.Fatal(err)
		}
	}
	if got := keysBelow(t, store, ""); len(got) != len(left) {
		t.Fatalf("%d objects of %d are left", len(got), len(left))
	}
}

// TestRetentionFaults stops an expiring gc at every call, in every way. Kept versions are then
// readable. All others are readable or expired, and another gc ends the work.
func TestRetentionFaults(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, do := range map[string]faultstore.Action{
		"fails": faultstore.Fail(errs.Storage), "crash": faultstore.Crash(), "crash after": faultstore.CrashAfter(), "lost answer": faultstore.LostAnswer(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 0; ; n++ {
				d, space, clock := aged(t, 6)
				must[TagInfo](t)(d.Versions().CreateTag(ctx, "v3", "3", ""))
				store := openedStore(t, space, "d")
				faults := faultstore.New(store, faultstore.Plan{{Skip: n, Do: do}})
				broken := must[*version.Repo](t)(version.Open(ctx, faultstore.New(store, nil), "test"))
				broken.Store, broken.Pages, broken.Now = faults, chunkmap.NewStore(faults), clock.now
				_, err := maintain.GC(ctx, broken, maintain.GCOptions{Expire: &maintain.Retention{Last: 2}})
				if got := opens(t, d, "main", 6); got != "xoxoo" && got != "ooooo" {
					t.Fatalf("call %d: %s are left", n, got)
				}
				wantWhole(t, d)
				r := collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{Last: 2}})
				if got := opens(t, d, "main", 6); got != "xoxoo" {
					t.Fatalf("call %d: %s are left after another gc, %+v", n, got, r)
				}
				wantWhole(t, d)
				if got := len(keysBelow(t, store, "data/")); got != 6 {
					t.Fatalf("call %d: %d chunks are left after another gc", n, got)
				}
				if err == nil && len(faults.Calls()) <= n {
					return
				}
			}
		})
	}
}

// TestRetentionDamage: an expiry that cannot be read stops gc and is named by fsck; no version
// counts as expired or damaged because of it.
func TestRetentionDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, space, _ := aged(t, 5)
	store := openedStore(t, space, "d")
	collect(t, d, maintain.GCOptions{Expire: &maintain.Retention{Last: 2}})
	key := keysBelow(t, store, format.ExpiryPrefix())[0]
	data := must[[]byte](t)(store.Get(ctx, key))
	data[len(data)/2] ^= 1
	if err := store.Put(ctx, key, data); err != nil {
		t.Fatal(err)
	}
	_, err := d.Versions().GC(ctx, maintain.GCOptions{})
	wantError(t, err, errs.Corrupt, "nothing was removed", key)
	_, err = Open(ctx, d.env, "mem://d", OpenOptions{At: "2"})
	wantError(t, err, errs.Corrupt, key)
	at := must[*Dataset](t)(Open(ctx, d.env, "mem://d", OpenOptions{At: "4"}))
	defer at.Close()
	wantNumbers(t, at, 4)
	r := must[maintain.FsckReport](t)(d.Versions().Fsck(ctx, maintain.FsckOptions{}))
	if len(r.Problems) != 1 || r.Problems[0].Key != key || r.Problems[0].What != "expiry" {
		t.Fatalf("%+v", r.Problems)
	}
}
