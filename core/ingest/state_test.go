package ingest

import (
	"fmt"
	"strings"
	"testing"

	"deeplake/core/errs"
)

// TestOtherOptions: a later run with options that earlier rows contradict is refused, and names
// both values.
func TestOtherOptions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, map[string][]byte{"x/a.png": picture(t, 1, "png"), "y/b.png": picture(t, 2, "png")})
	for name, c := range map[string]struct {
		was, now Options
		want     string // "": it goes on
	}{
		"same":             {Options{Compression: "jpeg", Size: 8}, Options{Compression: "jpeg", Size: 8}, ""},
		"auto keeps":       {Options{Compression: "jpeg"}, Options{}, ""},
		"what auto chose":  {Options{}, Options{Compression: "png"}, ""},
		"compression":      {Options{}, Options{Compression: "jpeg"}, "compression=png lies there, got jpeg"},
		"pixels":           {Options{Compression: "webp"}, Options{Compression: "none"}, "compression=webp lies there, got none"},
		"size":             {Options{Compression: "none", Size: 8}, Options{Compression: "none", Size: 16}, "size=8 lies there, got 16"},
		"size left out":    {Options{Compression: "none", Size: 8}, Options{}, "size=8 lies there, got 0"},
		"labels":           {Options{}, Options{Labels: "none"}, "labels=auto lies there, got none"},
		"labels were none": {Options{Labels: "none"}, Options{}, "labels=none lies there, got auto"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testEnv()
			run(t, env, "mem://d", root, c.was)
			if c.want == "" {
				if r := run(t, env, "mem://d", root, c.now); r.Unchanged != 2 {
					t.Errorf("report: %+v", r)
				}
			} else if text := fail(t, env, "mem://d", root, c.now, errs.Exists); !strings.Contains(text, c.want) {
				t.Errorf("%q is not in %q", c.want, text)
			}
		})
	}
}

// TestInterruptedAtAnyName: an import that stops at a name that is not UTF-8 goes on behind it.
func TestInterruptedAtAnyName(t *testing.T) {
	t.Parallel()
	env, lake := lakeEnv()
	for i := range 6 {
		lake.Put(fmt.Sprintf("\xc0%d.jpg", i), picture(t, i, "jpeg"))
	}
	outage := true
	lake.Fail = func(key string, _, _ int64) error {
		if outage && key >= "\xc03.jpg" {
			return errs.Op("read", key).New(errs.Storage, "the network is gone")
		}
		return nil
	}
	fail(t, env, "mem://d", "lake://b", Options{Checkpoint: 1, Workers: 1}, errs.Storage)
	outage = false
	if r := run(t, env, "mem://d", "lake://b", Options{Checkpoint: 1}); r.Resumed == 0 || r.Rows != 6 {
		t.Errorf("report: %+v", r)
	}
}
