package loader

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"deeplake/core/errs"
	"deeplake/core/order"
)

// StateVersion numbers the form of a State.
const StateVersion = 1

// State records the rows of a loader, their order, and the position behind the last batch taken. It
// has less than 1 KB as JSON. Any loader of the same rows and order can continue from it, with any
// batch size, number of ranks, threads and prefetch. See docs/design/state.md.
type State struct {
	Version int    `json:"deeplake"` // StateVersion
	Dataset string `json:"dataset"`  // its identity
	// empty: rows that were not committed, which nothing can go on from
	Commit    string      `json:"commit"`
	Selection string      `json:"selection"` // which of its rows
	Order     order.Order `json:"order"`
	Epoch     int64       `json:"epoch"`
	// samples of the epoch that were taken, by all ranks together
	Position int64 `json:"position"`
}

// State returns the state behind position of an epoch, as Batch.Position gives it.
func (l *Loader) State(epoch, position int64) (State, error) {
	if _, err := (order.Pass{Epoch: epoch, Position: position}).Check(l.order.Order().Rows); err != nil {
		return State{}, errs.Wrap(errs.Invalid, "make loader state", "", err)
	}
	s, err := l.firstState()
	s.Epoch, s.Position = epoch, position
	return s, err
}

// firstState returns the state at the beginning, which it computes once.
func (l *Loader) firstState() (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil {
		s := State{Version: StateVersion, Order: l.order.Order()}
		var err error
		if s.Dataset, s.Commit, s.Selection, err = l.src.Identity(); err != nil {
			return State{}, errs.Wrap(errs.Internal, "make loader state", "", err)
		}
		l.state = &s
	}
	return *l.state, nil
}

// Resume returns the position at which a state, as JSON, continues. It fails with errs.Invalid if
// the rows or the order of the state differ from l's. The message names the difference.
func (l *Loader) Resume(state []byte) (order.Pass, error) {
	const op = "load loader state"
	s, err := parseState(state)
	if err != nil {
		return order.Pass{}, errs.Wrap(errs.Invalid, op, "", err)
	}
	own, err := l.firstState()
	if err != nil {
		return order.Pass{}, errs.Wrap(errs.Invalid, op, "", err)
	}
	if s.Commit == "" || own.Commit == "" {
		whose := "the state is"
		if s.Commit != "" {
			whose = "this loader is"
		}
		return order.Pass{}, errs.Op(op, "").New(errs.Invalid, "%s of rows that were not committed, and nothing tells whether they are the same; commit before training", whose)
	}
	if differ := s.differences(&own); len(differ) > 0 {
		return order.Pass{}, errs.Op(op, "").New(errs.Invalid, "it is of other rows or another order: %s; make the loader as it was made then, or begin without the state", strings.Join(differ, "; "))
	}
	p, err := order.Pass{Epoch: s.Epoch, Position: s.Position}.Check(l.order.Order().Rows)
	if err != nil {
		return order.Pass{}, errs.Wrap(errs.Invalid, op, "", err)
	}
	return p, nil
}

// maxStateBytes bounds the JSON of a state.
const maxStateBytes = 64 << 10

// parseState reads a state strictly: an unknown field may matter.
func parseState(data []byte) (State, error) {
	var s State
	if len(data) > maxStateBytes {
		return s, errs.New(errs.Invalid, "it has %d bytes, want at most %d", len(data), maxStateBytes)
	}
	var form struct {
		Version *int `json:"deeplake"`
	}
	if err := json.Unmarshal(data, &form); err != nil || form.Version == nil {
		return s, errs.New(errs.Invalid, "it is no state of a loader; give what state_dict() returned")
	}
	if *form.Version != StateVersion {
		return s, errs.New(errs.Unsupported, "its form is version %d, want %d; use the version of the library that made it", *form.Version, StateVersion)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, errs.New(errs.Invalid, "it is damaged: %w", err)
	}
	return s, s.Order.Check()
}

// differences lists the parameters in which s and own differ, in the user's words.
func (s *State) differences(own *State) []string {
	var out []string
	differ := func(what string, theirs, ours any) {
		if theirs != ours {
			out = append(out, fmt.Sprintf("%s is %v here and was %v", what, spoken(ours), spoken(theirs)))
		}
	}
	differ("the dataset", s.Dataset, own.Dataset)
	if len(out) > 0 {
		return out // commits and rows of another dataset say nothing
	}
	differ("the commit", s.Commit, own.Commit)
	differ("the selection of rows", s.Selection, own.Selection)
	a, b := &s.Order, &own.Order
	differ("shuffle", a.Kind, b.Kind)
	differ("seed", a.Seed, b.Seed)
	before := len(out)
	differ("the number of rows", a.Rows, b.Rows)
	differ("the version of the order", a.Version, b.Version)
	if a.Kind == b.Kind && a.Kind == order.Window && len(out) == before {
		windows := func(o *order.Order) string {
			if o.Version == order.SlidingVersion {
				return fmt.Sprintf("windows that open %d blocks each, in %d slices", o.OpenBlocks, o.Slices)
			}
			return fmt.Sprintf("windows of %d to %d blocks of %d rows", o.FirstBlocks, o.WindowBlocks, o.BlockRows)
		}
		differ("what shuffle_bytes makes", windows(a), windows(b))
	}
	if len(out) == 0 && *a != *b { // a parameter that has no words of its own above
		differ("the order", fmt.Sprintf("%+v", *a), fmt.Sprintf("%+v", *b))
	}
	return out
}

// spoken quotes words and leaves numbers.
func spoken(v any) any {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return v
}
