package peer

import (
	"net/netip"
	"strings"
	"testing"
)

const socketTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:9D15 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1
   1: 0100007F:C350 0100007F:9D15 06 00000000:00000000 00:00000000 00000000  1001        0 2
   2: 0100007F:C350 0100007F:9D15 01 00000000:00000000 00:00000000 00000000  1002        0 3
   3: 0100007F:9D15 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1003        0 4
   4: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:9D15 01 0:0 0:0 0  1004        0 5
   5: 00000000000000000000000001000000:C352 00000000000000000000000001000000:9D15 01 0:0 0:0 0  1005        0 6
   6: short
   7: zz:C353 0100007F:9D15 01 0:0 0:0 0 1006 0 7
   8: 0100007F:C354 0100007F:9D15 01 0:0 0:0 0 many 0 8
`

func TestFindSocket(t *testing.T) {
	t.Parallel()
	for near, want := range map[string]int{
		"127.0.0.1:50000": 1002, "127.0.0.1:50001": 1004, "127.0.0.1:50002": -1, "127.0.0.1:50003": -1,
		"127.0.0.1:50004": -1, "127.0.0.2:50000": -1, "127.0.0.1:40213": -1,
	} {
		account, ok := findSocket(strings.NewReader(socketTable), netip.MustParseAddrPort(near), netip.MustParseAddrPort("127.0.0.1:40213"))
		if ok != (want >= 0) || ok && account != want {
			t.Errorf("%s: got %d, %v, want %d", near, account, ok, want)
		}
	}
	if account, ok := findSocket(strings.NewReader(socketTable), netip.MustParseAddrPort("[::1]:50002"), netip.MustParseAddrPort("[::1]:40213")); !ok || account != 1005 {
		t.Errorf("IPv6: got %d, %v", account, ok)
	}
	if _, ok := findSocket(strings.NewReader(""), netip.AddrPort{}, netip.AddrPort{}); ok {
		t.Error("an empty table has a socket")
	}
}
