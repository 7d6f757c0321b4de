// Package csv reads lines of comma-separated values as columns of core/arrow.
//
// It owns the grammar of a record (RFC 4180), and the type of a column by its values. It writes
// nothing, opens no files, and knows neither datasets nor tensors.
//
// The first record names the columns; it and those behind it tell the separator. A value is a
// number only if the number has all of its digits: 007 and integers beyond 64 bits are text.
//
// Records are hostile input: a record, a batch and the number of columns are bounded. FuzzRecords
// tries forged ones.
package csv
