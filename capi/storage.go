package main

/*
#include "go.h"
*/
import "C"

import (
	"encoding/json"
	"maps"
	"slices"

	"deeplake/core/names"
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

// environOf reads options that have an environment alone.
func environOf(op string, options *C.dl_text) (names.Environ, error) {
	var o struct {
		Environ names.Environ `json:"environ"`
	}
	err := parse(op, text(options), &o)
	return o.Environ, err
}

//export dlgo_uri_resolve
func dlgo_uri_resolve(uri, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		environ, err := environOf("resolve uri", options)
		if err != nil {
			return err
		}
		place, err := names.Resolve(text(uri), environ)
		if err != nil {
			return err
		}
		return fill(out, []byte(place))
	})
}

//export dlgo_uri_root
func dlgo_uri_root(uri, options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		environ, err := environOf("find storage root", options)
		if err != nil {
			return err
		}
		var told struct {
			Org  string `json:"org"`
			Root string `json:"root"`
		}
		if told.Org, told.Root, err = names.Root(text(uri), environ); err != nil {
			return err
		}
		return fillJSON(out, told)
	})
}

//export dlgo_uri_orgs
func dlgo_uri_orgs(options *C.dl_text, out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error {
		environ, err := environOf("list organisations", options)
		if err != nil {
			return err
		}
		orgs, err := names.Orgs(environ)
		if err != nil {
			return err
		}
		return fillJSON(out, orgs)
	})
}
