// Package mds reads shards of MosaicML Streaming (MDS, version 2) as columns of core/arrow, and
// writes shards.
//
// It owns the header of a shard, the encodings of its columns, and the types that they give. It
// opens no files, and knows neither datasets nor tensors. Pickles are refused.
//
// Shards are hostile input: memory grows with the bytes that come, not with the counts that a shard
// states. FuzzShard tries forged ones.
package mds
