//go:build !linux

package faultproxy

import "time"

// alarm sleeps as well as the runtime can.
type alarm struct{}

// sleep waits for d, or until closed is.
func (a *alarm) sleep(d time.Duration, closed <-chan struct{}) error { return sleep(d, closed) }

func (a *alarm) close() {}
