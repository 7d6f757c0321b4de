package episodes

import (
	"fmt"
	"slices"
	"sort"
)

// check brings the episodes into the order of their numbers, and holds them against each other:
// they tile the frames of the set. Of episodes that contradict each other none is believed.
func (s *set) check() {
	slices.SortStableFunc(s.episodes, byIndex)
	missing, gaps := int64(0), int64(0)
	var first string
	next := int64(0)        // number that the next episode should have
	end := int64(0)         // of the frames so far
	last := (*episode)(nil) // that has this end
	for i := range s.episodes {
		e := &s.episodes[i]
		if i > 0 && s.episodes[i-1].index == e.index {
			reason := fmt.Sprintf("the metadata have two episodes %d", e.index)
			s.episodes[i-1].doubt(reason)
			e.doubt(reason)
		} else {
			missing += max(0, e.index-next)
		}
		next = e.index + 1
		switch {
		case e.to == e.from:
		case e.from > end:
			if gaps += e.from - end; first == "" {
				first = fmt.Sprintf("%d to %d", end, e.from-1)
			}
		case e.from < end && last != nil:
			reason := "frames %d to %d are those of episodes %d and %d"
			reason = fmt.Sprintf(reason, e.from, min(e.to, end)-1, last.index, e.index)
			last.doubt(reason)
			e.doubt(reason)
		}
		if e.to > end {
			end, last = e.to, e
		}
	}
	if s.frames > end {
		if gaps += s.frames - end; first == "" {
			first = fmt.Sprintf("%d to %d", end, s.frames-1)
		}
	}
	if missing > 0 {
		s.warn(metaEpisodes, "%d numbers below %d have no episode", missing, next)
	}
	if gaps > 0 {
		s.warn(metaEpisodes, "%d frames belong to no episode, the first of them %s", gaps, first)
	}
	if s.frames >= 0 && s.frames < end {
		s.warn(infoKey, "total_frames is %d, and the episodes have %d", s.frames, end)
	}
	if n := int64(len(s.episodes)); s.info.episodes >= 0 && s.info.episodes != n {
		s.warn(infoKey, "total_episodes is %d, and the metadata have %d", s.info.episodes, n)
	}
	s.checkSplits()
	if len(s.wrong) > 0 {
		s.warn(infoKey, "splits has %q, want ranges of episodes such as 0:50", s.wrong)
	}
}

// doubt notes the first reason for which an episode is left out.
func (e *episode) doubt(reason string) {
	if e.wrong == "" {
		e.wrong = reason
	}
}

// frames finds episodes by the numbers of their frames.
type frames struct {
	of    []episode
	order []int32 // episodes that are believed, by their first frames
}

func (s *set) byFrames() *frames {
	f := &frames{of: s.episodes}
	for i := range s.episodes {
		if e := &s.episodes[i]; e.wrong == "" {
			f.order = append(f.order, int32(i))
		}
	}
	sort.Slice(f.order, func(a, b int) bool { return f.of[f.order[a]].from < f.of[f.order[b]].from })
	return f
}

// at returns the episode that has a frame of the set; -1: none.
func (f *frames) at(frame int64) int {
	k := sort.Search(len(f.order), func(i int) bool { return f.of[f.order[i]].from > frame }) - 1
	if k < 0 || frame >= f.of[f.order[k]].to {
		return -1
	}
	return int(f.order[k])
}
