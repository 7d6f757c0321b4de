package order

import (
	"fmt"
	"strconv"

	"deeplake/core/errs"
)

// The versions name the meaning of an Order. A change that moves a single row anywhere needs the
// next number, because states written by users pin it. Versions 1 and 2 of windows are retired:
// their rows came in random order within a window, not in a balanced one.
const (
	Version        = 1 // of orders without windows
	WindowVersion  = 3 // and of mixtures of windows
	SlidingVersion = 4 // windows that slide
)

// The kinds of order.
const (
	Sequential = ""       // row after row
	Window     = "window" // blocks permuted, rows taken from a window of open blocks
	Full       = "full"   // one permutation of all rows
	Mixed      = "mixed"  // rows of several views, each in an order of its own
)

// Order describes the order of an epoch. It is a pure function of its fields and the epoch. It
// needs no memory per row, and any position can be computed directly.
//
// Order version 3, kind Window: rows are cut into blocks of BlockRows, the last one shorter. Cipher
// 0 permutes the blocks. The permuted blocks are cut into windows. The first window has FirstBlocks
// blocks, each next one twice as many up to WindowBlocks, while more than two such windows remain.
// The rest is one window, or two equal ones (the first gets the odd block) if it exceeds
// WindowBlocks. The rows of a block are permuted among themselves. Then the balanced permutation of
// key w+1 permutes the rows of window w. docs/design/order.md gives the reasons.
//
// Order version 4 is of kind Window, too: its windows slide over blocks of any number of rows. See
// sliding.
//
// With Draw, positions are draws by weight instead of rows. Full draws from all rows. Window takes
// draws in order of rows, so that a window of draws is read in large requests. With kind Mixed,
// Parts is a digest of the views' orders.
type Order struct {
	Version      int    `json:"order"`
	Kind         string `json:"kind"`
	Rows         int64  `json:"rows"` // positions of an epoch
	Seed         uint64 `json:"seed"`
	BlockRows    int64  `json:"block_rows,omitempty"`
	FirstBlocks  int64  `json:"first_blocks,omitempty"`
	WindowBlocks int64  `json:"window_blocks,omitempty"`
	Draw         string `json:"draw,omitempty"`    // "", DrawAgain or DrawOnce
	Of           int64  `json:"of,omitempty"`      // rows to draw from
	Weights      string `json:"weights,omitempty"` // their digest
	Mix          string `json:"mix,omitempty"`     // mode of a mixture
	// digest of the views' orders and weights
	Parts string `json:"parts,omitempty"`

	// Version 4, whose windows slide.
	OpenBlocks int64  `json:"open_blocks,omitempty"` // blocks that a window opens
	Slices     int64  `json:"slices,omitempty"`      // of a block
	Layout     string `json:"layout,omitempty"`      // digest of the blocks' first rows
}

const (
	blockBytes = 1 << 20 // aim of a block: small enough to mix classes
	// aim of a block if a window holds a small part of the rows: larger requests
	remoteBytes = 2 << 20
	maxBlocks   = 1 << 48   // far beyond any view, far from overflow
	fewBlocks   = 256       // of a window; blocks are no larger if there would be fewer
	firstBlocks = 4         // to read before the first batch is mixed
	fewBytes    = 128 << 20 // views below it are read at once: all rows are one window
)

// newOrder chooses the blocks and windows for rows of rowBytes stored bytes on average. See
// docs/design/order.md.
func newOrder(kind string, rows int64, seed uint64, rowBytes, windowBytes int64) Order {
	o := Order{Version: Version, Kind: kind, Rows: rows, Seed: seed}
	if kind != Window {
		return o
	}
	o.Version = WindowVersion
	rowBytes = max(rowBytes, 1)
	aim := int64(blockBytes)
	if rows/2 > windowBytes/rowBytes {
		aim = min(max(windowBytes/fewBlocks, blockBytes), remoteBytes)
	}
	o.BlockRows = max((aim+rowBytes-1)/rowBytes, 1)
	o.WindowBlocks = min(max(windowBytes/rowBytes/o.BlockRows, 1), maxBlocks)
	o.FirstBlocks = min(firstBlocks, o.WindowBlocks)
	if rows <= fewBytes/rowBytes {
		o.FirstBlocks = min(fewBytes/blockBytes, o.WindowBlocks)
	}
	return o
}

// known reports whether the library has the version of the order, and names the versions of its
// kind that it has.
func (o Order) known() (want string, ok bool) {
	switch o.Kind {
	case Window:
		return fmt.Sprintf("%d or %d", WindowVersion, SlidingVersion), o.Version == WindowVersion || o.Version == SlidingVersion
	case Mixed: // of windows, or not
		return fmt.Sprintf("%d or %d", Version, WindowVersion), o.Version == Version || o.Version == WindowVersion
	}
	return strconv.Itoa(Version), o.Version == Version
}

// Check refuses an order that New and NewMixed cannot have made. Users keep orders in states, so
// that any value may come back.
func (o Order) Check() error {
	if o.Kind != Sequential && o.Kind != Window && o.Kind != Full && o.Kind != Mixed {
		return errs.New(errs.Invalid, "unknown order %q (want %q, %q or %q)", o.Kind, Sequential, Window, Full)
	}
	if want, ok := o.known(); !ok {
		return errs.New(errs.Unsupported, "its order %q is version %d, want %s; use the version of the library that made it", o.Kind, o.Version, want)
	}
	if o.Rows < 0 {
		return errs.New(errs.Invalid, "order of %d rows, want 0 or more", o.Rows)
	}
	if o.Version == SlidingVersion {
		return o.checkSliding()
	}
	switch o.Draw {
	case "":
	case DrawAgain, DrawOnce:
		if o.Kind == Sequential || o.Kind == Mixed || o.Of < 1 || o.Rows > maxDraws || (o.Draw == DrawOnce && o.Rows > o.Of) {
			return errs.New(errs.Invalid, "order of %d draws %q from %d rows by %q: want %q or %q, and no more draws than rows where they are drawn %q", o.Rows, o.Draw, o.Of, o.Kind, Full, Window, DrawOnce)
		}
	default:
		return errs.New(errs.Invalid, "unknown draw %q (want %q or %q)", o.Draw, DrawAgain, DrawOnce)
	}
	if o.Kind == Window && (o.BlockRows < 1 || o.FirstBlocks < 1 || o.WindowBlocks < o.FirstBlocks || o.WindowBlocks > maxBlocks || o.BlockRows > maxBlocks) {
		return errs.New(errs.Invalid, "order of blocks of %d rows, %d to %d blocks a window: want at least 1, and rising, each below 2^48", o.BlockRows, o.FirstBlocks, o.WindowBlocks)
	}
	return nil
}
