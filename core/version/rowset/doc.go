// Package rowset owns sets of rows and the alignment of two row axes: plain arithmetic on ranges.
// It knows no versions and reads nothing.
package rowset
