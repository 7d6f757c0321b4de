package dataset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deeplake/core/chunk"
	"deeplake/core/version"
)

// wantRow is a row as it should be: an identity, and a value per tensor id.
type wantRow struct {
	id   int
	dead bool
	vals map[int]string
}

// wantCommit is a version as it should be.
type wantCommit struct {
	rows    []wantRow
	tensors map[int]string // names by id
	order   []int          // ids in order of creation
	parents []int
	merge   bool

	replaced bool // by a restore or a revert
}

func (c *wantCommit) clone() wantCommit {
	out := wantCommit{tensors: maps.Clone(c.tensors), order: slices.Clone(c.order)}
	for _, r := range c.rows {
		out.rows = append(out.rows, wantRow{r.id, r.dead, maps.Clone(r.vals)})
	}
	return out
}

func (c *wantCommit) row(id int) *wantRow {
	for i := range c.rows {
		if c.rows[i].id == id {
			return &c.rows[i]
		}
	}
	return nil
}

// shown returns the rows that a user sees, by the names of tensors.
func (c *wantCommit) shown() []string {
	var out []string
	for _, r := range c.rows {
		if r.dead {
			continue
		}
		var cells []string
		for _, id := range c.order {
			v, ok := r.vals[id]
			if !ok {
				v = "-"
			}
			cells = append(cells, c.tensors[id]+"="+v)
		}
		slices.Sort(cells)
		out = append(out, strings.Join(cells, " "))
	}
	return out
}

// pending has the uncommitted changes of a handle.
type pending struct {
	added   []wantRow
	updated map[int]map[int]string // row id, tensor id
	deleted map[int]bool
	created map[int]string
	order   []int
}

func newPending() pending {
	return pending{updated: map[int]map[int]string{}, deleted: map[int]bool{}, created: map[int]string{}}
}

func (p *pending) empty() bool {
	return len(p.added) == 0 && len(p.updated) == 0 && len(p.deleted) == 0 && len(p.created) == 0
}

// onto lays the changes on top of a version.
func (p *pending) onto(c *wantCommit) wantCommit {
	out := c.clone()
	for _, id := range p.order {
		out.tensors[id] = p.created[id]
		out.order = append(out.order, id)
	}
	for _, r := range p.added {
		vals := map[int]string{}
		for id, v := range r.vals {
			if _, there := out.tensors[id]; there {
				vals[id] = v
			}
		}
		out.rows = append(out.rows, wantRow{r.id, false, vals})
	}
	for row, vals := range p.updated {
		r := out.row(row)
		for id, v := range vals {
			if _, there := out.tensors[id]; there {
				r.vals[id] = v
			}
		}
	}
	for row := range p.deleted {
		out.row(row).dead = true
	}
	return out
}

// threeWay returns the expected result of a merge. clear is false if two decisions meet in one row:
// their order is undefined.
func threeWay(base, ours, theirs *wantCommit, on version.Strategy) (out wantCommit, conflict, clear bool) {
	out, clear = ours.clone(), true
	for _, id := range base.order { // a restore dropped it
		if ours.tensors[id] == "" || theirs.tensors[id] == "" {
			return out, false, false
		}
	}
	for _, id := range theirs.order {
		if _, there := out.tensors[id]; !there {
			out.tensors[id] = theirs.tensors[id]
			out.order = append(out.order, id)
		}
	}
	for _, t := range theirs.rows {
		o, b := out.row(t.id), base.row(t.id)
		if o == nil && b != nil { // deleted before a merge brought its branch here
			if !t.dead && (b.dead || !maps.Equal(b.vals, t.vals)) {
				return out, false, false
			}
			continue
		}
		if o == nil {
			if !t.dead {
				out.rows = append(out.rows, wantRow{t.id, false, maps.Clone(t.vals)})
			}
			continue
		}
		was := wantRow{vals: map[int]string{}}
		if b != nil {
			was = *b
		} else if o.dead != t.dead || !maps.Equal(o.vals, t.vals) {
			return out, false, false // came to both by another merge
		}
		changedO, changedT := changedVals(was.vals, o.vals), changedVals(was.vals, t.vals)
		goneO, goneT := o.dead && !was.dead, t.dead && !was.dead
		if o.dead != was.dead && !goneO || t.dead != was.dead && !goneT || goneO && len(changedO) > 0 || goneT && len(changedT) > 0 {
			return out, false, false
		}
		switch {
		case goneO && goneT:
		case goneT && len(changedO) > 0:
			conflict = true
			o.dead = on == version.OnConflictTheirs
		case goneO && len(changedT) > 0:
			conflict = true
			if on == version.OnConflictTheirs {
				o.dead, o.vals = false, maps.Clone(t.vals)
			}
		case goneT:
			o.dead = true
		default:
			for id, v := range changedT {
				if mine, both := changedO[id]; both && mine != v {
					conflict = true
					if on != version.OnConflictTheirs {
						continue
					}
				}
				o.vals[id] = v
			}
		}
	}
	return out, conflict, clear
}

func changedVals(was, is map[int]string) map[int]string {
	out := map[int]string{}
	for id, v := range is {
		if was[id] != v {
			out[id] = v
		}
	}
	return out
}

// readTexts reads the texts of a column; "-" for a hole.
func readTexts(ctx context.Context, col *Column, rows []int64, w *chunk.Worker) ([]string, error) {
	refs := make([]chunk.Ref, len(rows))
	if err := col.Resolve(ctx, rows, refs); err != nil {
		return nil, err
	}
	out := make([]string, len(rows))
	for i := range refs {
		if refs[i].Hole() {
			out[i] = "-"
			continue
		}
		data := make([]byte, refs[i].Size)
		if err := col.Decode(ctx, &refs[i], data, w); err != nil {
			return nil, err
		}
		out[i] = string(data)
	}
	return out, nil
}

// shown reads all that a dataset shows, a line for each row.
func shown(ctx context.Context, d *Dataset) ([]string, error) {
	v, err := d.View(ctx)
	if err != nil {
		return nil, err
	}
	got := make([][]string, v.Len())
	rows := make([]int64, v.Len())
	for i := range rows {
		rows[i] = int64(i)
	}
	worker := v.NewWorker()
	defer worker.Close()
	for _, name := range v.Names() {
		col, err := v.Column(name)
		if err != nil {
			return nil, err
		}
		cells, err := readTexts(ctx, col, rows, worker)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", name, err)
		}
		for i, cell := range cells {
			got[i] = append(got[i], name+"="+cell)
		}
	}
	lines := []string{}
	for _, cells := range got {
		slices.Sort(cells)
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines, nil
}

// shows compares a dataset with its expected state.
func shows(ctx context.Context, d *Dataset, want *wantCommit, what string) error {
	lines, err := shown(ctx, d)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if w := want.shown(); !slices.Equal(lines, w) {
		return fmt.Errorf("%s shows\n    %s\nwant\n    %s", what, strings.Join(lines, "\n    "), strings.Join(w, "\n    "))
	}
	return nil
}
