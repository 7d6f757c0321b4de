package annotations

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"deeplake/core/errs"
)

// put makes the record of an object.
func (f *cocoFile) put(o *cocoEntry, image int64) error {
	w := &f.record
	w.p = w.p[:0]
	w.int(o.id)
	w.int(o.category)
	n := int64(0)
	for range parts(f.outlines) {
		n++
	}
	w.p = append(w.p, flagsOf(o.crowd, n > 0, len(f.points) > 0, o.caption != "", o.runs != nil))
	w.double(o.area)
	w.numbers(o.box[:])
	if n > 0 {
		w.int(n)
		for part := range parts(f.outlines) {
			w.numbers(part)
		}
	}
	if len(f.points) > 0 {
		w.numbers(f.points)
	}
	if o.caption != "" {
		w.text(o.caption)
	}
	if o.runs != nil {
		w.int(o.runs.height)
		w.int(o.runs.width)
		w.text(o.runs.counts)
	}
	at, ok := f.records.put(w.p)
	if !ok {
		return errs.New(errs.Invalid, "it has more than %d objects' worth of memory, 4 GB; divide the file", len(f.objects))
	}
	f.objects = append(f.objects, cocoPlace{at, f.imageOf(image)})
	f.has.outlines = f.has.outlines || n > 0
	f.has.runs = f.has.runs || o.runs != nil
	f.has.keypoints = f.has.keypoints || len(f.points) > 0
	f.has.words = f.has.words || isText(o.id)
	f.has.areas = f.has.areas || !math.IsNaN(o.area)
	for _, v := range f.points {
		f.has.fractions = f.has.fractions || v != float32(int32(v))
	}
	return nil
}

// The flags of a record.
const (
	isCrowd = 1 << iota
	hasOutline
	hasPoints
	hasCaption
	hasRuns
)

// flagsOf sets the flag of each place that is true.
func flagsOf(all ...bool) (flags byte) {
	for i, one := range all {
		if one {
			flags |= 1 << i
		}
	}
	return flags
}

// object reads the record of an object.
func (f *cocoFile) object(at cocoPlace) (o cocoEntry) {
	r := &reader{f.records.from(at.at)}
	o.id, o.category = r.int(), r.int()
	flags := r.byte()
	o.crowd, o.area = flags&isCrowd != 0, r.double()
	copy(o.box[:], r.numbers(nil))
	if flags&hasOutline != 0 {
		nan := float32(math.NaN())
		for part := range r.int() {
			if part > 0 {
				o.outline = append(o.outline, nan, nan)
			}
			o.outline = r.numbers(o.outline)
		}
	}
	if flags&hasPoints != 0 {
		o.points = r.numbers(nil)
	}
	if flags&hasCaption != 0 {
		o.caption = r.text()
	}
	if flags&hasRuns != 0 {
		o.runs = &rle{height: r.int(), width: r.int(), counts: r.text()}
	}
	return o
}

// index sorts the objects by their pictures, in the order of the file. It leaves out those of
// unknown pictures and classes.
func (f *cocoFile) index() {
	f.sort()
	f.first = make([]int32, len(f.names)+1)
	for i := range f.objects {
		o := &f.objects[i]
		r := &reader{f.records.from(o.at)}
		id, category := r.int(), r.int()
		_, isClass := f.classes[category]
		if twin, ok := f.twins[o.picture]; ok {
			o.picture = twin
		}
		switch {
		case f.names[o.picture] == "":
			f.faults.add(f.key, fmt.Sprintf("object %s is of image %s, which is none of its images", f.texts.word(id), f.texts.word(f.ids[o.picture])))
			o.picture = -1
		case !f.isCaptions && !isClass:
			f.faults.add(f.key, fmt.Sprintf("object %s is of category %s, which is none of its categories", f.texts.word(id), f.texts.word(category)))
			o.picture = -1
		default:
			f.first[o.picture+1]++
		}
	}
	for i := range f.names {
		f.first[i+1] += f.first[i]
	}
	kept := make([]cocoPlace, f.first[len(f.names)])
	next := slices.Clone(f.first)
	for _, o := range f.objects {
		if o.picture >= 0 {
			kept[next[o.picture]] = o
			next[o.picture]++
		}
	}
	f.objects, f.byID, f.twins = kept, nil, nil
}

// sort finds pictures by their names. Of two entries with one name, the objects of the second
// belong to the first.
func (f *cocoFile) sort() {
	f.byName = make([]int32, len(f.names))
	for i := range f.byName {
		f.byName[i] = int32(i)
	}
	slices.SortStableFunc(f.byName, func(a, b int32) int { return strings.Compare(f.names[a], f.names[b]) })
	f.twins = map[int32]int32{}
	for k := 1; k < len(f.byName); k++ {
		first, second := f.byName[k-1], f.byName[k]
		if twin, ok := f.twins[first]; ok {
			first = twin
		}
		if name := f.names[second]; name != "" && f.names[first] == name {
			f.twins[second] = first
		}
	}
	for second := range f.twins {
		f.names[second] = ""
	}
	f.byName = slices.DeleteFunc(f.byName, func(i int32) bool { return f.names[i] == "" })
	for _, i := range f.byName {
		if strings.Contains(f.names[i], "/") {
			f.byBase = append(f.byBase, i)
		}
	}
	slices.SortStableFunc(f.byBase, func(a, b int32) int { return strings.Compare(path.Base(f.names[a]), path.Base(f.names[b])) })
}

// named returns the picture of a name.
func (f *cocoFile) named(name string) (picture int32, ok bool) {
	at, ok := slices.BinarySearchFunc(f.byName, name, func(i int32, name string) int { return strings.Compare(f.names[i], name) })
	if !ok {
		return 0, false
	}
	return f.byName[at], true
}

// based returns the picture whose name ends so, if it is the only one: files name places of another
// machine.
func (f *cocoFile) based(base string) (picture int32, ok bool) {
	at, ok := slices.BinarySearchFunc(f.byBase, base, func(i int32, base string) int { return strings.Compare(path.Base(f.names[i]), base) })
	if !ok || at+1 < len(f.byBase) && path.Base(f.names[f.byBase[at+1]]) == base {
		return 0, false
	}
	return f.byBase[at], true
}

// find returns the picture that a file of the source is.
func (f *cocoFile) find(key string) (picture int32, ok bool) {
	if !f.of(key) {
		return 0, false
	}
	for name, more := key, true; more; _, name, more = strings.Cut(name, "/") {
		if i, ok := f.named(name); ok {
			return i, true
		}
	}
	return f.based(path.Base(key))
}

func (f *cocoFile) objectsOf(image int32) []cocoPlace {
	return f.objects[f.first[image]:f.first[image+1]]
}
