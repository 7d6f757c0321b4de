package main

/*
#include "go.h"
*/
import "C"

import "deeplake/core/names"

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
