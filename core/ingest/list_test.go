package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
)

// lines is a list on the web server h: names in the order of its lines, all with one content.
type lines struct {
	*storagetest.Lake
	names []string
}

func (l lines) URI() string { return "http://h/list.txt" }

func (l lines) Objects(_ context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	for _, name := range l.names {
		if strings.HasPrefix(name, prefix) && name > after && !fn(storage.Entry{Key: name, Size: -1}) {
			return nil
		}
	}
	return nil
}

func (l lines) CheckName(name string) error {
	if strings.HasPrefix(name, "http://other/") {
		return errs.Op("reach", name).New(errs.Denied, "it is another host")
	}
	return nil
}

// listEnv has a list of these lines at http://h/list.txt.
func listEnv(t *testing.T, names ...string) *dataset.Env {
	t.Helper()
	env, lake := lakeEnv()
	for _, name := range names {
		lake.Put(name, picture(t, len(name), "jpeg"))
	}
	env.Sources["http"] = func(context.Context, string, storage.Options) (storage.Source, error) {
		return lines{lake, names}, nil
	}
	return env
}

// TestClassesOfAList: the folder of a file is its class, for paths and URLs alike.
func TestClassesOfAList(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"cat/1.jpg": "cat", "train/cat/1.jpg": "cat", "/a/cat/1.jpg": "cat", "./cat/1.jpg": "cat", "1.jpg": "", "/1.jpg": "",
		"http://h/1.jpg": "", "https://h/a/cat/1.jpg": "cat", "http://h/cat/1.jpg?from=/dog/x": "cat", "http://h": "",
	} {
		if got := listClass(name); got != want {
			t.Errorf("%q has class %q, want %q", name, got, want)
		}
	}
	env := listEnv(t, "train/cat/1.jpg", "http://h/v/dog/2.jpg")
	r := run(t, env, "mem://d", "http://h/list.txt", Options{})
	if slices.Sort(r.Classes); r.Rows != 2 || fmt.Sprint(r.Classes) != "[cat dog]" {
		t.Errorf("report: %+v", r)
	}
}

// TestRefusedLines refuses a list for one line, before it creates or replaces a dataset.
func TestRefusedLines(t *testing.T) {
	t.Parallel()
	for line, c := range map[string]struct {
		kind errs.Kind
		want string
	}{
		"http://other/b.jpg": {errs.Denied, "--allow-links http://other"},
		"a/../b.jpg":         {errs.Invalid, `".."`}, "../b.jpg": {errs.Invalid, `".."`}, "http://h/../x/b.jpg": {errs.Invalid, `".."`},
		"http://h/b.jpg?X-Amz-Signature=s": {errs.Invalid, "presigned"},
	} {
		names := []string{"a/1.jpg"}
		for i := range 2000 {
			names = append(names, fmt.Sprintf("b/%04d.jpg", i))
		}
		env := listEnv(t, append(names, line)...)
		if text := fail(t, env, "mem://d", "http://h/list.txt", Options{}, c.kind); !strings.Contains(text, c.want) {
			t.Errorf("%q: %q is not in %q", line, c.want, text)
		}
		if there, err := dataset.Exists(context.Background(), env, "mem://d", storage.Options{}); there || err != nil {
			t.Errorf("%q: a dataset was created, %v", line, err)
		}
	}
}

// TestLinesTwice reports lines that name a file again.
func TestLinesTwice(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"b/1.jpg", "a/1.jpg", "b/1.jpg"}, {"a/1.jpg", "b/1.jpg", "b/1.jpg"}} {
		env := listEnv(t, names...)
		for range 2 {
			if r := run(t, env, "mem://d", "http://h/list.txt", Options{}); r.Rows != 2 || r.Skipped != 1 || reasons(r) != "b/1.jpg: the list names it again\n" {
				t.Errorf("report: %+v", r)
			}
		}
	}
}
