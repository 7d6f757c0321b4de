package media

import "bytes"

// Disposable reports whether no other frame refers to that of a packet, so that a decoder need not
// get it if its frame is not wanted. It knows H.264 alone: a packet whose slices all have the
// nal_ref_idc 0, and that brings no parameter sets. It is false for other packets.
func (v *Video) Disposable(packet []byte) bool {
	slices, others := false, false
	whole := v.units(packet, func(unit []byte) {
		switch kind, references := unit[0]&31, unit[0]>>5&3; {
		case kind >= 1 && kind <= 5:
			slices, others = true, others || references != 0
		case kind != 6 && kind != 9 && kind != 12: // messages, delimiters and filler change nothing
			others = true
		}
	})
	return whole && slices && !others
}

// Recovery returns how many packets after a key packet the frames are complete, if decoding begins
// there: 0 in most videos. Videos of H.264 without IDR pictures refresh frames piece by piece, and
// state the number in the message recovery_point. Recovery returns -1 if the packet states none.
// The packet may end within a slice.
func (v *Video) Recovery(packet []byte) int {
	count, slices, instant := -1, false, false
	whole := v.units(packet, func(unit []byte) {
		switch kind := unit[0] & 31; {
		case slices: // the first one decides
		case kind == 5:
			instant = true
		case kind == 6 && count < 0:
			count = recoveryPoint(unit[1:])
		case kind >= 1 && kind <= 4:
			slices = true
		}
	})
	if instant || !slices || !whole && count < 0 {
		return 0 // of another codec, an IDR picture, or damaged
	}
	return count
}

// units calls fn for each NAL unit of a packet of H.264. It returns false for other codecs, for
// packets with start codes in the place of lengths, and for damaged ones.
func (v *Video) units(packet []byte, fn func(unit []byte)) bool {
	if v.Codec != "h264" || len(v.Setup) < 5 || v.Setup[0] != 1 {
		return false
	}
	prefix := int(v.Setup[4]&3) + 1
	for len(packet) > prefix {
		n := 0
		for _, b := range packet[:prefix] {
			n = n<<8 | int(b)
		}
		packet = packet[prefix:]
		if n > len(packet) { // it is cut
			fn(packet)
			return false
		}
		if n < 1 {
			return false
		}
		fn(packet[:n])
		packet = packet[n:]
	}
	return len(packet) == 0
}

// recoveryPoint returns the recovery_frame_cnt of the messages of a NAL unit, -1 if there is none.
func recoveryPoint(messages []byte) int {
	const recovery = 6
	messages = bytes.ReplaceAll(messages, []byte{0, 0, 3}, []byte{0, 0}) // emulation prevention
	for len(messages) > 2 {
		var head [2]int // type and size
		for i := range head {
			for len(messages) > 0 && messages[0] == 0xff {
				head[i], messages = head[i]+255, messages[1:]
			}
			if len(messages) == 0 {
				return -1
			}
			head[i], messages = head[i]+int(messages[0]), messages[1:]
		}
		if head[1] > len(messages) {
			return -1
		}
		if head[0] == recovery {
			return golomb(messages[:head[1]])
		}
		messages = messages[head[1]:]
	}
	return -1
}

// golomb reads a number in the code of Exp-Golomb, -1 if it is cut or has more than 20 bits.
func golomb(data []byte) int {
	bit := func(i int) int {
		if i >= 8*len(data) {
			return 0
		}
		return int(data[i/8]>>(7-i%8)) & 1
	}
	zeros := 0
	for bit(zeros) == 0 {
		if zeros++; zeros > 20 {
			return -1
		}
	}
	if 2*zeros+1 > 8*len(data) {
		return -1
	}
	n := 0
	for i := range zeros + 1 {
		n = n<<1 | bit(zeros+i)
	}
	return n - 1
}
