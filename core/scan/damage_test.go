package scan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"deeplake/core/array"
	"deeplake/core/chunk"
	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/loader"
	"deeplake/core/order"
	"deeplake/core/query"
	"deeplake/core/storage"
	"deeplake/core/storage/storagetest"
	"deeplake/core/tensor"
	"deeplake/core/version"
	"deeplake/core/version/maintain"
)

// objects are the objects of a dataset by key.
type objects map[string][]byte

// damagedStore is a store over objects that are not changed: changes lie on top, nil for a removed
// object.
type damagedStore struct {
	under objects
	keys  []string // of under, sorted
	uri   string

	mu   sync.Mutex
	over objects
}

var _ storage.Mapper = (*damagedStore)(nil)

func (h *damagedStore) find(op, key string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, ok := h.over[key]
	if !ok {
		data = h.under[key]
	}
	if data == nil {
		return nil, errs.Op(op, key).New(errs.NotFound, "no such object in %s", h.uri)
	}
	return data, nil
}

func (h *damagedStore) Get(_ context.Context, key string) ([]byte, error) {
	data, err := h.find("get", key)
	return bytes.Clone(data), err
}

func (h *damagedStore) ReadAt(_ context.Context, key string, dst []byte, off int64) error {
	data, err := h.find("read", key)
	if err == nil && (off < 0 || off+int64(len(dst)) > int64(len(data))) {
		err = errs.Op("read", key).New(errs.Corrupt, "object is truncated (got %d bytes, want %d at offset %d)", len(data), len(dst), off)
	}
	if err == nil {
		copy(dst, data[off:])
	}
	return err
}

func (h *damagedStore) Map(_ context.Context, key string) (*storage.Mapping, error) {
	data, err := h.find("map", key)
	return &storage.Mapping{Data: data}, err
}

func (h *damagedStore) Put(_ context.Context, key string, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over[key] = append([]byte{}, data...)
	return nil
}

func (h *damagedStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if _, err := h.find("put", key); err == nil { // no test puts one key twice at a time
		return errs.Op("put", key).New(errs.Exists, "it exists")
	}
	return h.Put(ctx, key, data)
}

func (h *damagedStore) List(_ context.Context, prefix, after string, fn func(storage.Object) bool) error {
	keys := h.keys
	h.mu.Lock()
	if len(h.over) > 0 {
		keys = slices.AppendSeq(slices.Clone(keys), maps.Keys(h.over))
		slices.Sort(keys)
		keys = slices.Compact(keys)
	}
	h.mu.Unlock()
	at, _ := slices.BinarySearch(keys, max(prefix, after))
	for _, key := range keys[at:] {
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		data, err := h.find("list", key)
		if key > after && err == nil && !fn(storage.Object{Key: key, Size: int64(len(data))}) {
			return nil
		}
	}
	return nil
}

func (h *damagedStore) Delete(_ context.Context, keys ...string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		h.over[key] = nil
	}
	return nil
}

func (h *damagedStore) URI() string  { return h.uri }
func (h *damagedStore) Close() error { return nil }

// victim is a dataset with tensors and objects of many kinds.
type victim struct {
	env  *dataset.Env
	all  objects
	keys []string
}

const victimURI = "mem://victim"

// reachLake are options under which the links of a victim are followed.
func reachLake() (o storage.Options) {
	o.Links = []storage.LinkRule{{Prefix: "lake://test", Settings: &storage.Settings{}}}
	return o
}

// wideNames are class names that make a schema too large for the commit record.
const wideNames = 2500

// newVictim makes the dataset; another number makes one of other values. names is the number of
// class names of one column.
func newVictim(t testing.TB, number int64, names int) *victim {
	t.Helper()
	ctx := context.Background()
	lake := &storagetest.Lake{}
	env := testEnv()
	env.Sources = storage.Sources{"lake": lake.Open}
	file := func(name string, colour byte) []byte {
		id, _, err := env.Codecs.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		sc := must[codec.SampleCodec](t)(env.Codecs.Sample(id))
		return must[[]byte](t)(sc.Encode(nil, bytes.Repeat([]byte{colour}, 8*9*3), tensor.Uint8, tensor.Shape{8, 9, 3}, codec.Options{}))
	}
	for i := range byte(8) {
		lake.Put(fmt.Sprintf("%d.png", i), file("png", 31*i+byte(number)))
	}
	d := must[*dataset.Dataset](t)(dataset.Create(ctx, env, victimURI, dataset.CreateOptions{}))
	defer func() { _ = d.Close() }()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []dataset.TensorSpec{
		{Name: "x", DType: "int64"}, {Name: "packed", DType: "int64", Compression: "zstd"}, {Name: "text", HType: "text"}, {Name: "json", HType: "json"},
		{Name: "label", HType: "class_label", ClassNames: []string{"cat", "dog", "bird"}}, {Name: "image", HType: "image.rgb", Compression: "png"},
		{Name: "tiled", DType: "uint8", ChunkBytes: 4 << 10}, {Name: "list", HType: "sequence", DType: "int64"}, {Name: "link", HType: "image.rgb", Compression: "png"},
	} {
		check(d.CreateTensor(ctx, s))
	}
	tick := number
	add := func(n int64) {
		t.Helper()
		x := make([]int64, n)
		rows := []tensor.Rows{{Tensor: "x"}, {Tensor: "packed"}, {Tensor: "text"}, {Tensor: "json"}, {Tensor: "label"}, {Tensor: "image"}, {Tensor: "tiled"}, {Tensor: "list"}, {Tensor: "link"}}
		label := make([]int64, n)
		for i := range x {
			tick++
			x[i], label[i] = tick, tick%3
			rows[2].Samples = append(rows[2].Samples, textOf(tensor.String, fmt.Sprint("text ", tick)))
			rows[3].Samples = append(rows[3].Samples, textOf(tensor.JSON, fmt.Sprintf(`{"n":%d}`, tick)))
			rows[5].Samples = append(rows[5].Samples, tensor.Sample{Form: tensor.FormEncoded, Data: file("png", byte(tick))})
			side := int64(10)
			if i == 0 {
				side = 300
			}
			rows[6].Samples = append(rows[6].Samples, tensor.Sample{DType: tensor.Uint8, Shape: tensor.Shape{side, side}, Data: bytes.Repeat([]byte{byte(tick)}, int(side*side))})
			rows[7].RowItems = append(rows[7].RowItems, tick%3)
			for k := range tick % 3 {
				rows[7].Samples = append(rows[7].Samples, tensor.Sample{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes([]int64{tick + k})})
			}
			rows[8].Samples = append(rows[8].Samples, tensor.Sample{Form: tensor.FormLink, Link: &tensor.Link{URL: fmt.Sprintf("lake://test/%d.png", uint64(tick)%8)}})
		}
		rows[0].Array = &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(x)}
		rows[1].Array = rows[0].Array
		rows[4].Array = &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(label)}
		check(d.Append(ctx, rows, n))
	}
	commit := func(message string) { _ = must[version.Committed](t)(d.Commit(ctx, message)) }
	update := func(tensorName string, rows []int64) {
		t.Helper()
		values := make([]int64, len(rows))
		for i := range values {
			tick++
			values[i] = tick
		}
		check(d.Update(ctx, rows, []tensor.Rows{{Tensor: tensorName, Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(values)}}}))
	}
	vs := d.Versions()
	add(4)
	commit("four")
	add(6)
	commit("ten")
	update("x", []int64{1, 3})
	commit("updates")
	_ = must[dataset.TagInfo](t)(vs.CreateTag(ctx, "v1", "", ""))
	_ = must[dataset.TagInfo](t)(vs.CreateTag(ctx, "v2", "", "to be deleted"))
	check(vs.DeleteTag(ctx, "v2"))
	check(d.DeleteRows(ctx, []int64{2, 5}))
	commit("deleted rows")
	check(vs.CreateBranch(ctx, "gone", ""))
	check(vs.DeleteBranch(ctx, "gone"))
	check(d.Checkout(ctx, "try", true))
	add(3)
	update("packed", []int64{0})
	commit("on the branch")
	check(d.Checkout(ctx, "main", false))
	add(2)
	commit("on main")
	if _, _, err := d.Merge(ctx, "try", version.OnConflictError, ""); err != nil {
		t.Fatal(err)
	}
	v := must[*dataset.View](t)(d.View(ctx))
	check(Plain(v).Save(ctx, d, "all", QuerySpec{}, false))
	check(must[*Result](t)(Plain(v).Select([]int64{1, 3, 4})).Save(ctx, d, "some", QuerySpec{}, false))
	check(Plain(v).Save(ctx, d, "dropped", QuerySpec{}, false))
	check(vs.DeleteView(ctx, "dropped"))
	check(d.CreateTensor(ctx, dataset.TensorSpec{Name: "dense", DType: "int64"}))
	many := make([]int64, 2200)
	check(d.CreateTensor(ctx, dataset.TensorSpec{Name: "wide", HType: "class_label", ClassNames: manyNames(names)}))
	rows := []tensor.Rows{{Tensor: "dense", Array: &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}, Data: array.Bytes(many)}}}
	for _, name := range []string{"x", "packed", "text", "json", "label", "image", "tiled", "list", "link", "wide"} {
		holes := tensor.Rows{Tensor: name}
		if name == "list" {
			holes.RowItems = make([]int64, len(many))
			rows = append(rows, holes)
			continue
		}
		for range many {
			holes.Samples = append(holes.Samples, tensor.Sample{Form: tensor.FormHole})
		}
		rows = append(rows, holes)
	}
	check(d.Append(ctx, rows, int64(len(many))))
	commit("many rows")
	var some []int64 // too few for the commit to rewrite the rows between them
	for i := int64(30); i < 2200; i += 4 {
		some = append(some, i)
	}
	update("dense", some)
	commit("many pieces")
	treeOfPieces(t, env, "dense")
	if r := must[maintain.GCReport](t)(vs.GC(ctx, maintain.GCOptions{Expire: &maintain.Retention{Last: 5}})); r.Expired == 0 {
		t.Fatalf("nothing is expired: %+v", r)
	}
	all := objects{}
	store := must[storage.Provider](t)(env.Stores.Open(ctx, victimURI, storage.Options{}))
	check(store.List(ctx, "", "", func(o storage.Object) bool {
		all[o.Key] = must[[]byte](t)(store.Get(ctx, o.Key))
		return true
	}))
	return &victim{env: env, all: all, keys: slices.Sorted(maps.Keys(all))}
}

// treeOfPieces commits the rows of a tensor as they are, in leaves of few pieces under an inner
// page.
func treeOfPieces(t testing.TB, env *dataset.Env, name string) {
	t.Helper()
	ctx := context.Background()
	store := must[storage.Provider](t)(env.Stores.Open(ctx, victimURI, storage.Options{}))
	repo, head, err := version.OpenHead(ctx, store, "test")
	if err != nil {
		t.Fatal(err)
	}
	repo.Pages.MaxPieces = 300
	txn := repo.Begin(head)
	for _, ts := range head.Schema.Tensors {
		if ts.Name != name {
			continue
		}
		tree := head.Tree(ts.ID)
		e, _, err := tree.Find(ctx, head.Record.Rows-1)
		if err != nil {
			t.Fatal(err)
		}
		dirs := must[[][]byte](t)(tree.Side(ctx, e.Side))
		txn.RewriteChunk(ts.ID, e, []format.RowRange{{Start: e.Row, Count: e.Rows}}, dirs[e.Slot])
		if s := must[*version.Snapshot](t)(txn.Commit(ctx, "a tree of pages", "tester")); s.Record.Columns[ts.ID].Root.Height == 0 {
			t.Fatal("the tree has no inner page")
		}
	}
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		sum := sha256.Sum256(fmt.Append(nil, i))
		names[i] = fmt.Sprintf("class %d %x", i, sum)
	}
	return names
}

// on returns the environment of a victim in which its objects are changed.
func (v *victim) on(over objects) (*dataset.Env, *damagedStore) {
	if over == nil {
		over = objects{}
	}
	h := &damagedStore{under: v.all, keys: v.keys, over: maps.Clone(over), uri: victimURI}
	env := *v.env
	env.Stores = storage.Registry{"mem": func(_ context.Context, name string, _ storage.Options) (storage.Provider, error) {
		if "mem://"+name == victimURI || name == victimURI {
			return h, nil
		}
		return &damagedStore{over: objects{}, uri: "mem://" + name}, nil
	}}
	return &env, h
}

// reply is a result or an error. rows tells results about rows of one column from others.
type reply struct {
	text string
	rows string
	err  error
}

// digest reads a column row by row.
func digest(ctx context.Context, v *dataset.View, name string) reply {
	r := reply{rows: name}
	col, err := v.Column(name)
	if err != nil {
		return reply{rows: name, err: err}
	}
	w := v.NewWorker()
	defer w.Close()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	n := v.Len()
	if name != "dense" { // which alone has values behind the first rows
		n = min(n, 40)
	}
	rows, refs := make([]int64, n), make([]chunk.Ref, n)
	for i := range rows {
		rows[i] = int64(i)
	}
	if r.err = col.Resolve(ctx, rows, refs); r.err != nil {
		return r
	}
	var buf []byte
	for i := range refs {
		items := []chunk.Ref{refs[i]}
		if refs[i].Hole() {
			_, _ = io.WriteString(sum, "hole")
			continue
		}
		if col.Sequence() {
			items = make([]chunk.Ref, refs[i].Items)
			if r.err = col.Items(ctx, &refs[i], items); r.err != nil {
				return r
			}
		}
		for k := range items {
			if items[k].Size > 1<<24 {
				r.err = errs.New(errs.Corrupt, "a sample of %d bytes", items[k].Size)
				return r
			}
			buf = slices.Grow(buf[:0], int(items[k].Size))[:items[k].Size]
			if r.err = col.Decode(ctx, &items[k], buf, w); r.err != nil {
				return r
			}
			_, _ = fmt.Fprint(sum, items[k].Shape, len(buf))
			_, _ = sum.Write(buf)
		}
		_, _ = io.WriteString(sum, ";")
	}
	r.text = fmt.Sprintf("%s %d rows %x", col.DType(), v.Len(), sum.Sum64())
	return r
}

// questions asks a dataset many things.
type questions struct {
	env *dataset.Env
	out map[string]reply
}

func said(v any, err error) reply {
	text, bad := json.Marshal(v)
	if err == nil {
		err = bad
	}
	return reply{text: string(text), err: err}
}

func (q *questions) view(ctx context.Context, at string, v *dataset.View) {
	for _, name := range v.Names() {
		q.out[at+" "+name] = digest(ctx, v, name)
	}
}

// victimRefs are commits of a victim by name.
var victimRefs = []string{"", "try", "v1", "main@5"}

// askAll asks everything that costs little.
func (v *victim) askAll(ctx context.Context, over objects) map[string]reply {
	out := v.ask(ctx, over, 0)
	maps.Copy(out, v.ask(ctx, over, 1))
	return out
}

// ask asks one half of it: of the newest version, or of named ones.
func (v *victim) ask(ctx context.Context, over objects, half int) map[string]reply {
	env, _ := v.on(over)
	q := &questions{env: env, out: map[string]reply{}}
	if half == 1 {
		for _, at := range victimRefs[1:] {
			q.open(ctx, at, q.rows)
		}
		return q.out
	}
	q.open(ctx, "", func(ctx context.Context, at string, d *dataset.Dataset) {
		q.rows(ctx, at, d)
		q.history(ctx, at, d)
		q.saved(ctx, at, d)
		q.query(ctx, at, d)
		q.epoch(ctx, at, d)
	})
	return q.out
}

// open opens the dataset at a version and asks it one question.
func (q *questions) open(ctx context.Context, at string, ask func(ctx context.Context, at string, d *dataset.Dataset)) {
	d, err := dataset.Open(ctx, q.env, victimURI, dataset.OpenOptions{At: at, ReadOnly: true, Storage: reachLake()})
	if err != nil {
		q.out["open "+at] = reply{err: err}
		return
	}
	defer func() { _ = d.Close() }()
	ask(ctx, at, d)
}

// rows reads all columns.
func (q *questions) rows(ctx context.Context, at string, d *dataset.Dataset) {
	v, err := d.View(ctx)
	if err != nil {
		q.out["at "+at] = reply{err: err}
		return
	}
	q.view(ctx, "at "+at, v)
}

// history lists branches, tags, views and commits, and compares two of them.
func (q *questions) history(ctx context.Context, _ string, d *dataset.Dataset) {
	vs := d.Versions()
	branches, err := vs.Branches(ctx)
	q.out["branches"] = said(branches, err)
	tags, err := vs.Tags(ctx)
	q.out["tags"] = said(tags, err)
	views, err := vs.Views(ctx)
	q.out["views"] = said(views, err)
	graph, err := vs.Graph(ctx, 0, true)
	q.out["graph"] = said(graph, err)
	diff, err := vs.Diff(ctx, "v1", "main")
	q.out["diff"] = said(diff, err)
}

// saved loads the saved views and reads their rows.
func (q *questions) saved(ctx context.Context, _ string, d *dataset.Dataset) {
	for _, name := range []string{"all", "some"} {
		l, err := d.Versions().LoadView(ctx, name)
		if err != nil {
			q.out["view "+name] = reply{err: err}
			continue
		}
		if l.Rows != nil {
			part, err := l.Rows.Slice(0, min(l.Rows.Len(), 40), 1)
			if err != nil {
				q.out["view "+name] = reply{err: err}
			} else {
				q.view(ctx, "view "+name, part)
			}
		}
		_ = l.Dataset.Close()
	}
}

// query runs a query that filters, sorts and projects.
func (q *questions) query(ctx context.Context, _ string, d *dataset.Dataset) {
	if v, err := d.View(ctx); err == nil { // rows has said so
		q.out["query"] = q.queryOf(ctx, v)
	}
}

// epoch reads one epoch by a loader.
func (q *questions) epoch(ctx context.Context, _ string, d *dataset.Dataset) {
	if v, err := d.View(ctx); err == nil {
		q.out["epoch"] = epochOf(ctx, v)
	}
}

func (q *questions) queryOf(ctx context.Context, v *dataset.View) reply {
	tables := NewTables(q.env, v.URI(), true, reachLake())
	defer func() { _ = tables.Close() }()
	a := Plain(v)
	p, err := query.Prepare(ctx, "SELECT x, text, list, image WHERE label = 'dog' AND x > 3 ORDER BY packed DESC", a.Table(), tables, query.Options{})
	if err != nil {
		return reply{err: err}
	}
	r, err := p.Run(ctx)
	if err != nil {
		return reply{err: err}
	}
	answer, err := NewResult(ctx, q.env, a.Base(), slices.Concat(a.Reads(), tables.Views()), r, "")
	if err != nil {
		return reply{err: err}
	}
	col, err := answer.Column("x")
	if err != nil {
		return reply{err: err}
	}
	w := answer.NewWorker()
	defer w.Close()
	out := fmt.Sprint(answer.Len())
	for i := range answer.Len() {
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{i}, refs); err != nil {
			return reply{err: err}
		}
		data := make([]byte, refs[0].Size)
		if !refs[0].Hole() {
			if err := col.Decode(ctx, &refs[0], data, w); err != nil {
				return reply{err: err}
			}
		}
		out += fmt.Sprintf(" %x", data)
	}
	return reply{text: out}
}

// epochOf returns one pass of a loader.
func epochOf(ctx context.Context, v *dataset.View) reply {
	part, err := v.Slice(0, min(v.Len(), 14), 1)
	if err != nil {
		return reply{err: err}
	}
	l, err := loader.Open(ctx, loader.SourceOf[*dataset.Column](part), loader.Options{
		BatchSize: 4, Workers: 1, Tensors: []string{"x", "text", "image", "tiled", "link"}, Collate: loader.List, Shuffle: order.Full,
	})
	if err != nil {
		return reply{err: err}
	}
	defer l.Close()
	e, err := l.Start(ctx, order.Pass{})
	if err != nil {
		return reply{err: err}
	}
	defer e.Close()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	for {
		b, err := e.Next(ctx)
		if err != nil || b == nil {
			return reply{text: fmt.Sprintf("%x", sum.Sum64()), err: err}
		}
		for i := range b.Columns {
			c := &b.Columns[i]
			for k := range c.Count {
				_, _ = sum.Write(b.Item(c, k))
			}
		}
		b.Release()
	}
}
