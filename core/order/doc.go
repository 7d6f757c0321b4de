// Package order computes the rows of an epoch, their order, and the share of each rank. It has
// shuffles, weighted draws and mixtures of views.
//
// Everything here is a pure function of numbers: the views' rows and sizes, a seed and an epoch. No
// order has a table of rows; any position is computed directly. The package knows neither datasets
// nor chunks, and does no I/O.
//
// States of loaders pin these orders. A change that moves a single row needs a new Version.
package order
