package tests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	stores "deeplake/core/storage/all"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
	"deeplake/go/tests/faultproxy"
	"deeplake/go/tests/objectstore"
)

// A child process does a session of everything that writes, in a bucket, and is killed when its
// request number n is there: once before the request is done, once after it. The dataset must be in
// the state after the last call that returned, or after the next one.

// The test binary is the child where the first of these is set.
const (
	sessionURI      = "DEEPLAKE_TEST_SESSION_URI"
	sessionEndpoint = "DEEPLAKE_TEST_SESSION_ENDPOINT"
	sessionKey      = "DEEPLAKE_TEST_SESSION_KEY"
	sessionSecret   = "DEEPLAKE_TEST_SESSION_SECRET"
)

// scripted is a session: one dataset, call by call.
type scripted struct {
	*stand
	d *dataset.Dataset
}

// commit appends rows to main or a branch.
func (s *scripted) commit(ctx context.Context, d *dataset.Dataset, message string, labels ...int64) error {
	if err := extend(ctx, d, labels...); err != nil {
		return err
	}
	_, err := d.Commit(ctx, message)
	return err
}

func (s *scripted) copyURI() string { return s.uri + "-copy" }

// steps are the calls. Each changes what remains looks at once, or not at all.
func (s *scripted) steps() []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) (err error) {
			env, o := s.program()
			s.d, err = dataset.Create(ctx, env, s.uri, dataset.CreateOptions{Storage: o})
			return err
		},
		func(ctx context.Context) error { return labelSchema(ctx, s.d) },
		func(ctx context.Context) error { return s.commit(ctx, s.d, "a", 0, 1, 2, 3, 4) },
		func(ctx context.Context) error { return s.commit(ctx, s.d, "b", 5, 6, 7, 8, 9) },
		func(ctx context.Context) error { return s.d.Versions().CreateBranch(ctx, "side", "") },
		func(ctx context.Context) error {
			side, err := s.open(ctx, "side")
			if err != nil {
				return err
			}
			return errors.Join(s.commit(ctx, side, "c", 100, 101, 102), side.Close())
		},
		func(ctx context.Context) error { return s.commit(ctx, s.d, "d", 10, 11) },
		func(ctx context.Context) error {
			_, _, err := s.d.Merge(ctx, "side", version.OnConflictError, "merge")
			return err
		},
		func(ctx context.Context) error {
			_, err := s.d.Rechunk(ctx, dataset.RechunkOptions{All: true})
			return err
		},
		func(ctx context.Context) error {
			_, err := s.d.Versions().CreateTag(ctx, "tag", "", "")
			return err
		},
		func(ctx context.Context) error {
			err := s.d.Update(ctx, []int64{1}, labelled(1000))
			if err == nil {
				err = s.d.DeleteRows(ctx, []int64{0})
			}
			if err == nil {
				_, err = s.d.Commit(ctx, "update and delete")
			}
			return err
		},
		func(ctx context.Context) error {
			_, _, err := s.d.Versions().Revert(ctx, "main", version.OnConflictError, "revert")
			return err
		},
		func(ctx context.Context) error {
			_, _, err := s.d.Versions().Restore(ctx, "7", "restore")
			return err
		},
		func(ctx context.Context) error { return s.d.Versions().DeleteBranch(ctx, "side") },
		func(ctx context.Context) error {
			_, err := s.d.Versions().GC(ctx, maintain.GCOptions{})
			return err
		},
		func(ctx context.Context) error {
			env, o := s.program()
			way := dataset.OpenOptions{Storage: o}
			_, err := dataset.Copy(ctx, env, s.uri, s.copyURI(), dataset.CopyOptions{CopyOptions: maintain.CopyOptions{History: true}, From: way, To: way})
			return err
		},
		func(ctx context.Context) error { return s.commit(ctx, s.d, "e", 12) },
	}
}

// remains is all that can be seen of the dataset, as text.
func (s *scripted) remains(ctx context.Context) (string, error) {
	env, o := s.program()
	var b strings.Builder
	for _, uri := range []string{s.uri, s.copyURI()} {
		d, err := dataset.Open(ctx, env, uri, dataset.OpenOptions{Storage: o})
		if errs.Is(err, errs.NotFound) {
			b.WriteString("no dataset\n")
			continue
		}
		if err != nil {
			return "", err
		}
		err = seen(ctx, d, &b)
		if err = errors.Join(err, d.Close()); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// seen describes every branch and tag with all its versions, and the rows of each.
func seen(ctx context.Context, d *dataset.Dataset, b *strings.Builder) error {
	branches, err := d.Versions().Branches(ctx)
	if err != nil {
		return err
	}
	tags, err := d.Versions().Tags(ctx)
	if err != nil {
		return err
	}
	for _, branch := range branches {
		if err := rowsAt(ctx, d, branch.Name, b); err != nil {
			return err
		}
	}
	for _, tag := range tags {
		if err := rowsAt(ctx, d, tag.Name, b); err != nil {
			return err
		}
	}
	return nil
}

func rowsAt(ctx context.Context, d *dataset.Dataset, ref string, b *strings.Builder) error {
	at, err := d.At(ctx, ref)
	if err != nil {
		return err
	}
	defer func() { _ = at.Close() }()
	log, err := at.Log(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s:", ref)
	for _, c := range log {
		fmt.Fprintf(b, " %d %q (%d rows)", c.Version, c.Message, c.Rows)
	}
	if log[0].Rows > 0 {
		labels, err := labelsOf(ctx, at)
		if err != nil {
			return err
		}
		fmt.Fprint(b, labels)
	}
	b.WriteString("\n")
	return nil
}

// sessionChild is the life of the child: it says "n" when step n has returned.
func sessionChild(ctx context.Context, uri string) error {
	s := &scripted{stand: &stand{uri: uri, program: func() (*dataset.Env, storage.Options) {
		registry, sources := stores.New()
		return &dataset.Env{Stores: registry, Sources: sources, Codecs: all.All(), Writer: "test", Author: func() string { return "tester" }}, storage.Options{
			Environ: map[string]string{},
			Settings: storage.Settings{
				Endpoint: os.Getenv(sessionEndpoint), Region: "us-east-1",
				AccessKeyID: os.Getenv(sessionKey), SecretAccessKey: storage.Secret(os.Getenv(sessionSecret)),
			},
		}
	}}}
	for i, step := range s.steps() {
		if err := step(ctx); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if _, err := fmt.Println("said", i); err != nil {
			return err
		}
	}
	return nil
}

// TestKilledAtEveryRequest kills at some of the requests, drawn again each time;
// DEEPLAKE_KILL_POINTS says at how many.
func TestKilledAtEveryRequest(t *testing.T) {
	if uri := os.Getenv(sessionURI); uri != "" {
		if err := sessionChild(context.Background(), uri); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	want := sessionStates(t)
	k := lakeKinds()[0]
	server := k.server(t)

	// Without a fault, to count requests.
	s, p := newSession(t, k, server)
	if said, alive := runSession(t, self, server, s, p, nil); said != len(want)-2 || !alive {
		t.Fatalf("the session ended after step %d", said)
	}
	requests := int(p.Counts().Requests)
	points := min(figure("DEEPLAKE_KILL_POINTS", 10), requests)
	seed := uint64(time.Now().UnixNano())
	at := rand.New(rand.NewPCG(seed, 0)).Perm(requests)[:points]
	slices.Sort(at)
	t.Logf("%d requests; killed at %v", requests, at)
	for _, n := range at {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("request %d done %v", n, done), func(t *testing.T) {
				t.Parallel()
				alive := killSession(t, self, k, server, n, done, want)
				if alive && n < requests-30 { // how many there are varies a little
					t.Error("nobody killed the child")
				}
			})
		}
	}
}

// sessionStates returns the remains after each step, from none on, on a store without faults.
func sessionStates(t *testing.T) []string {
	t.Helper()
	s := &scripted{stand: localStand(t, "memory")}
	states := []string{"no dataset\nno dataset\n"}
	for i, step := range s.steps() {
		if err := step(t.Context()); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		state, err := s.remains(t.Context())
		if err != nil {
			t.Fatalf("after step %d: %v", i, err)
		}
		states = append(states, state)
	}
	if last := states[len(states)-1]; !strings.Contains(last, "[1000 2 3 4 5 6 7 8 9 10 11 100 101 102 12]") {
		t.Fatalf("the session ends as\n%s", last)
	}
	return states
}

// newSession is a new bucket, behind a proxy of its own.
func newSession(t *testing.T, k lakeKind, server *objectstore.Server) (*scripted, *faultproxy.Proxy) {
	t.Helper()
	p := proxied(t, k, server)
	return &scripted{stand: bucketStand(t, k, nil)}, p
}

// runSession runs the child until it ends, or until kill is closed. It gives the last step that
// returned.
func runSession(t *testing.T, self string, server *objectstore.Server, s *scripted, p *faultproxy.Proxy, kill <-chan struct{}) (said int, alive bool) {
	t.Helper()
	child := exec.Command(self, "-test.run=^TestKilledAtEveryRequest$")
	child.Env = append(os.Environ(), sessionURI+"="+s.uri, sessionEndpoint+"="+p.URL, sessionKey+"="+server.AccessKey, sessionSecret+"="+server.SecretKey)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-kill:
			_ = child.Process.Kill()
		case <-ended:
		}
	}()
	said = -1
	var text []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		text = append(text, lines.Text())
		if step, ok := strings.CutPrefix(lines.Text(), "said "); ok {
			if said, err = strconv.Atoi(step); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = child.Wait()
	close(ended)
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return said, false
	}
	if err != nil {
		t.Fatalf("the child failed: %v: %s", err, text)
	}
	return said, true
}

// killSession kills one session at request n and checks the remains; then goes on with it.
// alive: it had ended before.
func killSession(t *testing.T, self string, k lakeKind, server *objectstore.Server, n int, done bool, want []string) (alive bool) {
	t.Helper()
	ctx := t.Context()
	s, p := newSession(t, k, server)
	never := faultproxy.Delay(time.Hour, 0)
	if done {
		p.SetRules(t, faultproxy.Rule{Skip: n, Times: 1, Do: faultproxy.LoseAnswer()}, faultproxy.Rule{Skip: n + 1, Do: never})
	} else {
		p.SetRules(t, faultproxy.Rule{Skip: n + 1<<30, Do: never}, faultproxy.Rule{Skip: n, Do: never})
	}
	said, alive := runSession(t, self, server, s, p, p.Struck(1))
	p.Close() // requests in flight are over
	got, err := s.remains(ctx)
	if err != nil {
		t.Fatalf("after step %d: %v", said, err)
	}
	switch {
	case alive && said != len(want)-2:
		t.Fatalf("the child left after step %d", said)
	case got != want[said+1] && (said+2 >= len(want) || got != want[said+2]):
		t.Fatalf("after step %d there is\n%swant\n%sor, if the next step was made,\n%s", said, got, want[said+1], want[min(said+2, len(want)-1)])
	case strings.HasPrefix(got, "no dataset\n"):
		return alive
	}
	checkWhole(t, s.stand, false)
	s.goOn(t, got)
	return alive
}

// goOn works on the dataset of a killed session: gc finds the objects that no commit names, and the
// next commit is as any other.
func (s *scripted) goOn(t *testing.T, before string) {
	t.Helper()
	ctx := t.Context()
	d := s.mustOpen(t, "")
	if _, err := d.Versions().GC(ctx, maintain.GCOptions{}); err != nil {
		t.Fatalf("gc: %v", err)
	}
	if after, err := s.remains(ctx); err != nil || after != before {
		t.Fatalf("gc makes of\n%s\nthis: %s %v", before, after, err)
	}
	if v, err := d.View(ctx); err != nil || len(v.Names()) == 0 {
		return // there is no tensor yet
	}
	rows, err := labelsOf(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.commit(ctx, d, "after the kill", 7777); err != nil {
		t.Fatal(err)
	}
	if got, err := labelsOf(ctx, d); err != nil || !slices.Equal(got, append(rows, 7777)) {
		t.Fatalf("after another commit the rows are %v: %v", got, err)
	}
	checkWhole(t, s.stand, true)
}
