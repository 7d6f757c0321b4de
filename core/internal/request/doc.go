// Package request owns one range request over HTTP: the connections, what is asked, how the answer
// is checked before its body is read, and what a failure means to whoever may ask again. The body
// is read into the caller's memory. It knows no store's dialect beyond what a Dialect says, it
// neither repeats nor caches, and it starts no goroutine of its own.
package request
