// Package clock is the only place where tests let time pass.
//
// A test of durations runs in a bubble of testing/synctest and calls Pass: no real time goes by. A
// test that waits for a server, the kernel or the garbage collector calls Await with a condition.
// Until serves the few tests whose subject is a moment of real time.
package clock

import (
	"testing"
	"time"
)

// Pass advances the fake clock of the current bubble by d. It panics outside of a bubble: a real
// wait makes a test slow, and a loaded machine makes it fail.
func Pass(d time.Duration) {
	if !Fake() {
		panic("clock.Pass outside of synctest.Test: wait for a condition with clock.Await")
	}
	time.Sleep(d)
}

// Fake reports whether the clock of this goroutine belongs to a bubble. Such clocks begin in the
// year 2000; the package testing/synctest has no other way to ask.
func Fake() bool { return time.Now().Year() < 2020 }

// poll is the time between two looks of Await. It bounds how late a test goes on.
const poll = 2 * time.Millisecond

// Await waits until holds returns true, and fails the test at the limit. The limit may be generous,
// as only a failing test reaches it. The text names the awaited condition.
func Await(t testing.TB, limit time.Duration, text string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("after %v: %s", limit, text)
		}
		<-time.After(poll)
	}
}

// Until waits on the real clock until the moment at. The test must need the moment itself: a kill
// at a random moment, say, has no condition to wait for.
func Until(at time.Time) { <-time.After(time.Until(at)) }
