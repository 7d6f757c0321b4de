package query

import (
	"deeplake/core/compute"
	"strings"
)

// Help is what a function is called with, and what it does, in a line each.
func Help(name string) (signature, doc string) {
	text := ""
	if f := compute.Find(name); f != nil {
		text = f.Doc
	}
	if also := ownHelp(name); also != "" {
		text = strings.TrimPrefix(text+"; "+also, "; ")
	}
	if i := strings.Index(text, "): "); i > 0 && strings.HasPrefix(text, name+"(") {
		return text[:i+1], text[i+3:]
	}
	return name + "(...)", text
}

// ownHelp is Help of what is no function of single rows.
func ownHelp(name string) string {
	switch name {
	case "COUNT":
		return "COUNT(*), COUNT(x), COUNT(DISTINCT x): the rows of a group, those where x is not NULL, its different values"
	case "SUM":
		return "of scalars, with GROUP BY or over all rows, the sum over the rows; NULL of none"
	case "AVG", "MEAN":
		return "of scalars, with GROUP BY or over all rows, the mean over the rows; NULL of none"
	case "MIN", "MAX":
		return "of scalars, with GROUP BY or over all rows, the least or greatest of the rows; NULL of none"
	case "STD", "STDDEV":
		return "of scalars, with GROUP BY or over all rows, the standard deviation of the sample"
	case "VAR", "VARIANCE":
		return "of scalars, with GROUP BY or over all rows, the variance of the sample"
	case "STDDEV_POP", "VAR_POP":
		return name + "(x): with GROUP BY or over all rows, as STD and VAR, of the population"
	case "MEDIAN":
		return "MEDIAN(x): with GROUP BY or over all rows, the value in the middle, or the mean of the two there"
	case "BOOL_AND", "BOOL_OR":
		return name + "(x): with GROUP BY or over all rows, whether all are true, or one is"
	case "STRING_AGG":
		return "STRING_AGG(text): the texts of a group, with commas between them"
	case "FIRST", "LAST":
		return name + "(x): the value of the first or last row of a group"
	case "ANY_VALUE":
		return "ANY_VALUE(x): the first value of a group that is not NULL"
	case "LIST":
		return "LIST(x): the values of a group that are not NULL as a list; with UNGROUP BY those that are NULL, too"
	case "RANDOM":
		return "RANDOM(): a number of [0, 1) for each row, the same for the same seed"
	case "ROW_NUMBER":
		return "ROW_NUMBER(): the number of the row, from 0"
	case "DATA":
		return "DATA(column, row): the value of a column at another row"
	case "BM25_SIMILARITY":
		return "BM25_SIMILARITY(text, words): how well a text fits the words, among the texts of all rows that are asked (Robertson and Zaragoza, 2009)"
	case "MAX_WEIGHT":
		return "MAX_WEIGHT(condition: weight, ...): in SAMPLE BY, the greatest weight of the conditions that hold; 0 if none does"
	case "SUM_WEIGHT":
		return "SUM_WEIGHT(condition: weight, ...): in SAMPLE BY, the sum of the weights of the conditions that hold"
	}
	return ""
}
