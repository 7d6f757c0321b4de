// Package version owns commits: the log of records, the persistent trees of map pages below a
// record, the transaction that gathers changes, and the one conditional write that publishes them.
// It reads no samples and knows no codec. It never changes a stored object, so a Snapshot stays
// readable whatever others commit.
package version
