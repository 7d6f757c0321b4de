package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"deeplake/core/dataset"
	"deeplake/core/dataset/origin"
	"deeplake/core/errs"
	"deeplake/core/storage"
)

// part is rows of one split that are written together.
type part struct {
	index  int    // among all
	split  string // "": the rows have none
	number int    // among those of the split
	of     int    // parts of the split
	from   int64  // the first row, counted in the split
	n      int64
	rows   []int64 // of the split; nil: row i of the split is row i of the view

	written *tally
}

// rowsOf returns the rows of the view of n rows of the part.
func (p *part) rowsOf(at, n int64) []int64 {
	if p.rows != nil {
		return p.rows[p.from+at : p.from+at+n]
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = p.from + at + int64(i)
	}
	return out
}

// in returns the name of a file of the split: in a folder of the split, if there are splits.
func (p *part) in(name string) string {
	if p.split == "" {
		return name
	}
	return p.split + "/" + name
}

// shardName returns the name of a shard of the part.
func (p *part) shardName(extension string) string {
	return p.in(fmt.Sprintf("%05d%s", p.number, extension))
}

const (
	splitTensor = "split"
	noSplit     = "other" // rows whose split is missing
	mostSplits  = 64
	// parts of layouts without shards
	filesBytes = 64 << 20
	filesRows  = 4096
	// Without ShardBytes, small sets have so many shards too, for parallel writers and readers.
	fewShards  = 4
	smallShard = 16 << 20
)

// plan divides the rows into parts.
func (e *exporter) plan(ctx context.Context) error {
	n := e.view.Len()
	if n == 0 {
		return errs.New(errs.Invalid, "the view has no rows, and files of no rows tell nothing about its tensors")
	}
	stored, err := e.view.StoredBytes(ctx)
	if err != nil {
		return err
	}
	names, rows := []string{""}, [][]int64{nil}
	if e.o.Splits != "none" {
		if names, rows, err = e.splits(ctx); err != nil {
			return err
		}
	}
	for s, name := range names {
		size := n
		if rows[s] != nil {
			size = int64(len(rows[s]))
		}
		// Both factors are below 2^63 / 2^31 in any dataset that fits on a disk of exabytes.
		bytes := int64(float64(stored) * float64(size) / float64(n))
		count := max(1, (bytes+e.o.ShardBytes-1)/max(e.o.ShardBytes, 1))
		if e.spread {
			count = max(count, min(fewShards, bytes/smallShard))
		}
		if e.layout.shard == 0 {
			count = max(1, (bytes+filesBytes-1)/filesBytes, (size+filesRows-1)/filesRows)
		}
		count = min(count, size)
		for k := range count {
			from, to := share(size, count, k), share(size, count, k+1)
			e.parts = append(e.parts, &part{
				index: len(e.parts), split: name, number: int(k), of: int(count), from: from, n: to - from, rows: rows[s],
			})
		}
		if name != "" {
			e.report.Splits = append(e.report.Splits, name)
		}
	}
	return nil
}

// share returns where part k of count begins among n rows.
func share(n, count, k int64) int64 { return n/count*k + n%count*k/count }

// splits returns the splits and the rows of each: by the tensor "split", or by the folders of the
// files from which all rows were imported. Without them, one split without a name has all rows.
func (e *exporter) splits(ctx context.Context) (names []string, rows [][]int64, err error) {
	d := &division{byName: map[string]int{}}
	at := slices.IndexFunc(e.described.Tensors, func(t dataset.TensorDescription) bool { return t.Name == splitTensor })
	if at < 0 {
		err = d.byFolders(ctx, e)
	} else {
		err = d.byTensor(ctx, e, &e.described.Tensors[at])
	}
	if err != nil || len(d.names) == 0 {
		return []string{""}, [][]int64{nil}, err
	}
	return d.names, d.rows, nil
}

// division is rows by the names of their splits.
type division struct {
	byName map[string]int
	names  []string
	rows   [][]int64
}

// add adds a row. It reports whether there is still room for its split.
func (d *division) add(name string, row int64) bool {
	s, ok := d.byName[name]
	if !ok {
		if s = len(d.names); s == mostSplits {
			return false
		}
		d.byName[name] = s
		d.names, d.rows = append(d.names, name), append(d.rows, nil)
	}
	d.rows[s] = append(d.rows[s], row)
	return true
}

// byTensor divides by the values of a tensor, if it has texts or class labels.
func (d *division) byTensor(ctx context.Context, e *exporter, t *dataset.TensorDescription) error {
	c, err := e.newColumn(t)
	if err != nil || c.list || c.kind != isText && (c.kind != isLabel || len(c.of.ClassNames) == 0) {
		return err
	}
	all := &part{n: e.view.Len()}
	for from := int64(0); from < all.n; {
		b, err := e.batch(ctx, all, from, []*column{c})
		if err != nil {
			return err
		}
		for i, row := range b.rows {
			name := noSplit
			if v := &b.columns[0][i]; v.hole {
				e.note(c.Name(), fmt.Sprintf("rows without a split are the split %q", noSplit))
			} else if c.kind == isText {
				name = string(v.Data)
			} else if name, err = c.className(v, row); err != nil {
				return err
			}
			if !isFolder(name) {
				return errs.New(errs.Invalid, "tensor %q has the value %.40q in row %d, want a name of a folder without spaces; give splits=%q to leave rows together", splitTensor, name, row, "none")
			}
			if !d.add(name, row) {
				return errs.New(errs.Invalid, "tensor %q has more than %d values; give splits=%q to leave rows together", splitTensor, mostSplits, "none")
			}
		}
		from += int64(len(b.rows))
	}
	e.divided = true
	return nil
}

// byFolders divides by the first folder of the rows' files, as imports of images do: if all are
// named as splits are, and are no classes.
func (d *division) byFolders(ctx context.Context, e *exporter) error {
	n := e.view.Len()
	all := &part{n: n}
	for at := int64(0); at < n; at += batchRows {
		rows := all.rowsOf(at, min(batchRows, n-at))
		sources, err := e.view.Sources(ctx, rows)
		if err != nil {
			return err
		}
		for i, s := range sources {
			folder := ""
			if s != nil {
				folder, _, _ = strings.Cut(*s, "/")
			}
			if folder == "" || folder == *s || origin.Split(folder) == "" || e.isClass(folder) || !d.add(folder, rows[i]) {
				*d = division{}
				return nil
			}
		}
	}
	return nil
}

// isClass reports whether a tensor has a class of this name.
func (e *exporter) isClass(name string) bool {
	return slices.ContainsFunc(e.described.Tensors, func(t dataset.TensorDescription) bool { return slices.Contains(t.ClassNames, name) })
}

// className returns the name of the class of a row.
func (c *column) className(v *value, row int64) (string, error) {
	number, err := whole64(&v.Sample)
	if err != nil || number < 0 || number >= int64(len(c.of.ClassNames)) {
		return "", errs.New(errs.Invalid, "row %d of tensor %q is class %d, and there are %d class names", row, c.Name(), number, len(c.of.ClassNames))
	}
	return c.of.ClassNames[number], nil
}

// isFolder reports whether a folder can have this name, which no program gives a meaning.
func isFolder(name string) bool {
	return name != "" && len(name) <= 100 && name[0] != '.' && name != dataset.SchemaFile && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return r == '/' || r == '\\' || r == ' ' || !unicode.IsGraphic(r) })
}

// The records of an export that is not whole.
const (
	recordFolder = ".export/"
	planRecord   = recordFolder + "plan.json"
	partRecord   = recordFolder + "part-%08d.json"
	planVersion  = 1
)

// record has the facts that a later run must share to go on.
type record struct {
	Version    int      `json:"version"`
	Dataset    string   `json:"dataset"`
	Commit     string   `json:"commit"` // "": uncommitted rows, which no later run has
	Selection  string   `json:"selection"`
	Format     string   `json:"format"`
	Tensors    []string `json:"tensors"`
	Splits     string   `json:"splits"`
	ShardBytes int64    `json:"shard_bytes"`
	Pad        bool     `json:"pad,omitempty"`
	Parts      int      `json:"parts"`
}

// partRecorded says that a part is whole.
type partRecorded struct {
	Written written          `json:"written"`
	Files   map[string]int64 `json:"files"` // the sizes of files, if they are few
	Notes   []Note           `json:"notes"` // of the run, until then
	Facts   json.RawMessage  `json:"facts"`
}

// claim makes the target that of this export, or finds the parts that an earlier run has written.
func (e *exporter) claim(ctx context.Context) (done map[int]*partRecorded, err error) {
	r := record{Version: planVersion, Format: e.layout.name, Splits: e.o.Splits, ShardBytes: e.o.ShardBytes, Pad: e.o.Pad, Parts: len(e.parts)}
	if r.Dataset, r.Commit, r.Selection, err = e.view.Identity(); err != nil {
		return nil, err
	}
	for _, c := range e.columns {
		r.Tensors = append(r.Tensors, c.Name())
	}
	own, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	found, err := e.store.Get(ctx, planRecord)
	if errs.Is(err, errs.NotFound) {
		other := ""
		if err := e.store.List(ctx, "", "", func(o storage.Object) bool { other = o.Key; return false }); err != nil {
			return nil, err
		}
		if other != "" {
			return nil, errs.New(errs.Exists, "the place has files, such as %q; name an empty one", other)
		}
		err := e.store.PutIfAbsent(ctx, planRecord, own)
		if errs.Is(err, errs.Exists) { // of this call, whose answer was lost, or of another run
			if again, failed := e.store.Get(ctx, planRecord); failed == nil && bytes.Equal(again, own) {
				return nil, nil
			}
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if r.Commit == "" || !bytes.Equal(found, own) {
		return nil, errs.New(errs.Exists, "the place has a part of another export (%s); name an empty one, or remove the files", differences(found, &r))
	}
	return e.recorded(ctx)
}

// release removes the plan of a run that has failed before it had written anything: the place is
// free for another export. A failure here leaves the plan, which the same export finds again.
func (e *exporter) release(ctx context.Context) {
	alone := true
	err := e.store.List(ctx, "", "", func(o storage.Object) bool { alone = o.Key == planRecord; return alone })
	if err == nil && alone {
		_ = e.store.Delete(ctx, planRecord)
	}
}

// differences says how an export that was begun differs from this one.
func differences(found []byte, own *record) string {
	var was record
	if json.Unmarshal(found, &was) != nil {
		return planRecord + " cannot be read"
	}
	switch {
	case was.Format != own.Format:
		return "format " + fmt.Sprintf("%q", was.Format)
	case was.Dataset != own.Dataset:
		return "of another dataset"
	case own.Commit == "":
		return "uncommitted rows cannot be continued"
	case was.Commit != own.Commit || was.Selection != own.Selection:
		return "of other rows, or of another version"
	}
	return "with other options"
}

// recorded reads the records of the parts that are whole.
func (e *exporter) recorded(ctx context.Context) (map[int]*partRecorded, error) {
	done := map[int]*partRecorded{}
	sizes := map[string]int64{}
	// Places of many files for a part have records without sizes.
	most := 2 * (fewFiles + 1) * (len(e.parts) + 1)
	if err := e.store.List(ctx, "", "", func(o storage.Object) bool {
		sizes[o.Key] = o.Size
		return len(sizes) < most
	}); err != nil {
		return nil, err
	}
	for i := range e.parts {
		data, err := e.store.Get(ctx, fmt.Sprintf(partRecord, i))
		if errs.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r := &partRecorded{}
		if err := json.Unmarshal(data, r); err != nil {
			return nil, errs.New(errs.Corrupt, "its record of part %d is damaged; remove the files: %w", i, err)
		}
		for key, size := range r.Files {
			// Beyond the listing, a file may be there.
			if now, is := sizes[key]; (!is && len(sizes) < most) || is && now != size {
				if err := e.store.Delete(ctx, fmt.Sprintf(partRecord, i)); err != nil {
					return nil, err
				}
				r = nil
				break
			}
		}
		if r != nil {
			done[i] = r
		}
	}
	return done, nil
}
