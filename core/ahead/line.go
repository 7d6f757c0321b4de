package ahead

import (
	"math"
	"time"
)

// line is what a store has shown of itself: how long its first bytes take and how many follow. From it follow how much is
// asked for at once and how long requests are. It knows a line that is narrow from one that is far, which differ: over a
// narrow one bytes that are needed later delay those that are needed now, over a far one requests do.
//
// As a sender of BBR does (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016), it keeps on
// the way a multiple of what the line delivers in the time of a request: when the line could deliver more it will, twice as
// much each time, and when it cannot, what waits in it is bounded. Not to be used in parallel.
type line struct {
	first time.Duration // the least time to a first byte; 0: none has come yet
	body  float64       // bytes a second of one request, the most so far
	mean  float64       // bytes a second of all requests, over about a second; 0: not known
	last  [8]float64    // the same in the last samples
	next  int           // of last

	since time.Time // of the sample under way; zero: there is none
	bytes int64     // in it
}

const (
	sampleTime   = 20 * time.Millisecond
	leastSample  = 2 * time.Millisecond // a shorter one says nothing
	sampleShare  = 1.0 / 16             // of the mean that is the last sample
	knownSamples = 4                    // the first ones are of few requests, which may not fill the line

	flightTime  = 250 * time.Millisecond // what the line delivers in it is on its way; or in
	flightTurns = 2                      // the time of so many requests
	startFlight = 64 << 20               // bytes on their way while nothing is known
	minFlight   = 4 << 20
	maxFlight   = 256 << 20

	// A request spares the time to its first byte, in which the line delivers so many bytes; as others are on their way
	// meanwhile, it is worth a few times as much that it asks for more than is needed soon.
	spareTurns = 4
	leastSpare = 64 << 10
	leastBody  = 256 << 10 // a shorter body says nothing of the rate of one
)

// answered notes that a first byte came after took.
func (l *line) answered(took time.Duration) {
	if l.first == 0 || took < l.first {
		l.first = max(took, time.Microsecond)
	}
}

// ended notes that one request gave n bytes in the time after its first byte.
func (l *line) ended(n int64, took time.Duration) {
	if n >= leastBody && took > 0 {
		l.body = max(l.body, float64(n)/took.Seconds())
	}
}

// landed notes n bytes of any request.
func (l *line) landed(n int64, now time.Time) {
	if l.since.IsZero() {
		l.since, l.bytes = now, 0 // these bytes came in a time that is not known
		return
	}
	l.bytes += n
	if now.Sub(l.since) >= sampleTime {
		l.sample(now)
		l.since, l.bytes = now, 0
	}
}

// idle notes that nothing is on its way: what comes next says nothing about the time until then.
func (l *line) idle(now time.Time) {
	if !l.since.IsZero() && now.Sub(l.since) >= leastSample {
		l.sample(now)
	}
	l.since = time.Time{}
}

func (l *line) sample(now time.Time) {
	rate := float64(l.bytes) / now.Sub(l.since).Seconds()
	l.last[l.next%len(l.last)] = rate
	l.next++
	if l.mean == 0 {
		l.mean = rate
	}
	l.mean += sampleShare * (rate - l.mean)
}

// rate is bytes a second that the line has lately been able to deliver; 0: not known.
func (l *line) rate() (most float64) {
	for _, r := range l.last {
		most = max(most, r)
	}
	return most
}

// turn is what the line delivers in the time to a first byte; 0: not known.
func (l *line) turn() float64 { return l.rate() * l.first.Seconds() }

// flight is how many bytes may be on their way, where requests have so many.
func (l *line) flight(request float64) int64 {
	rate := l.rate()
	if rate == 0 {
		return startFlight
	}
	wait := flightTime.Seconds()
	if l.body > 0 {
		wait = max(wait, flightTurns*(l.first.Seconds()+request/l.body))
	}
	return int64(min(max(rate*wait, minFlight), maxFlight))
}

// spare is how many bytes that are not needed soon a request may have.
func (l *line) spare() int64 {
	if l.next < knownSamples {
		return math.MaxInt64
	}
	return int64(max(spareTurns*l.mean*l.first.Seconds(), leastSpare))
}
