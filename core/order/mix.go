package order

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"sort"

	"deeplake/core/errs"
)

// The ways to interleave the views of a mixture: MixPolicy.Mode.
const (
	MixRandom     = "random"     // at random, in the right proportions over every few thousand rows
	MixExact      = "exact"      // as evenly as possible: any batch has the right proportions
	MixSequential = "sequential" // one view after the other
)

// The ends of an epoch of a mixture: MixPolicy.Stop.
const (
	FirstExhausted = "first_exhausted" // before any view would give more rows than it has
	// when every row of every view has come; small views begin again
	AllExhausted = "all_exhausted"
)

// MixPolicy sets the frequency of each view of a mixture.
type MixPolicy struct {
	Mode string `json:"mode"` // also "": MixRandom
	// shares of the views; nil: by their rows, so that an epoch is every row once
	Weights []float64 `json:"weights"`
	Stop    string    `json:"stop"`   // also "": FirstExhausted
	Length  int64     `json:"length"` // rows of an epoch; 0: as Stop says
}

// Check refuses a policy that no mixture of parts views can follow.
func (b MixPolicy) Check(parts int) error {
	if err := errs.OneOf("mode", cmp.Or(b.Mode, MixRandom), MixRandom, MixExact, MixSequential); err != nil {
		return err
	}
	if err := errs.OneOf("stop", cmp.Or(b.Stop, FirstExhausted), FirstExhausted, AllExhausted); err != nil {
		return err
	}
	if b.Length < 0 || b.Length > maxDraws {
		return errs.New(errs.Invalid, "length is %d, want 1 to %d, or 0 to end as stop says", b.Length, int64(maxDraws))
	}
	if b.Mode == MixSequential && (b.Weights != nil || b.Length > 0 || b.Stop != "") {
		return errs.New(errs.Invalid, "mode %q gives every row of every view once and takes neither weights, stop nor length", b.Mode)
	}
	if b.Weights == nil {
		return nil
	}
	if len(b.Weights) != parts {
		return errs.New(errs.Invalid, "%d weights for %d views, want one for each", len(b.Weights), parts)
	}
	for i, w := range b.Weights {
		if !(w > 0) || math.IsInf(w, 0) {
			return errs.New(errs.Invalid, "weight of view %d is %v, want a finite number above 0; leave out a view that is not to be read", i, w)
		}
	}
	return nil
}

// apportionment is the shares of views in integers. As in an election, views are parties and rows
// are seats.
type apportionment struct {
	of  []uint64
	sum uint64
}

// newApportionment converts weights, or else rows, to integers.
func newApportionment(weights []float64, rows []int64) apportionment {
	t := apportionment{of: make([]uint64, len(rows))}
	most := 0.0
	for _, w := range weights {
		most = max(most, w)
	}
	for i, n := range rows {
		t.of[i] = uint64(n)
		if weights != nil {
			t.of[i] = max(uint64(float64(weights[i]/most*(1<<50))), 1)
		}
		t.sum += t.of[i]
	}
	return t
}

// before reports whether view a gets its next row before view b, after they got na and nb rows.
// By Sainte-Laguë's rule the view with the largest share/(2n+1) is next. Ties go to the first view.
func (t *apportionment) before(a int, na int64, b int, nb int64) bool {
	ha, la := bits.Mul64(t.of[a], uint64(2*nb+1))
	hb, lb := bits.Mul64(t.of[b], uint64(2*na+1))
	return ha > hb || ha == hb && (la > lb || la == lb && a < b)
}

// next returns the view that gets the next row after n[i] rows of each view.
func (t *apportionment) next(n []int64) int {
	best := 0
	for i := 1; i < len(n); i++ {
		if t.before(i, n[i], best, n[best]) {
			best = i
		}
	}
	return best
}

// last returns the view that got the last of n[i] rows of each view, which are not all 0.
func (t *apportionment) last(n []int64) int {
	worst := -1
	for i := range n {
		if n[i] > 0 && (worst < 0 || t.before(worst, n[worst]-1, i, n[i]-1)) {
			worst = i
		}
	}
	return worst
}

// counts writes into n the rows of each view among the first total. The rule's result is also the
// one that giving a row to another view cannot improve. So a few such moves from the rounded shares
// find it, without going through the rows before.
func (t *apportionment) counts(n []int64, total int64) {
	left := total
	for i := range n {
		hi, lo := bits.Mul64(uint64(total), t.of[i])
		q, _ := bits.Div64(hi, lo, t.sum)
		n[i] = int64(q)
		left -= n[i]
	}
	for ; left > 0; left-- {
		n[t.next(n)]++
	}
	for total > 0 {
		a, b := t.next(n), t.last(n)
		if a == b || !t.before(a, n[a], b, n[b]-1) {
			return
		}
		n[a]++
		n[b]--
	}
}

// mixture is the order of several views: the view of each position, and the order of each view.
type mixture struct {
	mode   string
	seed   uint64
	rows   int64 // of an epoch
	seats  apportionment
	orders []Order
	starts []int64
	used   []int64 // rows of each view in an epoch
}

// mixRows is the number of positions that are dealt together. Within each such run, proportions are
// exact in every mode. A batch of a tenth of a run is hardly different from independent draws.
const mixRows = 4096

// Part is one view of a mixture.
type Part struct {
	Rows     int64 // at least 1
	RowBytes int64 // stored size of a row on average; only Window needs it
}

// NewMixed chooses the order of a mixture of views, with rows numbered view after view. A mixture
// has no weights of rows. b must have passed Check.
func NewMixed(o Options, b MixPolicy, parts []Part) (*EpochOrder, error) {
	if o.Weights != nil || o.Length != 0 || o.Distinct {
		return nil, errs.New(errs.Invalid, "rows of a mixture cannot have weights; give weights to the views")
	}
	x := &mixture{mode: cmp.Or(b.Mode, MixRandom), seed: o.Seed, starts: make([]int64, 1, len(parts)+1)}
	rows := make([]int64, len(parts))
	for i, p := range parts {
		rows[i] = p.Rows
		x.starts = append(x.starts, x.starts[i]+p.Rows)
	}
	x.seats = newApportionment(b.Weights, rows)
	var err error
	if x.rows, err = b.rows(&x.seats, rows); err != nil {
		return nil, err
	}
	x.used = make([]int64, len(rows))
	x.seats.counts(x.used, x.rows)
	if x.mode == MixSequential {
		copy(x.used, rows)
	}
	x.orders = x.ordersOf(o, parts)
	c := &EpochOrder{of: x.starts[len(parts)], mixture: x}
	version := Version
	if o.Shuffle == Window {
		version = WindowVersion
	}
	c.order = Order{Version: version, Kind: Mixed, Rows: x.rows, Seed: o.Seed, Mix: x.mode, Parts: x.digest()}
	return c, nil
}

// rows returns the length of an epoch.
func (b MixPolicy) rows(t *apportionment, rows []int64) (int64, error) {
	all := int64(0)
	for _, n := range rows {
		all += n
	}
	switch {
	case b.Length > 0:
		return b.Length, nil
	case b.Weights == nil:
		return all, nil
	}
	n := make([]int64, len(rows))
	reached := func(total int64, enough func(i int) bool) bool {
		t.counts(n, total)
		for i := range n {
			if enough(i) {
				return true
			}
		}
		return false
	}
	if b.Stop != AllExhausted {
		// Of all+1 rows, at least one view must give more than it has.
		return int64(sort.Search(int(all+1), func(total int) bool {
			return reached(int64(total), func(i int) bool { return n[i] > rows[i] })
		})) - 1, nil
	}
	short := func(total int64) bool { return reached(total, func(i int) bool { return n[i] < rows[i] }) }
	most := all
	for ; short(most); most *= 2 {
		if most > maxDraws/2 {
			return 0, errs.New(errs.Invalid, "weights %v of views of %v rows: an epoch until all are exhausted has more than %d rows; give length", b.Weights, rows, int64(maxDraws/2))
		}
	}
	return int64(sort.Search(int(most), func(total int) bool { return !short(int64(total)) })), nil
}

// ordersOf chooses the order of each view. Their windows divide the bytes of one window in
// proportion to the views' shares of the batches. So all views advance at the same pace.
func (x *mixture) ordersOf(o Options, parts []Part) []Order {
	total := 0.0
	for i, p := range parts {
		total += float64(float64(p.RowBytes) * float64(x.seats.of[i]))
	}
	orders := make([]Order, len(parts))
	for i, p := range parts {
		window := o.ShuffleBytes
		if x.mode != MixSequential && total > 0 {
			window = max(int64(float64(o.ShuffleBytes)*(float64(float64(p.RowBytes)*float64(x.seats.of[i]))/total)), 1)
		}
		orders[i] = newOrder(o.Shuffle, p.Rows, keyOf(o.Seed, uint64(i), partPurpose), p.RowBytes, window)
	}
	return orders
}

// digest distinguishes mixtures in a saved state.
func (x *mixture) digest() string {
	said, err := json.Marshal(struct {
		Seats  []uint64 `json:"Tickets"` // states of earlier versions have this name
		Orders []Order
	}{x.seats.of, x.orders})
	if err != nil {
		return err.Error() // integers and strings always can be written
	}
	sum := sha256.Sum256(said)
	return hex.EncodeToString(sum[:12])
}

// mixOrder is a cursor through a mixture. It remembers the run of positions it is in.
type mixOrder struct {
	*mixture
	epoch   uint64
	begin   int64
	parts   []int32 // view of each position of the run
	draws   []int64 // and its number among the rows of that view
	cursors []*Cursor
	pass    []uint64 // of each cursor
}

func (x *mixture) cursor(epoch uint64) *mixOrder {
	return &mixOrder{mixture: x, epoch: epoch, cursors: make([]*Cursor, len(x.orders)), pass: make([]uint64, len(x.orders))}
}

// row returns the row of the mixture at one position.
func (b *mixOrder) row(pos int64) int64 {
	part, turn := b.draw(pos)
	return b.starts[part] + b.rowOf(part, turn)
}

// draw returns the view of a position, and how many earlier rows of the epoch are of that view.
func (b *mixOrder) draw(pos int64) (part int, turn int64) {
	if b.mode == MixSequential {
		part = sort.Search(len(b.orders)-1, func(i int) bool { return b.starts[i+1] > pos })
		return part, pos - b.starts[part]
	}
	if pos < b.begin || pos >= b.begin+int64(len(b.parts)) {
		b.deal(pos - pos%mixRows)
	}
	i := pos - b.begin
	return int(b.parts[i]), b.draws[i]
}

// deal finds the views of the run of positions that begins at begin.
func (b *mixOrder) deal(begin int64) {
	size := int(min(mixRows, b.rows-begin))
	b.begin = begin
	b.parts = slices.Grow(b.parts[:0], size)[:size]
	b.draws = slices.Grow(b.draws[:0], size)[:size]
	had := make([]int64, len(b.orders))
	b.seats.counts(had, begin)
	if b.mode == MixRandom {
		b.shuffle(had)
	} else {
		n := slices.Clone(had)
		for i := range b.parts {
			p := b.seats.next(n)
			n[p]++
			b.parts[i] = int32(p)
		}
	}
	for i, p := range b.parts {
		b.draws[i] = had[p]
		had[p]++
	}
}

// shuffle deals the right number of positions of the run to each view, at random.
func (b *mixOrder) shuffle(had []int64) {
	size := int64(len(b.parts))
	ends := make([]int64, len(had))
	b.seats.counts(ends, b.begin+size)
	sum := int64(0)
	for i := range ends {
		sum += ends[i] - had[i]
		ends[i] = sum
	}
	c := newCipher(size, keyOf(b.seed, b.epoch, mixPurpose+uint64(b.begin)))
	part := int32(0)
	for slot := range size {
		for slot >= ends[part] {
			part++
		}
		b.parts[c.at(slot)] = part
	}
}

// rowOf returns the row of a view at its turn.
func (b *mixOrder) rowOf(part int, turn int64) int64 {
	at := b.seek(part, turn)
	return b.cursors[part].row(at)
}

// seek sets the cursor of a view for its turn, and returns the position of the turn there. A
// shuffled view continues in the next epoch, so that none of its rows repeats before all have come.
// A sequential view begins again.
func (b *mixOrder) seek(part int, turn int64) int64 {
	o := &b.orders[part]
	n := uint64(o.Rows)
	var epoch uint64
	if o.Kind != Sequential {
		epoch = b.epoch
	}
	hi, lo := bits.Mul64(epoch, uint64(b.used[part])%n)
	lo, carry := bits.Add64(lo, uint64(turn), 0)
	more, at := bits.Div64(hi+carry, lo, n) // hi < n, because the factor is
	pass := epoch*(uint64(b.used[part])/n) + more
	if b.cursors[part] == nil || b.pass[part] != pass {
		b.cursors[part], b.pass[part] = newCursor(*o, pass), pass
	}
	return int64(at)
}
