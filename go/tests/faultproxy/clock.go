package faultproxy

import (
	"errors"
	"math"
	"sync"
	"time"
)

// clock gives out the time that bytes take at a rate. A caller that sleeps a little too long gets
// the time back: unused time within credit still counts.
type clock struct {
	mu   sync.Mutex
	rate float64 // bytes a second
	next time.Time
}

const credit = 5 * time.Millisecond

func newClock(rate int64) *clock {
	if rate <= 0 {
		return nil
	}
	return &clock{rate: float64(rate), next: time.Now()}
}

// take says how long to wait until n more bytes have passed.
func (c *clock) take(n int64, now time.Time) time.Duration {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if oldest := now.Add(-credit); c.next.Before(oldest) {
		c.next = oldest
	}
	c.next = c.next.Add(time.Duration(float64(n) / c.rate * float64(time.Second)))
	return c.next.Sub(now)
}

// giveBack returns the time of n bytes that did not pass.
func (c *clock) giveBack(n int64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = c.next.Add(-time.Duration(float64(n) / c.rate * float64(time.Second)))
}

// pace bounds one body by its own rate and the rate of all.
type pace struct {
	own, all *clock
	closed   <-chan struct{} // of the proxy
	alarm    *alarm
}

// newPace is nil where nothing bounds the body.
func newPace(own int64, all *clock, closed <-chan struct{}, a *alarm) *pace {
	if own <= 0 && all == nil {
		return nil
	}
	return &pace{own: newClock(own), all: all, closed: closed, alarm: a}
}

// step is the number of bytes that may go at once: about two milliseconds' worth.
func (p *pace) step() int64 {
	if p == nil {
		return math.MaxInt64
	}
	rate := math.Inf(1)
	for _, c := range []*clock{p.own, p.all} {
		if c != nil {
			rate = min(rate, c.rate)
		}
	}
	return int64(min(max(rate/500, 1), 256<<10))
}

// wait returns when n bytes may have passed.
func (p *pace) wait(n int64) error {
	if p == nil {
		return nil
	}
	now := time.Now()
	d := max(p.own.take(n, now), p.all.take(n, now))
	if d < 100*time.Microsecond { // the next step pays it
		return nil
	}
	return p.alarm.sleep(d, p.closed)
}

func (p *pace) giveBack(n int64) {
	if p != nil && n > 0 {
		p.own.giveBack(n)
		p.all.giveBack(n)
	}
}

var errClosed = errors.New("the proxy is closed")

func sleep(d time.Duration, closed <-chan struct{}) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-closed:
		return errClosed
	}
}
