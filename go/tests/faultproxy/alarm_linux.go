package faultproxy

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm sleeps to some hundredths of a millisecond. A timer of Go's runtime ends up to a
// millisecond late, which is a third of the time of 256 KiB at 90 MB/s.
type alarm struct {
	clock *os.File // a timer of the kernel's; nil: not made yet
}

// fineBelow is the longest time that is slept by the kernel's timer, which Close of the proxy does
// not end.
const fineBelow = 100 * time.Millisecond

// sleep waits for d, or until closed is.
func (a *alarm) sleep(d time.Duration, closed <-chan struct{}) error {
	if d <= 0 || d > fineBelow || !a.make() {
		return sleep(d, closed)
	}
	conn, err := a.clock.SyscallConn()
	if err != nil {
		return err
	}
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
	var setErr error
	if err := conn.Control(func(fd uintptr) { setErr = unix.TimerfdSettime(int(fd), 0, &once, nil) }); err != nil {
		return err
	}
	if setErr != nil {
		return setErr
	}
	var rings [8]byte
	_, err = a.clock.Read(rings[:])
	return err
}

func (a *alarm) make() bool {
	if a.clock == nil {
		fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
		if err != nil {
			return false
		}
		a.clock = os.NewFile(uintptr(fd), "timer")
	}
	return true
}

func (a *alarm) close() {
	if a.clock != nil {
		_ = a.clock.Close()
		a.clock = nil
	}
}
