package prefetch

import (
	"math"
	"time"
)

// linkEstimator estimates the delay and the bandwidth of the link to a store. Both bound the bytes
// in flight and the length of requests. A narrow link and a link of long delay differ: on a narrow
// link, bytes for later delay the bytes needed now; on a long one, the number of requests does.
//
// Like a sender of BBR (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue
// 14(5), 2016), it keeps in flight a multiple of the bytes that the link delivers during a request.
// See docs/design/prefetch.md.
//
// A linkEstimator must not be used in parallel.
type linkEstimator struct {
	first time.Duration // the least time to a first byte; 0: unknown
	body  float64       // bytes per second of the fastest request
	mean  float64       // bytes per second of all requests, over about a second; 0: unknown
	last  [8]float64    // the same, of the last samples
	next  int           // index into last

	since time.Time // start of the current sample; zero: none
	bytes int64     // of the current sample
}

const (
	sampleTime  = 20 * time.Millisecond
	leastSample = 2 * time.Millisecond // shorter samples are dropped
	sampleShare = 1.0 / 16             // weight of the last sample in the mean
	// earlier ones have few requests, which may not fill the link
	knownSamples = 4

	flightTime       = 250 * time.Millisecond // bytes in flight are those that arrive in this time,
	flightRoundTrips = 2                      // or in the time of so many requests
	startFlight      = 64 << 20               // bytes in flight while the link is unknown
	minFlight        = 4 << 20
	maxFlight        = 256 << 20

	// A request costs the bytes that the link would deliver before its first byte. Other requests
	// fill the link meanwhile. Therefore a few times these bytes may be read early to avoid a
	// request.
	spareRoundTrips = 4
	leastSpare      = 64 << 10
	leastBody       = 256 << 10 // shorter bodies do not show the rate
)

// answered adds the time to the first byte of a request.
func (l *linkEstimator) answered(took time.Duration) {
	if l.first == 0 || took < l.first {
		l.first = max(took, time.Microsecond)
	}
}

// ended adds a request that took this time for n bytes after its first byte.
func (l *linkEstimator) ended(n int64, took time.Duration) {
	if n >= leastBody && took > 0 {
		l.body = max(l.body, float64(n)/took.Seconds())
	}
}

// received adds n bytes of any request.
func (l *linkEstimator) received(n int64, now time.Time) {
	if l.since.IsZero() {
		l.since, l.bytes = now, 0 // the time that these bytes took is unknown
		return
	}
	l.bytes += n
	if now.Sub(l.since) >= sampleTime {
		l.sample(now)
		l.since, l.bytes = now, 0
	}
}

// idle ends the sample: no request is in flight, so the time until the next one does not count.
func (l *linkEstimator) idle(now time.Time) {
	if !l.since.IsZero() && now.Sub(l.since) >= leastSample {
		l.sample(now)
	}
	l.since = time.Time{}
}

func (l *linkEstimator) sample(now time.Time) {
	rate := float64(l.bytes) / now.Sub(l.since).Seconds()
	l.last[l.next%len(l.last)] = rate
	l.next++
	if l.mean == 0 {
		l.mean = rate
	}
	l.mean += sampleShare * (rate - l.mean)
}

// rate returns the bytes per second that the link has lately delivered; 0: unknown.
func (l *linkEstimator) rate() (most float64) {
	for _, r := range l.last {
		most = max(most, r)
	}
	return most
}

// roundTripBytes returns the bytes that arrive in the time to a first byte; 0: unknown.
func (l *linkEstimator) roundTripBytes() float64 { return l.rate() * l.first.Seconds() }

// flight returns the bound of the bytes in flight for requests of the given size.
func (l *linkEstimator) flight(request float64) int64 {
	rate := l.rate()
	if rate == 0 {
		return startFlight
	}
	wait := flightTime.Seconds()
	if l.body > 0 {
		wait = max(wait, flightRoundTrips*(l.first.Seconds()+request/l.body))
	}
	return int64(min(max(rate*wait, minFlight), maxFlight))
}

// spare returns how many bytes that are not needed soon a request may carry.
func (l *linkEstimator) spare() int64 {
	if l.next < knownSamples {
		return math.MaxInt64
	}
	return int64(max(spareRoundTrips*l.mean*l.first.Seconds(), leastSpare))
}
