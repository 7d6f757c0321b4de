// Package ahead owns bytes of objects from before they are needed until they are needed no more: what is asked for at once
// (hoard, request), how much of it the line to the store takes (line), the memory that it comes into (piece, shelf, touch)
// and what one pass leaves for the next (left).
//
// It is told in which order bytes will be needed and when they were used. It knows neither rows nor batches beyond their
// number, no order, no codec and no dataset; it reads through chunk.
package ahead
