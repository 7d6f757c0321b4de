package query

import (
	"deeplake/core/compute"
	"strings"
)

// Help returns the signature of a function and its meaning, in a line each.
func Help(name string) (signature, doc string) {
	text := ""
	if f := compute.Find(name); f != nil {
		text = f.Doc
	}
	also := ownHelp(name)
	if a := compute.FindAggregate(name); a != nil {
		also = a.Doc
	}
	if also != "" {
		text = strings.TrimPrefix(text+"; "+also, "; ")
	}
	if i := strings.Index(text, "): "); i > 0 && strings.HasPrefix(text, name+"(") {
		return text[:i+1], text[i+3:]
	}
	return name + "(...)", text
}

// ownHelp is the Help of a function that the planner itself provides.
func ownHelp(name string) string {
	switch name {
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
