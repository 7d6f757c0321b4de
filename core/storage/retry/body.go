package retry

import (
	"context"
	"errors"
	"io"
	"time"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

// A body in which nothing comes for four times as long as a late first byte takes, within these
// bounds, is continued by another request, if the budget of hedges has one: long before the
// timeout, after which it is in any case.
const (
	leastSilence = 500 * time.Millisecond
	mostSilence  = 1500 * time.Millisecond
)

// body is an answer that goes on where it broke. One goroutine at a time reads it.
type body struct {
	c   *caller
	t   trial
	ctx context.Context // a body lives as long as the context of its Range, by contract
	ask ask

	in     *runner // nil: none
	flow   *flow   // of the last one
	tag    string
	length int64
	size   int64
	pos    int64 // bytes given out
	held   int64 // of them, when repetitions were counted again
	err    error
	closed bool
}

var _ storage.Body = (*body)(nil)

// open asks for a range, with repetitions, for the call named op.
func (c *caller) open(ctx context.Context, op string, a ask) (*body, error) {
	b := &body{c: c, t: c.trial(op, a.key), ctx: ctx, ask: a, tag: a.tag}
	if err := b.connect(nil); err != nil {
		return nil, err
	}
	first := b.in.body
	b.length, b.size = first.Len(), first.Size()
	if b.tag == "" {
		b.tag = first.Tag()
	}
	if b.length < 0 || a.n >= 0 && b.length > a.n {
		b.Close()
		return nil, errs.Op(op, a.key).New(errs.Storage, "the answer has %d bytes, want at most %d", b.length, a.n)
	}
	return b, nil
}

// connect requests the missing bytes until an answer has begun. err is the failure of the last
// answer, nil at first.
func (b *body) connect(err error) error {
	for {
		if err != nil {
			if err := b.t.again(b.ctx, err); err != nil {
				return err
			}
		}
		if err := b.ctx.Err(); err != nil {
			return b.t.canceled(b.ctx)
		}
		b.t.attempt()
		a := b.ask
		if b.pos > 0 {
			b.c.counts.resumes.Add(1)
			a.off, a.n, a.tag = a.off+b.pos, b.length-b.pos, b.tag
		}
		var w *runner
		if w, err = b.c.run(b.ctx, &b.t, a); err == nil {
			b.t.success()
			b.attach(w)
			return b.same(w.body)
		}
	}
}

// attach reads from w from now on.
func (b *body) attach(w *runner) {
	late, _ := b.c.latency.late(b.ask.n)
	f := &w.flow
	f.cancel, f.floor, f.patience = w.cancel, slowest, min(max(leastSilence, 4*late), mostSilence)
	if b.flow != nil {
		if slow := b.flow.slowness(); slow > 0 {
			f.floor = slow / 2 // it was not the connection: bear with it
		} else {
			f.floor = b.flow.floor
		}
	}
	b.in, b.flow = w, f
	b.c.watchdog.addFlow(b.c, f)
}

// same checks that an answer in the middle continues the object that was begun.
func (b *body) same(next storage.Body) error {
	if b.pos == 0 {
		return nil
	}
	var err error
	switch {
	case b.tag != "" && next.Tag() != "" && next.Tag() != b.tag:
		err = errs.Op(b.t.op, b.ask.key).New(errs.Conflict, "the object was replaced while it was read (tag %q, want %q); read it again", next.Tag(), b.tag)
	case next.Len() != b.length-b.pos:
		err = errs.Op(b.t.op, b.ask.key).New(errs.Conflict, "the object was replaced while it was read (%d bytes are left, want %d); read it again", next.Len(), b.length-b.pos)
	default:
		return nil
	}
	b.detach()
	return err
}

func (b *body) detach() {
	if b.in == nil {
		return
	}
	b.c.watchdog.removeFlow(b.flow)
	_ = b.in.body.Close() // its error does not concern the bytes already read
	b.in.cancel(nil)
	b.in = nil
}

// Read gives bytes of the object in order, asking again where an answer breaks off.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.closed {
		return 0, errs.Op(b.t.op, b.ask.key).New(errs.Closed, "the body was closed")
	}
	if b.pos == b.length {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	if left := b.length - b.pos; int64(len(p)) > left {
		p = p[:left]
	}
	for {
		b.flow.begin()
		n, err := b.in.body.Read(p)
		b.flow.end(n)
		b.pos += int64(n)
		if b.c.counting {
			b.c.counts.bytesRead.Add(int64(n))
		}
		if n > 0 || err == nil {
			return n, nil // an error shows again in the next Read, if there is need for one
		}
		if err := b.repair(err); err != nil {
			b.err = err
			return 0, err
		}
	}
}

// repair goes on with a new request after err, or says why not.
func (b *body) repair(err error) error {
	err = stalledOr(b.in.ctx, err)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = &storage.Fault{Repeat: storage.Soon, Err: errs.New(errs.Storage, "the answer ended after %d of %d bytes", b.pos, b.length)}
	}
	b.detach()
	if b.c.pinned && b.tag == "" && b.pos > 0 {
		return errs.Wrap(errs.Storage, b.t.op, b.ask.key, &exhausted{err})
	}
	if b.pos > b.held {
		b.t.began = time.Now() // the time of reading is not one of repetitions
	}
	if b.pos-b.held >= enoughProgress {
		b.t.restart()
		b.held = b.pos
	}
	return b.connect(err)
}

// Close drops the answer. It may be called early, and again.
func (b *body) Close() error {
	b.detach()
	b.closed = true
	return nil
}

func (b *body) Len() int64  { return b.length }
func (b *body) Size() int64 { return b.size }
func (b *body) Tag() string { return b.tag }
