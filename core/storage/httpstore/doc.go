// Package httpstore owns the read-only provider for web servers: a dataset below a URL, and a
// listing file that names objects anywhere on the web. It never writes, and neither retries nor
// caches.
package httpstore
