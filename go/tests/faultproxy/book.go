package faultproxy

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// Tally counts requests of one kind.
type Tally struct {
	Requests int64 `json:"requests"`
	BytesIn  int64 `json:"bytes_in"`  // bodies of requests that reached the server
	BytesOut int64 `json:"bytes_out"` // bodies of answers that went to the client
	Faults   int64 `json:"faults"`    // requests that a rule hit
}

// RuleTally counts the work of a rule.
type RuleTally struct {
	Name    string `json:"name"`
	Matched int64  `json:"matched"`
	Hit     int64  `json:"hit"`
}

// Counts are the figures of a proxy.
type Counts struct {
	Tally
	Active  int              `json:"active"` // requests that are being answered
	Peak    int              `json:"peak"`   // the most at once
	Methods map[string]Tally `json:"methods"`
	Rules   []RuleTally      `json:"rules"`
}

// Request is one request and its answer.
type Request struct {
	Client  string  `json:"client"` // its address, without the port
	Method  string  `json:"method"`
	Target  string  `json:"target"` // path and query, escaped
	Range   string  `json:"range,omitempty"`
	Status  int     `json:"status"`            // 0: no answer
	Fault   Fault   `json:"fault,omitempty"`   // that a rule made
	Rule    int     `json:"rule,omitempty"`    // which, from 0; only with Fault
	Bytes   int64   `json:"bytes"`             // of the answer's body
	BeginMS float64 `json:"begin_ms"`          // since the start or the last Reset
	EndMS   float64 `json:"end_ms"`            //
	Sent    int64   `json:"sent,omitempty"`    // bytes of the request's body
	Partial bool    `json:"partial,omitempty"` // the answer did not end as it should
}

const maxRequests = 100_000

// book keeps the rules and the counters.
type book struct {
	mu      sync.Mutex
	link    Link
	all     *clock
	rules   []Rule
	tallies []RuleTally
	seed    uint64
	tailed  uint64 // requests whose tail and jitter were drawn
	total   Counts
	methods map[string]*Tally
	seen    []Request
	began   time.Time
	quiet   chan struct{} // closed when no request is being answered; nil: no caller waits
	struck  []chan struct{}
}

// verdict is the fate of a request.
type verdict struct {
	Action
	hit    bool
	rule   int
	delay  time.Duration
	rate   int64
	all    *clock
	began  time.Time
	client time.Duration // began, as in Request
}

func (b *book) set(p Profile, seed uint64) {
	b.setLink(p.Link)
	b.setRules(p.Rules, seed)
}

func (b *book) setLink(l Link) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.link, b.all = l, newClock(l.AllRate)
	if b.began.IsZero() {
		b.began = time.Now()
	}
}

func (b *book) setRules(rules []Rule, seed uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules, b.seed, b.tailed = slices.Clone(rules), seed, 0
	b.clearRules()
}

func (b *book) clearRules() {
	b.tallies = make([]RuleTally, len(b.rules))
	b.struck = make([]chan struct{}, len(b.rules))
	for i, r := range b.rules {
		b.tallies[i].Name, b.struck[i] = r.Name, make(chan struct{})
	}
}

func (b *book) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	active := b.total.Active
	b.total, b.methods, b.seen, b.began = Counts{Active: active, Peak: active}, nil, nil, time.Now()
	b.tailed = 0
	b.clearRules()
}

func (b *book) struckBy(i int) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.struck[i]
}

// begin decides what happens to a request.
func (b *book) begin(rq *head) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	v := verdict{rate: b.link.Rate, all: b.all, began: now, client: now.Sub(b.began)}
	b.total.Active++
	b.total.Peak = max(b.total.Peak, b.total.Active)
	for i := range b.rules {
		r, n := &b.rules[i], &b.tallies[i]
		if !r.matches(rq) {
			continue
		}
		n.Matched++
		// Times counts hits, with and without P: the dice fall first.
		if n.Matched <= int64(r.Skip) || v.hit || r.Times > 0 && n.Hit >= int64(r.Times) {
			continue
		}
		if r.P > 0 && b.chance(uint64(i)+1, uint64(n.Matched)) >= r.P {
			continue
		}
		if n.Hit++; n.Hit == 1 {
			close(b.struck[i])
		}
		v.Action, v.hit, v.rule = r.Do, true, i
	}
	b.tailed++
	v.delay = b.spread(b.link.DelayMS, b.link.JitterMS, 1<<32)
	if b.link.TailP > 0 && b.chance(2<<32, b.tailed) < b.link.TailP {
		v.delay += duration(b.link.TailMS)
	}
	for _, t := range []*Tally{b.tally(rq.method), &b.total.Tally} {
		t.Requests++
		if v.hit {
			t.Faults++
		}
	}
	switch v.Fault {
	case FaultDelay:
		v.delay += b.spread(v.DelayMS, v.JitterMS, 3<<32)
	case FaultSlow:
		if v.rate == 0 || v.Rate < v.rate {
			v.rate = v.Rate
		}
	}
	return v
}

func (b *book) spread(ms, jitter float64, stream uint64) time.Duration {
	if jitter > 0 {
		ms += jitter * (2*b.chance(stream, b.tailed) - 1)
	}
	return duration(max(ms, 0))
}

// chance is a number from 0 to 1 that depends on the seed, the stream and the number of the request
// in it, and on nothing else: which of several requests come first is not the proxy's to say, how
// many are hit is.
func (b *book) chance(stream, n uint64) float64 {
	x := b.seed*0x9e3779b97f4a7c15 + stream*0xd1342543de82ef95 + n*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return float64((x^x>>31)>>11) / (1 << 53)
}

func (b *book) tally(method string) *Tally {
	if b.methods == nil {
		b.methods = map[string]*Tally{}
	}
	t := b.methods[method]
	if t == nil {
		t = new(Tally)
		b.methods[method] = t
	}
	return t
}

// end enters what became of a request.
func (b *book) end(rq *head, v verdict, r Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total.Active--; b.total.Active == 0 && b.quiet != nil {
		close(b.quiet)
		b.quiet = nil
	}
	if v.began.Before(b.began) {
		return // it began before the last Reset
	}
	for _, t := range []*Tally{b.tally(rq.method), &b.total.Tally} {
		t.BytesIn += r.Sent
		t.BytesOut += r.Bytes
	}
	if len(b.seen) < maxRequests {
		r.Method, r.Target, r.Range = rq.method, rq.target, rq.field("Range")
		r.BeginMS, r.EndMS = milliseconds(v.client), milliseconds(time.Since(b.began))
		if v.hit {
			r.Fault, r.Rule = v.Fault, v.rule
		}
		b.seen = append(b.seen, r)
	}
}

// settle waits a little for requests being answered: a client has the last byte of an answer before
// the book counts it.
func (b *book) settle() {
	b.mu.Lock()
	if b.total.Active == 0 {
		b.mu.Unlock()
		return
	}
	if b.quiet == nil {
		b.quiet = make(chan struct{})
	}
	quiet := b.quiet
	b.mu.Unlock()
	_ = sleep(250*time.Millisecond, quiet)
}

func (b *book) counts() Counts {
	b.settle()
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.total
	c.Rules = slices.Clone(b.tallies)
	c.Methods = map[string]Tally{}
	for name, t := range maps.All(b.methods) {
		c.Methods[name] = *t
	}
	return c
}

func (b *book) requests() []Request {
	b.settle()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := slices.Clone(b.seen)
	slices.SortStableFunc(out, func(a, b Request) int { return cmp.Compare(a.BeginMS, b.BeginMS) })
	return out
}
