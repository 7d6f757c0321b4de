package mds

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"deeplake/core/errs"
)

const (
	// maxSamples bounds the samples of a shard, whose offsets have 32 bits.
	maxSamples = 1 << 28
	// maxSample bounds a sample.
	maxSample = 1 << 30
	// maxConfig bounds the description of the columns, maxColumns their number.
	maxConfig  = 16 << 20
	maxColumns = 1 << 12
	// firstBytes are allocated before any byte of a sample is there.
	firstBytes = 1 << 20
)

// config describes the columns of a shard.
type config struct {
	Version   int      `json:"version"`
	Format    string   `json:"format"`
	Names     []string `json:"column_names"`
	Encodings []string `json:"column_encodings"`
	Sizes     []*int64 `json:"column_sizes"`
}

// shard reads a shard from its beginning.
type shard struct {
	from    *bufio.Reader
	config  config
	offsets []uint32
	n       int64 // samples that were read
}

// openShard reads the header of a shard.
func openShard(from io.Reader) (*shard, error) {
	s := &shard{from: bufio.NewReaderSize(from, 64<<10)}
	var word [4]byte
	if _, err := io.ReadFull(s.from, word[:]); err != nil {
		return nil, cut(err, "its number of samples")
	}
	n := int64(binary.LittleEndian.Uint32(word[:]))
	if n > maxSamples {
		return nil, errs.New(errs.Invalid, "it states %d samples, want at most %d; this is no MDS shard, or it is damaged", n, maxSamples)
	}
	for range n + 1 {
		if _, err := io.ReadFull(s.from, word[:]); err != nil {
			return nil, cut(err, "its offsets")
		}
		s.offsets = append(s.offsets, binary.LittleEndian.Uint32(word[:]))
	}
	head := 4 * (n + 2)
	for i, at := range s.offsets {
		before := uint32(min(head, math.MaxUint32))
		if i > 0 {
			before = s.offsets[i-1]
		}
		if at < before {
			return nil, errs.New(errs.Corrupt, "sample %d begins at byte %d, want %d at least; this is no MDS shard, or it is damaged", i, at, before)
		}
	}
	size := int64(s.offsets[0]) - head
	if size > maxConfig {
		return nil, errs.New(errs.Invalid, "its columns are described by %d bytes, want at most %d", size, maxConfig)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(s.from, text); err != nil {
		return nil, cut(err, "its description")
	}
	if err := json.Unmarshal(text, &s.config); err != nil {
		return nil, errs.New(errs.Corrupt, "its columns are described by no JSON (%w); this is no MDS shard, or it is damaged", err)
	}
	return s, s.config.check()
}

// cut returns the error of a read. The end of the shard is damage.
func cut(err error, within string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errs.New(errs.Corrupt, "it is cut within %s", within)
	}
	return err
}

func (c *config) check() error {
	n := len(c.Names)
	switch {
	case c.Format != "mds" || c.Version != 2:
		return errs.New(errs.Unsupported, "it has format %q, version %d, want mds, 2", c.Format, c.Version)
	case len(c.Encodings) != n || len(c.Sizes) != n || n > maxColumns:
		return errs.New(errs.Corrupt, "it has %d columns, %d encodings and %d sizes", n, len(c.Encodings), len(c.Sizes))
	}
	for i, name := range c.Names {
		if slices.Contains(c.Names[:i], name) {
			return errs.New(errs.Corrupt, "two columns have the name %q", name)
		}
		if size := c.Sizes[i]; size != nil && (*size < 0 || *size > maxSample) {
			return errs.New(errs.Corrupt, "column %q has values of %d bytes", name, *size)
		}
	}
	return nil
}

// next returns the values of the next sample, by column; ok is false behind the last one. They are
// valid until the next call but one.
func (s *shard) next() (values [][]byte, ok bool, err error) {
	if s.n+1 >= int64(len(s.offsets)) {
		return nil, false, nil
	}
	size := int64(s.offsets[s.n+1]) - int64(s.offsets[s.n])
	if size > maxSample {
		return nil, false, errs.New(errs.Invalid, "sample %d has %d bytes, want at most %d", s.n, size, maxSample)
	}
	var p []byte
	for left := size; left > 0; {
		step := min(left, max(firstBytes, int64(len(p))))
		p = slices.Grow(p, int(step))
		at := len(p)
		p = p[:at+int(step)]
		if _, err := io.ReadFull(s.from, p[at:]); err != nil {
			return nil, false, cut(err, "sample "+itoa(s.n))
		}
		left -= step
	}
	s.n++
	values, err = s.config.divide(p)
	return values, true, err
}

// skip passes over the next sample.
func (s *shard) skip() (ok bool, err error) {
	if s.n+1 >= int64(len(s.offsets)) {
		return false, nil
	}
	if _, err := io.CopyN(io.Discard, s.from, int64(s.offsets[s.n+1])-int64(s.offsets[s.n])); err != nil {
		return false, cut(err, "sample "+itoa(s.n))
	}
	s.n++
	return true, nil
}

// divide returns the values of a sample: sizes of those that vary come first.
func (c *config) divide(p []byte) ([][]byte, error) {
	values, sizes := make([][]byte, len(c.Names)), make([]int64, len(c.Names))
	for i := range sizes {
		if c.Sizes[i] != nil && *c.Sizes[i] > 0 {
			sizes[i] = *c.Sizes[i]
			continue
		}
		if len(p) < 4 {
			return nil, errs.New(errs.Corrupt, "is cut within the sizes of its values")
		}
		sizes[i], p = int64(binary.LittleEndian.Uint32(p)), p[4:]
	}
	for i, n := range sizes {
		if n > int64(len(p)) {
			return nil, errs.New(errs.Corrupt, "has %d bytes for column %q, and %d are left", n, c.Names[i], len(p))
		}
		values[i], p = p[:n:n], p[n:]
	}
	if len(p) > 0 {
		return nil, errs.New(errs.Corrupt, "has %d bytes behind its values", len(p))
	}
	return values, nil
}

// encoding is the name of an encoding, with what follows its colons.
func encoding(text string) (name string, parameters []string) {
	parts := strings.Split(text, ":")
	return parts[0], parts[1:]
}
