// Package read owns the one read path: rows to segments, segments to bytes.
//
//   - locate.go finds where rows lie. A dataset format implements Map; Locator, Locate, Spans and
//     PlanGather are the only users of it.
//   - segment.go describes rows that lie together. values.go reads their values or regions of them,
//     or borrows them in place.
//   - gather.go plans bulk reads of small samples of one shape; bulk.go does them.
//   - jobs.go divides a read among goroutines, and prefetch.go fetches its bytes before.
//
// It reads chunks. It knows neither versions and views of a dataset, nor batches and queries:
// core/dataset implements Map, core/loader and core/scan read through it.
package read
