package tests

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"deeplake/core/chunk"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// smallDisk mounts a file system of a few megabytes. It takes root and a kernel that allows it.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("needs the right to mount a tmpfs: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// numbersOf reads the first byte of every sample of tensor "x", after checking that the sample is
// made of it.
func numbersOf(t *testing.T, d *dataset.Dataset) []byte {
	t.Helper()
	ctx := context.Background()
	v, err := d.View(ctx)
	if err != nil {
		t.Fatal(err)
	}
	col, err := v.Column("x")
	if err != nil {
		t.Fatal(err)
	}
	w := v.NewWorker()
	defer w.Close()
	var out []byte
	for row := range v.Len() {
		refs := make([]chunk.Ref, 1)
		if err := col.Resolve(ctx, []int64{row}, refs); err != nil {
			t.Fatal(err)
		}
		sample := make([]byte, refs[0].Size)
		if err := col.Decode(ctx, &refs[0], sample, w); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(sample, bytes.Repeat(sample[:1], len(sample))) {
			t.Fatal("a sample is mixed from two")
		}
		out = append(out, sample[0])
	}
	return out
}

func TestDiskThatFills(t *testing.T) {
	disk := smallDisk(t)
	ctx := context.Background()
	d, err := dataset.Create(ctx, killEnv(), "file://"+disk+"/d", dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "x", DType: "uint8", ChunkBytes: 256 << 10}); err != nil {
		t.Fatal(err)
	}
	row := func(i byte) []tensor.Rows {
		return []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{100_000}, Data: bytes.Repeat([]byte{i}, 100_000)}}}
	}
	for i := range byte(10) {
		if err := d.Append(ctx, row(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Commit(ctx, "ten"); err != nil {
		t.Fatal(err)
	}
	for i := byte(10); err == nil && i < 200; i++ {
		err = d.Append(ctx, row(i), 1)
	}
	if err == nil {
		_, err = d.Commit(ctx, "too many")
	}
	if !errs.Is(err, errs.Storage) || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "discard()") {
		t.Fatalf("20 MB on a disk of 4 MB: %v, want errs.Storage that says what is full and what to do", err)
	}
	if err := d.Discard(ctx); err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, d); !bytes.Equal(got, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Fatalf("after the discard: rows %v", got)
	}
	freeOrphans(t, disk)
	if err := d.Append(ctx, row(10), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, "goes on"); err != nil {
		t.Fatal(err)
	}
	if got := numbersOf(t, d); len(got) != 11 || got[10] != 10 {
		t.Fatalf("after there was room again: rows %v", got)
	}
}

// freeOrphans removes the chunks that no commit refers to, as gc will one day: the session with
// more of them is the one that filled the disk.
func freeOrphans(t *testing.T, disk string) {
	t.Helper()
	sessions, err := filepath.Glob(filepath.Join(disk, "d", "data", "*"))
	if err != nil || len(sessions) != 2 {
		t.Fatalf("sessions %v, %v, want two", sessions, err)
	}
	a, _ := filepath.Glob(filepath.Join(sessions[0], "*"))
	b, _ := filepath.Glob(filepath.Join(sessions[1], "*"))
	orphan := sessions[0]
	if len(b) > len(a) {
		orphan = sessions[1]
	}
	if err := os.RemoveAll(orphan); err != nil {
		t.Fatal(err)
	}
}

func TestDiskThatIsReadOnly(t *testing.T) {
	disk := smallDisk(t)
	ctx := context.Background()
	uri := "file://" + disk + "/d"
	d, err := dataset.Create(ctx, killEnv(), uri, dataset.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.CreateTensor(ctx, dataset.TensorSpec{Name: "x", DType: "uint8"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Commit(ctx, "tensor"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,ro", disk).CombinedOutput(); err != nil {
		t.Skipf("cannot remount: %v: %s", err, out)
	}
	one := []tensor.Rows{{Tensor: "x", Array: &tensor.Array{DType: tensor.Uint8, Shape: tensor.Shape{}, Data: []byte{1}}}}
	err = d.Append(ctx, one, 1)
	if err == nil {
		_, err = d.Commit(ctx, "no")
	}
	if !errs.Is(err, errs.ReadOnly) {
		t.Fatalf("append on a read-only disk: %v, want errs.ReadOnly", err)
	}
	again, err := dataset.Open(ctx, killEnv(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatalf("reading from a read-only disk: %v", err)
	}
	_ = again.Close()
}
