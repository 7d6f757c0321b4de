package ingest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// broken is a lake that fails from the file "5.jpg" on, or calls a function there.
type broken struct {
	*storagetest.Lake
	at func() error
}

func (b *broken) URI() string { return "new://b" }

func (b *broken) Range(ctx context.Context, key string, off, n int64, tag string) (storage.Body, error) {
	if strings.HasPrefix(key, "5") {
		if err := b.at(); err != nil {
			return nil, err
		}
	}
	return b.Lake.Range(ctx, key, off, n, tag)
}

// TestOverwriteBreaksOff: an import that overwrites and ends before its first commit leaves the old
// dataset. After a checkpoint the new one is there, and a later run continues it.
func TestOverwriteBreaksOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    Options
		at   error
		rows int // of the dataset that is there then; 1 is the old one
		says string
	}{
		{"a failure of the source", Options{}, errs.New(errs.Storage, "the cable is out"), 1, "still there"},
		{"a failure after a checkpoint", Options{Checkpoint: 2}, errs.New(errs.Storage, "the cable is out"), 4, "the cable is out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env, lake := lakeEnv()
			lake.Put("old/old.jpg", picture(t, 9, "jpeg"))
			run(t, env, "mem://d", "lake://b/old", Options{})
			was := stored(t, env, "mem://d", "images")
			source := &broken{Lake: &storagetest.Lake{}, at: func() error { return c.at }}
			for i := range 10 {
				source.Put(fmt.Sprintf("%d.jpg", i), picture(t, i, "jpeg"))
			}
			env.Sources["new"] = func(context.Context, string, storage.Options) (storage.Source, error) { return source, nil }
			o := c.o
			o.Overwrite, o.Workers = true, 1
			if text := fail(t, env, "mem://d", "new://b", o, errs.Storage); !strings.Contains(text, c.says) {
				t.Errorf("the error is %q, want %q in it", text, c.says)
			}
			now := stored(t, env, "mem://d", "images")
			if c.rows == 1 {
				if len(now) != 1 || !bytes.Equal(now[0], was[0]) {
					t.Fatalf("there are %d rows, want the old one", len(now))
				}
				if r := run(t, env, "mem://d", "lake://b/old", Options{}); r.Rows != 1 || r.Unchanged != 1 {
					t.Fatalf("an import to the old dataset says %+v", r)
				}
			} else if len(now) < 2 || len(now) > 5 {
				t.Fatalf("there are %d rows, want those of a checkpoint", len(now))
			}
			source.at = func() error { return nil }
			o.Overwrite = c.rows == 1
			if r := run(t, env, "mem://d", "new://b", o); r.Rows != 10 {
				t.Fatalf("the next import says %+v", r)
			}
			for i, got := range stored(t, env, "mem://d", "images") {
				if !bytes.Equal(got, picture(t, i, "jpeg")) {
					t.Errorf("row %d is another picture", i)
				}
			}
		})
	}
}

// TestOverwriteCanceled: an import that is canceled before its first row leaves the old dataset;
// one that has rows commits them.
func TestOverwriteCanceled(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	lake.Put("old/old.jpg", picture(t, 9, "jpeg"))
	run(t, env, "mem://d", "lake://b/old", Options{})
	source := &broken{Lake: &storagetest.Lake{}}
	for i := range 10 {
		source.Put(fmt.Sprintf("%d.jpg", i), picture(t, i, "jpeg"))
	}
	env.Sources["new"] = func(context.Context, string, storage.Options) (storage.Source, error) { return source, nil }
	var j *Job
	started := make(chan struct{})
	source.at = func() error {
		<-started
		j.Cancel()
		return nil
	}
	j, err := Start(env, "mem://d", "new://b", Options{Overwrite: true, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	close(started)
	defer j.Close()
	r, err := j.Wait(context.Background())
	if !errs.Is(err, errs.Canceled) {
		t.Fatalf("wait = %v", err)
	}
	d, err := dataset.Open(context.Background(), env, "mem://d", dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	desc, err := d.Describe()
	if err != nil {
		t.Fatal(err)
	}
	got := stored(t, env, "mem://d", "images")
	if r == nil { // nothing was written when it ended
		if len(got) != 1 || !bytes.Equal(got[0], picture(t, 9, "jpeg")) {
			t.Fatalf("there are %d rows, want the old one", len(got))
		}
	} else if desc.Rows != r.Rows || len(got) == 0 || !bytes.Equal(got[0], picture(t, 0, "jpeg")) {
		t.Fatalf("there are %d rows, the report says %+v", desc.Rows, r)
	}
}
