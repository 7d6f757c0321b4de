package faultproxy

import (
	"encoding/json"
	"io"
	"net/http"
)

// Control serves the proxy's controls, for tests in other languages:
//
//	PUT /rules      rules as JSON, a list of Rule
//	PUT /link       a Link as JSON
//	PUT /profile    a Profile as JSON, or ?name=s3
//	GET /counts     Counts
//	GET /requests   a list of Request
//	POST /reset
func (p *Proxy) Control() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /rules", p.putRules)
	mux.HandleFunc("PUT /link", p.putLink)
	mux.HandleFunc("PUT /profile", p.putProfile)
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { show(w, p.Counts()) })
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) { show(w, p.Requests()) })
	mux.HandleFunc("POST /reset", func(http.ResponseWriter, *http.Request) { p.Reset() })
	return mux
}

func (p *Proxy) putRules(w http.ResponseWriter, rq *http.Request) {
	text, err := io.ReadAll(rq.Body)
	var rules []Rule
	if err == nil {
		rules, err = ParseRules(text)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.book.setRules(rules, p.config.Seed)
}

func (p *Proxy) putLink(w http.ResponseWriter, rq *http.Request) {
	text, err := io.ReadAll(rq.Body)
	var l Link
	if err == nil {
		err = decode(text, &l)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.SetLink(l)
}

func (p *Proxy) putProfile(w http.ResponseWriter, rq *http.Request) {
	var profile Profile
	var err error
	if name := rq.URL.Query().Get("name"); name != "" {
		profile, err = ProfileOf(name)
	} else {
		var text []byte
		if text, err = io.ReadAll(rq.Body); err == nil {
			err = decode(text, &profile)
		}
	}
	if err == nil {
		err = p.SetProfile(profile)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func show(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
