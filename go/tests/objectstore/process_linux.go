package objectstore

import "syscall"

// dieWithParent makes the kernel kill the child when the parent ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
