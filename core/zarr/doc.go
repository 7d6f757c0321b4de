// Package zarr writes nodes of Zarr, format 3: the metadata of arrays and groups, and chunks.
//
// It owns the JSON of a node, the names of chunks and their codecs, which are Zstandard behind
// little-endian numbers, texts or bytes. It opens no files, and knows neither datasets nor tensors.
package zarr
