package dataset

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// The model is a list of rows. A program of random steps runs on it, and on a dataset through two
// handles. Both must agree on every row, in every version, and on every conflict.

// modelRow is a row; a tensor that is missing is a hole.
type modelRow struct {
	id   int
	data map[string][]byte
}

// modelState is a version.
type modelState struct {
	tensors []modelTensor
	rows    []modelRow
}

type modelTensor struct {
	name string
	kind int
}

func (s modelState) clone() modelState {
	out := modelState{tensors: slices.Clone(s.tensors)}
	for _, r := range s.rows {
		out.rows = append(out.rows, modelRow{r.id, maps.Clone(r.data)})
	}
	return out
}

// modelCell names a sample that was updated.
type modelCell struct {
	id     int
	tensor string
}

// modelChange records the changes of a commit.
type modelChange struct {
	tensors []modelTensor
	rows    []modelRow // appended rows, deleted ones included
	updated map[modelCell][]byte
	deleted map[int]bool
}

func newModelChange() modelChange {
	return modelChange{updated: map[modelCell][]byte{}, deleted: map[int]bool{}}
}

func (c *modelChange) empty() bool {
	return len(c.tensors) == 0 && len(c.rows) == 0 && len(c.updated) == 0 && len(c.deleted) == 0
}

// apply does a change on top of a version.
func (c *modelChange) apply(s modelState) modelState {
	out := s.clone()
	out.tensors = append(out.tensors, c.tensors...)
	for _, r := range c.rows {
		out.rows = append(out.rows, modelRow{r.id, maps.Clone(r.data)})
	}
	for i := range out.rows {
		for _, t := range out.tensors {
			if v, ok := c.updated[modelCell{out.rows[i].id, t.name}]; ok && v == nil {
				delete(out.rows[i].data, t.name)
			} else if ok {
				out.rows[i].data[t.name] = v
			}
		}
	}
	out.rows = slices.DeleteFunc(out.rows, func(r modelRow) bool { return c.deleted[r.id] })
	return out
}

// conflicts tells whether mine cannot be laid on top of theirs.
func (c *modelChange) conflicts(theirs *modelChange) bool {
	for _, t := range c.tensors {
		for _, o := range theirs.tensors {
			if t.name == o.name {
				return true
			}
		}
	}
	own := map[int]bool{}
	for _, r := range c.rows {
		own[r.id] = true
	}
	for cell := range c.updated {
		_, both := theirs.updated[cell]
		if !own[cell.id] && (both || theirs.deleted[cell.id]) {
			return true
		}
	}
	for cell := range theirs.updated {
		if c.deleted[cell.id] {
			return true
		}
	}
	return false
}

// modelHandle is an open dataset and its expected state.
type modelHandle struct {
	d      *Dataset
	base   int // version
	change modelChange
	kept   []modelView
}

// modelView is a view that was taken some time ago.
type modelView struct {
	view *View
	want modelState
}

type model struct {
	t        *testing.T
	rng      *rand.Rand
	env      *Env
	uri      string
	versions []modelState
	changes  []modelChange // changes[v] made version v
	handles  []*modelHandle
	nextID   int
	log      []string
}

// specs are the kinds of tensors, with chunks so small that there are many, and tiles.
func (m *model) spec(t modelTensor) TensorSpec {
	s := TensorSpec{Name: t.name, ChunkBytes: 4096}
	switch t.kind {
	case 0:
		s.DType = "int64"
	case 1:
		s.DType = "uint8"
	case 2:
		s.HType, s.Compression = "text", "zstd"
	case 3:
		s.HType, s.DType, s.Compression = "sequence[generic]", "int16", "lz4"
	case 4:
		s.HType, s.Compression = "image", "png"
	}
	return s
}

const modelKinds = 5

func (m *model) bytes(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(m.rng.Uint32())
	}
	return p
}

// sample makes a sample, or the items of a sequence, and its expected value.
func (m *model) sample(kind int) (samples []tensor.Sample, want []byte) {
	array := func(d tensor.DType, shape ...int64) tensor.Sample {
		n, err := tensor.Shape(shape).Bytes(d)
		if err != nil {
			m.t.Fatal(err)
		}
		data := m.bytes(int(n))
		want = append(want, data...)
		if shape == nil {
			shape = []int64{}
		}
		return tensor.Sample{DType: d, Shape: shape, Data: data}
	}
	want = []byte{}
	switch kind {
	case 0:
		return []tensor.Sample{array(tensor.Int64)}, want
	case 1:
		shape := []int64{m.rng.Int64N(30), m.rng.Int64N(20)}
		if m.rng.IntN(20) == 0 {
			shape = []int64{100 + m.rng.Int64N(100), 100 + m.rng.Int64N(50)} // tiled
		}
		return []tensor.Sample{array(tensor.Uint8, shape...)}, want
	case 2:
		text := fmt.Appendf(nil, "%d %s", m.rng.IntN(1000), bytes.Repeat([]byte("words "), m.rng.IntN(30)))
		return []tensor.Sample{{Form: tensor.FormText, DType: tensor.String, Data: text}}, text
	case 3:
		for range m.rng.IntN(4) {
			samples = append(samples, array(tensor.Int16, m.rng.Int64N(5), 2))
		}
		return samples, want
	default:
		side := 1 + m.rng.Int64N(20)
		if m.rng.IntN(20) == 0 {
			side = 60 + m.rng.Int64N(60) // tiled
		}
		return []tensor.Sample{array(tensor.Uint8, side, 1+m.rng.Int64N(20), 1+2*m.rng.Int64N(2))}, want
	}
}

// column makes the values of a tensor for n rows; holes says that some may be missing.
func (m *model) column(t modelTensor, n int, holes bool) (tensor.Rows, [][]byte) {
	col := tensor.Rows{Tensor: t.name}
	want := make([][]byte, n)
	if t.kind == 0 && m.rng.IntN(2) == 0 {
		data := m.bytes(8 * n)
		for i := range want {
			want[i] = data[8*i : 8*i+8]
		}
		col.Array = &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: data}
		return col, want
	}
	for i := range want {
		var samples []tensor.Sample
		if holes && m.rng.IntN(8) == 0 {
			samples = []tensor.Sample{{Form: tensor.FormHole}}
		} else {
			samples, want[i] = m.sample(t.kind)
		}
		col.Samples = append(col.Samples, samples...)
		if t.kind == 3 {
			col.RowItems = append(col.RowItems, int64(len(samples)))
		}
	}
	return col, want
}

func (m *model) shows(h *modelHandle) modelState { return h.change.apply(m.versions[h.base]) }

func (m *model) say(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

func (m *model) fatal(format string, args ...any) {
	m.t.Helper()
	for _, line := range m.log[max(0, len(m.log)-40):] {
		m.t.Log(line)
	}
	m.t.Fatalf(format, args...)
}

func (m *model) ok(err error) {
	m.t.Helper()
	if err != nil {
		m.fatal("%v", err)
	}
}

// compare holds a view against a version of the model, rows in random order.
func (m *model) compare(v *View, want modelState) {
	m.t.Helper()
	if v.Len() != int64(len(want.rows)) || len(v.Names()) != len(want.tensors) {
		m.fatal("the view has %d rows of %v, want %d of %v", v.Len(), v.Names(), len(want.rows), want.tensors)
	}
	w := v.NewWorker()
	defer w.Close()
	for _, t := range want.tensors {
		col, err := v.Column(t.name)
		m.ok(err)
		rows := make([]int64, len(want.rows))
		for i, r := range m.rng.Perm(len(rows)) {
			rows[i] = int64(r)
		}
		refs := make([]chunk.Ref, len(rows))
		m.ok(col.Resolve(context.Background(), rows, refs))
		for i := range refs {
			expect, has := want.rows[rows[i]].data[t.name]
			if refs[i].Hole() != !has {
				m.fatal("row %d of %q is a hole: %v, want %v", rows[i], t.name, refs[i].Hole(), !has)
			}
			if !has {
				continue
			}
			got := make([]byte, refs[i].Size)
			m.ok(col.Decode(context.Background(), &refs[i], got, w))
			if !bytes.Equal(got, expect) {
				m.fatal("row %d of %q differs: %d bytes, want %d", rows[i], t.name, len(got), len(expect))
			}
		}
	}
}

func (m *model) check(h *modelHandle) {
	m.t.Helper()
	v, err := h.d.View(context.Background())
	m.ok(err)
	m.compare(v, m.shows(h))
}

func (m *model) open() *modelHandle {
	d, err := Open(context.Background(), m.env, m.uri, OpenOptions{})
	m.ok(err)
	return &modelHandle{d: d, base: len(m.versions) - 1, change: newModelChange()}
}

func (m *model) createTensor(h *modelHandle) {
	t := modelTensor{fmt.Sprintf("t%d", m.rng.IntN(7)), m.rng.IntN(modelKinds)}
	err := h.d.CreateTensor(context.Background(), m.spec(t))
	if slices.ContainsFunc(m.shows(h).tensors, func(o modelTensor) bool { return o.name == t.name }) {
		if !errs.Is(err, errs.Exists) {
			m.fatal("create %v = %v, want an error", t, err)
		}
		return
	}
	m.ok(err)
	m.say("create %v", t)
	h.change.tensors = append(h.change.tensors, t)
}

func (m *model) appendRows(h *modelHandle) {
	tensors := m.shows(h).tensors
	if len(tensors) == 0 {
		return
	}
	n := 1 + m.rng.IntN(12)
	cols := make([]tensor.Rows, len(tensors))
	rows := make([]modelRow, n)
	for i := range rows {
		rows[i] = modelRow{m.nextID + i, map[string][]byte{}}
	}
	for k, t := range tensors {
		col, want := m.column(t, n, true)
		cols[k] = col
		for i := range rows {
			if want[i] != nil {
				rows[i].data[t.name] = want[i]
			}
		}
	}
	if m.rng.IntN(6) == 0 {
		// A column that does not fit: nothing of the append may be there after it.
		bad := slices.Clone(cols)
		bad[m.rng.IntN(len(bad))] = tensor.Rows{Tensor: tensors[0].name, Samples: make([]tensor.Sample, n+1)}
		if err := h.d.Append(context.Background(), bad, int64(n)); err == nil {
			m.fatal("a wrong append succeeds")
		}
	}
	m.ok(h.d.Append(context.Background(), cols, int64(n)))
	m.say("append %d", n)
	m.nextID += n
	h.change.rows = append(h.change.rows, rows...)
}

func (m *model) update(h *modelHandle) {
	s := m.shows(h)
	if len(s.rows) == 0 || len(s.tensors) == 0 {
		return
	}
	t := s.tensors[m.rng.IntN(len(s.tensors))]
	rows := make([]int64, 1+m.rng.IntN(4))
	first := m.rng.Int64N(int64(len(s.rows)))
	for i := range rows {
		rows[i] = m.rng.Int64N(int64(len(s.rows)))
		if m.rng.IntN(2) == 0 {
			rows[i] = min(first+int64(i), int64(len(s.rows))-1)
		}
	}
	col, want := m.column(t, len(rows), true)
	m.ok(h.d.Update(context.Background(), rows, []tensor.Rows{col}))
	m.say("update %v of %v", rows, t)
	for i, row := range rows {
		h.change.updated[modelCell{s.rows[row].id, t.name}] = want[i]
	}
}

func (m *model) deleteRows(h *modelHandle) {
	s := m.shows(h)
	if len(s.rows) == 0 {
		return
	}
	at := m.rng.Int64N(int64(len(s.rows)))
	rows := []int64{at}
	for range m.rng.IntN(4) {
		rows = append(rows, min(at+m.rng.Int64N(6), int64(len(s.rows))-1))
	}
	m.ok(h.d.DeleteRows(context.Background(), rows))
	m.say("delete %v", rows)
	for _, row := range rows {
		h.change.deleted[s.rows[row].id] = true
	}
	if err := h.d.DeleteRows(context.Background(), []int64{int64(len(m.shows(h).rows))}); !errs.Is(err, errs.Range) {
		m.fatal("delete a row that does not exist: %v", err)
	}
}

func (m *model) commit(h *modelHandle) {
	c, err := h.d.Commit(context.Background(), "step")
	if h.change.empty() {
		m.ok(err)
		if c.Version != uint64(h.base) {
			m.fatal("nothing is committed as version %d, want %d", c.Version, h.base)
		}
		return
	}
	conflict := false
	for _, theirs := range m.changes[h.base+1:] {
		conflict = conflict || h.change.conflicts(&theirs)
	}
	if conflict != errs.Is(err, errs.Conflict) {
		m.fatal("commit = %v, want a conflict: %v", err, conflict)
	}
	if conflict {
		m.say("conflict")
		m.check(h) // the changes are still there
		m.discard(h)
		return
	}
	m.ok(err)
	m.say("commit version %d on %d", c.Version, h.base)
	m.versions = append(m.versions, h.change.apply(m.versions[len(m.versions)-1]))
	m.changes = append(m.changes, h.change)
	h.base, h.change = len(m.versions)-1, newModelChange()
	if c.Version != uint64(h.base) || c.Rows != int64(len(m.versions[h.base].rows)) {
		m.fatal("commit = %+v, want version %d with %d rows", c, h.base, len(m.versions[h.base].rows))
	}
}

func (m *model) discard(h *modelHandle) {
	m.ok(h.d.Discard(context.Background()))
	m.say("discard")
	h.change = newModelChange()
}

func (m *model) refresh(h *modelHandle) {
	err := h.d.Refresh(context.Background())
	if !h.change.empty() {
		if !errs.Is(err, errs.Conflict) {
			m.fatal("refresh with changes = %v", err)
		}
		return
	}
	m.ok(err)
	m.say("refresh")
	h.base = len(m.versions) - 1
}

func (m *model) at() {
	k := m.rng.IntN(len(m.versions))
	d, err := Open(context.Background(), m.env, m.uri, OpenOptions{At: strconv.Itoa(k)})
	m.ok(err)
	v, err := d.View(context.Background())
	m.ok(err)
	m.compare(v, m.versions[k])
	if err := d.DeleteRows(context.Background(), nil); !errs.Is(err, errs.ReadOnly) {
		m.fatal("a version of the past is changed: %v", err)
	}
	m.ok(d.Close())
}

// step does one random thing to one of the handles.
func (m *model) step() {
	k := m.rng.IntN(len(m.handles))
	h := m.handles[k]
	switch p := m.rng.IntN(100); {
	case p < 8:
		m.createTensor(h)
	case p < 40:
		m.appendRows(h)
	case p < 56:
		m.update(h)
	case p < 66:
		m.deleteRows(h)
	case p < 78:
		m.commit(h)
	case p < 81:
		m.discard(h)
	case p < 85:
		m.refresh(h)
	case p < 87:
		m.at()
	case p < 89:
		m.ok(h.d.Close())
		m.say("reopen %d", k)
		m.handles[k] = m.open()
	case p < 92:
		v, err := h.d.View(context.Background())
		m.ok(err)
		h.kept = append(h.kept[max(0, len(h.kept)-2):], modelView{v, m.shows(h)})
	case p < 94:
		for _, old := range h.kept {
			m.compare(old.view, old.want)
		}
	default:
		m.check(h)
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	seeds, steps := 10, 250
	if n, err := strconv.Atoi(os.Getenv("DEEPLAKE_MODEL_SEEDS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := &model{
				t: t, rng: rand.New(rand.NewPCG(uint64(seed), 11)), env: testEnv(), uri: "mem://model",
				versions: []modelState{{}}, changes: []modelChange{newModelChange()},
			}
			m.env.foldRows = 2 * (seed % 2) // every second one rewrites a few rows already
			first, err := Create(context.Background(), m.env, m.uri, CreateOptions{})
			m.ok(err)
			m.ok(first.Close())
			m.handles = []*modelHandle{m.open(), m.open()}
			for range steps {
				m.step()
			}
			for _, h := range m.handles {
				m.check(h)
				m.ok(h.d.Close())
			}
			m.handles = []*modelHandle{m.open()}
			m.check(m.handles[0])
			for range 3 {
				m.at()
			}
			m.ok(m.handles[0].d.Close())
		})
	}
}
