// Package version owns commits: the log of records, branches and tags, the transaction that gathers
// changes, the one conditional write that publishes them, and merge. Map pages belong to package
// chunkmap; gc, fsck and copies to package maintain. It reads no samples and knows no codec. It
// never changes a stored object, so a Snapshot stays readable whatever others commit.
package version
