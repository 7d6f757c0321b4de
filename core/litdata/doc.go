// Package litdata reads the chunks of LitData sets as columns of core/arrow.
//
// It owns the index of a set, the layouts of its chunks, the names and encodings of the values of
// an item, and the types that they give. It opens no files, and knows neither datasets nor tensors.
// Pickles are refused. Arrow files at the end of chunks are core/arrow/ipc's; Footer finds them.
//
// Chunks are hostile input: memory grows with the bytes that come, not with the counts that a chunk
// states. FuzzChunk tries forged ones.
package litdata
