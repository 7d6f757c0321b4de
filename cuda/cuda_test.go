//go:build cgo && linux

package cuda

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/slab"
)

func TestFind(t *testing.T) {
	begin(t)
	t.Setenv("FAKE_CUDA_DEVICES", "2")
	f := Find()
	if f.Missing != "" || f.Version != "12.4" || len(f.Devices) != 2 {
		t.Fatalf("Find = %+v", f)
	}
	want := Info{Number: 1, Name: "Fake GPU 1", Memory: 8 << 30, Compute: "9.0", Pools: true}
	if f.Devices[1] != want {
		t.Errorf("device 1 is %+v, want %+v", f.Devices[1], want)
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	cases := []struct {
		name, variable, value string
		want                  string
	}{
		{"no driver", DriverVariable, "/nowhere/libcuda.so.1", "install NVIDIA's driver"},
		{"another library", DriverVariable, "libm.so.6", "it has no cuInit"},
		{"old driver", "FAKE_CUDA_VERSION", "11010", "it is of CUDA 11.1, want 11.2"},
		{"no device", "FAKE_CUDA_DEVICES", "0", "CUDA_VISIBLE_DEVICES"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			begin(t)
			t.Setenv(c.variable, c.value)
			if f := Find(); !strings.Contains(f.Missing, c.want) {
				t.Errorf("missing is %q, want %q in it", f.Missing, c.want)
			}
			if _, err := NewStager(0, Options{}); errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), c.want) {
				t.Errorf("NewStager = %v", err)
			}
		})
	}
}

func TestOpenChecksNumber(t *testing.T) {
	begin(t)
	for _, number := range []int{-1, 1, 1 << 40} {
		if _, err := Open(number); errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), "want 0 to 0") {
			t.Errorf("Open(%d) = %v", number, err)
		}
	}
}

// rig is a stager with the ring of its loader.
type rig struct {
	*Stager
	host *slab.Ring
	tb   testing.TB
}

func newRig(tb testing.TB, number int) *rig { return newRigOf(tb, number, Options{}) }

func newRigOf(tb testing.TB, number int, o Options) *rig {
	tb.Helper()
	s, err := NewStager(number, o)
	if err != nil {
		tb.Fatal(err)
	}
	host, err := s.Host(64 << 20)
	if err != nil {
		tb.Fatal(err)
	}
	s.SetBudget(64 << 20)
	return &rig{Stager: s.(*Stager), host: host, tb: tb}
}

func (r *rig) end() {
	r.tb.Helper()
	if err := r.Close(); err != nil {
		r.tb.Errorf("Close: %v", err)
	}
	r.host.Close()
}

// try stages size bytes of value.
func (r *rig) try(size int, value byte) (*slab.Slab, error) {
	host, err := r.host.Get(int64(size))
	if err != nil {
		return nil, err
	}
	defer host.Release()
	for i := range host.Bytes()[:size] {
		host.Bytes()[i] = value
	}
	return r.Stage(plain(host, int64(size)))
}

// plain is a batch that is copied unchanged.
func plain(host *slab.Slab, n int64) *loader.Staging {
	return &loader.Staging{Host: host, Size: n, Copies: []loader.Copy{{Size: n}}}
}

func (r *rig) stage(size int, value byte) *slab.Slab {
	r.tb.Helper()
	memory, err := r.try(size, value)
	if err != nil {
		r.tb.Fatal(err)
	}
	return memory
}

// part is an image of a batch. stageParts sets where it lies.
type part struct {
	data  []byte
	image loader.Image
}

func partsOf[T interface{ part() part }](all []T) []part {
	parts := make([]part, len(all))
	for i := range all {
		parts[i] = all[i].part()
	}
	return parts
}

// stageParts brings images to the device in one batch.
func (r *rig) stageParts(parts []part) (*slab.Slab, error) {
	need := int64(0)
	for _, p := range parts {
		need += align(len(p.data))
	}
	host, err := r.host.Get(need)
	if err != nil {
		return nil, err
	}
	defer host.Release()
	batch := &loader.Staging{Host: host}
	at := int64(0)
	for i := range parts {
		p := &parts[i]
		copy(host.Bytes()[at:], p.data)
		p.image.From, p.image.To = at, batch.Size
		batch.Images = append(batch.Images, p.image)
		at += align(len(p.data))
		batch.Size += align(int(p.image.Length)) + 16
	}
	return r.Stage(batch)
}

// result reads an image of a batch that stageParts has brought to the device.
func (r *rig) result(memory *slab.Slab, p part) []byte {
	r.tb.Helper()
	got := make([]byte, p.image.Length)
	if err := r.device.Read(got, memory, p.image.To); err != nil {
		r.tb.Fatal(err)
	}
	return got
}

// awaitPast returns once the oldest copy in flight is in another state than p. On a busy machine
// the thread of the fake's stream may start late, also between two copies.
func (r *rig) awaitPast(p progress) {
	r.tb.Helper()
	for {
		r.mu.Lock()
		now, err := r.releaseCopied()
		r.mu.Unlock()
		if err != nil {
			r.tb.Fatal(err)
		}
		if now != p {
			return
		}
		runtime.Gosched()
	}
}

func align(n int) int64 { return int64(n+7) &^ 7 }

// seen is a copy of a batch that a consumer's stream makes.
type seen struct {
	stream uintptr
	got    []byte
	want   byte
}

// read lets a stream read a batch, and drops the batch at once.
func (r *rig) read(stream uintptr, memory *slab.Slab, size int, want byte) *seen {
	r.tb.Helper()
	if err := r.device.acquire(memory, stream); err != nil {
		r.tb.Fatal(err)
	}
	s := &seen{stream: stream, got: make([]byte, size), want: want}
	s.begin(memory)
	memory.Release()
	return s
}

func (s *seen) begin(memory *slab.Slab) {
	fake.consume(s.stream, uint64(uintptr(memory.Address())), unsafe.Pointer(&s.got[0]), uintptr(len(s.got)))
}

// ok waits for the stream and reports whether it has read the wanted bytes alone.
func (s *seen) ok() bool {
	fake.consumed(s.stream)
	defer runtime.KeepAlive(s.got)
	return bytes.Count(s.got, []byte{s.want}) == len(s.got)
}

func TestStage(t *testing.T) {
	for _, pools := range []string{"1", "0"} {
		t.Run("pools "+pools, func(t *testing.T) {
			begin(t)
			t.Setenv("FAKE_CUDA_POOLS", pools)
			r := newRig(t, 0)
			defer r.end()
			stream := consumer(t, 0)
			var all []*seen
			for i := range 50 {
				all = append(all, r.read(stream, r.stage(1000+i, byte(i)), 1000+i, byte(i)))
			}
			for i, s := range all {
				if !s.ok() {
					t.Fatalf("batch %d arrived as %v", i, s.got[:10])
				}
			}
			if got := r.Stats(); got.Copies != 50 || got.Bytes != 50*1000+49*50/2 {
				t.Errorf("Stats = %+v", got)
			}
			memory := r.stage(10, 7)
			got := make([]byte, 4)
			if err := r.device.Read(got, memory, 6); err != nil || !bytes.Equal(got, []byte{7, 7, 7, 7}) {
				t.Errorf("Read = %v, %v", got, err)
			}
			if kind, id := memory.Device(); kind != 2 || id != 0 || memory.Bytes() != nil {
				t.Errorf("the memory is of device %d of type %d, with %d bytes for the CPU", id, kind, len(memory.Bytes()))
			}
			memory.Release()
		})
	}
}

// TestReclaim waits for the earliest copy where it is told to.
func TestReclaim(t *testing.T) {
	begin(t)
	r := newRig(t, 0)
	defer r.end()
	if got, err := r.Reclaim(true); got || err != nil {
		t.Errorf("without a copy: %v, %v", got, err)
	}
	stream := consumer(t, 0)
	first := r.stage(1000, 1)
	if err := r.device.Read(make([]byte, 1), first, 0); err != nil { // the copy has ended
		t.Fatal(err)
	}
	fake.hold(stream, 1)
	s := r.read(stream, first, 1000, 1)
	r.stage(1000, 2).Release() // into the memory that the stream still reads
	if got, err := r.Reclaim(false); got || err != nil {
		t.Errorf("while the copy waits: %v, %v", got, err)
	}
	done := make(chan bool)
	go func() {
		got, err := r.Reclaim(true)
		if !got || err != nil {
			t.Errorf("Reclaim = %v, %v", got, err)
		}
		close(done)
	}()
	runtime.Gosched()
	fake.hold(stream, 0)
	<-done
	if len(r.copying) != 0 {
		t.Errorf("%d copies are left", len(r.copying))
	}
	if !s.ok() {
		t.Error("the consumer has read something else")
	}
}

// TestStageAtRandom keeps and drops batches of many sizes, read by several streams that are slow.
func TestStageAtRandom(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			begin(t)
			fake.delay(int32(seed * 50))
			rng := rand.New(rand.NewPCG(seed, 1))
			r := newRig(t, 0)
			defer r.end()
			r.SetBudget(int64(seed) * 100_000)
			streams := []uintptr{consumer(t, 0), consumer(t, 0), 0, 1, 2}
			type kept struct {
				memory *slab.Slab
				size   int
				value  byte
			}
			var live []kept
			var all []*seen
			for i := range 120 {
				size, value := 1+rng.IntN(200_000), byte(i)
				live = append(live, kept{r.stage(size, value), size, value})
				for len(live) > rng.IntN(8) {
					at := rng.IntN(len(live))
					k := live[at]
					live = slices.Delete(live, at, at+1)
					for range rng.IntN(3) { // several arrays of a batch, on several streams
						k.memory.Retain()
						all = append(all, r.read(streams[rng.IntN(len(streams))], k.memory, k.size, k.value))
					}
					k.memory.Release()
				}
			}
			for i, s := range all {
				if !s.ok() {
					t.Fatalf("read %d: want %d everywhere, got %v", i, s.want, s.got[:1])
				}
			}
			for _, k := range live {
				k.memory.Release()
			}
		})
	}
}

// TestMemoryWaitsForConsumers holds a consumer's stream while its batch is dropped and the memory
// is used again.
func TestMemoryWaitsForConsumers(t *testing.T) {
	for _, acquired := range []bool{true, false} {
		t.Run(fmt.Sprint("acquired ", acquired), func(t *testing.T) {
			begin(t)
			r := newRig(t, 0)
			defer r.end()
			stream := consumer(t, 0)
			first := r.stage(1000, 1)
			address := first.Address()
			if err := r.device.Read(make([]byte, 1), first, 0); err != nil { // the copy has ended
				t.Fatal(err)
			}
			fake.hold(stream, 1)
			if acquired {
				if err := r.device.acquire(first, stream); err != nil {
					t.Fatal(err)
				}
			}
			s := &seen{stream: stream, got: make([]byte, 1000), want: 1}
			s.begin(first)
			first.Release()
			second := r.stage(1000, 2)
			if second.Address() != address {
				t.Fatal("the memory is not used again")
			}
			if !acquired { // nothing holds the second copy back
				if err := r.device.Read(make([]byte, 1), second, 0); err != nil {
					t.Fatal(err)
				}
			}
			fake.hold(stream, 0)
			if s.ok() != acquired {
				t.Errorf("the stream reads %v", s.got[:4])
			}
			second.Release()
		})
	}
}

// TestNothingIsMadeInTheLoop counts the calls of the driver once rings have their size.
func TestNothingIsMadeInTheLoop(t *testing.T) {
	begin(t)
	r := newRig(t, 0)
	defer r.end()
	stream := consumer(t, 0)
	loop := func() {
		for i := range 20 {
			if !r.read(stream, r.stage(50_000, byte(i)), 50_000, byte(i)).ok() {
				t.Fatal("wrong bytes")
			}
		}
	}
	loop()
	calls := []string{"cuMemAllocAsync", "cuMemFreeAsync", "cuMemHostRegister", "cuMemHostUnregister", "cuEventCreate", "cuCtxSynchronize", "cuStreamSynchronize"}
	before := map[string]int32{}
	for _, c := range calls {
		before[c] = fake.calls(c)
	}
	loop()
	for _, c := range calls {
		if n := fake.calls(c) - before[c]; n != 0 {
			t.Errorf("%s is called %d times for 20 batches", c, n)
		}
	}
}

func TestCloseInMidCopy(t *testing.T) {
	begin(t)
	fake.delay(20_000)
	r := newRig(t, 0)
	var all []*slab.Slab
	for i := range 5 {
		all = append(all, r.stage(10_000, byte(i)))
	}
	r.end()
	if _, err := r.Stage(plain(all[0], 1)); errs.KindOf(err) != errs.Closed {
		t.Errorf("Stage after Close = %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	for _, m := range all { // consumers keep batches beyond the loader
		m.Release()
	}
}

func TestSeveralDevices(t *testing.T) {
	begin(t)
	t.Setenv("FAKE_CUDA_DEVICES", "3")
	var wg sync.WaitGroup
	for number := range 3 {
		r := newRig(t, number)
		stream := consumer(t, int32(number))
		for range 2 { // threads
			wg.Go(func() {
				for i := range 30 {
					memory, err := r.try(5000, byte(i))
					if err != nil {
						t.Error(err)
						return
					}
					if _, id := memory.Device(); int(id) != number {
						t.Errorf("memory of device %d, want %d", id, number)
					}
					if err := r.device.acquire(memory, stream); err != nil {
						t.Error(err)
					}
					s := &seen{stream: stream, got: make([]byte, 5000), want: byte(i)}
					s.begin(memory)
					memory.Release()
					if !s.ok() {
						t.Errorf("device %d: wrong bytes", number)
					}
				}
			})
		}
		t.Cleanup(r.end)
	}
	wg.Wait()
}

func TestOutOfMemory(t *testing.T) {
	begin(t)
	r := newRig(t, 0)
	defer r.end()
	fake.memory(1 << 20)
	first, second := r.stage(400<<10, 1), r.stage(400<<10, 2)
	_, err := r.try(400<<10, 3)
	if errs.KindOf(err) != errs.Device || !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY") || !strings.Contains(err.Error(), "cuda:0") ||
		!strings.Contains(err.Error(), "smaller batches") {
		t.Fatalf("Stage = %v", err)
	}
	first.Release()
	second.Release()
	r.stage(900<<10, 4).Release() // the free memory of the ring makes way
}

func TestDriverEnds(t *testing.T) {
	begin(t)
	r := newRig(t, 0)
	memory := r.stage(1000, 1)
	fake.deinitialize()
	memory.Release() // as the deleter of a tensor does while the process exits
	if err := r.Close(); errs.KindOf(err) != errs.Device || !strings.Contains(err.Error(), "driver shutting down") {
		t.Errorf("Close = %v", err)
	}
	r.host.Close()
	fake.reset() // nothing could be freed any more
}

// scenario goes through every call that the package makes without nvJPEG. It returns the first
// failure.
func scenario(tb testing.TB) error {
	s, err := NewStager(0, Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	host, err := s.Host(0) // slabs are unmapped when they are dropped
	if err != nil {
		return err
	}
	defer host.Close()
	r := &rig{Stager: s.(*Stager), host: host, tb: tb}
	for i := range 4 {
		memory, err := r.try(1000*(i+1), byte(i))
		if err != nil {
			return err
		}
		if err = r.device.acquire(memory, 0); err == nil {
			err = r.device.Read(make([]byte, 10), memory, 0)
		}
		if err == nil {
			err = r.device.await(r.copying[len(r.copying)-1].host)
		}
		memory.Release()
		if err != nil {
			return err
		}
		if i == 1 {
			s.SetBudget(1 << 20)
		}
	}
	if memory, err := r.stageParts(partsOf(scenarioImages)); err != nil {
		return err
	} else {
		memory.Release()
	}
	if memory, err := r.stageParts(partsOf(scenarioPictures())); err != nil {
		return err
	} else {
		memory.Release()
	}
	return s.Close()
}

var driverNames = append([]string{
	"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain",
}, func() (names []string) {
	for _, c := range calls {
		c = strings.TrimSuffix(c, "_v2")
		if c != "cuCtxPopCurrent" { // the context is there: the driver has no way to fail
			names = append(names, c)
		}
	}
	return names
}()...)

// TestFaults lets each call fail once, at each of its turns.
func TestFaults(t *testing.T) {
	for _, code := range []int32{outOfMemory, launchFailed} {
		for _, pools := range []string{"1", "0"} {
			for _, call := range driverNames {
				t.Run(fmt.Sprintf("%d %s pools %s", code, call, pools), func(t *testing.T) {
					t.Setenv("FAKE_CUDA_POOLS", pools)
					everyTurn(t, call, code, scenario)
				})
			}
		}
	}
}

func everyTurn(t *testing.T, call string, code int32, scenario func(testing.TB) error) {
	t.Helper()
	begin(t)
	if err := scenario(t); err != nil {
		t.Fatal(err)
	}
	turns := fake.calls(call)
	for nth := range turns {
		fake.reset()
		fake.fail(call, nth+1, code)
		err := scenario(t)
		if what, n := said(fake.violations); n > 0 {
			t.Errorf("turn %d: %v, and %d wrong uses of the driver:\n%s", nth+1, err, n, what)
		}
		if what, n := said(fake.left); n > 0 && call != "cuCtxPushCurrent" && code != launchFailed {
			// Without the context, and on a lost device, nothing can be freed.
			t.Errorf("turn %d: %v, and %d things are left: %s", nth+1, err, n, what)
		}
		if err != nil && errs.KindOf(err) != errs.Device && errs.KindOf(err) != errs.Unsupported {
			t.Errorf("turn %d: %v has no kind", nth+1, err)
		}
		if err != nil && !strings.Contains(err.Error(), "CUDA_ERROR") {
			t.Errorf("turn %d: %v does not name the driver's error", nth+1, err)
		}
		fake.reset()
		if err := scenario(t); err != nil {
			t.Fatalf("turn %d: afterwards: %v", nth+1, err)
		}
	}
}

// TestFailureOfDeleter checks that a failure which no caller could be told comes at the next call.
func TestFailureOfDeleter(t *testing.T) {
	begin(t)
	r := newRig(t, 0)
	r.SetBudget(0)
	memory := r.stage(1000, 1)
	fake.fail("cuMemFreeAsync", 1, launchFailed)
	memory.Release()
	if _, err := r.try(1000, 2); errs.KindOf(err) != errs.Device || !strings.Contains(err.Error(), "unspecified launch failure") {
		t.Errorf("Stage = %v", err)
	}
	_ = r.Close()
	r.host.Close()
	fake.reset()
}

// TestFakeFindsMisuse holds the fake itself to its word.
func TestFakeFindsMisuse(t *testing.T) {
	cases := []struct {
		name, want string
		misuse     func(r *rig)
	}{
		{"written too early", "written before the copy's event", func(r *rig) {
			fake.delay(30_000)
			host, _ := r.host.Get(1000)
			memory, _ := r.Stage(plain(host, 1000))
			host.Bytes()[5]++
			_ = r.device.Read(make([]byte, 1), memory, 0)
			host.Release()
			memory.Release()
		}},
		{"not page-locked", "not page-locked", func(r *rig) {
			host, _ := r.host.Get(1000)
			_, _ = r.Stage(plain(host, 1<<20)) // more than was locked
			host.Release()
		}},
		{"another context", "another context", func(r *rig) {
			memory := r.stage(1000, 1)
			_ = r.device.acquire(memory, consumer(r.tb.(*testing.T), 1))
			memory.Release()
		}},
		{"left", "", func(r *rig) { r.stage(1000, 1) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fake.reset()
			defer fake.reset()
			t.Setenv("FAKE_CUDA_DEVICES", "2")
			other := newRig(t, 1)
			r := newRig(t, 0)
			c.misuse(r)
			r.end()
			other.end()
			what, _ := said(fake.violations)
			_, left := said(fake.left)
			if !strings.Contains(what, c.want) || c.want == "" && left == 0 {
				t.Errorf("the fake says %q, and %d left", what, left)
			}
		})
	}
}

func TestDropsInParallel(t *testing.T) {
	begin(t)
	fake.delay(10)
	r := newRig(t, 0)
	r.SetBudget(200_000)
	all := make(chan *slab.Slab, 16)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for m := range all {
				if err := r.device.acquire(m, 0); err != nil {
					t.Error(err)
				}
				m.Release()
			}
		})
	}
	until := time.Now().Add(300 * time.Millisecond)
	for i := 0; time.Now().Before(until); i++ {
		all <- r.stage(1+i*37%90_000, byte(i))
	}
	close(all)
	wg.Wait()
	r.end()
}
