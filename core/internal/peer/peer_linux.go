package peer

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// socketTables list the TCP sockets of this network namespace. A line has, after its number, the
// local and the remote address, the state, and as the eighth field the account of the socket.
var socketTables = []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"}

const (
	mostTable   = 64 << 20 // bytes of a table that are read
	established = "01"
)

// Known reports whether the system names the account at the other end of a connection.
func Known() bool {
	f, err := os.Open(socketTables[0])
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// Account returns the account of the socket at the remote end of a connection to this machine. ok
// is false for connections from elsewhere.
func Account(remote, local netip.AddrPort) (account int, ok bool) {
	for _, table := range socketTables {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		account, ok = findSocket(f, remote, local)
		if f.Close() == nil && ok {
			return account, true
		}
	}
	return 0, false
}

// findSocket looks for the socket whose local end is near, and whose remote end is far.
func findSocket(table io.Reader, near, far netip.AddrPort) (account int, ok bool) {
	lines := bufio.NewScanner(io.LimitReader(table, mostTable))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || fields[3] != established {
			continue
		}
		if at, valid := socketAddress(fields[1]); !valid || at != plain(near) {
			continue
		}
		if at, valid := socketAddress(fields[2]); !valid || at != plain(far) {
			continue
		}
		account, err := strconv.Atoi(fields[7])
		return account, err == nil
	}
	return 0, false
}

// socketAddress parses an address as the tables have it: words of four bytes in the order of the
// processor, and the port, in hexadecimal digits.
func socketAddress(text string) (netip.AddrPort, bool) {
	digits, portDigits, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(digits)
	port, failed := strconv.ParseUint(portDigits, 16, 16)
	if err != nil || failed != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, false
	}
	for at := 0; at < len(raw); at += 4 {
		binary.BigEndian.PutUint32(raw[at:], binary.NativeEndian.Uint32(raw[at:]))
	}
	address, _ := netip.AddrFromSlice(raw)
	return plain(netip.AddrPortFrom(address, uint16(port))), true
}

// plain drops the zone, and the prefix of IPv4 addresses in IPv6 sockets.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
