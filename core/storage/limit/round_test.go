package limit

import (
	"testing"

	"deeplake/core/storage"
)

// TestRounds: what share of refusals leaves how many slots, when each round asks for as much as it
// may.
func TestRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		every       int // one answer in so many is a refusal; 0: none
		least, most int // places in the end
	}{
		{"none", 0, 64, 64},
		{"one in a hundred", 100, 55, 64},
		{"a tenth, whatever is asked", 10, 12, 32},
		{"half", 2, 1, 4},
		{"all", 1, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := New(storage.Settings{})
			sent := 0
			for range 200 {
				n := l.Connections()
				round := l.rounds
				for range n {
					l.take(0)
				}
				for range n {
					sent++
					l.free(0)
					l.answered(round, c.every > 0 && sent%c.every == 0)
				}
			}
			if got := l.Connections(); got < c.least || got > c.most {
				t.Errorf("%d places, want %d to %d", got, c.least, c.most)
			}
		})
	}
}
