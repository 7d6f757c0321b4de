package tests

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/storage"
	stores "deeplake/core/storage/all"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/go/tests/faultproxy"
)

// Many writers on one branch of one dataset, in every kind of store. Each row has a label that is
// given once, and a text that says the same, so that a row that is lost, doubled or torn is seen.

// stand is where a dataset is, and how a program of its own reaches it.
type stand struct {
	name string
	uri  string
	// program gives what one more program has: its own connections, limits and caches.
	program func() (*dataset.Env, storage.Options)
}

// localStand is a new place in memory or on disk.
func localStand(t *testing.T, name string) *stand {
	t.Helper()
	space := &mem.Space{}
	s := &stand{name: name, uri: "mem://set", program: func() (*dataset.Env, storage.Options) {
		registry, sources := stores.New()
		registry["mem"] = space.Open // what programs of one process share
		return &dataset.Env{Stores: registry, Sources: sources, Codecs: all.All(), Writer: "test", Author: func() string { return "tester" }}, storage.Options{}
	}}
	if name == "local" {
		s.uri = t.TempDir() + "/set"
	}
	return s
}

// bucketStand is a new bucket of a real server, reached through p where it is not nil.
func bucketStand(t *testing.T, k lakeKind, p *faultproxy.Proxy) *stand {
	t.Helper()
	server := k.server(t)
	return &stand{name: k.name, uri: server.URI(server.NewBucket(t), "set"), program: func() (*dataset.Env, storage.Options) {
		registry, sources := stores.New()
		o := storage.Options{Settings: server.Settings(), Environ: map[string]string{}}
		if p != nil {
			o.Settings.Endpoint = p.URL
		}
		return &dataset.Env{Stores: registry, Sources: sources, Codecs: all.All(), Writer: "test", Author: func() string { return "tester" }}, o
	}}
}

// direct is s without the proxy.
func (s *stand) direct(t *testing.T, k lakeKind) *stand {
	t.Helper()
	out := bucketStand(t, k, nil)
	out.uri = s.uri
	return out
}

// everyStand runs a test for each kind of store.
func everyStand(t *testing.T, test func(t *testing.T, s *stand)) {
	for _, name := range []string{"memory", "local"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, localStand(t, name))
		})
	}
	for _, k := range lakeKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			test(t, bucketStand(t, k, nil))
		})
	}
}

// open opens the dataset as a program of its own.
func (s *stand) open(ctx context.Context, branch string) (*dataset.Dataset, error) {
	env, o := s.program()
	return dataset.Open(ctx, env, s.uri, dataset.OpenOptions{Branch: branch, Storage: o})
}

// mustOpen is open for the test's own goroutine; it closes the dataset at the end.
func (s *stand) mustOpen(t *testing.T, branch string) *dataset.Dataset {
	t.Helper()
	d, err := s.open(t.Context(), branch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// provider opens the store itself.
func (s *stand) provider(t *testing.T) storage.Provider {
	t.Helper()
	env, o := s.program()
	o.Create = true
	p, err := env.Stores.Open(t.Context(), s.uri, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// create makes the dataset: a label and a text for each row, in small chunks.
func (s *stand) create(ctx context.Context) error {
	env, o := s.program()
	d, err := dataset.Create(ctx, env, s.uri, dataset.CreateOptions{Storage: o})
	if err != nil {
		return err
	}
	return errors.Join(labelSchema(ctx, d), d.Close())
}

func labelSchema(ctx context.Context, d *dataset.Dataset) error {
	for _, spec := range []dataset.TensorSpec{{Name: "label", DType: "int64"}, {Name: "text", HType: "text", ChunkBytes: 8192}} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			return err
		}
	}
	_, err := d.Commit(ctx, "schema")
	return err
}

// labelled are rows of the given labels.
func labelled(labels ...int64) []tensor.Rows {
	numbers := &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}}
	texts := tensor.Rows{Tensor: "text"}
	for _, label := range labels {
		numbers.Data = binary.LittleEndian.AppendUint64(numbers.Data, uint64(label))
		texts.Samples = append(texts.Samples, tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: labelText(label)})
	}
	return []tensor.Rows{{Tensor: "label", Array: numbers}, texts}
}

func labelText(label int64) []byte { return bytes.Repeat(fmt.Appendf(nil, "<%d>", label), 50) }

// extend appends rows of the given labels.
func extend(ctx context.Context, d *dataset.Dataset, labels ...int64) error {
	return d.Append(ctx, labelled(labels...), int64(len(labels)))
}

// labelsOf reads the labels of all rows, and holds each text against its label.
func labelsOf(ctx context.Context, d *dataset.Dataset) ([]int64, error) {
	v, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	numbers, err := samplesOf(ctx, v, "label")
	if err != nil {
		return nil, err
	}
	texts, err := samplesOf(ctx, v, "text")
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(numbers))
	for i, number := range numbers {
		out[i] = int64(binary.LittleEndian.Uint64(number))
		if !bytes.Equal(texts[i], labelText(out[i])) {
			return nil, fmt.Errorf("row %d has the label %d and the text %q", i, out[i], texts[i])
		}
	}
	return out, nil
}

func samplesOf(ctx context.Context, v *dataset.View, name string) ([][]byte, error) {
	col, err := v.Column(name)
	if err != nil {
		return nil, err
	}
	rows := make([]int64, v.Len())
	for i := range rows {
		rows[i] = int64(i)
	}
	refs, out := make([]chunk.Ref, len(rows)), make([][]byte, len(rows))
	if err := col.Resolve(ctx, rows, refs); err != nil {
		return nil, err
	}
	w := v.NewWorker()
	defer w.Close()
	for i := range refs {
		if refs[i].Hole() {
			return nil, fmt.Errorf("row %d of %q is a hole", i, name)
		}
		out[i] = make([]byte, refs[i].Size)
		if err := col.Decode(ctx, &refs[i], out[i], w); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// figure is a number that the environment may widen.
func figure(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

const (
	writers      = 24
	rowsOfCommit = 2
	labelsEach   = 1_000_000 // labels of writer w begin at w*labelsEach
)

// made is one commit as its writer was told of it.
type made struct {
	version.Committed
	labels []int64
}

// crowd lets 24 programs commit to one branch as fast as they can, each in its own handle, and
// gives what each was told. After an error of the store a writer commits again, as the error says.
func crowd(ctx context.Context, s *stand, commits int) (told [][]made, again int64, err error) {
	told = make([][]made, writers)
	failures := make([]error, writers)
	var repeated atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { failures[w] = oneOfCrowd(ctx, s, w, commits, &told[w], &repeated) })
	}
	wg.Wait()
	return told, repeated.Load(), errors.Join(failures...)
}

func oneOfCrowd(ctx context.Context, s *stand, w, commits int, told *[]made, repeated *atomic.Int64) error {
	d, err := s.open(ctx, "")
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	for c := range commits {
		m := made{}
		for i := range rowsOfCommit {
			m.labels = append(m.labels, int64(w*labelsEach+c*rowsOfCommit+i))
		}
		if err := extend(ctx, d, m.labels...); err != nil {
			return fmt.Errorf("writer %d: %w", w, err)
		}
		for try := 0; ; try++ {
			m.Committed, err = d.Commit(ctx, fmt.Sprintf("writer %d commit %d", w, c))
			if err == nil {
				break
			}
			if !errs.Is(err, errs.Storage) || try == 9 {
				return fmt.Errorf("writer %d: %w", w, err)
			}
			repeated.Add(1)
		}
		*told = append(*told, m)
	}
	return nil
}

// checkCrowd opens the dataset as three programs do, and holds what each sees against what the
// writers were told: every commit once, at its number, the numbers without gaps, the rows in the
// order of the commits.
func checkCrowd(t *testing.T, s *stand, told [][]made) {
	t.Helper()
	byVersion := map[uint64]made{}
	for _, own := range told {
		for i, m := range own {
			if other, taken := byVersion[m.Version]; taken {
				t.Errorf("version %d was won twice: %q and %q", m.Version, other.Message, m.Message)
			}
			byVersion[m.Version] = m
			if i > 0 && m.Version <= own[i-1].Version {
				t.Errorf("%q is version %d, behind version %d of the same writer", m.Message, m.Version, own[i-1].Version)
			}
		}
	}
	for reader := range 3 {
		d := s.mustOpen(t, "")
		log, err := d.Log(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(log) != len(byVersion)+2 { // the creation and the schema
			t.Fatalf("reader %d: %d commits, want %d", reader, len(log), len(byVersion)+2)
		}
		slices.Reverse(log)
		var want []int64
		for i, c := range log {
			if c.Version != uint64(i) {
				t.Fatalf("reader %d: version %d at place %d", reader, c.Version, i)
			}
			if i < 2 {
				continue
			}
			m, ok := byVersion[c.Version]
			if !ok || m.Commit != c.Commit || m.Message != c.Message {
				t.Errorf("reader %d: version %d is %s %q, its writer was told %s %q", reader, i, c.Commit, c.Message, m.Commit, m.Message)
			}
			want = append(want, m.labels...)
			if c.Rows != int64(len(want)) {
				t.Errorf("reader %d: version %d has %d rows, want %d", reader, i, c.Rows, len(want))
			}
		}
		got, err := labelsOf(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("reader %d: the rows are not those of the commits in their order", reader)
		}
	}
	checkWhole(t, s, false)
}

// checkWhole wants a dataset without damage; clean: without anything that no commit names, too.
func checkWhole(t *testing.T, s *stand, clean bool) {
	t.Helper()
	report, err := s.mustOpen(t, "").Versions().Fsck(t.Context(), maintain.FsckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Problems) > 0 {
		t.Errorf("fsck: %+v", report.Problems)
	}
	if clean && report.Orphans > 0 {
		t.Errorf("fsck: %d objects that no commit names", report.Orphans)
	}
}

// watch refreshes a reader until stop is closed. The labels must only ever grow at their end.
func watch(ctx context.Context, s *stand, stop <-chan struct{}) (looks int, err error) {
	d, err := s.open(ctx, "")
	if err != nil {
		return 0, err
	}
	defer func() { _ = d.Close() }()
	var before []int64
	look := time.NewTicker(50 * time.Millisecond) // writers are to have the machine
	defer look.Stop()
	for {
		select {
		case <-stop:
			return looks, nil
		case <-look.C:
		}
		if err := d.Refresh(ctx); err != nil {
			return looks, err
		}
		now, err := labelsOf(ctx, d)
		if err != nil {
			return looks, err
		}
		if len(now)%rowsOfCommit != 0 || len(now) < len(before) || !slices.Equal(now[:len(before)], before) {
			return looks, fmt.Errorf("a reader saw %d rows, then %d that do not begin so, or half a commit", len(before), len(now))
		}
		before = now
		looks++
	}
}

// TestWriters: 24 writers on one branch, beside a reader that follows them.
func TestWriters(t *testing.T) {
	t.Parallel()
	everyStand(t, func(t *testing.T, s *stand) {
		if err := s.create(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		var looks int
		var watched error
		var wg sync.WaitGroup
		wg.Go(func() { looks, watched = watch(t.Context(), s, stop) })
		began := time.Now()
		told, again, err := crowd(t.Context(), s, figure("DEEPLAKE_WRITER_COMMITS", 2))
		took := time.Since(began)
		close(stop)
		wg.Wait()
		if err := errors.Join(err, watched); err != nil {
			t.Fatal(err)
		}
		if again > 0 {
			t.Errorf("%d commits failed without a fault", again)
		}
		n := writers * len(told[0])
		t.Logf("%d commits of %d writers in %v: %.1f commits/s; the reader looked %d times", n, writers, took.Round(time.Millisecond), float64(n)/took.Seconds(), looks)
		checkCrowd(t, s, told)
	})
}

// TestWritersInAStorm: the same through a network in which one request in ten goes wrong, answers
// of commits get lost, and the store says that others are at it.
func TestWritersInAStorm(t *testing.T) {
	t.Parallel()
	for _, k := range lakeKinds() {
		if testing.Short() && k.name != "s3" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			rules := append(storm(),
				faultproxy.Rule{Name: "others", Method: "PUT,POST", Path: "log", P: 0.1, Do: faultproxy.Answer(409, "ConditionalRequestConflict", 0)},
				faultproxy.Rule{Name: "there", Method: "PUT,POST", Path: "log", P: 0.1, Do: faultproxy.Answer(412, "PreconditionFailed", 0)},
				faultproxy.Rule{Name: "lost commit", Method: "PUT,POST", Path: "log", P: 0.1, Do: faultproxy.LoseAnswer()},
			)
			p := proxied(t, k, k.server(t), rules...)
			s := bucketStand(t, k, p)
			calm := s.direct(t, k)
			if err := calm.create(t.Context()); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			told, again, err := crowd(t.Context(), s, figure("DEEPLAKE_WRITER_COMMITS", 2))
			if err != nil {
				t.Fatal(err)
			}
			c := p.Counts()
			t.Logf("%d commits in %v, %d requests, %d faults, %d commits given up and made again", writers*len(told[0]), time.Since(began).Round(time.Millisecond), c.Requests, c.Faults, again)
			if c.Faults == 0 {
				t.Error("no fault happened")
			}
			checkCrowd(t, calm, told)
		})
	}
}

// TestRaces: 24 writers want one version number, over and over. One gets it, and all read the same
// record.
func TestRaces(t *testing.T) {
	t.Parallel()
	everyStand(t, func(t *testing.T, s *stand) {
		racers := make([]storage.Provider, writers)
		for i := range racers {
			racers[i] = s.provider(t)
		}
		branch := format.NewUUID()
		rounds := figure("DEEPLAKE_RACES", 60)
		began := time.Now()
		for round := range rounds {
			if err := race(t.Context(), racers, format.RecordKey(branch, uint64(round))); err != nil {
				t.Fatalf("race %d: %v", round, err)
			}
		}
		t.Logf("%d races of %d writers, one winner each, %v a race", rounds, writers, (time.Since(began) / time.Duration(rounds)).Round(10*time.Microsecond))
		n := 0
		if err := racers[0].List(t.Context(), format.RecordPrefix(branch), "", func(storage.Object) bool { n++; return true }); err != nil || n != rounds {
			t.Errorf("%d records after %d races: %v", n, rounds, err)
		}
	})
}

// race lets all racers put their own record under one key at once.
func race(ctx context.Context, racers []storage.Provider, key string) error {
	answers := make([]error, len(racers))
	records := make([][]byte, len(racers))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i, p := range racers {
		// of several sizes
		records[i] = []byte(strings.Repeat(fmt.Sprintf("%s by writer %d\n", key, i), 1+i%3))
		wg.Go(func() {
			<-start
			answers[i] = p.PutIfAbsent(ctx, key, records[i])
		})
	}
	close(start)
	wg.Wait()
	winner := -1
	for i, err := range answers {
		switch {
		case err == nil && winner >= 0:
			return fmt.Errorf("writers %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !errs.Is(err, errs.Exists):
			return err
		}
	}
	if winner < 0 {
		return errors.New("nobody won")
	}
	for _, p := range []storage.Provider{racers[0], racers[len(racers)-1]} {
		if got, err := p.Get(ctx, key); err != nil || !bytes.Equal(got, records[winner]) {
			return fmt.Errorf("writer %d won, the record says %q (%w)", winner, got, err)
		}
	}
	return nil
}
