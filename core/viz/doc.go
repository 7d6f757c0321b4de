// Package viz answers the calls of the visualizer's page: the samples, statistics and versions of
// one dataset. It owns the views that a page has open (views.go), which tensor is drawn how
// (layout.go), the form in which samples travel (samples.go, record.go), regions of huge pictures
// (region.go, plane.go), and sheets of pictures (sheet.go). web/PROTOCOL.md is the contract with
// the page.
//
// How calls travel is not its subject: core/viz/server serves them over HTTP, core/viz/wasm in a
// worker of the browser. It reads by core/session and core/read alone, and knows neither loaders
// nor formats. It writes nothing: a page cannot change a dataset.
package viz
