// Package request owns one range request over HTTP: connections, headers, the checks of a response
// before its body is read, and the classification of failures for retries. It reads the body into
// the caller's memory. A Dialect describes the differences between stores. The package neither
// retries nor caches, and starts no goroutine.
package request
