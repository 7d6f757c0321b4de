package main

import (
	"encoding/json"
	"maps"
	"slices"

	"deeplake/core/storage"
)

// reaching are the options of every call that opens a store: the user's settings and environment.
// The library cannot see later changes of the environment by itself. Settings stay text until they
// are read, so that an error names the setting.
type reaching struct {
	Storage json.RawMessage            `json:"storage"`
	Links   map[string]json.RawMessage `json:"link_storage"` // by prefix; null refuses
	// places that the user has named; see storage.Options
	Named   []string          `json:"named"`
	Environ map[string]string `json:"environ"`
}

// options reads the settings of the store. Errors show no value: it may be a secret.
func (r reaching) options() (storage.Options, error) {
	o := storage.Options{Environ: r.Environ, Named: r.Named}
	if err := parse("storage settings", string(r.Storage), &o.Settings); err != nil {
		return o, err
	}
	for _, prefix := range slices.Sorted(maps.Keys(r.Links)) {
		rule := storage.LinkRule{Prefix: prefix}
		if text := string(r.Links[prefix]); text != "null" {
			rule.Settings = &storage.Settings{}
			if err := parse("link_storage", text, rule.Settings); err != nil {
				return o, err
			}
		}
		o.Links = append(o.Links, rule)
	}
	return o, storage.CheckLinkRules(o.Links)
}

// reach reads the options of a call that has no others.
func reach(op, text string) (storage.Options, error) {
	var r reaching
	if err := parse(op, text, &r); err != nil {
		return storage.Options{}, err
	}
	return r.options()
}
