//go:build unix

package cache

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"

	"deeplake/core/errs"
)

// fileLocks are record locks of fcntl, which belong to the process and end with it. Locks of an
// open file description, or of flock, would live on in forked children of a killed process.
//
// The locks of a process on a file also end when it closes any descriptor of that file. So they end
// early if two layers of a process use one directory, and one of them goes.
type fileLocks struct {
	from func() (*os.File, error)

	once sync.Once
	file *os.File
	err  error
}

// newLocker returns locks on a file, which is opened when the first is taken.
func newLocker(from func() (*os.File, error)) locker { return &fileLocks{from: from} }

func (l *fileLocks) open() {
	if l.file, l.err = l.from(); l.err != nil {
		return
	}
	l.err = l.control(func(fd uintptr) error {
		if remote(int(fd)) {
			return errs.Op("lock", l.file.Name()).New(errs.Unsupported, "it lies on another machine")
		}
		return nil
	})
}

func (l *fileLocks) control(call func(fd uintptr) error) error {
	conn, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	return errors.Join(conn.Control(func(fd uintptr) { callErr = call(fd) }), callErr)
}

// fcntl repeats a call that a signal has interrupted.
func (l *fileLocks) fcntl(command int, kind int16, at, n int64) (lock syscall.Flock_t, err error) {
	err = l.control(func(fd uintptr) error {
		for {
			lock = syscall.Flock_t{Type: kind, Whence: io.SeekStart, Start: at, Len: n}
			if err := syscall.FcntlFlock(fd, command, &lock); err != syscall.EINTR {
				return err
			}
		}
	})
	return lock, err
}

func (l *fileLocks) try(at, n int64) (holder, error) {
	if l.once.Do(l.open); l.err != nil {
		return holder{}, l.err
	}
	for {
		_, err := l.fcntl(syscall.F_SETLK, syscall.F_WRLCK, at, n)
		if err == nil || !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EACCES) {
			return holder{}, err
		}
		lock, err := l.fcntl(syscall.F_GETLK, syscall.F_WRLCK, at, n)
		if err != nil {
			return holder{}, err
		}
		if lock.Type != syscall.F_UNLCK {
			return holder{pid: int(lock.Pid), from: lock.Start, n: lock.Len}, nil
		}
	}
}

func (l *fileLocks) unlock(at, n int64) {
	// A lock that stays is only waited for.
	_, _ = l.fcntl(syscall.F_SETLK, syscall.F_UNLCK, at, n)
}
