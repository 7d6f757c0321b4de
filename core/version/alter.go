package version

import (
	"slices"
	"strings"

	"deeplake/core/version/chunkmap"
	"deeplake/core/errs"
	"deeplake/core/format"
)

// MayAdd refuses a tensor that a commit would have no room for: errs.Invalid.
func (t *Txn) MayAdd(ts *format.TensorSchema) error {
	most, remedy := format.MaxTensors, "put the others into another dataset"
	if t.repo.TSF.Format == format.FirstVersion {
		most, remedy = format.MaxTensorsFirst, "copy() makes a dataset of a newer version, which has room for more"
	}
	if n := len(t.schema.Tensors); n >= most {
		return errs.New(errs.Invalid, "create tensor %q: a dataset of format version %d gets at most %d tensors, and it has %d; %s",
			ts.Name, t.repo.TSF.Format, most, n, remedy)
	}
	one, err := (&format.Schema{Tensors: []format.TensorSchema{*ts}}).Bytes()
	if err == nil && t.schemaBytes == 0 {
		t.schemaBytes, err = t.schema.Bytes()
	}
	if err != nil {
		return errs.Wrap(errs.Invalid, "create tensor", ts.Name, err)
	}
	if t.schemaBytes += one; t.schemaBytes > format.MaxBlobRaw {
		t.schemaBytes -= one
		return errs.New(errs.Invalid, "create tensor %q: its class names and info take %d bytes, and with them the schema of the dataset has %d, want at most %d; keep large tables in tensors",
			ts.Name, one, t.schemaBytes+one, format.MaxBlobRaw)
	}
	return nil
}

// DropTensor removes a tensor with all its values; errs.NotFound if there is none of that name.
// Older commits keep it.
func (t *Txn) DropTensor(name string) error {
	ts := t.schema.Find(name)
	if ts == nil {
		return errs.New(errs.NotFound, "delete tensor %q: there is no such tensor", name)
	}
	delete(t.columns, ts.ID)
	t.schema.Tensors = slices.DeleteFunc(t.schema.Tensors, func(other format.TensorSchema) bool { return other.Name == name })
	t.changes++
	return nil
}

// RenameTensor gives a tensor another name, or, where old is a group, puts all its tensors into the
// group name. Values and history stay with the tensor. errs.NotFound if there is neither,
// errs.Exists if a name is taken; nothing is changed then.
func (t *Txn) RenameTensor(old, name string) error {
	next := slices.Clone(t.schema.Tensors)
	found := false
	for i := range next {
		if rest, ok := strings.CutPrefix(next[i].Name, old); ok && (rest == "" || rest[0] == '/') {
			next[i].Name, found = name+rest, true
		}
	}
	if !found {
		return errs.New(errs.NotFound, "rename tensor %q: there is no such tensor or group", old)
	}
	if err := checkNames(next); err != nil {
		return errs.Wrap(errs.Exists, "rename tensor", old, err)
	}
	for i := range next {
		if len(next[i].Name) > format.MaxTensorNameLen {
			return errs.New(errs.Invalid, "rename tensor %q: the name %q has %d bytes, want at most %d", old, next[i].Name, len(next[i].Name), format.MaxTensorNameLen)
		}
	}
	t.schema.Tensors = next
	t.changes++
	return nil
}

// checkNames refuses tensors of one name, and a name that is both a tensor and a group.
func checkNames(tensors []format.TensorSchema) error {
	taken := make(map[string]bool, len(tensors))
	for i := range tensors {
		if taken[tensors[i].Name] {
			return errs.New(errs.Exists, "there is a tensor %q already", tensors[i].Name)
		}
		taken[tensors[i].Name] = true
	}
	for i := range tensors {
		for k, c := range tensors[i].Name {
			if c == '/' && taken[tensors[i].Name[:k]] {
				return errs.New(errs.Exists, "%q would be both a tensor and the group of %q", tensors[i].Name[:k], tensors[i].Name)
			}
		}
	}
	return nil
}

// RewriteChunk puts the items of a sealed chunk, from e.First on, on runs of rows of the base,
// rising, where they stand for the same samples as before: only the layout changes. Rows that an
// update of this transaction, or of a commit that comes first, has given another sample keep that
// one. dirs are as in AddChunk.
func (t *Txn) RewriteChunk(id format.UUID, e format.Entry, runs []format.RowRange, dirs ...[]byte) {
	c := t.column(id)
	e = c.place(t, e, dirs)
	for _, run := range runs {
		e.Row, e.Rows = run.Start, run.Count
		c.rewrites = append(c.rewrites, chunkmap.Edit{From: run.Start, To: run.Start + run.Count, Entries: []format.Entry{e}})
		e.First += run.Count
	}
}

// RewriteHoles takes away what deleted rows of the base hold in a tensor.
func (t *Txn) RewriteHoles(id format.UUID, runs []format.RowRange) {
	c := t.column(id)
	t.changes++
	for _, run := range runs {
		c.rewrites = append(c.rewrites, chunkmap.Edit{From: run.Start, To: run.Start + run.Count})
	}
}
