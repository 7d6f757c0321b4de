package media

import "testing"

// TestDelay counts by hand.
func TestDelay(t *testing.T) {
	t.Parallel()
	var long []Packet
	for i := range int64(1000) {
		long = append(long, Packet{Time: i ^ 3})
	}
	cases := []struct {
		name  string
		times []int64
		want  int
	}{
		{"none", nil, 0},
		{"in order", []int64{0, 1, 2, 3}, 0},
		{"one b frame", []int64{0, 2, 1, 4, 3}, 1},
		{"pyramid", []int64{0, 4, 2, 1, 3, 8, 6, 5, 7}, 2},
		{"backwards", []int64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6, -7, -8, -9}, 16},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var packets []Packet
			for _, at := range c.times {
				packets = append(packets, Packet{Time: at})
			}
			if got := (&Video{Packets: packets}).Delay(); got != c.want {
				t.Errorf("Delay = %d, want %d", got, c.want)
			}
		})
	}
	if got := (&Video{Packets: long}).Delay(); got != 3 {
		t.Errorf("Delay of a long track = %d, want 3", got)
	}
}
