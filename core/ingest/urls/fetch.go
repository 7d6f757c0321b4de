package urls

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"deeplake/core/errs"
	"deeplake/core/internal/request"
	"deeplake/core/storage"
)

const (
	// pause is the time before the second attempt; it doubles with each further one.
	pause = 500 * time.Millisecond
	// maxRefusal bounds the bytes of a refusal that are read, for the connection to be used again.
	maxRefusal = 16 << 10
)

// outcome is the result of one attempt.
type outcome struct {
	data   []byte
	reason string
	again  bool          // another attempt may succeed
	wait   time.Duration // before it
	mute   bool          // the host did not answer
	to     *url.URL      // a redirection
	full   bool          // there is no memory for the body
	place  place         // of the data, if a spill has them
}

// work takes jobs and fetches them, until take ends it.
func (f *Fetcher) work(ctx context.Context) error {
	for {
		j, ctx := f.take(ctx)
		if j == nil {
			return nil
		}
		out := f.fetch(ctx, j)
		f.lay(j, &out)
		f.end(j, out)
	}
}

// fetch makes the attempts of j at one host.
func (f *Fetcher) fetch(ctx context.Context, j *job) outcome {
	for {
		out := f.ask(ctx, j)
		switch {
		case out.to != nil && hostOf(out.to) == j.host.key:
			j.url = out.to
		case out.again && f.rest(ctx, j, out.wait):
			j.tries++
		default:
			return out
		}
	}
}

// rest waits before another attempt. It returns false if there is to be none.
func (f *Fetcher) rest(ctx context.Context, j *job, wait time.Duration) bool {
	if j.tries+1 >= f.o.Attempts || ctx.Err() != nil {
		return false
	}
	// Hosts of a table that fail together are not asked again together.
	wait = max(wait, pause<<j.tries/2+rand.N(pause<<j.tries/2))
	if f.now()-j.began+wait >= f.o.Timeout-j.spent {
		return false
	}
	j.last.Store(resting)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// end gives j its result, or puts it in the queue again.
func (f *Fetcher) end(j *job, out outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave(j)
	h := j.host
	h.active--
	defer f.settle(h)
	laid := out.place.in != nil
	if j.batch.released || out.data == nil && !laid && f.group.Context().Err() != nil {
		f.memory.give(j.held)
		if laid {
			f.spill.drop(out.place)
		}
		return
	}
	if out.to != nil || out.full {
		f.memory.give(j.held)
		j.held = 0
		to := out.to
		if out.full {
			to, j.spent = j.url, 0
		} else {
			f.note(h, true, "")
		}
		f.enqueue(j, to)
		return
	}
	f.note(h, !out.mute, out.reason)
	r := Result{Data: out.data, Reason: out.reason, Bytes: j.bytes}
	if j.moves > 0 {
		r.URL = storage.RedactURL(j.url.String())
	}
	switch {
	case out.data != nil:
		f.memory.saw(int64(cap(out.data)))
	case laid:
		f.memory.saw(out.place.size)
		j.batch.laid = append(j.batch.laid, laidObject{j.at, out.place})
	}
	f.finish(j, r)
}

// ask sends one request.
func (f *Fetcher) ask(ctx context.Context, j *job) outcome {
	rq := &http.Request{Method: http.MethodGet, URL: j.url, Header: f.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	sent := f.now()
	j.heard, j.first = false, 0
	j.last.Store(int64(sent))
	rs, err := f.send.RoundTrip(rq.WithContext(ctx))
	if err != nil {
		return f.failure(ctx, j, err)
	}
	defer rs.Body.Close()
	j.heard, j.first = true, f.heard(j)-sent
	if rs.StatusCode == http.StatusOK || rs.StatusCode == http.StatusNonAuthoritativeInfo {
		return f.receive(ctx, j, rs)
	}
	_, _ = io.CopyN(io.Discard, rs.Body, maxRefusal)
	if location := rs.Header.Get("Location"); location != "" && request.IsRedirect(rs.StatusCode) {
		to, reason := j.follow(location)
		return outcome{to: to, reason: reason}
	}
	return refusal(rs)
}

// heard notes that bytes have come, and when.
func (f *Fetcher) heard(j *job) time.Duration {
	now := f.now()
	j.last.Store(int64(now))
	return now
}

// receive reads the body of an answer. Its memory grows as the bytes come: the announced length may
// be a lie.
func (f *Fetcher) receive(ctx context.Context, j *job, rs *http.Response) outcome {
	size := rs.ContentLength
	if isEncoded(rs.Header) {
		return outcome{reason: "the answer is compressed, which it must not be"}
	}
	if size > f.o.MaxBytes {
		return outcome{reason: "more than " + amount(f.o.MaxBytes)}
	}
	want := size
	if size < 0 {
		want = bodyBytes
	}
	if j.need = max(j.need, want); !f.hold(j, want) {
		return outcome{full: true}
	}
	data := make([]byte, 0, min(want, firstBytes))
	for size < 0 || int64(len(data)) < size {
		if len(data) == cap(data) && !f.grow(j, &data, size) {
			return outcome{full: true}
		}
		n, err := rs.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if j.bytes += int64(n); n > 0 {
			f.heard(j)
		}
		if int64(len(data)) > f.o.MaxBytes {
			return outcome{reason: "more than " + amount(f.o.MaxBytes)}
		}
		if err == io.EOF && (size < 0 || int64(len(data)) == size) {
			break
		}
		if err != nil {
			return f.failure(ctx, j, err)
		}
	}
	if len(data) == 0 {
		return outcome{reason: "the answer is empty"}
	}
	if cap(data)-len(data) > len(data)/4 {
		data = append(make([]byte, 0, len(data)), data...)
	}
	return outcome{data: data}
}

// grow doubles the memory of a body, up to its size where that is known. Old and new memory count
// while one is copied to the other.
func (f *Fetcher) grow(j *job, data *[]byte, size int64) bool {
	old := int64(cap(*data))
	wider := min(2*old, f.o.MaxBytes+1)
	if size >= 0 {
		wider = min(wider, size)
	}
	if !f.hold(j, old+wider) {
		j.need = max(j.need, 2*j.need, old+wider)
		return false
	}
	*data = append(make([]byte, 0, wider), *data...)
	return true
}

// isEncoded reports whether an answer has the body in another form than that of the object.
func isEncoded(h http.Header) bool {
	for _, coding := range strings.Split(strings.ToLower(h.Get("Content-Encoding")), ",") {
		switch strings.TrimPrefix(strings.TrimSpace(coding), "x-") {
		case "gzip", "deflate", "compress", "br", "zstd":
			return true
		}
	}
	return false
}

// headerOf returns what each request carries.
func headerOf(given map[string]storage.Secret) (http.Header, error) {
	header := http.Header{"User-Agent": {"deeplake"}, "Accept": {"*/*"}, "Accept-Encoding": {"identity"}}
	for name, value := range given {
		key := http.CanonicalHeaderKey(name)
		if key != "User-Agent" && key != "Accept" {
			continue
		}
		if strings.ContainsAny(value.Reveal(), "\r\n\x00") {
			return nil, errs.New(errs.Invalid, "header %q is not one that can be sent", name)
		}
		header[key] = []string{value.Reveal()}
	}
	return header, nil
}
