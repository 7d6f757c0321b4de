// Package chunk owns samples in chunk objects. Builder packs samples into chunks, and cuts
// oversized ones into tiles. Chunk and Ref find stored samples. Worker checks and decodes them into
// the caller's memory. The package knows no versions, dataset rows or schemas.
package chunk
