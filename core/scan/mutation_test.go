package scan

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/version/maintain"
)

// mutations is how many changes of objects TestMutations tries, and asks one half of the questions
// after each. DEEPLAKE_MUTATIONS says another number, DEEPLAKE_SEED where to begin.
const mutations = 1000

// mutation is one change of the objects of a dataset.
type mutation struct {
	what string
	keys []string // of the objects that are changed
	over objects
}

// mutate makes the mutation of a seed: flip, truncate, delete, empty, append, exchange, take the
// content of another object.
func mutate(v, other *victim, seed uint64) mutation {
	rng := rand.New(rand.NewPCG(seed, 16))
	key := pick(rng, v.keys)
	if rng.IntN(2) == 0 { // most objects are chunks
		prefixes := []string{"log/", "map/", "map/", "refs/", "views/", "tsf.json"}
		key = pick(rng, below(v.keys, prefixes[rng.IntN(len(prefixes))]))
	}
	data := v.all[key]
	m := mutation{keys: []string{key}}
	change := func(what string, to []byte) {
		m.what, m.over = fmt.Sprintf("%s %q", what, key), objects{key: to}
	}
	switch rng.IntN(9) {
	case 0:
		to, at := bytes.Clone(data), rng.IntN(len(data))
		to[at] ^= 1 << rng.IntN(8)
		change(fmt.Sprintf("flip a bit of byte %d of", at), to)
	case 1:
		n := rng.IntN(len(data))
		change(fmt.Sprintf("truncate to %d bytes", n), append([]byte{}, data[:n]...))
	case 2:
		change("delete", nil)
	case 3:
		change("empty", []byte{})
	case 4:
		change("append to", append(bytes.Clone(data), make([]byte, 1+rng.IntN(40))...))
	case 5, 6, 7:
		with := pick(rng, alike(rng, v.keys, key))
		m.what, m.keys = fmt.Sprintf("exchange %q and %q", key, with), []string{key, with}
		m.over = objects{key: v.all[with], with: data}
	default:
		with := pick(rng, alike(rng, other.keys, key))
		change(fmt.Sprintf("the other dataset's object %q in the place of", with), other.all[with])
	}
	return m
}

func pick(rng *rand.Rand, keys []string) string { return keys[rng.IntN(len(keys))] }

func below(keys []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !strings.HasPrefix(k, prefix) })
}

// alike returns the keys under the prefix of key, more often than not.
func alike(rng *rand.Rand, keys []string, key string) []string {
	prefix, _, _ := strings.Cut(key, "/")
	same := below(keys, prefix)
	if len(same) == 0 || rng.IntN(5) == 0 {
		return keys
	}
	return same
}

// hides reports whether a mutation removes an object with older versions behind it. Their state is
// then right, too.
func (m *mutation) hides() bool {
	key := m.keys[0]
	return m.over[key] == nil && (strings.HasPrefix(key, "log/") || strings.HasPrefix(key, "refs/") || strings.HasPrefix(key, "views/"))
}

// judge accepts right results, an older state if the newest object is gone, and errors that name
// the object.
func (m *mutation) judge(got, want map[string]reply, valid map[string]bool) error {
	for name, r := range got {
		switch {
		case r.err == nil && r.text == want[name].text:
		case r.err == nil && m.hides() && (r.rows == "" || valid[r.rows+" "+r.text]):
		case r.err == nil:
			return fmt.Errorf("%s: wrong: %.200s, want %.200s", name, r.text, want[name].text)
		case m.hides():
			if k := errs.KindOf(r.err); k != errs.Corrupt && k != errs.NotFound {
				return fmt.Errorf("%s: %w", name, r.err)
			}
		case !slices.ContainsFunc(m.keys, func(key string) bool { return names(r.err, key) }):
			return fmt.Errorf("%s: the error does not name the object: %w", name, r.err)
		}
	}
	return nil
}

// names reports whether an error names an object: by its key, or, if it has one, by the user's
// name for it.
func names(err error, key string) bool {
	if strings.Contains(err.Error(), key) {
		return true
	}
	if name, _, bad := format.ParseTagKey(key); bad == nil && strings.HasPrefix(key, "refs/tags/") {
		return strings.Contains(err.Error(), strconv.Quote(name))
	}
	return false
}

// rare runs the expensive operations: a check, a copy, a collection that removes nothing, a commit.
func (m *mutation) rare(ctx context.Context, v *victim, want map[string]reply, valid map[string]bool) error {
	env, _ := v.on(m.over)
	d, err := dataset.Open(ctx, env, victimURI, dataset.OpenOptions{Storage: reachLake()})
	if err != nil {
		return nil // ask has judged it
	}
	defer func() { _ = d.Close() }()
	vs := d.Versions()
	report, err := vs.Fsck(ctx, maintain.FsckOptions{})
	if err != nil && !slices.ContainsFunc(m.keys, func(key string) bool { return names(err, key) }) {
		return fmt.Errorf("fsck: the error does not name the object: %w", err)
	}
	if err == nil && len(report.Problems) == 0 && !m.hides() {
		for name, r := range v.askAll(ctx, m.over) {
			if r.err != nil {
				return fmt.Errorf("fsck finds nothing, and %s: %w", name, r.err)
			}
		}
	}
	if _, err := vs.GC(ctx, maintain.GCOptions{DryRun: true}); err != nil && !m.hides() && !slices.ContainsFunc(m.keys, func(key string) bool { return names(err, key) }) {
		return fmt.Errorf("gc: the error does not name the object: %w", err)
	}
	return m.copied(ctx, v, want, valid)
}

// copied copies the dataset, and checks the copy.
func (m *mutation) copied(ctx context.Context, v *victim, want map[string]reply, valid map[string]bool) error {
	env, _ := v.on(m.over)
	copies := map[string]*damagedStore{}
	stores := env.Stores["mem"]
	env.Stores = storage.Registry{"mem": func(ctx context.Context, name string, o storage.Options) (storage.Provider, error) {
		if strings.Contains(name, "victim") {
			return stores(ctx, name, o)
		}
		if copies[name] == nil {
			copies[name] = &damagedStore{over: objects{}, uri: "mem://" + name}
		}
		return copies[name], nil
	}}
	d, err := dataset.Open(ctx, env, victimURI, dataset.OpenOptions{Storage: reachLake()})
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	if _, err := d.Versions().Copy(ctx, "mem://copy", storage.Options{}, maintain.CopyOptions{}); err != nil {
		return nil
	}
	c, err := dataset.Open(ctx, env, "mem://copy", dataset.OpenOptions{Storage: reachLake()})
	if err != nil {
		return fmt.Errorf("open the copy: %w", err)
	}
	defer func() { _ = c.Close() }()
	q := &questions{env: env, out: map[string]reply{}}
	q.rows(ctx, "", c)
	return m.judge(q.out, want, valid)
}

// TestMutations changes one object of a dataset at a time, or exchanges two, and asks everything of
// it.
func TestMutations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	count, first := uint64(mutations), uint64(0)
	if testing.Short() {
		count /= 4
	}
	for name, n := range map[string]*uint64{"DEEPLAKE_MUTATIONS": &count, "DEEPLAKE_SEED": &first} {
		if s := os.Getenv(name); s != "" {
			*n = must[uint64](t)(strconv.ParseUint(s, 10, 64))
		}
	}
	v, other := newVictim(t, 0, wideNames), newVictim(t, 1000, wideNames)
	want := v.askAll(ctx, nil)
	valid := map[string]bool{}
	for name, r := range want {
		if r.err != nil {
			t.Fatalf("before any change, %s: %v", name, r.err)
		}
	}
	for n := range 12 { // rows of all versions
		for _, branch := range []string{"main", "try"} {
			env, _ := v.on(nil)
			d, err := dataset.Open(ctx, env, victimURI, dataset.OpenOptions{At: fmt.Sprintf("%s@%d", branch, n), Storage: reachLake()})
			if err != nil {
				continue
			}
			q := &questions{env: env, out: map[string]reply{}}
			q.rows(ctx, "", d)
			for _, r := range q.out {
				valid[r.rows+" "+r.text] = true
			}
			_ = d.Close()
		}
	}
	for _, r := range want {
		valid[r.rows+" "+r.text] = true
	}
	var mu sync.Mutex
	noticed, kinds := 0, map[string]int{}
	g := task.New(ctx, task.Cores())
	for seed := first; seed < first+count && !t.Failed(); seed++ {
		g.Go(func(ctx context.Context) error {
			m := mutate(v, other, seed)
			got := v.ask(ctx, m.over, int(seed%2))
			err := m.judge(got, want, valid)
			if err == nil && seed%16 == 0 {
				err = m.rare(ctx, v, want, valid)
			}
			if err != nil {
				t.Errorf("seed %d: %s: %v", seed, m.what, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range got {
				if r.err != nil {
					noticed++
					kinds[strings.SplitN(m.keys[0], "/", 2)[0]]++
					break
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d mutations are errors: %v", noticed, count, kinds)
	if noticed < int(count)/4 {
		t.Errorf("%d of %d mutations are errors: the test reads too little", noticed, count)
	}
}
