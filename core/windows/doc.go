// Package windows presents moments of episodes as rows: a source of loaders over a view whose rows
// are episodes. Arrays, sequences and videos of an episode have an entry for each of its frames. A
// window has the entries at some times before and after one frame, and the other tensors of its
// episode.
//
// It decides which entries a window has, and reads those of arrays. Frames of videos are found and
// decoded by core/video.
package windows
