// Package ipc reads Arrow's IPC format as columns of core/arrow: files, which Feather 2 names, and
// streams.
//
// It owns the messages, their metadata as flatbuffers, and the buffers of a record batch. It writes
// nothing, opens no files, and knows neither datasets nor tensors.
//
// Files are hostile input: each offset is checked against the file and its message, and memory
// grows with the bytes that are there. FuzzFile and FuzzParseSchema try forged ones.
package ipc
