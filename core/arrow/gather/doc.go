// Package gather collects values, as samples of files hold them, into columns of core/arrow.
//
// It owns the arrays that texts, numbers, image files, lists of these and arrays with their shapes
// become, and batches of rows: which are passed over or left out. It must not know the bytes of a
// format around its values, which are core/mds's, core/litdata's and core/ffcv's.
//
// Values are hostile input: memory grows with the bytes that come, not with counts that they state.
package gather
