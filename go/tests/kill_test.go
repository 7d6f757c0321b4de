package tests

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"deeplake/core/chunk"
	"deeplake/core/codec/all"
	"deeplake/core/dataset"
	"deeplake/core/storage"
	"deeplake/core/storage/local"
	"deeplake/core/tensor"
	"deeplake/go/tests/clock"
)

// A child process appends and commits without end, and is killed. It must leave a version that it
// committed, whole. Row i of a dataset holds values made of i, so that any damage is seen.

// killedURI tells the test binary that it is the child, and which dataset it writes.
const killedURI = "DEEPLAKE_TEST_KILLED_URI"

func killEnv() *dataset.Env {
	return &dataset.Env{Stores: storage.Registry{"file": local.Open}, Codecs: all.All(), Writer: "test"}
}

// killRows are rows from, from+1, ...: a number, a text, an array of a size of its own, and now and
// then a tiled one.
func killRows(from int64, n int) []tensor.Rows {
	numbers := &tensor.Array{DType: tensor.Int64, Shape: tensor.Shape{}}
	texts := tensor.Rows{Tensor: "text"}
	arrays := tensor.Rows{Tensor: "array"}
	for row := from; row < from+int64(n); row++ {
		numbers.Data = binary.LittleEndian.AppendUint64(numbers.Data, uint64(row))
		texts.Samples = append(texts.Samples, tensor.Sample{Form: tensor.FormText, DType: tensor.String, Data: killText(row)})
		a := killArray(row)
		arrays.Samples = append(arrays.Samples, tensor.Sample{DType: tensor.Uint8, Shape: tensor.Shape{int64(len(a)) / 4, 4}, Data: a})
	}
	return []tensor.Rows{{Tensor: "number", Array: numbers}, texts, arrays}
}

func killText(row int64) []byte { return bytes.Repeat(fmt.Appendf(nil, "row %d ", row), int(row%13)) }

func killArray(row int64) []byte {
	n := 4 * (row % 300)
	if row%97 == 0 {
		n = 4 * 5000
	}
	return bytes.Repeat([]byte{byte(row), byte(row >> 8), 1, 2}, int(n/4))
}

// killChild is the life of the child: it says "n\n" once n rows are committed.
func killChild(ctx context.Context, uri string, say io.Writer) error {
	d, err := dataset.Open(ctx, killEnv(), uri, dataset.OpenOptions{})
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		v, err := d.View(ctx)
		if err != nil {
			return err
		}
		rows := v.Len()
		for range 1 + round%3 {
			n := 1 + (round*7)%40
			if err := d.Append(ctx, killRows(rows, n), int64(n)); err != nil {
				return err
			}
			rows += int64(n)
		}
		if _, err := d.Commit(ctx, strconv.FormatInt(rows, 10)); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(say, rows); err != nil {
			return err
		}
	}
}

func TestKilled(t *testing.T) {
	ctx := context.Background()
	if uri := os.Getenv(killedURI); uri != "" {
		err := killChild(ctx, uri, os.Stdout)
		t.Fatalf("the child ended by itself: %v", err)
	}
	t.Parallel()
	kills := 200
	if testing.Short() {
		kills = 40
	}
	if n, err := strconv.Atoi(os.Getenv("DEEPLAKE_KILLS")); err == nil {
		kills = n
	}
	self, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	uri := ""
	var committed int64
	for kill := range kills {
		if kill%20 == 0 { // datasets stay so small that most of the time goes into writing
			uri, committed = t.TempDir()+"/d", 0
			createKilled(t, uri)
		}
		said := killOnce(t, self, uri, rng)
		committed = checkKilled(t, uri, max(committed, said))
	}
}

func createKilled(t *testing.T, uri string) {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Create(ctx, killEnv(), uri, dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []dataset.TensorSpec{
		{Name: "number", DType: "int64"}, {Name: "text", HType: "text", Compression: "zstd"}, {Name: "array", DType: "uint8", ChunkBytes: 8192},
	} {
		if err := d.CreateTensor(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(ctx, "0"); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// killOnce runs the child for a random time and kills it. It gives the number of rows that the
// child last said to be committed.
func killOnce(t *testing.T, self, uri string, rng *rand.Rand) int64 {
	t.Helper()
	child := exec.Command(self, "-test.run=^TestKilled$")
	child.Env = append(os.Environ(), killedURI+"="+uri)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	// The moment is counted from a line of the child, as the time that a process takes to come up
	// says nothing.
	lines := rng.IntN(4)
	buf := make([]byte, 1)
	var line []byte
	said := int64(0)
	take := func() {
		if n, err := strconv.ParseInt(string(line), 10, 64); err == nil {
			said = n
		}
		line = line[:0]
	}
	for seen := 0; seen < lines; {
		if _, err := out.Read(buf); err != nil {
			break
		}
		if buf[0] == '\n' {
			take()
			seen++
			continue
		}
		line = append(line, buf[0])
	}
	// The test kills the child at a random moment of its work, and no line of the child names one.
	most := 6 * time.Millisecond
	if lines == 0 {
		most = 40 * time.Millisecond // the child may not have begun yet
	}
	clock.Until(time.Now().Add(time.Duration(rng.Int64N(int64(most)))))
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range rest {
		if b == '\n' {
			take()
			continue
		}
		line = append(line, b)
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child was not killed: %v: %s", err, rest)
	}
	return said
}

// checkKilled opens the dataset that the child has left, checks every row, and commits one more. At
// least atLeast rows must be there. It returns the number of rows afterwards.
func checkKilled(t *testing.T, uri string, atLeast int64) int64 {
	t.Helper()
	ctx := context.Background()
	d, err := dataset.Open(ctx, killEnv(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := v.Len()
	if n < atLeast {
		t.Fatalf("%d rows, but %d were committed", n, atLeast)
	}
	log, err := d.Log(ctx, 1)
	if err != nil || log[0].Message != strconv.FormatInt(n, 10) {
		t.Fatalf("%d rows, but the commit says %q (%v)", n, log[0].Message, err)
	}
	readKilled(t, v)
	if err := d.Append(ctx, killRows(n, 1), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, strconv.FormatInt(n+1, 10)); err != nil {
		t.Fatal(err)
	}
	return n + 1
}

func readKilled(t *testing.T, v *dataset.View) {
	t.Helper()
	ctx := context.Background()
	want := map[string]func(int64) []byte{
		"number": func(row int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(row)) },
		"text":   killText, "array": killArray,
	}
	rows := make([]int64, v.Len())
	for i := range rows {
		rows[i] = int64(i)
	}
	w := v.NewWorker()
	defer w.Close()
	for name, of := range want {
		col, err := v.Column(name)
		if err != nil {
			t.Fatal(err)
		}
		refs := make([]chunk.Ref, len(rows))
		if err := col.Resolve(ctx, rows, refs); err != nil {
			t.Fatal(err)
		}
		for i := range refs {
			if refs[i].Hole() {
				t.Fatalf("row %d of %q is a hole", i, name)
			}
			got := make([]byte, refs[i].Size)
			if err := col.Decode(ctx, &refs[i], got, w); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, of(int64(i))) {
				t.Fatalf("row %d of %q differs", i, name)
			}
		}
	}
}
