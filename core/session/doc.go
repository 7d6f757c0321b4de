// Package session is the use of datasets that all front ends share: view, query, select, save, read
// and load. C functions, handlers of a viewer and Go programs call it alike. It owns the lifetimes:
// datasets that a query opened are closed with the last view that reads them.
//
// It takes and returns values of Go. It knows no handles, no C, and no text of options, and decides
// nothing about formats, plans or batches.
package session
