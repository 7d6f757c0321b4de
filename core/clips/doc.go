// Package clips presents clips of videos as rows: a source of loaders whose rows are some frames of
// a video each, and the other tensors of its row. It decides which frames a clip has. Frames are
// found, read and decoded by core/video.
package clips
