package version

import (
	"slices"

	"deeplake/core/format"
)

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
	out, c := layTensors(base, theirs, ours, sides{"this branch", "in the one to be merged"})
	if c != nil {
		return m.conflict(c.kind, c.tensor, nil, schemaRemedy, "%s", c.what)
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

// altered reports whether somebody changed a tensor's name, class names or info: a dtype and a
// shape come by themselves.
func altered(before, after *format.TensorSchema) bool {
	return before.Name != after.Name || !slices.Equal(before.ClassNames, after.ClassNames) || !sameInfo(before.Info, after.Info)
}
