//go:build js

// Command wasm answers the calls of the visualizer's page in a worker of the browser, on a dataset
// that any web server has: core/viz over core/storage/fetchstore. It owns how calls pass between
// JavaScript and Go. web/src/data/worker.ts is the other side.
package main
