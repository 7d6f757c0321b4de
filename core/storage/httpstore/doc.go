// Package httpstore owns objects that a web server gives away: a dataset below a URL, for reading,
// and a listing file that names objects anywhere on the web. It never writes, and it neither
// retries nor caches.
package httpstore
