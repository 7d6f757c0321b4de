// Package film shows stored videos to the visualizer's pages: their facts, pictures of their first
// frames, the times of their frames, and the bytes of their files piece by piece. It knows no HTTP,
// and the reader of exported pages is built without it.
package film
