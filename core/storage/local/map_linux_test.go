package local

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
	"deeplake/go/tests/clock"
)

// TestMap: a mapping shows the object, stays after the object's deletion and the provider's end,
// and tells which parts cannot be touched.
func TestMap(t *testing.T) {
	t.Parallel()
	p := openAt(t, t.TempDir())
	ctx := t.Context()
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := p.Put(ctx, "data/a/0", want); err != nil {
		t.Fatal(err)
	}
	m, err := p.Map(ctx, "data/a/0")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int64{{0, int64(len(want))}, {5000, 1}, {int64(len(want)), 0}, {4097, 70_000}} {
		if err := m.Ready(r[0], r[1]); err != nil {
			t.Errorf("ready %v: %v", r, err)
		}
	}
	for _, r := range [][2]int64{{-1, 2}, {0, int64(len(want)) + 1}, {int64(len(want)), 1}, {1 << 62, 1 << 62}} {
		if err := m.Ready(r[0], r[1]); !errs.Is(err, errs.Corrupt) {
			t.Errorf("ready %v = %v, want errs.Corrupt", r, err)
		}
	}
	if err := p.Delete(ctx, "data/a/0"); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if !bytes.Equal(m.Data, want) {
		t.Error("other bytes than were put")
	}
	runtime.KeepAlive(m)
}

func TestMapRefuses(t *testing.T) {
	t.Parallel()
	p := openAt(t, t.TempDir())
	ctx := t.Context()
	if err := p.Put(ctx, "empty", nil); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]errs.Kind{"empty": errs.Unsupported, "missing": errs.NotFound, "a//b": errs.Invalid} {
		if _, err := p.Map(ctx, key); !errs.Is(err, want) {
			t.Errorf("map %q = %v, want kind %v", key, err, want)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Map(ctx, "empty"); !errs.Is(err, errs.Closed) {
		t.Errorf("map of a closed provider = %v, want errs.Closed", err)
	}
}

// TestMapLimit: mapped bytes have a limit, and stop counting when no reader holds them.
func TestMapLimit(t *testing.T) {
	t.Parallel()
	p := openAt(t, t.TempDir())
	ctx := t.Context()
	if err := p.Put(ctx, "data/a/0", []byte("some")); err != nil {
		t.Fatal(err)
	}
	if p.mapped.take(1 << 60) {
		t.Error("more than the machine's memory was mapped")
	}
	var held []*storage.Mapping
	var err error
	for range mostMapped + 1 {
		var m *storage.Mapping
		if m, err = p.Map(ctx, "data/a/0"); err != nil {
			break
		}
		held = append(held, m)
	}
	if !errs.Is(err, errs.Unsupported) {
		t.Errorf("mapping %d objects at once = %v, want errs.Unsupported", len(held)+1, err)
	}
	runtime.KeepAlive(held)
	held = nil
	// The collector returns the places of dropped mappings, at a time of its own.
	clock.Await(t, time.Minute, "no object can be mapped after all mappings are dropped", func() bool {
		runtime.GC()
		_, err := p.Map(ctx, "data/a/0")
		return err == nil
	})
}
