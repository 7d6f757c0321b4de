package ingest

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
)

// TestCutFiles: cut JPEG files are left out, or stored as they are and counted. Other damage, and
// files that have to be decoded, are left out in both cases.
func TestCutFiles(t *testing.T) {
	t.Parallel()
	whole, other, png := picture(t, 1, "jpeg"), picture(t, 2, "jpeg"), picture(t, 3, "png")
	cut := whole[:len(whole)*3/4]
	header := other[:bytes.Index(other, []byte{0xff, 0xda})]
	for name, c := range map[string]struct {
		o                       Options
		rows, accepted, skipped int64
	}{
		"by default": {Options{}, 2, 0, 3},
		"skip":       {Options{OnError: "skip"}, 2, 0, 3},
		"accept":     {Options{OnError: "accept"}, 3, 1, 2},
		"pixels":     {Options{OnError: "accept", Compression: "none"}, 2, 0, 3},
		"size":       {Options{OnError: "accept", Size: 8}, 2, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, root := testEnv(), t.TempDir()
			write(t, root, map[string][]byte{"in/1.jpg": other, "in/2.jpg": cut, "in/3.jpg": whole, "in/4.jpg": header, "in/5.png": png[:len(png)/2]})
			r := run(t, env, "mem://d", root, c.o)
			if r.Rows != c.rows || r.Accepted != c.accepted || r.Skipped != c.skipped {
				t.Fatalf("%d rows, %d accepted, %d skipped, want %d, %d, %d\n%s", r.Rows, r.Accepted, r.Skipped, c.rows, c.accepted, c.skipped, reasons(r))
			}
			if c.accepted > 0 {
				if got := stored(t, env, "mem://d", "images"); !bytes.Equal(got[1], cut) {
					t.Errorf("the cut file is not stored byte for byte: %d bytes, want %d", len(got[1]), len(cut))
				}
				return
			}
			if !strings.Contains(reasons(r), "2.jpg") {
				t.Errorf("skipped:\n%s", reasons(r))
			}
		})
	}
	// A repeated import takes in the files that the first has left out.
	env, root := testEnv(), t.TempDir()
	write(t, root, map[string][]byte{"in/1.jpg": other, "in/2.jpg": cut})
	if r := run(t, env, "mem://d", root, Options{}); r.Rows != 1 {
		t.Fatalf("%d rows, want 1", r.Rows)
	}
	if r := run(t, env, "mem://d", root, Options{OnError: "accept"}); r.Rows != 2 || r.Accepted != 1 || r.Unchanged != 1 {
		t.Fatalf("again: %+v", r)
	}
	if err := (Options{OnError: "rise"}).check("x", env.Codecs); err == nil || !strings.Contains(err.Error(), "on_error") {
		t.Errorf("on_error rise: %v", err)
	}
}

// TestRaise refuses a source with a file that is left out otherwise. Files that have no name of a
// picture are none.
func TestRaise(t *testing.T) {
	t.Parallel()
	env, root, ctx := testEnv(), t.TempDir(), context.Background()
	good := picture(t, 1, "jpeg")
	write(t, root, map[string][]byte{"in/1.jpg": good, "in/2.jpg": good[:40], "in/notes.txt": []byte("x")})
	j, err := Start(env, "mem://raised", root, Options{OnError: Raise, Once: true})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Wait(ctx); !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "2.jpg") {
		t.Errorf("a cut file: %v", err)
	}
	if _, err := dataset.Open(ctx, env, "mem://raised", dataset.OpenOptions{}); !errs.Is(err, errs.NotFound) {
		t.Errorf("the dataset of it: %v", err)
	}
	write(t, root, map[string][]byte{"in/2.jpg": good})
	if r := run(t, env, "mem://raised", root, Options{OnError: Raise, Once: true}); r.Rows != 2 || r.Skipped != 1 {
		t.Errorf("whole files: %+v", r)
	}
}
