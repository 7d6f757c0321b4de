// Package version owns commits: the log of records, the persistent trees of map pages that a record
// points to, the transaction that gathers changes, and the one conditional write that makes them a
// commit. It never reads a sample and knows no codec. Nothing it writes is ever changed, so a
// Snapshot stays readable whatever others commit.
package version
