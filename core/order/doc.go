// Package order computes which rows an epoch visits, in which order, and which of them a rank
// takes: shuffles, weighted draws, mixtures of views and shares of ranks.
//
// Everything here is a pure function of numbers: the rows of the views, their sizes, a seed and an
// epoch. No order has a table of rows; any position is computed directly. The package knows neither
// datasets nor chunks, and does no I/O.
//
// States of loaders pin these orders. A change that moves a single row needs a new Version.
package order
