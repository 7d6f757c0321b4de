package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/format"
	"deeplake/core/internal/task"
	"deeplake/core/storage"
	"deeplake/core/storage/faultstore"
	"deeplake/core/storage/local"
	"deeplake/core/storage/mem"
	"deeplake/core/tensor"
	"deeplake/core/version"
)

// faulty returns an environment with a faultstore around each store, and a function that returns
// the one opened last.
func faulty(t testing.TB, open storage.Opener) (*Env, func() *faultstore.Store) {
	t.Helper()
	env := testEnv()
	var last *faultstore.Store
	env.Stores = storage.Registry{"x": func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		inner, err := open(ctx, rest, o)
		if err != nil {
			return nil, err
		}
		last = faultstore.New(inner, nil)
		return last, nil
	}}
	return env, func() *faultstore.Store { return last }
}

// numbers are n rows of 1,000 int64, the first of which is the row's number.
func numbers(from, n int) tensor.Rows {
	a := &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{1000}}
	for i := range n {
		row := int64s(int64(from + i))
		a.Data = append(append(a.Data, row...), make([]byte, 8*999)...)
	}
	return tensor.Rows{Tensor: "x", Array: a}
}

func checkNumbers(t testing.TB, d *Dataset, n int) {
	t.Helper()
	v, err := d.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if v.Len() != int64(n) {
		t.Fatalf("%d rows, want %d", v.Len(), n)
	}
	tt, ok := t.(*testing.T)
	if !ok {
		return
	}
	for i, got := range readAll(tt, v, "x") {
		if !bytes.Equal(got[:8], int64s(int64(i))) {
			t.Fatalf("row %d is %v", i, got[:8])
		}
	}
}

// TestStoreFailsInAppend: the store fails somewhere in a session. The transaction reports it until
// it is discarded. Committed rows stay, and the same work then succeeds.
func TestStoreFailsInAppend(t *testing.T) {
	t.Parallel()
	actions := map[string]faultstore.Action{
		"no space": faultstore.NoSpace(100_000), "fail": faultstore.Fail(errs.Storage), "read-only": faultstore.Fail(errs.ReadOnly),
		"lost answer": faultstore.LostAnswer(),
	}
	for name, do := range actions {
		for _, op := range faultstore.Writing() {
			for _, skip := range []int{0, 1, 5} {
				t.Run(fmt.Sprintf("%s %s %d", name, op, skip), func(t *testing.T) {
					t.Parallel()
					ctx := context.Background()
					space := &mem.Space{}
					env, store := faulty(t, space.Open)
					d := must[*Dataset](t)(Create(ctx, env, "x://d", CreateOptions{}))
					defer func() { _ = d.Close() }()
					if err := d.CreateTensor(ctx, TensorSpec{Name: "x", DType: "int64", ChunkBytes: 64 << 10}); err != nil {
						t.Fatal(err)
					}
					if err := d.Append(ctx, []tensor.Rows{numbers(0, 20)}, 20); err != nil {
						t.Fatal(err)
					}
					must[version.Committed](t)(d.Commit(ctx, "good"))
					times := 0
					if name != "lost answer" {
						times = faultstore.Always
					}
					store().SetPlan(faultstore.Plan{{Ops: []faultstore.Op{op}, Skip: skip, Times: times, Do: do}})
					work := func() error {
						for i := range 10 {
							if err := d.Append(ctx, []tensor.Rows{numbers(20+10*i, 10)}, 10); err != nil {
								return err
							}
						}
						_, err := d.Commit(ctx, "more")
						return err
					}
					failed := work()
					store().SetPlan(nil)
					rows := 120
					if failed != nil {
						if name == "no space" && !errors.Is(failed, syscall.ENOSPC) {
							t.Errorf("%v, want the cause to be ENOSPC", failed)
						}
						if k := errs.KindOf(failed); k != errs.Storage && k != errs.ReadOnly {
							t.Errorf("%v is %s", failed, k)
						}
						if err := d.Discard(ctx); err != nil {
							t.Fatal(err)
						}
						if err := d.Refresh(ctx); err != nil {
							t.Fatal(err)
						}
						v := must[*View](t)(d.View(ctx))
						if n := v.Len(); n != 20 {
							t.Fatalf("%d rows after %v", n, failed)
						}
						if err := work(); err != nil {
							t.Fatalf("the second time: %v", err)
						}
					}
					checkNumbers(t, d, rows)
					again := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{}))
					defer func() { _ = again.Close() }()
					checkNumbers(t, again, rows)
				})
			}
		}
	}
}

// TestBrokenTransaction: after a failure of the store every use reports it, until discard().
func TestBrokenTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	space := &mem.Space{}
	env, store := faulty(t, space.Open)
	d := must[*Dataset](t)(Create(ctx, env, "x://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "x", DType: "int64", ChunkBytes: 4096}); err != nil {
		t.Fatal(err)
	}
	must[version.Committed](t)(d.Commit(ctx, ""))
	store().SetPlan(faultstore.Plan{{Ops: []faultstore.Op{faultstore.Create}, Skip: 2, Do: faultstore.NoSpace(0)}, {Ops: []faultstore.Op{faultstore.Write}, Skip: 2, Do: faultstore.NoSpace(0)}})
	first := d.Append(ctx, []tensor.Rows{numbers(0, 10)}, 10)
	if first == nil {
		t.Fatal("the append succeeds")
	}
	_, commit := d.Commit(ctx, "")
	_, view := d.View(ctx)
	for what, err := range map[string]error{
		"append": first, "append again": d.Append(ctx, []tensor.Rows{numbers(0, 1)}, 1), "commit": commit, "view": view,
		"update": d.Update(ctx, nil, nil), "create tensor": d.CreateTensor(ctx, TensorSpec{Name: "y"}), "delete": d.DeleteRows(ctx, nil),
	} {
		if !errs.Is(err, errs.Storage) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(fmt.Sprint(err), "discard() and write again") {
			t.Errorf("%s: %v", what, err)
		}
		if n := strings.Count(fmt.Sprint(err), "what is committed is safe"); n != 1 {
			t.Errorf("%s: the way out is named %d times: %v", what, n, err)
		}
	}
	if err := d.Discard(ctx); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, []tensor.Rows{numbers(0, 10)}, 10); err != nil {
		t.Fatal(err)
	}
	checkNumbers(t, d, 10)
}

// TestReadOnlyDirectory: a directory that cannot be written.
func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root writes everywhere")
	}
	ctx := context.Background()
	dir := t.TempDir() + "/d"
	env := testEnv()
	d := must[*Dataset](t)(Create(ctx, env, dir, CreateOptions{}))
	defer func() { _ = d.Close() }()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(dir, 0o700) }()
	if err := d.CreateTensor(ctx, TensorSpec{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, ""); !errs.Is(err, errs.ReadOnly) {
		t.Fatalf("commit = %v", err)
	}
}

// TestClosed: closing twice is fine, use after it is not.
func TestClosed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := must[*Dataset](t)(Create(ctx, testEnv(), "mem://d", CreateOptions{}))
	if err := d.CreateTensor(ctx, TensorSpec{Name: "x", DType: "int64"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Append(ctx, []tensor.Rows{numbers(0, 3)}, 3); err == nil {
		must[version.Committed](t)(d.Commit(ctx, ""))
	} else {
		t.Fatal(err)
	}
	v := must[*View](t)(d.View(ctx))
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, commit := d.Commit(ctx, "")
	_, view := d.View(ctx)
	_, log := d.Log(ctx, 0)
	_, at := d.At(ctx, "0")
	_, describe := d.Describe()
	uses := map[string]error{
		"commit": commit, "view": view, "log": log, "at": at, "describe": describe, "discard": d.Discard(ctx), "refresh": d.Refresh(ctx),
		"append": d.Append(ctx, nil, 0), "update": d.Update(ctx, nil, nil), "delete": d.DeleteRows(ctx, nil),
		"create tensor": d.CreateTensor(ctx, TensorSpec{Name: "y"}), "info": d.SetInfo(ctx, nil),
	}
	col := must[*Column](t)(v.Column("x"))
	refs := make([]chunk.Ref, 1)
	err := col.Resolve(ctx, []int64{0}, refs)
	if err == nil {
		w := v.NewWorker()
		defer w.Close()
		err = col.Decode(ctx, &refs[0], make([]byte, refs[0].Size), w)
	}
	uses["read of a view"] = err
	for what, err := range uses {
		if !errs.Is(err, errs.Closed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestDamagedChunk: every object under data/ cut, flipped and removed, found or not found while
// rows are read.
func TestDamagedChunk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	space := &mem.Space{}
	env, store := faulty(t, space.Open)
	d := must[*Dataset](t)(Create(ctx, env, "x://d", CreateOptions{}))
	for _, spec := range []TensorSpec{{Name: "x", DType: "int64", ChunkBytes: 8192}, {Name: "z", HType: "text", Compression: "zstd"}, {Name: "p", HType: "image", Compression: "png"}} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	texts := make([]tensor.Sample, 5)
	pictures := make([]tensor.Sample, 5)
	for i := range texts {
		texts[i], pictures[i] = text(strings.Repeat(fmt.Sprint(i), 300)), picture(uint64(i), true, 9, 9, 3)
	}
	if err := d.Append(ctx, []tensor.Rows{numbers(0, 5), {Tensor: "z", Samples: texts}, {Tensor: "p", Samples: pictures}}, 5); err != nil {
		t.Fatal(err)
	}
	must[version.Committed](t)(d.Commit(ctx, ""))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// read reads all and says where it failed.
	read := func(do faultstore.Action) (wrong int, err error) {
		r := must[*Dataset](t)(Open(ctx, env, "x://d", OpenOptions{ReadOnly: true}))
		defer func() { _ = r.Close() }()
		store().SetPlan(faultstore.Plan{{Ops: faultstore.Reading(), Prefix: "data/", Times: faultstore.Always, Do: do}})
		v := must[*View](t)(r.View(ctx))
		for _, name := range v.Names() {
			col := must[*Column](t)(v.Column(name))
			w := v.NewWorker()
			defer w.Close()
			for row := range int64(5) {
				refs := make([]chunk.Ref, 1)
				if err = col.Resolve(ctx, []int64{row}, refs); err != nil {
					return wrong, err
				}
				got := make([]byte, refs[0].Size)
				if err = col.Decode(ctx, &refs[0], got, w); err != nil {
					return wrong, err
				}
				want := map[string][]byte{"x": int64s(row), "z": texts[row].Data, "p": pictures[row].Data}[name]
				if !bytes.Equal(got[:len(want)], want) {
					wrong++
				}
			}
		}
		return wrong, nil
	}
	found := 0
	rng := rand.New(rand.NewPCG(2, 2))
	actions := map[string]faultstore.Action{"missing": faultstore.Fail(errs.NotFound), "empty": faultstore.Truncate(0), "cut": faultstore.Truncate(100), "store fails": faultstore.Fail(errs.Storage)}
	for range 60 {
		bit := rng.Int64N(8 * 1200)
		actions[fmt.Sprint("bit ", bit)] = faultstore.FlipBit(bit)
	}
	for name, do := range actions {
		wrong, err := read(do)
		if wrong > 0 {
			t.Errorf("%s: %d samples are wrong", name, wrong)
		}
		want := errs.Corrupt
		if name == "store fails" {
			want = errs.Storage
		}
		if err != nil {
			found++
		}
		if err != nil && !errs.Is(err, want) || err == nil && !strings.HasPrefix(name, "bit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found < 50 {
		t.Errorf("%d of %d damages are noticed", found, len(actions))
	}
}

// TestDeletedUnderReader: reads beyond memory fail with a clear error, and the handle closes.
func TestDeletedUnderReader(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"mem://d", "file://" + t.TempDir() + "/d"} {
		ctx := context.Background()
		env := testEnv()
		w := must[*Dataset](t)(Create(ctx, env, uri, CreateOptions{}))
		if err := w.CreateTensor(ctx, TensorSpec{Name: "x", DType: "int64"}); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(ctx, []tensor.Rows{numbers(0, 300)}, 300); err != nil {
			t.Fatal(err)
		}
		must[version.Committed](t)(w.Commit(ctx, ""))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := must[*Dataset](t)(Open(ctx, env, uri, OpenOptions{}))
		v := must[*View](t)(r.View(ctx))
		if err := Delete(ctx, env, uri, storage.Options{}); err != nil {
			t.Fatal(err)
		}
		col := must[*Column](t)(v.Column("x"))
		err := col.Resolve(ctx, []int64{0}, make([]chunk.Ref, 1))
		if !errs.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "missing") {
			t.Errorf("%s: read = %v", uri, err)
		}
		if err := r.Refresh(ctx); err == nil {
			t.Errorf("%s: refresh succeeds", uri)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s: close = %v", uri, err)
		}
		if _, err := Open(ctx, env, uri, OpenOptions{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("%s: open = %v", uri, err)
		}
		if found, err := Exists(ctx, env, uri, storage.Options{}); found || err != nil {
			t.Errorf("%s: exists = %v, %v", uri, found, err)
		}
		if err := Delete(ctx, env, uri, storage.Options{}); !errs.Is(err, errs.NotFound) {
			t.Errorf("%s: delete again = %v", uri, err)
		}
	}
}

// TestParallelUse: one dataset used by many goroutines at once. Its point is the race detector.
func TestParallelUse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := fresh(t, TensorSpec{DType: "int64"})
	g := task.New(ctx, 0)
	for k := range 4 {
		g.Go(func(ctx context.Context) error {
			for range 15 {
				if err := d.Append(ctx, []tensor.Rows{numbers(k, 2)}, 2); err != nil {
					return err
				}
				v, err := d.View(ctx)
				if err != nil {
					return err
				}
				col, err := v.Column("x")
				if err != nil {
					return err
				}
				w := v.NewWorker()
				defer w.Close()
				refs := make([]chunk.Ref, 1)
				if err := col.Resolve(ctx, []int64{v.Len() - 1}, refs); err != nil {
					return err
				}
				if err := col.Decode(ctx, &refs[0], make([]byte, refs[0].Size), w); err != nil {
					return err
				}
				if _, err := d.Commit(ctx, ""); err != nil {
					return err
				}
				if _, err := d.Describe(); err != nil {
					return err
				}
				if err := d.Update(ctx, []int64{0}, []tensor.Rows{numbers(k, 1)}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if v := must[*View](t)(d.View(ctx)); v.Len() != 4*15*2 {
		t.Fatalf("%d rows", v.Len())
	}
}

// TestSessionMemory: a long session needs no more memory than its open chunks, for any number of
// rows.
func TestSessionMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("appends 300 MB")
	}
	ctx := context.Background()
	env, _ := faulty(t, func(context.Context, string, storage.Options) (storage.Provider, error) {
		return local.Open(ctx, t.TempDir(), storage.Options{Create: true})
	})
	env.Stores["y"] = func(ctx context.Context, rest string, o storage.Options) (storage.Provider, error) {
		return local.Open(ctx, t.TempDir(), storage.Options{Create: true})
	}
	d := must[*Dataset](t)(Create(ctx, env, "y://d", CreateOptions{}))
	defer func() { _ = d.Close() }()
	const chunkBytes, tensors = 2 << 20, 3
	for _, spec := range []TensorSpec{{Name: "x", DType: "int64"}, {Name: "t", HType: "text"}, {Name: "r", DType: "uint8", Compression: "lz4"}} {
		spec.ChunkBytes = chunkBytes
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const rows, rounds = 100, 250 // 1.2 MB a round
	texts, ragged := make([]tensor.Sample, rows), make([]tensor.Sample, rows)
	for i := range texts {
		texts[i] = text(strings.Repeat("t", i%20))
		ragged[i] = picture(uint64(i), true, int64(4000+i), 1)
	}
	cols := []tensor.Rows{numbers(0, rows), {Tensor: "t", Samples: texts}, {Tensor: "r", Samples: ragged}}
	before, most := live(), int64(0)
	for round := range rounds {
		if err := d.Append(ctx, cols, rows); err != nil {
			t.Fatal(err)
		}
		if round%20 == 19 {
			most = max(most, live()-before)
		}
	}
	if bound := int64(2*chunkBytes*tensors + 4<<20); most > bound {
		t.Fatalf("%d bytes are live in a session of %d MB, want at most %d", most, rounds*rows*12_000>>20, bound)
	}
	t.Logf("%d KiB are live", most>>10)
	must[version.Committed](t)(d.Commit(ctx, ""))
}

// TestSpilledSidePages: the directories of a session fill several side pages, with reads in
// between.
func TestSpilledSidePages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := fresh(t, TensorSpec{HType: "text", ChunkBytes: 4096})
	const n = 800_000
	short := make([]tensor.Sample, 1000)
	for i := range short {
		short[i] = text(strings.Repeat("s", i%10))
	}
	for range n / len(short) {
		if err := d.Append(ctx, []tensor.Rows{{Tensor: "x", Samples: short}}, int64(len(short))); err != nil {
			t.Fatal(err)
		}
	}
	for what := range 2 {
		v := must[*View](t)(d.View(ctx))
		col := must[*Column](t)(v.Column("x"))
		w := v.NewWorker()
		for row := int64(0); row < n; row += 777 {
			refs := make([]chunk.Ref, 1)
			if err := col.Resolve(ctx, []int64{row}, refs); err != nil || refs[0].Size != row%1000%10 {
				t.Fatalf("row %d has %d bytes: %v", row, refs[0].Size, err)
			}
			if err := col.Decode(ctx, &refs[0], make([]byte, refs[0].Size), w); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		if what == 0 {
			must[version.Committed](t)(d.Commit(ctx, ""))
		}
	}
	sides := map[format.UUID]bool{}
	tree := d.head.Tree(d.head.Schema.Tensors[0].ID)
	if err := tree.Scan(ctx, 0, n, func(e format.Entry) bool { sides[e.Side] = true; return true }); err != nil || len(sides) < 2 {
		t.Fatalf("%d side pages: the test is too small (%v)", len(sides), err)
	}
}
