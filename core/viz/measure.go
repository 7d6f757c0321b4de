package viz

import "strings"

// measure is the number of a tensor that statistics are about.
type measure struct {
	what, expr string
	list       bool // the sample is a list of classes
	whole      bool // values are integers
	truth      bool // values are bools
}

// measureOf returns how a tensor is counted; false: it is not.
func measureOf(t *tensorInfo) (measure, bool) {
	name := quoteName(t.Name)
	if t.Sequence {
		return measure{what: "items", expr: "LENGTH(" + name + ")", whole: true}, true
	}
	axes := len(t.MaxShape)
	switch t.Draw {
	case "label":
		return measure{what: "class", expr: name, list: axes == 1, whole: true}, axes < 2
	case "number":
		m := measure{what: "value", expr: name}
		if t.DType != nil {
			m.truth = *t.DType == "bool"
			m.whole = m.truth || strings.Contains(*t.DType, "int")
		}
		return m, true
	case "boxes":
		return measure{what: "boxes", expr: "SHAPE(" + name + ")[0]", whole: true}, true
	case "points":
		return measure{what: "points", expr: "SHAPE(" + name + ")[0]", whole: true}, true
	case "image":
		return measure{what: "width", expr: "SHAPE(" + name + ")[1]", whole: true}, true
	case "array":
		// Numbers of instances, as scores of boxes, are counted one by one.
		if t.DType != nil && axes == 1 && (strings.Contains(*t.DType, "int") || strings.Contains(*t.DType, "float")) {
			return measure{what: "value", expr: name, list: true, whole: strings.Contains(*t.DType, "int")}, true
		}
	case "text":
		return measure{what: "length", expr: "LENGTH(" + name + ")", whole: true}, true
	}
	return measure{}, false
}

// passes returns how often a count looks at every row; 0: that is not known.
func (m *measure) passes(t *tensorInfo) int64 {
	switch {
	case m.list:
		return 0
	case m.what == "class" || m.truth:
		return 1
	}
	return 2
}
