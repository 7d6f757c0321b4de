// Package viz serves the visualizer: a page, and the samples, statistics and versions of one
// dataset for it. It owns who may connect (guard.go), the views that a page has open (views.go),
// which tensor is drawn how (layout.go), and the form in which samples travel (samples.go,
// record.go).
// web/PROTOCOL.md is the contract with the page.
//
// It reads by core/session and core/read alone, and knows neither loaders nor formats. It writes
// nothing: a page cannot change a dataset. docs/design/visualizer.md says whom it trusts.
package viz
