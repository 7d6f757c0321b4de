package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		Pass(time.Hour)
		if took := time.Since(began); took != time.Hour {
			t.Errorf("%v passed, want an hour", took)
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("Pass waits on a real clock")
		}
	}()
	Pass(time.Nanosecond)
}

func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		Await(t, time.Second, "five looks", func() bool { looks++; return looks == 5 })
		if took := time.Since(began); looks != 5 || took != 4*poll {
			t.Errorf("%d looks in %v, want 5 in %v", looks, took, 4*poll)
		}
		began = time.Now()
		failing := &failed{TB: t}
		func() {
			defer func() { _ = recover() }()
			Await(failing, time.Second, "never", func() bool { return false })
		}()
		if took := time.Since(began); !failing.fatal || took < time.Second || took > time.Second+2*poll {
			t.Errorf("a condition that never holds: failed %v after %v", failing.fatal, took)
		}
	})
}

// failed notes a fatal error in place of ending the test.
type failed struct {
	testing.TB
	fatal bool
}

func (f *failed) Fatalf(string, ...any) {
	f.fatal = true
	panic("fatal")
}

func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := time.Now().Add(time.Minute)
		Until(at)
		if !time.Now().Equal(at) {
			t.Errorf("it is %v, want %v", time.Now(), at)
		}
		Until(at.Add(-time.Hour)) // a moment in the past takes no time
		if !time.Now().Equal(at) {
			t.Errorf("it is %v, want %v", time.Now(), at)
		}
	})
}
