//go:build js

package main

import (
	"context"
	"encoding/json"
	"syscall/js"

	"deeplake/core/errs"
	"deeplake/core/internal/task"
	"deeplake/core/viz"
)

// main gives the worker the object `deeplake` with the functions open, call and cancel, and serves
// until the worker ends.
func main() {
	calls := &calls{tasks: task.New(context.Background(), 0), running: map[int]context.CancelFunc{}}
	js.Global().Set("deeplake", map[string]any{
		"open":   js.FuncOf(calls.open),
		"call":   js.FuncOf(calls.call),
		"cancel": js.FuncOf(calls.cancel),
	})
	<-calls.tasks.Context().Done() // never: no call fails the group
}

// calls are the calls in flight. JavaScript enters from one thread, and each call runs as a
// goroutine of it.
type calls struct {
	tasks   *task.Group
	reader  *reader
	running map[int]context.CancelFunc
}

// open names the dataset: open(config), with the JSON of a config. It returns the text of an error,
// or "".
func (c *calls) open(_ js.Value, args []js.Value) any {
	var in config
	if err := json.Unmarshal([]byte(args[0].String()), &in); err != nil {
		return err.Error()
	}
	c.reader = &reader{config: in}
	return ""
}

// call begins a call: call(id, name, body, to). to(kind, value) is called with "begin" and the
// media type, "data" and a Uint8Array, "end"; or with "refused" and the JSON of the protocol,
// behind a number, its status.
func (c *calls) call(_ js.Value, args []js.Value) any {
	id, name, body, to := args[0].Int(), args[1].String(), []byte(args[2].String()), args[3]
	ctx, cancel := context.WithCancel(c.tasks.Context())
	c.running[id] = cancel
	c.tasks.Go(func(context.Context) error {
		err := c.answer(ctx, name, body, &answer{to: to})
		cancel()
		delete(c.running, id)
		if err != nil {
			status, text := viz.Refuse(err)
			to.Invoke("refused", string(text), status)
		} else {
			to.Invoke("end")
		}
		return nil
	})
	return nil
}

func (c *calls) answer(ctx context.Context, name string, body []byte, to *answer) error {
	if c.reader == nil {
		return errs.New(errs.Closed, "%s: no dataset is open", name)
	}
	s, err := c.reader.open(ctx)
	if err != nil {
		return err
	}
	return s.Call(ctx, name, body, to)
}

// cancel ends a call: cancel(id).
func (c *calls) cancel(_ js.Value, args []js.Value) any {
	if cancel := c.running[args[0].Int()]; cancel != nil {
		cancel()
	}
	return nil
}

// answer is viz.Answer. Every Write copies its bytes out of Go's memory.
type answer struct{ to js.Value }

// Begin names the kind of the answer.
func (a *answer) Begin(media string) { a.to.Invoke("begin", media) }

// Write sends bytes.
func (a *answer) Write(data []byte) (int, error) {
	out := js.Global().Get("Uint8Array").New(len(data))
	js.CopyBytesToJS(out, data)
	a.to.Invoke("data", out)
	return len(data), nil
}

// Flush has nothing to do.
func (a *answer) Flush() error { return nil }
