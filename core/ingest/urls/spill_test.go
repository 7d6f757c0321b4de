package urls

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deeplake/core/errs"
	"deeplake/go/tests/clock"
)

// TestSpill: objects behind a silent one wait on the disk, within its bound, and come back as they
// were. Without room there they wait for memory.
func TestSpill(t *testing.T) {
	t.Parallel()
	const size, batches, each = 10 << 10, 12, 8
	body := func(path string) []byte { return bytes.Repeat([]byte(path+"."), size)[:size] }
	handler := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/0/0") {
			_ = after(r, 5*time.Second)
		}
		_, _ = w.Write(body(r.URL.Path))
	}
	for _, c := range []struct {
		name        string
		spill       int64
		folder      string
		least, most int // objects that are there before the first is taken
	}{
		{"room for all", 1 << 20, "", batches*each - 1, batches*each - 1},
		{"room for some", 30 * size, "", 36, 60},
		{"no room", 0, "", each - 1, 30},
		{"no folder", 1 << 20, "/no/such/folder", each - 1, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := c.folder
			if folder == "" {
				folder = t.TempDir()
			}
			o := Options{Workers: 8, Memory: 20 * size, Spill: c.spill, SpillFolder: folder}
			inBubble(t, o, handler, func(t *testing.T, f *Fetcher, _ *site) {
				started, whole := startAll(f, batches, each)
				if whole < c.least || whole > c.most {
					t.Errorf("%d objects are there before the first is taken, want %d to %d", whole, c.least, c.most)
				}
				if f.spill.used > c.spill {
					t.Errorf("%d bytes on the disk, want at most %d", f.spill.used, c.spill)
				}
				for n, b := range started {
					if n == 3 {
						b.Release() // without a Wait before
						continue
					}
					for range 2 {
						results, err := b.Wait(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						for i, r := range results {
							if want := body(fmt.Sprintf("/%d/%d", n, i)); !bytes.Equal(r.Data, want) {
								t.Fatalf("batch %d, object %d: %.20q, reason %q", n, i, r.Data, r.Reason)
							}
						}
					}
					b.Release()
				}
				if f.memory.used != 0 || f.spill.used != 0 || len(f.spill.open) != 0 {
					t.Errorf("at the end: %d bytes in memory, %d on the disk in %d files", f.memory.used, f.spill.used, len(f.spill.open))
				}
				if left, _ := os.ReadDir(folder); len(left) > 0 {
					t.Errorf("%d files are left", len(left))
				}
			})
		})
	}
}

// TestSpillEnds: objects that wait on the disk are an error when it breaks, and after Close.
func TestSpillEnds(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			_ = after(r, 5*time.Second)
		}
		_, _ = w.Write(make([]byte, 1000))
	}
	for _, c := range []struct {
		name string
		end  func(f *Fetcher)
		kind errs.Kind
	}{
		{"a broken disk", func(f *Fetcher) { _ = f.spill.present.file.Close() }, errs.Storage},
		{"Close", (*Fetcher).Close, errs.Closed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Memory: 3 * firstBytes, Spill: 1 << 20, SpillFolder: t.TempDir()}
			inBubble(t, o, handler, func(t *testing.T, f *Fetcher, _ *site) {
				first := f.Start([]string{"http://a.example/first"})
				others := f.Start(names("http://a.example/", 8))
				defer first.Release()
				defer others.Release()
				clock.Pass(time.Second)
				synctest.Wait()
				if f.spill.used == 0 {
					t.Fatal("nothing waits on the disk")
				}
				c.end(f)
				if _, err := others.Wait(t.Context()); !errs.Is(err, c.kind) {
					t.Errorf("%v, want kind %v", err, c.kind)
				}
			})
		})
	}
}
