package main

import (
	"encoding/json"

	"deeplake/core/storage"
)

// reaching are the options of every call that opens a store: what the user says about it, and the environment as the
// user's program sees it now, which the library cannot see by itself. It stays apart as text, so that an error names the
// option of the store and not that of the call.
type reaching struct {
	Storage json.RawMessage   `json:"storage"`
	Environ map[string]string `json:"environ"`
}

// options are those of the store. Errors show no value: it may be a secret.
func (r reaching) options() (storage.Options, error) {
	o := storage.Options{Environ: r.Environ}
	err := parse("storage settings", string(r.Storage), &o.Settings)
	return o, err
}

// reach reads the options of a call that has no other ones.
func reach(op, text string) (storage.Options, error) {
	var r reaching
	if err := parse(op, text, &r); err != nil {
		return storage.Options{}, err
	}
	return r.options()
}
