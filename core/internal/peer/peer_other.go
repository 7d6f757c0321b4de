//go:build !linux

package peer

import "net/netip"

// Known reports false: the system does not tell whose connections are.
func Known() bool { return false }

// Account returns false.
func Account(_, _ netip.AddrPort) (account int, ok bool) { return 0, false }
