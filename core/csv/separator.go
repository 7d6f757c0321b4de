package csv

import (
	"bytes"

	"deeplake/core/errs"
)

// separators are the separators that are tried, the most common one first.
var separators = []byte{',', ';', '\t', '|'}

// sampledRecords bounds the records that are divided to find the separator.
const sampledRecords = 200

// separator returns what lies between the values of a file that begins with p: the separator that
// divides the first record into several values, and the most of the others into equally many. A
// comma, if none does; an error, if several do.
func separator(p []byte, isAll bool) (byte, error) {
	p = bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))
	best, most, columns := separators[0], -1, 0
	var rival byte
	var others int
	for _, comma := range separators {
		n, same, all := divided(p, comma, isAll)
		if n < 2 || 2*same < all {
			continue
		}
		switch {
		case same > most:
			best, most, columns, rival = comma, same, n, 0
		case same == most:
			rival, others = comma, n
		}
	}
	if rival != 0 {
		return 0, errs.New(errs.Invalid, "%q divides its lines into %d values, and %q into %d; state the one that is meant, by --separator (separator=...)", best, columns, rival, others)
	}
	return best, nil
}

// divided returns the number of values of the first record, how many later records of p have as
// many, and how many later records there are. A record with a quote in an unquoted value does not
// count as the same: its separator is another one.
func divided(p []byte, comma byte, isAll bool) (columns, same, all int) {
	for all < sampledRecords {
		var r record
		n, err := r.scan(p, comma, isAll, maxColumns)
		if err != nil || n == 0 {
			return columns, same, all
		}
		line := p[:n]
		p = p[n:]
		if r.count == 1 && r.cells[0].from == r.cells[0].to && !r.isQuoted {
			continue
		}
		isSound := !r.hasBareQuote(line)
		if columns == 0 {
			if !isSound {
				return 0, 0, 0
			}
			columns = r.count
			continue
		}
		all++
		if r.count == columns && isSound {
			same++
		}
	}
	return columns, same, all
}

// hasBareQuote reports whether a value without quotes has one in it. The cells are those of p.
func (c *record) hasBareQuote(p []byte) bool {
	for _, one := range c.cells {
		isQuoted := one.from > 0 && p[one.from-1] == '"'
		if !isQuoted && bytes.IndexByte(p[one.from:one.to], '"') >= 0 {
			return true
		}
	}
	return false
}
