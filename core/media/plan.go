package media

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"deeplake/core/errs"
)

// Shown returns the numbers of the packets whose frames are shown, in the order of showing. Of
// frames of one time the one that is decoded first comes first.
func (v *Video) Shown() []int32 {
	order := make([]int32, 0, len(v.Packets))
	for i := range v.Packets {
		if !v.Packets[i].Hidden {
			order = append(order, int32(i))
		}
	}
	earlier := func(a, b int32) int {
		return cmp.Or(cmp.Compare(v.Packets[a].Time, v.Packets[b].Time), cmp.Compare(a, b))
	}
	// Few frames are far from their place in the order of decoding.
	moves := 8 * len(order)
	for i := range order {
		for k := i; k > 0 && earlier(order[k-1], order[k]) > 0; k-- {
			order[k-1], order[k] = order[k], order[k-1]
			moves--
		}
		if moves < 0 {
			slices.SortFunc(order, earlier)
			break
		}
	}
	return order
}

// At returns the place in shown, the result of Shown, of the frame that is shown at a time, in
// ticks: the last one that begins then or earlier. It is -1 before the first one.
func (v *Video) At(shown []int32, time int64) int {
	return sort.Search(len(shown), func(i int) bool { return v.Packets[shown[i]].Time > time }) - 1
}

// Group is a run of packets, First to Last, that a decoder takes from its first one on.
type Group struct{ First, Last int }

// Needs returns groups of packets that decode the frames of the given packets. Groups are in order
// and do not overlap. A group begins with a key packet whose frame is shown no later
// than those wanted: frames that are decoded after a key packet, and shown before it, may need what
// came before it. A frame without such a packet: errs.Corrupt; one that the video does not have:
// errs.Range.
func (v *Video) Needs(frames []int) ([]Group, error) {
	wanted := slices.Clone(frames)
	slices.Sort(wanted)
	var groups []Group
	var earliest []int64 // of the key packets of each group
	for _, frame := range wanted {
		if frame < 0 || frame >= len(v.Packets) {
			return nil, errs.Op("plan video", "").New(errs.Range, "frame %d is not one of %d", frame, len(v.Packets))
		}
		first, early, joined := v.start(frame, groups, earliest)
		if first < 0 {
			return nil, errs.Op("plan video", "").New(errs.Corrupt, "no key frame comes before frame %d, so it cannot be decoded; encode the video again, or leave such frames out, by on_error=\"skip\" in loaders", frame)
		}
		groups = append(groups[:joined], Group{first, frame})
		earliest = append(earliest[:joined], early)
	}
	return groups, nil
}

// start returns the packet that decoding begins with for a frame, -1 for none. The groups from
// joined on are part of the new one, and early is the earliest time of its key packets. Groups are
// passed over at once, so that many frames together look at each packet once.
func (v *Video) start(frame int, groups []Group, earliest []int64) (first int, early int64, joined int) {
	early, joined = math.MaxInt64, len(groups)
	wanted := v.Packets[frame].Time
	for i := frame; i >= 0; i-- {
		if joined > 0 && i <= groups[joined-1].Last {
			joined--
			i, early = groups[joined].First, min(early, earliest[joined])
			if earliest[joined] <= wanted {
				return i, early, joined
			}
			continue
		}
		if p := &v.Packets[i]; p.Key {
			if early = min(early, p.Time); p.Time <= wanted {
				return i, early, joined
			}
		}
	}
	return -1, 0, 0
}
