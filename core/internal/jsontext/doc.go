// Package jsontext owns the grammar of JSON for readers of large or many documents.
//
// A Scanner passes over a value in memory and makes no objects of it. A Stream passes over a
// document of any size, and holds one value of it. Nesting and values are bounded, since documents
// are hostile input. It knows nothing of the meaning of a document.
package jsontext
