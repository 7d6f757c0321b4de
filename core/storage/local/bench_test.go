//go:build linux || darwin

package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"deeplake/core/internal/task"
	"deeplake/core/storage"
)

const objectBytes = 10_000

func benchObjects(b *testing.B, n int) (*Provider, []string) {
	p := openAt(b, b.TempDir())
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("data/0f8e5a1c-3d5b-4a68-9d1e-2b7c9a6e4f10/%08d", i)
		if err := p.Put(b.Context(), keys[i], make([]byte, objectBytes)); err != nil {
			b.Fatal(err)
		}
	}
	return p, keys
}

// BenchmarkReadAt is a warm read of 10 KB; the difference to BenchmarkPread is the cost of the
// provider.
func BenchmarkReadAt(b *testing.B) {
	p, keys := benchObjects(b, 60)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	dst := make([]byte, objectBytes)
	b.SetBytes(objectBytes)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := p.ReadAt(ctx, keys[i%len(keys)], dst, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPread(b *testing.B) {
	p, keys := benchObjects(b, 60)
	fds := make([]int, len(keys))
	for i, key := range keys {
		fd, err := p.openRead(key)
		if err != nil {
			b.Fatal(err)
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	dst := make([]byte, objectBytes)
	b.SetBytes(objectBytes)
	for i := 0; b.Loop(); i++ {
		if n, err := unix.Pread(fds[i%len(fds)], dst, 0); n != len(dst) {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkReadAtParallel reads few objects from many goroutines.
func BenchmarkReadAtParallel(b *testing.B) {
	p, keys := benchObjects(b, 8)
	b.SetBytes(objectBytes)
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		dst := make([]byte, objectBytes)
		for i := 0; pb.Next(); i++ {
			if err := p.ReadAt(b.Context(), keys[i%len(keys)], dst, 0); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkLookup is a hit without the system call.
func BenchmarkLookup(b *testing.B) {
	p, keys := benchObjects(b, 60)
	for _, key := range keys {
		if err := p.ReadAt(b.Context(), key, make([]byte, 1), 0); err != nil {
			b.Fatal(err)
		}
	}
	for i := 0; b.Loop(); i++ {
		if err := p.ReadAt(b.Context(), keys[i%len(keys)], nil, 0); err != nil {
			b.Fatal(err)
		}
	}
}

const (
	fileBytes  = 12 << 20
	arrayBytes = 3 << 20
	benchFiles = 16 // per iteration: 192 MiB
)

// BenchmarkStream writes files of 12 MB in pieces of 3 MB, so many at once, until their names are
// durable.
func BenchmarkStream(b *testing.B) {
	for _, early := range []bool{true, false} {
		for _, inFlight := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("early=%v/files=%d", early, inFlight), func(b *testing.B) {
				p := openAt(b, b.TempDir())
				if !early {
					p.sys.beginWriteback = func(int, int64, int64) {}
				}
				array := make([]byte, arrayBytes)
				var number atomic.Int64
				b.SetBytes(benchFiles * fileBytes)
				for b.Loop() {
					g := task.New(b.Context(), inFlight)
					for range benchFiles {
						g.Go(func(ctx context.Context) error {
							return benchFile(ctx, p, fmt.Sprintf("data/s/%d", number.Add(1)), array)
						})
					}
					if err := g.Wait(); err != nil {
						b.Fatal(err)
					}
					if err := p.PutIfAbsent(b.Context(), fmt.Sprintf("log/%d", number.Add(1)), []byte("x")); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					emptied(b, filepath.Join(p.root, "data/s"))
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkOneWriter is a writer that copies into one stream after the other while earlier ones
// finish behind it.
func BenchmarkOneWriter(b *testing.B) {
	for _, early := range []bool{true, false} {
		for _, inFlight := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("early=%v/files=%d", early, inFlight), func(b *testing.B) {
				p := openAt(b, b.TempDir())
				if !early {
					p.sys.beginWriteback = func(int, int64, int64) {}
				}
				array := make([]byte, arrayBytes)
				number := 0
				b.SetBytes(benchFiles * fileBytes)
				for b.Loop() {
					g := task.New(b.Context(), inFlight)
					for range benchFiles {
						number++
						s, err := benchWrite(b.Context(), p, fmt.Sprintf("data/s/%d", number), array)
						if err != nil {
							b.Fatal(err)
						}
						g.Go(s.Finish)
					}
					if err := g.Wait(); err != nil {
						b.Fatal(err)
					}
					if err := p.PutIfAbsent(b.Context(), fmt.Sprintf("log/%d", number), []byte("x")); err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					emptied(b, filepath.Join(p.root, "data/s"))
					b.StartTimer()
				}
			})
		}
	}
}

func benchFile(ctx context.Context, p *Provider, key string, array []byte) error {
	s, err := benchWrite(ctx, p, key, array)
	if err != nil {
		return err
	}
	return s.Finish(ctx)
}

func benchWrite(ctx context.Context, p *Provider, key string, array []byte) (storage.Stream, error) {
	s, err := p.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	for range fileBytes / arrayBytes {
		if _, err := s.Write(array); err != nil {
			s.Abort()
			return nil, err
		}
	}
	return s, nil
}

func emptied(b *testing.B, dir string) {
	if err := os.RemoveAll(dir); err != nil {
		b.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPlainWrite is the measure of BenchmarkStream: the same bytes into one file, then fsync.
func BenchmarkPlainWrite(b *testing.B) {
	dir := b.TempDir()
	array := make([]byte, arrayBytes)
	b.SetBytes(benchFiles * fileBytes)
	for b.Loop() {
		f, err := os.Create(filepath.Join(dir, "f"))
		if err != nil {
			b.Fatal(err)
		}
		for range benchFiles * fileBytes / arrayBytes {
			if _, err := f.Write(array); err != nil {
				b.Fatal(err)
			}
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		f.Close()
		os.Remove(f.Name())
		b.StartTimer()
	}
}

// BenchmarkPut is a small object until its content is durable.
func BenchmarkPut(b *testing.B) {
	p := openAt(b, b.TempDir())
	data := make([]byte, 20_000)
	for i := 0; b.Loop(); i++ {
		if err := p.Put(b.Context(), fmt.Sprintf("map/%d", i%1000), data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList looks at the first names of a large directory, and at all.
func BenchmarkList(b *testing.B) {
	const n = 100_000
	p := openAt(b, b.TempDir())
	if err := os.MkdirAll(filepath.Join(p.root, "log/b"), 0o777); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(fmt.Sprintf("%s/log/b/%020d", p.root, i*7919%n), nil, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		after string
		want  int
	}{
		{"first", "", 1}, {"middle", "log/b/00000000000000050000", 10}, {"page", "", 1000}, {"all", "", n},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				got := 0
				if err := p.List(b.Context(), "log/b/", c.after, func(storage.Object) bool { got++; return got < c.want }); err != nil {
					b.Fatal(err)
				}
				if got != c.want {
					b.Fatalf("got %d, want %d", got, c.want)
				}
			}
		})
	}
}
