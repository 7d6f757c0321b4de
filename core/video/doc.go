// Package video reads frames of the videos that a tensor stores. It finds the packets of frames by
// the tables of the videos, fetches and checks the bytes of these packets alone, and decodes them
// on every core. It knows no containers, and writes nothing.
package video
