package faultproxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
)

// body is the content of one message on its way from one connection to the other. Between two
// sockets the kernel moves it (splice), so that the proxy takes little of the processor that is
// measured.
type body struct {
	in     *bufio.Reader
	from   *net.TCPConn // what in reads from
	to     *net.TCPConn // nil: thrown away
	left   int64        // bytes to come; -1: not known
	chunks io.Reader    // the content of a chunked body, else nil
	pace   *pace        // nil: as fast as it goes
	moved  int64        // bytes passed on
	ended  bool
	buffer []byte
}

func newBody(h *head, in *bufio.Reader, from, to *net.TCPConn, p *pace) *body {
	b := &body{in: in, from: from, to: to, left: h.length, pace: p}
	if h.chunks {
		b.left, b.chunks = -1, httputil.NewChunkedReader(in)
	}
	return b
}

// relay passes on the next n bytes, or all that follow where n < 0. The end of the body before n is
// no error.
func (b *body) relay(n int64) error {
	for n != 0 && !b.ended {
		if b.left == 0 {
			b.ended = true
			break
		}
		step := b.pace.step()
		if n > 0 {
			step = min(step, n)
		}
		if b.left > 0 {
			step = min(step, b.left)
		}
		step = b.reach(step)
		if err := b.pace.wait(step); err != nil {
			return err
		}
		done, err := b.some(step)
		b.pace.giveBack(step - done)
		b.moved += done
		if b.left > 0 {
			b.left -= done
		}
		if n > 0 {
			n -= done
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reach bounds the part of n bytes that one call of some can pass on: no time must be taken for
// more.
func (b *body) reach(n int64) int64 {
	switch buffered := int64(b.in.Buffered()); {
	case b.chunks != nil || b.left < 0:
		return min(n, int64(len(b.room())))
	case buffered > 0:
		return min(n, buffered)
	case b.to != nil && n > spliceBytes:
		return n
	default:
		return min(n, int64(len(b.room())))
	}
}

// some passes on at most n bytes.
func (b *body) some(n int64) (int64, error) {
	switch {
	case b.chunks != nil:
		return b.chunk(n)
	case b.left < 0:
		return b.untilEnd(n)
	case b.in.Buffered() > 0:
		return b.copied(b.in, min(n, int64(b.in.Buffered())))
	case b.to != nil && n > spliceBytes:
		done, err := io.CopyN(b.to, b.from, n)
		return done, early(err)
	default:
		return b.copied(b.in, n)
	}
}

// spliceBytes is the least piece to move through a pipe: shorter ones are cheaper to copy.
const spliceBytes = 16 << 10

// copied passes on exactly n bytes, at most a buffer full.
func (b *body) copied(from io.Reader, n int64) (int64, error) {
	n = min(n, int64(len(b.room())))
	got, err := io.ReadFull(from, b.buffer[:n])
	if werr := b.write(b.buffer[:got]); werr != nil {
		return 0, werr
	}
	return int64(got), early(err)
}

// untilEnd passes on what there is of a body that ends with its connection.
func (b *body) untilEnd(n int64) (int64, error) {
	n = min(n, int64(len(b.room())))
	got, err := b.in.Read(b.buffer[:n])
	if errors.Is(err, io.EOF) {
		b.ended, err = true, nil
	}
	if werr := b.write(b.buffer[:got]); werr != nil {
		return 0, werr
	}
	return int64(got), err
}

// chunk passes on at most n bytes as a chunk of their own; after the last, the end with what stands
// behind it.
func (b *body) chunk(n int64) (int64, error) {
	n = min(n, int64(len(b.room())))
	got, err := b.chunks.Read(b.buffer[:n])
	if got > 0 {
		text := fmt.Appendf(nil, "%x\r\n", got)
		text = append(append(text, b.buffer[:got]...), "\r\n"...)
		if werr := b.write(text); werr != nil {
			return 0, werr
		}
	}
	if errors.Is(err, io.EOF) {
		err = b.lastChunk()
	}
	return int64(got), err
}

func (b *body) lastChunk() error {
	b.ended = true
	text := []byte("0\r\n")
	for {
		line, err := b.in.ReadSlice('\n')
		if err != nil {
			return early(err)
		}
		if text = append(text, line...); len(line) <= 2 {
			return b.write(text)
		}
	}
}

// flip passes on one byte with its lowest bit inverted.
func (b *body) flip() error {
	if b.left == 0 || b.ended {
		return nil
	}
	one := b.room()[:1]
	source := io.Reader(b.in)
	if b.chunks != nil {
		source = b.chunks
	}
	if _, err := io.ReadFull(source, one); err != nil {
		return early(err)
	}
	one[0] ^= 1
	if b.chunks != nil {
		one = fmt.Appendf(nil, "1\r\n%s\r\n", one)
	}
	b.moved++
	if b.left > 0 {
		b.left--
	}
	return b.write(one)
}

func (b *body) write(p []byte) error {
	if b.to == nil || len(p) == 0 {
		return nil
	}
	_, err := b.to.Write(p)
	return err
}

func (b *body) room() []byte {
	if b.buffer == nil {
		size := int64(32 << 10)
		if b.left > 0 {
			size = min(size, b.left)
		}
		b.buffer = make([]byte, size)
	}
	return b.buffer
}

// early makes the end of a connection within a body an error.
func early(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
