package urls

import (
	"context"
	"net"
	"sync"
)

// conns is the open connections, to close all at once: those that no request uses, and those of
// handshakes, too. The zero value is ready; all methods may be called in parallel.
type conns struct {
	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
}

type conn struct {
	net.Conn
	of *conns
}

// keep returns dial for connections that close ends. They are made under ctx: net/http goes on to
// connect for a request that was cancelled.
func (c *conns) keep(ctx context.Context, dial dialFunc) dialFunc {
	return func(_ context.Context, network, addr string) (net.Conn, error) {
		made, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		kept := &conn{made, c}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			_ = made.Close()
			return nil, net.ErrClosed
		}
		if c.open == nil {
			c.open = map[*conn]struct{}{}
		}
		c.open[kept] = struct{}{}
		return kept, nil
	}
}

// close closes all connections, and those that are still to come.
func (c *conns) close() {
	c.mu.Lock()
	open := c.open
	c.open, c.closed = nil, true
	c.mu.Unlock()
	for one := range open {
		_ = one.Conn.Close()
	}
}

// Close closes one connection.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
