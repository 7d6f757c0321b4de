//go:build !cgo

package png

const slack = 0

// unfilterRows undoes the filters of rows in place. Each is a byte that names the filter and as
// many bytes as above has. It returns how many it has undone: all, or those before a filter that
// does not exist.
func unfilterRows(rows, above []byte, pixel int) int { return unfilterRowsGo(rows, above, pixel) }

func unfilterRowsPlain(rows, above []byte, pixel int) int { return unfilterRowsGo(rows, above, pixel) }
