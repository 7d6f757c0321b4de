// Package maintain owns the work on whole datasets: garbage collection with expiry of old versions,
// fsck, and copies. Each walks every object that the names of a dataset lead to. It publishes no
// commit of an existing dataset; package version does.
package maintain
