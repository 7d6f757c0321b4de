package media

import "slices"

// Delay returns how many frames at most are decoded before a frame and shown after it. The
// standards of H.264 and HEVC allow 16. A decoder without this number has to guess it, and drops
// frames while it learns.
func (v *Video) Delay() int {
	const most, room = 16, 64 // room of times
	seen := make([]int64, 0, room)
	depth := 0
	for i := range v.Packets {
		time := v.Packets[i].Time
		at := len(seen)
		for at > 0 && seen[at-1] > time {
			at--
		}
		depth = max(depth, len(seen)-at)
		if len(seen) == room {
			keep := copy(seen, seen[room-most-1:])
			at = max(0, at-(room-keep))
			seen = seen[:keep]
		}
		seen = slices.Insert(seen, at, time)
	}
	return min(depth, most)
}
