// Package fetchstore owns the read-only provider for web servers in a browser: a dataset below a
// URL, read by the browser's fetch(). It neither retries nor caches. All but this file is for
// GOOS=js.
package fetchstore
