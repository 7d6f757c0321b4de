// Package chunkmap owns the map pages of a dataset: persistent trees from rows to chunks, their
// pending pages within a transaction, their names, and the cache of decoded pages. It knows neither
// records, branches nor schemas.
package chunkmap
