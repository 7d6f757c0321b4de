// Package ffcv reads files of FFCV (.beton, version 2) as columns of core/arrow.
//
// It owns the header of a file, the layout of its records, the types of its fields, and the table
// of allocations, which alone states the sizes of JPEG files. It opens no files, and knows neither
// datasets nor tensors. Fields of custom types are refused.
//
// Files are hostile input: each position and each size is checked against the file before memory is
// taken, and values may not have more bytes than the pages together. FuzzFile tries forged ones.
package ffcv
