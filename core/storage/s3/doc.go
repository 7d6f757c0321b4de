// Package s3 owns objects in a bucket that speaks Amazon's S3 protocol. Ranges and whole objects
// travel in requests of our own, signed by the SDK's signer; listings, deletions, copies and
// multipart uploads are the SDK's. It neither retries nor caches: what is worth repeating carries a
// storage.Fault.
package s3
