package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Identity names the rows of v, in the same words on every machine. It returns the identity of the
// dataset, which a copy with its history keeps. Then it returns the commit, empty if v shows
// uncommitted changes, and the selection. Views of the same rows in the same order have the same
// selection, however they were made.
func (v *View) Identity() (dataset, commit, selection string, err error) {
	repo, _, err := v.d.repository()
	if err != nil {
		return "", "", "", err
	}
	if !v.dirty {
		commit = v.snap.Record.UUID.String()
	}
	return repo.TSF.UUID.String(), commit, v.selection(), nil
}

// selection names the rows: a regular selection by its numbers, any other by a digest.
func (v *View) selection() string {
	start, step, regular := v.start, v.step, true
	if v.list != nil {
		start, step, regular = progression(v.list)
	}
	if v.n < 2 {
		step = 1
	}
	if v.n == 0 {
		start = 0
	}
	if regular {
		return fmt.Sprintf("%d+%d*%d", start, step, v.n)
	}
	sum := sha256.New()
	block := make([]byte, 0, 8<<10)
	for i, row := range v.list {
		block = binary.LittleEndian.AppendUint64(block, uint64(row))
		if len(block) == cap(block) || i == len(v.list)-1 {
			_, _ = sum.Write(block) // a hash never fails
			block = block[:0]
		}
	}
	return fmt.Sprintf("%s*%d", hex.EncodeToString(sum.Sum(nil)[:16]), v.n)
}

// progression reports whether rows are start, start+step, ...
func progression(rows []int64) (start, step int64, ok bool) {
	if len(rows) == 0 {
		return 0, 1, true
	}
	if len(rows) == 1 {
		return rows[0], 1, true
	}
	start, step = rows[0], rows[1]-rows[0]
	for i, row := range rows {
		if row != start+int64(i)*step {
			return 0, 0, false
		}
	}
	return start, step, true
}
