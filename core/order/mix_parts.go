package order

import (
	"slices"
	"sort"
)

// PartWindow is a shuffle window of one view of a mixture, or the part of it that an epoch takes.
type PartWindow struct {
	Runs  [][2]int64 // rows of the mixture, as runs in order
	Until int64      // the local position behind the last of them
}

// MixedWindows goes through the shuffle windows of a mixture's views, in order of their first
// positions. One goroutine uses it.
type MixedWindows struct {
	share *Share
	mix   *mixOrder
	turns []int64 // of each view: the first turn that no window covers yet
	next  []int64 // and its position in the epoch
}

// MixedWindows returns the shuffle windows of the views from the start of the pass on. It is nil if
// the order is no mixture of windowed views, or if several ranks share the rows.
func (s *Share) MixedWindows() *MixedWindows {
	b := s.cursor.mix
	if b == nil || b.orders[0].Kind != Window || !s.Alone() {
		return nil
	}
	m := &MixedWindows{share: s, mix: b, turns: make([]int64, len(b.orders)), next: make([]int64, len(b.orders))}
	b.turnsAt(m.turns, s.from)
	for part := range m.next {
		m.next[part] = b.positionOf(part, m.turns[part])
	}
	return m
}

// Next returns the windows that begin in the next least local positions. No row before the local
// position to is in any later window.
func (m *MixedWindows) Next(least int64) (to int64, windows []PartWindow) {
	s := m.share
	reach := slices.Min(m.next) + least
	for part := range m.next {
		for m.next[part] < min(reach, s.total) {
			windows = append(windows, m.take(part))
		}
	}
	if to = slices.Min(m.next) - s.from; to >= s.total-s.from {
		to = s.Length() // repeated rows come last
	}
	return to, windows
}

// take returns the next window of a view, and steps behind it.
func (m *MixedWindows) take(part int) PartWindow {
	b, begin := m.mix, m.turns[part]
	end, runs := b.windowAt(part, begin)
	m.turns[part] = end
	m.next[part] = b.positionOf(part, end)
	return PartWindow{runs, b.positionOf(part, end-1) + 1 - m.share.from}
}

// turnsAt writes into turns how many rows of each view come before a position.
func (b *mixOrder) turnsAt(turns []int64, pos int64) {
	if b.mode == MixSequential {
		for part := range turns {
			turns[part] = min(max(pos-b.starts[part], 0), b.orders[part].Rows)
		}
		return
	}
	run := pos - pos%mixRows
	b.seats.counts(turns, run)
	if pos > run {
		b.draw(run) // deals the run
		for _, part := range b.parts[:pos-run] {
			turns[part]++
		}
	}
}

// positionOf returns the position of a turn of a view: the length of the epoch if it has fewer.
func (b *mixOrder) positionOf(part int, turn int64) int64 {
	if turn >= b.used[part] {
		return b.rows
	}
	if b.mode == MixSequential {
		return b.starts[part] + turn
	}
	turns := make([]int64, len(b.orders))
	runs := (b.rows-1)/mixRows + 1
	// the last run that begins at or before the turn
	run := int64(sort.Search(int(runs-1), func(i int) bool {
		b.seats.counts(turns, (int64(i)+1)*mixRows)
		return turns[part] > turn
	}))
	b.draw(run * mixRows) // deals the run
	for i := range b.parts {
		if b.parts[i] == int32(part) && b.draws[i] == turn {
			return run*mixRows + int64(i)
		}
	}
	return b.rows // not reached: each turn below used has a position
}

// windowAt returns the shuffle window of a view that holds a turn: the turn behind it, and its rows
// from that turn on.
func (b *mixOrder) windowAt(part int, turn int64) (end int64, runs [][2]int64) {
	at := b.seek(part, turn)
	c, start := b.cursors[part], b.starts[part]
	c.row(at) // enters the window
	end = min(turn+c.window.begin+c.window.rows-at, b.used[part])
	if at == c.window.begin && end-turn == c.window.rows {
		runs = c.blockRuns()
	} else {
		rows := make([]int64, end-turn)
		c.Fill(rows, at)
		slices.Sort(rows)
		runs = Runs(rows)
	}
	for i := range runs {
		runs[i][0] += start
		runs[i][1] += start
	}
	return end, runs
}
