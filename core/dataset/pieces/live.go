package pieces

import (
	"deeplake/core/version"
	"deeplake/core/version/chunkmap"
)

// Live returns the rows of a leaf that are not deleted, as segments, for a row that lies in a place
// of it. It is nil where no row is deleted, and where few pieces make it useless: the leaf says
// where the rows are.
func Live(x *chunkmap.Leaf, place int, live *version.RowMap) *chunkmap.Segments {
	if live.Name() == nil || place < 0 || !x.Mixed() {
		return nil
	}
	return segments(x, live)
}

// segments is Segments, once for each version. Without deletions they are the places of the leaf.
func segments(x *chunkmap.Leaf, live *version.RowMap) *chunkmap.Segments {
	return x.Live(live.Name(), func() *chunkmap.Segments {
		if live.Name() == nil {
			return &chunkmap.Segments{Rows: x.Rows, Items: x.Items, Refs: x.Refs}
		}
		return Segments(x, live)
	})
}

// Segments finds the rows of a leaf that are not deleted. Rows around deleted ones are one segment
// if their items follow each other.
func Segments(x *chunkmap.Leaf, live *version.RowMap) *chunkmap.Segments {
	s := &chunkmap.Segments{}
	row, end := live.Logical(x.First()), live.Logical(x.End())
	place := 0
	for row < end {
		logical, physical := live.Between(row, end)
		for k := range physical {
			at, behind := physical[k]+row-logical[k], end
			if k+1 < len(logical) {
				behind = logical[k+1]
			}
			for row < behind {
				place = x.Seek(place, at)
				n := min(x.Rows[place+1]-at, behind-row)
				add(s, x, row, x.Items[place]+at-x.Rows[place], x.Refs[place])
				row, at = row+n, at+n
			}
		}
	}
	s.Rows = append(s.Rows, end)
	return s
}

// add adds rows from row on, in items from item on.
func add(s *chunkmap.Segments, x *chunkmap.Leaf, row, item int64, ref uint16) {
	if n := len(s.Refs) - 1; n >= 0 && s.Refs[n] == ref && s.Items[n]+row-s.Rows[n] == item && ref != chunkmap.NoSample && x.Chunks[ref].Tiles == 0 {
		return
	}
	s.Rows, s.Items, s.Refs = append(s.Rows, row), append(s.Items, item), append(s.Refs, ref)
}
