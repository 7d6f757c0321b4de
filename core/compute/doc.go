// Package compute owns functions and operators over columns of values. Each table entry holds a
// function with the facts on which planners rely. Under the build tag "invariants", results are
// checked against these facts.
//
// Products and distances of vectors are sums of float64. A caller that needs no values beyond a
// Limit can avoid most of this work: vector_near.go derives error bounds for a pass in float32,
// after Higham, Accuracy and Stability of Numerical Algorithms (2002). Only rows within the bounds
// are computed exactly, so results agree to the bit.
//
// The package knows no queries, datasets or stores, and does not lay out columns: that is
// core/array.
package compute
