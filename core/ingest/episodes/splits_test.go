package episodes

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"deeplake/core/dataset"
)

// splitsOf returns the names of the splits of all rows.
func splitsOf(t *testing.T, env *dataset.Env) (out []string) {
	t.Helper()
	_, v := opened(t, env)
	col, err := v.Column(splitTensor)
	if err != nil {
		t.Fatal(err)
	}
	for row := range v.Len() {
		name := "-"
		if r, p := ref(t, v, splitTensor, row); !r.Hole() {
			name = col.ClassNames()[binary.LittleEndian.Uint64(append(p, 0, 0, 0, 0, 0, 0, 0))]
		}
		out = append(out, name)
	}
	return out
}

// TestSplitsOfGrowingSets: rows have their splits by name, whatever the metadata said before.
func TestSplitsOfGrowingSets(t *testing.T) {
	t.Parallel()
	type splits = map[string]any
	for name, c := range map[string]struct {
		before, after splits
		want, parts   string
		says          string
	}{
		"another order": {splits{"train": "0:2", "val": "2:4"}, splits{"val": "0:1", "train": "1:6"}, "[train train val val train train]", "[val train]",
			`3 episodes were taken in with another split: episode 0 has "train", and is in "val" now; they keep theirs`},
		"another name":               {splits{"train": "0:2", "val": "2:4"}, splits{"train": "0:2", "valid": "2:6"}, "[train train val val valid valid]", "[train valid]", "2 episodes were taken in with another split"},
		"a new one":                  {splits{"train": "0:2", "val": "2:4"}, splits{"train": "0:2", "val": "2:5", "test": "5:6"}, "[train train val val val test]", "[train val test]", ""},
		"one, then two":              {splits{"train": "0:4"}, splits{"train": "0:4", "val": "4:6"}, "[train train train train val val]", "[train val]", ""},
		"none, then two":             {splits{}, splits{"train": "1:3", "val": "4:5"}, "[- train train - val -]", "[train val]", ""},
		"two, then one":              {splits{"train": "0:2", "val": "2:4"}, splits{"train": "0:6"}, "[train train val val train train]", "[train]", "2 episodes were taken in with another split"},
		"a new one without episodes": {splits{"train": "0:2", "val": "2:4"}, splits{"train": "0:2", "val": "2:6", "test": "6:6"}, "[train train val val val val]", "[train val]", ""},
		"overlaps":                   {splits{"a": "0:3", "b": "1:4"}, splits{"a": "0:3", "b": "1:6"}, "[a a a b b b]", "[a b]", `the splits "a" and "b" both have episodes 1 to 2; their rows have`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := episodesOf("v2.1", 4)
			m.info["splits"] = c.before
			lake := m.write(t)
			env := testEnv(lake)
			good(t, env, lake, Options{})
			for _, n := range []int{6, 6} {
				m = episodesOf("v2.1", n)
				m.info["splits"] = c.after
				grown := m.write(t)
				env.Sources["lake"] = grown.Open
				r := good(t, env, grown, Options{})
				if r.Rows != 6 || r.Skipped != 0 || fmt.Sprint(r.Parts) != c.parts || !strings.Contains(said(r), c.says) || c.says == "" && r.Warned > 0 {
					t.Errorf("%+v\n%s", r, said(r))
				}
				if got := fmt.Sprint(splitsOf(t, env)); got != c.want {
					t.Errorf("splits %s, want %s", got, c.want)
				}
			}
		})
	}
}

// TestSplitsOfKnownEpisodes: splits that come later are those of rows that are there.
func TestSplitsOfKnownEpisodes(t *testing.T) {
	t.Parallel()
	m := episodesOf("v2.1", 4)
	lake := m.write(t)
	env := testEnv(lake)
	first := good(t, env, lake, Options{})
	m.info["splits"] = map[string]any{"train": "0:3", "val": "3:4"}
	lake = m.write(t)
	env.Sources["lake"] = lake.Open
	if r := good(t, env, lake, Options{}); r.Unchanged != 4 || r.Version != first.Version+1 || fmt.Sprint(r.Parts) != "[train val]" {
		t.Errorf("%+v", r)
	}
	if got := fmt.Sprint(splitsOf(t, env)); got != "[train train train val]" {
		t.Errorf("splits %s", got)
	}
	if r := good(t, env, lake, Options{}); r.Version != first.Version+1 || r.Warned != 0 {
		t.Errorf("again: %+v\n%s", r, said(r))
	}
}
