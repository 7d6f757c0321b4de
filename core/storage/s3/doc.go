// Package s3 owns the provider for buckets of the S3 protocol. Range reads and whole objects are
// requests of its own, signed by the SDK's signer. The SDK does listings, deletions, copies and
// multipart uploads. The package neither retries nor caches: a storage.Fault marks errors that are
// worth a retry.
package s3
