package viz

import (
	"cmp"
	"slices"
	"strings"

	"deeplake/core/tensor"
)

// How many values a label tensor has for a row.
const (
	oneByShape = iota // a number
	oneSoFar          // a list that never had more
	several
)

// alikeFrom is the number of letters that names share that belong together, like boxes and
// box_labels.
const alikeFrom = 3

// labelsOf returns the label tensors that may name the instances of an overlay, the likeliest
// first. A picture with a class and two boxes must not give the boxes its class. So a label of one
// value for a row counts only if the group has no lists of labels.
func labelsOf(all []tensorInfo, of *tensorInfo) []*tensorInfo {
	if of.Draw == "segments" { // its values are classes already
		return nil
	}
	var group []*tensorInfo
	most := oneByShape
	for i := range all {
		if t := &all[i]; t.Draw == "label" && t.Group == of.Group {
			group = append(group, t)
			most = max(most, labelsInRow(t))
		}
	}
	if most == several && of.oneInstance() { // they are those of other shapes
		return nil
	}
	group = slices.DeleteFunc(group, func(t *tensorInfo) bool { return labelsInRow(t) != most })
	slices.SortStableFunc(group, func(a, b *tensorInfo) int { return cmp.Compare(likeness(of, b), likeness(of, a)) })
	if len(group) == 0 {
		return nil
	}
	// Where truth and prediction share a group, names alone tell them apart.
	if best := likeness(of, group[0]); best >= alikeFrom {
		group = slices.DeleteFunc(group, func(t *tensorInfo) bool { return likeness(of, t) != best })
	}
	return group
}

func labelsInRow(t *tensorInfo) int {
	shape := t.MaxShape
	if shape == nil {
		shape = t.Shape
	}
	switch {
	case shape == nil:
		return several
	case len(shape) == 0:
		return oneByShape
	case slices.ContainsFunc(shape, func(n int64) bool { return n < 0 || n > 1 }):
		return several
	}
	return oneSoFar
}

// oneInstance reports whether no sample of an overlay has more than one instance.
func (t *tensorInfo) oneInstance() bool {
	only := func(s tensor.Shape, axis int) bool { return len(s) == axis || len(s) > axis && s[axis] == 1 }
	switch t.Draw {
	case "mask":
		return t.MaxShape != nil && only(t.MaxShape, 2)
	case "keypoints":
		return t.MaxShape != nil && only(t.MaxShape, 1)
	}
	return false
}

// likeness counts the letters that two names share at their beginnings and ends, without the group.
func likeness(x, y *tensorInfo) int {
	a, b := x.Name[strings.LastIndexByte(x.Name, '/')+1:], y.Name[strings.LastIndexByte(y.Name, '/')+1:]
	first := 0
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	last := 0
	for last < min(len(a), len(b))-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	return first + last
}
