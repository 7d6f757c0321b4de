package server

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/session"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
	"deeplake/core/viz"
)

// fixture is a server of a dataset of three rows, and a client with its token.
type fixture struct {
	*Server
	t     *testing.T
	token string
}

// serve starts a server.
func serve(t *testing.T, o Options) *fixture {
	t.Helper()
	env := &dataset.Env{Stores: storage.Registry{"mem": (&mem.Space{}).Open}, Codecs: all.All(), Writer: "test"}
	ds, err := dataset.Create(t.Context(), env, "mem://served", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return show(t, o, env, ds)
}

// show starts a server of a dataset, and takes it over.
func show(t *testing.T, o Options, env *dataset.Env, ds *dataset.Dataset) *fixture {
	t.Helper()
	v, err := ds.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Options = viz.Options{Session: session.New(env), Codecs: all.All(), Dataset: ds, View: session.NewView(v), Videos: o.Videos}
	o.Page = newPage(t)
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		o.View.Close()
		_ = ds.Close()
	})
	f := &fixture{Server: s, t: t}
	var in struct{ Token string }
	f.call("enter", map[string]string{"key": f.Key()}, &in)
	f.token = in.Token
	return f
}

func newPage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"index.html": "<!doctype html><title>page</title>", "assets/app-1.js": "export {}"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// request sends a request and returns its answer.
func (f *fixture) request(method, path, body string, header http.Header) (*http.Response, []byte) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, "http://"+f.Address()+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if f.token != "" {
		r.Header.Set("Authorization", "Bearer "+f.token)
	}
	for name, values := range header {
		r.Header[name] = values
		if name == "Host" {
			r.Host = values[0]
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return response, data
}

// post calls a function of the API and returns its answer.
func (f *fixture) post(name string, body any) (int, []byte) {
	f.t.Helper()
	in, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	response, data := f.request("POST", "/api/"+name, string(in), nil)
	return response.StatusCode, data
}

// call reads the answer of a function that succeeds.
func (f *fixture) call(name string, body, into any) {
	f.t.Helper()
	status, data := f.post(name, body)
	if status != http.StatusOK {
		f.t.Fatalf("%s %v: %d %s", name, body, status, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		f.t.Fatalf("%s: %v in %s", name, err, data)
	}
}

// refused reads the answer of a function that fails.
func (f *fixture) refused(name string, body any) (int, why) {
	f.t.Helper()
	status, data := f.post(name, body)
	var answer struct{ Error why }
	if err := json.Unmarshal(data, &answer); err != nil || status == http.StatusOK {
		f.t.Fatalf("%s %v: %d %s", name, body, status, data)
	}
	return status, answer.Error
}

// why is the error of an answer.
type why struct{ Kind, Message string }
