package dataset_test

import (
	"slices"
	"testing"

	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/core/storage/mem"
)

func TestList(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		keys, want []string
	}{
		"nothing":         {nil, []string{}},
		"one":             {[]string{"a/tsf.json", "a/data/x/1", "a/refs/heads/main.0"}, []string{"a"}},
		"objects beside":  {[]string{"0", "a/tsf.json", "b", "c/tsf.json", "z"}, []string{"a", "c"}},
		"other folders":   {[]string{"a/x", "b/c/tsf.json", "d/tsf.json"}, []string{"d"}},
		"similar names":   {[]string{"a/tsf.json", "a-b/tsf.json", "a.b/tsf.json", "a0/tsf.json", "ab/tsf.json"}, []string{"a-b", "a.b", "a", "a0", "ab"}},
		"this is one too": {[]string{"tsf.json", "data/x/1"}, []string{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := &dataset.Env{Stores: storage.Registry{"mem": new(mem.Space).Open}}
			store, err := env.Stores.Open(t.Context(), "mem://root", storage.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			for _, key := range c.keys {
				if err := store.Put(t.Context(), key, nil); err != nil {
					t.Fatal(err)
				}
			}
			got, err := dataset.List(t.Context(), env, "mem://root", storage.Options{})
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q: %v", got, c.want, err)
			}
		})
	}
	env := &dataset.Env{Stores: storage.Registry{"mem": new(mem.Space).Open}}
	if _, err := dataset.List(t.Context(), env, "mem://none", storage.Options{}); !errs.Is(err, errs.NotFound) {
		t.Errorf("list of a place that is not there: %v", err)
	}
}
