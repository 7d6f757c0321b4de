// Package server serves the visualizer over HTTP: the files of the page, and the calls of core/viz.
// It owns the check of connections (guard.go) and reads no dataset itself.
// docs/design/visualizer.md lists the clients that it trusts.
package server
