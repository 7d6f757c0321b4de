// Package server serves the visualizer over HTTP: the files of the page, and the calls of core/viz.
// It owns who may connect (guard.go). It reads no dataset itself. docs/design/visualizer.md says
// whom it trusts.
package server
