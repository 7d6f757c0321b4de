package version

import (
	"fmt"
	"reflect"
	"slices"

	"deeplake/core/format"
)

// clash is a contradiction between two schemas.
type clash struct {
	kind   string
	id     format.UUID // of the tensor whose change stands against ours
	tensor string
	what   string
}

// Kinds of clashes about one tensor that both sides have.
const (
	classNamesTwice = "class_names x class_names"
	appendTwice     = "append x append" // of dtypes or shapes that were open
)

// sides are the words for the two schemas that are brought together: the one that stands, and the
// one laid onto it.
type sides struct{ stands, laid string }

// mergeSchema lays the schema changes of the transaction on top of onto.
func (t *Txn) mergeSchema(onto *Snapshot) (*format.Schema, error) {
	if onto == t.base {
		return t.schema.Clone(), nil
	}
	words := sides{"another commit", "here"}
	out, c := layTensors(t.base.Schema, t.schema, onto.Schema, words)
	if c == nil {
		c = keepDecided(out, t.schema, func(id format.UUID) bool {
			change := t.columns[id]
			return change != nil && len(change.appended)+len(change.updated) > 0 && takenBack(t.base.Schema, out, id)
		}, words)
	}
	if c != nil {
		rec := t.touched[c.id]
		if rec == nil {
			rec = onto.Record // a dtype or shape is decided by an append, which names no tensor
		}
		return nil, t.conflict(rec, c.kind, c.tensor, nil, "%s", c.what)
	}
	if t.info {
		out.Info = t.schema.Info
	}
	return out, nil
}

// layTensors returns a clone of onto with the changes of mine since base, without tensors that
// either side dropped. It leaves info unchanged.
func layTensors(base, mine, onto *format.Schema, words sides) (*format.Schema, *clash) {
	out := onto.Clone()
	was, here, there := base.Index(), mine.Index(), out.Index()
	dropped := map[format.UUID]bool{}
	for i := range base.Tensors {
		before := &base.Tensors[i]
		my, their := here[before.ID], there[before.ID]
		switch {
		case their == nil:
		case my == nil:
			dropped[before.ID] = true
		case !reflect.DeepEqual(*before, *my):
			if c := layTensor(before, my, their, words); c != nil {
				return nil, c
			}
		}
	}
	if len(dropped) > 0 {
		out.Tensors = slices.DeleteFunc(out.Tensors, func(ts format.TensorSchema) bool { return dropped[ts.ID] })
		there = out.Index()
	}
	added := []format.TensorSchema{}
	for i := range mine.Tensors {
		my := &mine.Tensors[i]
		if was[my.ID] != nil {
			continue
		}
		if their := there[my.ID]; their != nil { // both have it from a third side
			if c := layTensor(&format.TensorSchema{Name: their.Name}, my, their, words); c != nil {
				return nil, c
			}
			continue
		}
		added = append(added, *my)
	}
	out.Tensors = append(out.Tensors, added...)
	return out, nameClash(base, mine, out, words)
}

// layTensor brings what my changed since before into their: a name, class names that were added, a
// dtype and a shape that were open, settings.
func layTensor(before, my, their *format.TensorSchema, words sides) *clash {
	if my.Name != before.Name && my.Name != their.Name {
		if their.Name != before.Name {
			return &clash{"rename_tensor x rename_tensor", my.ID, before.Name,
				fmt.Sprintf("%s renamed tensor %q to %q, %s it is %q", words.stands, before.Name, their.Name, words.laid, my.Name)}
		}
		their.Name = my.Name
	}
	if c := layClasses(before, my, their, words); c != nil {
		return c
	}
	if undecided(before) && !undecided(my) {
		if !undecided(their) && (their.DType != my.DType || their.Time != my.Time) {
			return &clash{appendTwice, my.ID, my.Name,
				fmt.Sprintf("%s gave tensor %q dtype %s, %s it is %s", words.stands, my.Name, dtypeName(their), words.laid, dtypeName(my))}
		}
		their.DType, their.Time, their.Open = my.DType, my.Time, false
	}
	if before.Files == format.FilesOpen && my.Files != format.FilesOpen && their.Files != format.FilesOwn {
		// chunks have their codec: files on one side are read beside arrays of the other
		their.Compression, their.Files = my.Compression, my.Files
	}
	if before.Shape == nil && my.Shape != nil {
		if their.Shape != nil && !their.Shape.Equal(my.Shape) {
			return &clash{appendTwice, my.ID, my.Name,
				fmt.Sprintf("%s gave tensor %q shape %s, %s it is %s", words.stands, my.Name, their.Shape, words.laid, my.Shape)}
		}
		their.Shape = my.Shape.Clone()
	}
	if my.ChunkBytes != before.ChunkBytes && before.ChunkBytes != 0 {
		their.ChunkBytes = my.ChunkBytes
	}
	if !sameInfo(my.Info, before.Info) && sameInfo(their.Info, before.Info) {
		their.Info = my.Info
	}
	return nil
}

// layClasses brings the classes that my changed since before into their. Txn.renumber and
// merger.uniteClasses have made them agree.
func layClasses(before, my, their *format.TensorSchema, words sides) *clash {
	if my.ClassChange != before.ClassChange && their.ClassChange == before.ClassChange && slices.Equal(their.ClassNames, before.ClassNames) {
		their.ClassNames, their.ClassChange = my.ClassNames, my.ClassChange
		return nil
	}
	if their.ClassNames != nil && sameClasses(my.ClassNames, their.ClassNames) {
		their.ClassChange = laterChange(my.ClassChange, their.ClassChange)
		return nil
	}
	if my.ClassNames == nil || slices.Equal(my.ClassNames, before.ClassNames) && my.ClassChange == before.ClassChange && their.ClassNames != nil {
		return nil
	}
	if my.ClassChange == their.ClassChange {
		names, numbers := uniteClasses(my.ClassNames, their.ClassNames)
		if inPlace(numbers) {
			their.ClassNames = names
			return nil
		}
	}
	return &clash{classNamesTwice, my.ID, my.Name, fmt.Sprintf("tensor %q: %s has the classes %q, %s they are %q", my.Name, words.stands, someClasses(their.ClassNames), words.laid, someClasses(my.ClassNames))}
}

// undecided reports whether no sample has decided the dtype of a tensor.
func undecided(t *format.TensorSchema) bool { return t.Open || t.DType == "" }

func dtypeName(t *format.TensorSchema) string {
	if t.Time != "" {
		return t.Time
	}
	return t.DType
}

// nameClash looks for names of tensors that mine added or renamed, and that mean something else on
// the other side.
func nameClash(base, mine, out *format.Schema, words sides) *clash {
	was, there, taken := base.Index(), out.Index(), indexNames(out)
	for i := range mine.Tensors {
		my := &mine.Tensors[i]
		before := was[my.ID]
		if before != nil && before.Name == my.Name || there[my.ID] == nil {
			continue
		}
		other := taken.besides(out, my)
		if other == nil {
			continue
		}
		kind := map[bool]string{true: "add_tensor", false: "rename_tensor"}[before == nil]
		against, did := "add_tensor", fmt.Sprintf("%s created tensor %q", words.stands, other.Name)
		if was[other.ID] != nil {
			against, did = "rename_tensor", fmt.Sprintf("%s has a tensor named %q", words.stands, other.Name)
		}
		if other.Name == my.Name {
			return &clash{kind + " x " + against, other.ID, my.Name, fmt.Sprintf("%s, %s another tensor has this name", did, words.laid)}
		}
		return &clash{kind + " x " + against, other.ID, my.Name,
			fmt.Sprintf("%s, %s there is %q, and a name cannot be both a tensor and a group", did, words.laid, my.Name)}
	}
	return nil
}

// nameIndex finds tensors of a schema by name, and by the groups that they are in.
type nameIndex struct{ names, groups map[string][]int }

func indexNames(s *format.Schema) nameIndex {
	x := nameIndex{map[string][]int{}, map[string][]int{}}
	for i := range s.Tensors {
		name := s.Tensors[i].Name
		x.names[name] = append(x.names[name], i)
		for k := range len(name) {
			if name[k] == '/' {
				x.groups[name[:k]] = append(x.groups[name[:k]], i)
			}
		}
	}
	return x
}

// besides is the first tensor of s that cannot be beside ts: of the same name, or one is a group of
// the other.
func (x nameIndex) besides(s *format.Schema, ts *format.TensorSchema) *format.TensorSchema {
	found := len(s.Tensors)
	look := func(at []int) {
		for _, i := range at {
			if s.Tensors[i].ID != ts.ID {
				found = min(found, i)
				return
			}
		}
	}
	look(x.names[ts.Name])
	look(x.groups[ts.Name])
	for k := range len(ts.Name) {
		if ts.Name[k] == '/' {
			look(x.names[ts.Name[:k]])
		}
	}
	if found == len(s.Tensors) {
		return nil
	}
	return &s.Tensors[found]
}

// sameInfo compares free-form values as they are stored: a number read back has another type than
// one that was given.
func sameInfo(a, b map[string]any) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(stored(a), stored(b))
}

// stored returns info in its form after a store; nil where it cannot be stored.
func stored(info map[string]any) *format.Schema {
	s, err := (&format.Schema{Info: info}).AsStored()
	if err != nil {
		return nil
	}
	return s
}

func schemasEqual(a, b *format.Schema) bool { return reflect.DeepEqual(a.Tensors, b.Tensors) }

// mergeSchemas brings the schema changes of theirs into that of ours.
func (m *merger) mergeSchemas() error {
	base, ours, theirs := m.base.Schema.Clone(), m.ours.Schema.Clone(), m.theirs.Schema.Clone()
	m.whole = map[format.UUID]bool{}
	here, there := ours.Index(), theirs.Index()
	for i := range m.base.Schema.Tensors {
		ts, n := &m.base.Schema.Tensors[i], len(theirs.Tensors)
		if err := m.settle(ts, here[ts.ID], there[ts.ID], base, theirs); err != nil {
			return err
		}
		if len(theirs.Tensors) != n {
			there = theirs.Index() // its tensors have moved
		}
	}
	if err := m.uniteClasses(base, ours, theirs); err != nil {
		return err
	}
	words := sides{"this branch", "in the one to be merged"}
	out, c := layTensors(base, theirs, ours, words)
	if c == nil {
		c = keepDecided(out, theirs, func(id format.UUID) bool {
			return takenBack(base, out, id) && (len(m.news.updated[id]) > 0 || m.known.Set().Count() < m.theirs.Record.Rows)
		}, words)
	}
	if c != nil {
		return m.conflict(c.kind, c.tensor, nil, schemaRemedy(c.kind), "%s", c.what)
	}
	known := m.ours.Schema.Index()
	for i := range out.Tensors {
		if id := out.Tensors[i].ID; known[id] == nil {
			m.whole[id] = true
		}
	}
	switch {
	case sameInfo(theirs.Info, base.Info) || sameInfo(theirs.Info, ours.Info):
	case sameInfo(ours.Info, base.Info), m.on == OnConflictTheirs:
		out.Info = theirs.Info
	case m.on == OnConflictError:
		return m.conflict("set_info x set_info", "", nil, mergeRemedy, "both set the info of the dataset")
	}
	m.schema = out
	return nil
}

// settle decides where the two sides contradict each other over a tensor of the base, and changes
// the three schemas so that they do not any more. here and there are the tensor in ours and in
// theirs, nil where it is not.
func (m *merger) settle(ts, here, there *format.TensorSchema, base, theirs *format.Schema) error {
	switch {
	case here == nil && there == nil:
		return nil
	case there == nil:
		if !altered(ts, here) && len(m.mine.updated[ts.ID]) == 0 {
			return nil
		}
		switch m.on {
		case OnConflictError:
			return m.conflict("update x drop_tensor", ts.Name, m.mine.updated[ts.ID], mergeRemedy, "it deletes tensor %q, which this branch changes", ts.Name)
		case OnConflictOurs:
			theirs.Tensors = append(theirs.Tensors, *ts) // as if it had been left alone
		}
	case here == nil:
		if !altered(ts, there) && len(m.news.updated[ts.ID]) == 0 {
			return nil
		}
		switch m.on {
		case OnConflictError:
			return m.conflict("drop_tensor x update", ts.Name, nil, mergeRemedy, "it changes tensor %q, which this branch deletes", ts.Name)
		case OnConflictTheirs:
			// as if it were new
			base.Tensors = slices.DeleteFunc(base.Tensors, func(b format.TensorSchema) bool { return b.ID == ts.ID })
		}
	case here.Name != ts.Name && there.Name != ts.Name && here.Name != there.Name:
		switch m.on {
		case OnConflictError:
			return m.conflict("rename_tensor x rename_tensor", ts.Name, nil, mergeRemedy, "it renames tensor %q to %q, this branch to %q", ts.Name, there.Name, here.Name)
		case OnConflictOurs:
			there.Name = ts.Name
		case OnConflictTheirs:
			here.Name = ts.Name
		}
	}
	return nil
}

// altered reports whether a user changed a tensor's name, class names or info. A dtype and a shape
// may come from the first sample.
func altered(before, after *format.TensorSchema) bool {
	return before.Name != after.Name || !slices.Equal(before.ClassNames, after.ClassNames) || !sameInfo(before.Info, after.Info)
}
