package faultproxy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rule says which requests a fault hits. For each request the first rule that hits decides; every
// rule that matches counts it. The zero value but for Do hits every request.
//
//	Rule{Method: "GET", Skip: 2, Times: 1, Do: ResetAt(1000)}              the third GET
//	Rule{Method: "PUT", Header: "If-None-Match", Do: LoseAnswer()}         every conditional PUT of S3
//	Rule{P: 0.1, Do: Answer(503, "SlowDown", 0)}                           one request in ten
type Rule struct {
	Name   string `json:"name,omitempty"`
	Method string `json:"method,omitempty"` // "GET", or several: "PUT,POST"; "" is any
	Path   string `json:"path,omitempty"`   // part of path and query, as they were sent (escaped)
	Header string `json:"header,omitempty"` // the request has this header
	// part of the Range header's value; "none": the request has no Range
	Range string `json:"range,omitempty"`
	Skip  int    `json:"skip,omitempty"`  // that many matching requests pass first
	Times int    `json:"times,omitempty"` // that many are hit then; 0: all
	// share of the rest that is hit, by the proxy's seed; 0: all
	P  float64 `json:"p,omitempty"`
	Do Action  `json:"do"`
}

// Fault names what an Action does.
type Fault string

// The faults. Offsets count bytes of the answer's body; a body that ends before is left alone.
const (
	FaultDelay Fault = "delay" // the request waits for DelayMS ± JitterMS
	// Status, Code and RetryAfter, in the protocol's form; the request is not done
	FaultAnswer Fault = "answer"
	FaultRefuse Fault = "refuse" // RST instead of an answer; the request is not done
	FaultLose   Fault = "lose"   // the request is done, its answer waited for and dropped: RST
	FaultReset  Fault = "reset"  // RST at At
	FaultClose  Fault = "close"  // FIN at At
	// nothing more from At on, for DelayMS; 0: until the client leaves
	FaultStall Fault = "stall"
	FaultFlip  Fault = "flip" // the lowest bit of byte At is the other one
	FaultCut   Fault = "cut"  // the body ends at At, and Content-Length says so
	// Content-Range names a range that begins At bytes later (0: 1)
	FaultShift Fault = "shift"
	// status 200 without Content-Range, as by a server that knows no ranges
	FaultNoRange  Fault = "no-range"
	FaultSlow     Fault = "slow"      // the body comes at Rate bytes a second
	FaultNoLength Fault = "no-length" // no Content-Length: the connection ends with the body
)

var faults = []Fault{
	FaultDelay, FaultAnswer, FaultRefuse, FaultLose, FaultReset, FaultClose, FaultStall, FaultFlip, FaultCut, FaultShift,
	FaultNoRange, FaultSlow, FaultNoLength,
}

// Middle as Action.At is the middle of whatever body it is.
const Middle int64 = -1

// Action is one fault with its figures. The functions below make them.
type Action struct {
	Fault      Fault   `json:"fault"`
	At         int64   `json:"at,omitempty"` // or Middle
	Status     int     `json:"status,omitempty"`
	Code       string  `json:"code,omitempty"`
	RetryAfter int     `json:"retry_after,omitempty"` // seconds; 0: no such header
	DelayMS    float64 `json:"delay_ms,omitempty"`
	JitterMS   float64 `json:"jitter_ms,omitempty"`
	Rate       int64   `json:"rate,omitempty"`
}

// Delay lets the request wait.
func Delay(d, jitter time.Duration) Action {
	return Action{Fault: FaultDelay, DelayMS: milliseconds(d), JitterMS: milliseconds(jitter)}
}

// Answer answers with a status and a code in place of the server.
func Answer(status int, code string, retryAfter int) Action {
	return Action{Fault: FaultAnswer, Status: status, Code: code, RetryAfter: retryAfter}
}

// SlowDown is the answer of a store to too many requests.
func SlowDown() Action { return Answer(503, "SlowDown", 0) }

// ExpiredToken is the answer to credentials whose time is over.
func ExpiredToken() Action { return Answer(403, "ExpiredToken", 0) }

// ClockSkew is the answer to a request whose time is far from the server's.
func ClockSkew() Action { return Answer(403, "RequestTimeTooSkewed", 0) }

// Refuse breaks the connection before the request is done.
func Refuse() Action { return Action{Fault: FaultRefuse} }

// LoseAnswer does the request and breaks the connection instead of answering.
func LoseAnswer() Action { return Action{Fault: FaultLose} }

// ResetAt breaks the connection at a byte of the body.
func ResetAt(at int64) Action { return Action{Fault: FaultReset, At: at} }

// CloseAt ends the connection at a byte of the body, as if the body ended there.
func CloseAt(at int64) Action { return Action{Fault: FaultClose, At: at} }

// StallAt says nothing more from a byte of the body on, for d; 0: until the client leaves.
func StallAt(at int64, d time.Duration) Action {
	return Action{Fault: FaultStall, At: at, DelayMS: milliseconds(d)}
}

// FlipAt inverts a bit of a byte of the body.
func FlipAt(at int64) Action { return Action{Fault: FaultFlip, At: at} }

// CutAt ends the body early, with a Content-Length that fits.
func CutAt(at int64) Action { return Action{Fault: FaultCut, At: at} }

// WrongRange answers as if another range had been requested.
func WrongRange() Action { return Action{Fault: FaultShift} }

// NoRange answers as a server that knows no ranges.
func NoRange() Action { return Action{Fault: FaultNoRange} }

// Slow lets the body come slowly.
func Slow(bytesPerSecond int64) Action { return Action{Fault: FaultSlow, Rate: bytesPerSecond} }

// Link is the network that every request passes, hit by a rule or not.
type Link struct {
	DelayMS  float64 `json:"delay_ms,omitempty"`  // before a request reaches the server
	JitterMS float64 `json:"jitter_ms,omitempty"` // ± on it
	TailP    float64 `json:"tail_p,omitempty"`    // share of requests that wait for TailMS more
	TailMS   float64 `json:"tail_ms,omitempty"`   //
	Rate     int64   `json:"rate,omitempty"`      // bytes a second of one body; 0: no bound
	// bytes a second of all bodies together; 0: no bound
	AllRate int64 `json:"total_rate,omitempty"`
}

// Profile is a Link with rules.
type Profile struct {
	Link  Link   `json:"link"`
	Rules []Rule `json:"rules"`
}

// LAN is a network without delay and faults.
func LAN() Profile { return Profile{} }

// S3 is Amazon's store from within its region, as the targets of the benchmarks assume it: 25 ms to
// the first byte and 90 MB/s for each connection.
func S3() Profile { return Profile{Link: Link{DelayMS: 25, Rate: 90_000_000}} }

// Jittery is S3 with the spread of a busy day: ± 10 ms, 1 % at 300 ms more, 500 MB/s together.
func Jittery() Profile {
	return Profile{Link: Link{DelayMS: 25, JitterMS: 10, TailP: 0.01, TailMS: 300, Rate: 90_000_000, AllRate: 500_000_000}}
}

// Bad is S3 where 10 % of requests are told to slow down and 1 % of bodies stall for 5 s.
func Bad() Profile {
	p := S3()
	p.Rules = []Rule{
		{Name: "slow down", P: 0.1, Do: SlowDown()},
		{Name: "stall", Method: "GET", P: 0.01, Do: StallAt(Middle, 5*time.Second)},
	}
	return p
}

// SlowLink is a network of 1 Gb/s for all connections together and 2 ms.
func SlowLink() Profile { return Profile{Link: Link{DelayMS: 2, AllRate: 125_000_000}} }

// ProfileOf finds a profile by its name: "lan", "s3", "jittery", "bad", "slow-link".
func ProfileOf(name string) (Profile, error) {
	switch name {
	case "lan":
		return LAN(), nil
	case "s3":
		return S3(), nil
	case "jittery":
		return Jittery(), nil
	case "bad":
		return Bad(), nil
	case "slow-link":
		return SlowLink(), nil
	}
	return Profile{}, fmt.Errorf("profile %q: want lan, s3, jittery, bad or slow-link", name)
}

// ParseRules reads rules from JSON. A field or a fault that does not exist is an error, since the
// test that has misspelt it would pass for nothing.
func ParseRules(text []byte) ([]Rule, error) {
	var rules []Rule
	if err := decode(text, &rules); err != nil {
		return nil, err
	}
	return rules, check(rules)
}

func check(rules []Rule) error {
	for i, r := range rules {
		switch a := r.Do; {
		case !slices.Contains(faults, a.Fault):
			return fmt.Errorf("rule %d: no fault %q (want one of %q)", i, a.Fault, faults)
		case a.Fault == FaultAnswer && (a.Status < 200 || a.Status > 599):
			return fmt.Errorf("rule %d: status %d (want 200 to 599)", i, a.Status)
		case a.Fault == FaultSlow && a.Rate <= 0, a.At < Middle, a.DelayMS < 0, a.JitterMS < 0, r.P < 0, r.P > 1, r.Skip < 0, r.Times < 0:
			return fmt.Errorf("rule %d: a figure is out of bounds", i)
		}
	}
	return nil
}

func decode(text []byte, into any) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// matches says whether the rule speaks of the request.
func (r *Rule) matches(rq *head) bool {
	if r.Method != "" && !slices.Contains(strings.Split(r.Method, ","), rq.method) {
		return false
	}
	if r.Path != "" && !strings.Contains(rq.target, r.Path) {
		return false
	}
	if r.Header != "" && rq.field(r.Header) == "" {
		return false
	}
	switch asked := rq.field("Range"); r.Range {
	case "":
		return true
	case "none":
		return asked == ""
	default:
		return strings.Contains(asked, r.Range)
	}
}
