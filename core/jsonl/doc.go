// Package jsonl reads lines of JSON objects as columns of core/arrow.
//
// It owns the grammar of a line, and the type of a column by its values. It writes nothing, opens
// no files, and knows neither datasets nor tensors.
//
// Lines are hostile input: a line, a batch and the nesting of a value are bounded. FuzzLines tries
// forged ones.
package jsonl
