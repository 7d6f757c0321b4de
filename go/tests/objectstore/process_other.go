//go:build !linux

package objectstore

import "syscall"

// dieWithParent does nothing: only Linux can.
func dieWithParent() *syscall.SysProcAttr { return nil }
