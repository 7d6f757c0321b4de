package media

import "testing"

// unit is a NAL unit of a kind, behind its length.
func unit(prefix int, references, kind byte, size int) []byte {
	out := make([]byte, prefix+size)
	for i := range prefix {
		out[i] = byte(size >> (8 * (prefix - 1 - i)))
	}
	out[prefix] = references<<5 | kind
	return out
}

// TestDisposable holds which packets of H.264 a decoder need not get.
func TestDisposable(t *testing.T) {
	t.Parallel()
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for prefix := 1; prefix <= 4; prefix++ {
		v := &Video{Codec: "h264", Setup: []byte{1, 100, 0, 31, 0xfc | byte(prefix-1)}}
		for name, c := range map[string]struct {
			packet []byte
			want   bool
		}{
			"a slice that none refers to":    {unit(prefix, 0, 1, 100), true},
			"two of them behind a delimiter": {join(unit(prefix, 0, 9, 2), unit(prefix, 0, 1, 100), unit(prefix, 0, 1, 90)), true},
			"a message before it":            {join(unit(prefix, 0, 6, 20), unit(prefix, 0, 1, 100)), true},
			"a reference":                    {unit(prefix, 2, 1, 100), false},
			"one slice of two is one":        {join(unit(prefix, 0, 1, 100), unit(prefix, 1, 1, 90)), false},
			"a key frame":                    {unit(prefix, 3, 5, 100), false},
			"parameters":                     {join(unit(prefix, 0, 8, 9), unit(prefix, 0, 1, 100)), false},
			"no slice":                       {unit(prefix, 0, 6, 20), false},
			"nothing":                        {nil, false},
			"cut":                            {unit(prefix, 0, 1, 100)[:50], false},
			"a byte behind it":               {append(unit(prefix, 0, 1, 100), 0), false},
			"an empty unit":                  {make([]byte, prefix+1), false},
		} {
			if got := v.Disposable(c.packet); got != c.want {
				t.Errorf("lengths of %d bytes, %s: %v", prefix, name, got)
			}
		}
	}
	packet := unit(4, 0, 1, 100)
	for _, v := range []*Video{{Codec: "hevc", Setup: []byte{1, 0, 0, 0, 3}}, {Codec: "h264"}, {Codec: "h264", Setup: []byte{0, 0, 0, 1, 103}}} {
		if v.Disposable(packet) {
			t.Errorf("%s with setup % x says that it knows", v.Codec, v.Setup)
		}
	}
}

// TestRecovery holds how soon frames are whole behind a packet of H.264.
func TestRecovery(t *testing.T) {
	t.Parallel()
	message := func(kind byte, payload ...byte) []byte {
		out := append([]byte{0, 0, 0, 0, 6, kind, byte(len(payload))}, payload...)
		out = append(out, 0x80)
		out[3] = byte(len(out) - 4)
		return out
	}
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	// One unit of two messages. The first has the bytes 0, 0, 1, with a byte of emulation
	// prevention.
	two := []byte{0, 0, 0, 11, 6, 5, 3, 0, 0, 3, 1, 6, 1, 0x60, 0x80}
	slice, instant := unit(4, 2, 1, 50), unit(4, 3, 5, 50)
	v := &Video{Codec: "h264", Setup: []byte{1, 100, 0, 31, 0xff}}
	for name, c := range map[string]struct {
		packet []byte
		want   int
	}{
		"an IDR picture":             {instant, 0},
		"one with a message":         {join(message(6, 0x05), instant), 0},
		"a slice alone":              {slice, -1},
		"at once":                    {join(message(6, 0x80), slice), 0},
		"behind 1":                   {join(message(6, 0x40), slice), 1},
		"behind 20":                  {join(message(6, 0x0a, 0x80), slice), 20},
		"behind another message":     {join(message(5, 1, 2, 3), message(6, 0x60), slice), 2},
		"a message that is cut":      {join(message(6), slice), -1},
		"a number that is cut":       {join(message(6, 0x01), slice), -1},
		"a 3 that is no data":        {join(message(5, 0, 0, 3, 1), message(6, 0x60), slice), 2},
		"behind a 3 in its unit":     {join(two, slice), 2},
		"a number of too many bits":  {join(message(6, 0, 0, 0, 1), slice), -1},
		"cut within the slice":       {join(message(6, 0x40), slice[:20]), 1},
		"an IDR picture that is cut": {instant[:20], 0},
		"damage":                     {slice[:20], 0},
	} {
		if got := v.Recovery(c.packet); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if got := (&Video{Codec: "av1"}).Recovery(slice); got != 0 {
		t.Errorf("another codec: %d", got)
	}
}
