// Package chunk owns the way from samples to chunk objects and back: Builder packs samples into
// chunks (and cuts oversized ones into tiles), Chunk and Ref find and check stored samples, Worker
// decodes them into the caller's memory. It knows nothing of versions, rows of a dataset or
// schemas.
package chunk
