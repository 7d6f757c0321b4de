package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// process is a child that ends with this process, whatever ends it.
type process struct {
	command *exec.Cmd
	output  tail
	ended   chan struct{} // closed when the child has
	err     error         // why; after ended
}

// launch starts the child from a thread of its own: where the system ties a child to its parent, it
// ties it to the parent's thread, and other threads may end.
func launch(r recipe) (*process, error) {
	p := &process{command: exec.Command(r.binary, r.args...), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), r.env...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.SysProcAttr = dieWithParent()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err == nil {
			p.err = p.command.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// ready waits until up no longer fails.
func (p *process) ready(ctx context.Context, up func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := up(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %w\n%s", p.command.Path, p.err, p.output.text())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.command.Path, err, p.output.text())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// stop kills the child: its data is thrown away.
func (p *process) stop() {
	_ = p.command.Process.Kill()
	<-p.ended
}

// tail keeps the end of the child's output.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailBytes = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - tailBytes; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.data))
}
