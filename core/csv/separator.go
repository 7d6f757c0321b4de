package csv

import "bytes"

// separators may lie between values, the likeliest first.
var separators = []byte{',', ';', '\t', '|'}

// separator returns what lies between the values of a file that begins with p: that of separators
// which divides the first two records into the most values, equally many. A comma, if none does.
func separator(p []byte, isAll bool) byte {
	p = bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))
	best, most := separators[0], 1
	for _, comma := range separators {
		if n := columnsBy(p, comma, isAll); n > most {
			best, most = comma, n
		}
	}
	return best
}

// columnsBy returns how many values the first two records have each; 0: they differ, or p does not
// have them. A file of one record has the names of columns alone.
func columnsBy(p []byte, comma byte, isAll bool) int {
	first := 0
	for range 2 {
		var r record
		var n int
		for isEmpty := true; isEmpty; {
			var err error
			r.reset()
			if n, err = r.scan(p, comma, isAll, 1); err != nil {
				return 0
			}
			if n == 0 {
				if isAll && first > 0 {
					return first
				}
				return 0
			}
			isEmpty = r.count == 1 && r.cells[0].from == r.cells[0].to && !r.isQuoted
			p = p[n:]
		}
		if first > 0 && r.count != first {
			return 0
		}
		first = r.count
	}
	return first
}
