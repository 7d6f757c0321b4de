package windows

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"deeplake/core/chunk"
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/core/read"
)

// Source is windows as rows. All methods may be called in parallel.
type Source struct {
	loader.Source // the episode of each window

	videos Videos // of rows that are each in it once
	o      Options
	places *Places
	names  []string
	of     map[string]*about // by tensor
	pads   map[string]string // the tensor of each tensor of padding
	bytes  atomic.Int64
	spare  sync.Pool // of *[]byte, for samples of which entries are copied
}

// memory returns n bytes, which go back to spare.
func (s *Source) memory(n int64) *[]byte {
	m, ok := s.spare.Get().(*[]byte)
	if !ok {
		m = new([]byte)
	}
	*m = slices.Grow((*m)[:0], int(n))[:n]
	return m
}

// about describes a tensor of windows.
type about struct {
	Tensor
	away []int64 // of the entries, in frames
}

// Over makes a source of windows, as Place returned them. all has the row of each window: row i is
// places.Rows[i] of videos. The caller closes videos behind the source.
func Over(all loader.Source, videos Videos, o Options, places *Places) (*Source, error) {
	if err := o.check(all.Names()); err != nil {
		return nil, err
	}
	n := len(places.Rows)
	if len(places.Frames) != n || len(places.Lengths) != n || int64(n) != all.Len() {
		return nil, errs.Op("make windows", "").New(errs.Invalid, "%d rows, %d frames and %d lengths for %d windows", n, len(places.Frames), len(places.Lengths), all.Len())
	}
	for i, frame := range places.Frames {
		if frame < 0 || frame >= places.Lengths[i] {
			return nil, errs.Op("make windows", "").New(errs.Invalid, "frame %d of an episode of %d", frame, places.Lengths[i])
		}
	}
	s := &Source{Source: all, videos: videos, o: o, places: places, of: map[string]*about{}, pads: map[string]string{}}
	stored := all.Names()
	for _, t := range o.Tensors {
		away, err := o.away(t)
		if err != nil {
			return nil, err
		}
		s.of[t.Name] = &about{t, away}
	}
	for _, name := range stored {
		s.names = append(s.names, name)
		if t := s.of[name]; t != nil && !t.Single {
			s.pads[PadOf(name)] = name
			s.names = append(s.names, PadOf(name))
		}
	}
	if !slices.Contains(stored, FrameIndex) {
		s.names = append(s.names, FrameIndex)
	}
	return s, nil
}

// Names lists the tensors. That of the padding of a tensor stands behind it.
func (s *Source) Names() []string { return slices.Clone(s.names) }

// Column returns a tensor of the windows.
func (s *Source) Column(name string) (read.Column, error) {
	if name == FrameIndex && s.names[len(s.names)-1] == name {
		col, err := s.Source.Column(s.o.Tensors[0].Name)
		return &frameColumn{computed{col, s, name}}, err
	}
	of, padding := s.pads[name]
	if !padding {
		of = name
	}
	col, err := s.Source.Column(of)
	t := s.of[of]
	switch {
	case err != nil || t == nil:
		return col, err
	case padding:
		return &padColumn{computed{col, s, name}, t}, nil
	case s.videos[of] != nil:
		return &videoColumn{Column: col, of: s, about: t, videos: s.videos[of]}, nil
	}
	return &arrayColumn{Column: col, of: s, about: t}, nil
}

// sampled is the number of windows that StoredBytes looks at.
const sampled = 64

// StoredBytes estimates the bytes that all windows take, from some of them, and those of the other
// tensors.
func (s *Source) StoredBytes(ctx context.Context) (int64, error) {
	if n := s.bytes.Load(); n > 0 {
		return n, nil
	}
	some := min(s.Len(), sampled)
	rows := make([]int64, some)
	for i := range rows {
		rows[i] = int64(i) * s.Len() / some
	}
	total := int64(0)
	for _, name := range s.Source.Names() {
		col, err := s.Column(name)
		if err != nil {
			return 0, err
		}
		if s.of[name] == nil {
			total += col.Access().StoredBytes
			continue
		}
		refs := make([]chunk.Ref, some)
		if err := col.Resolve(ctx, rows, refs); err != nil {
			return 0, err
		}
		sum := float64(0)
		for i := range refs {
			sum += s.share(col, &refs[i], rows[i])
		}
		if some > 0 {
			total += int64(sum / float64(some) * float64(s.Len()))
		}
	}
	s.bytes.Store(max(total, 1))
	return max(total, 1), nil
}

// share returns the bytes of a window of a tensor: of an array, a part of those of its sample.
func (s *Source) share(col read.Column, ref *chunk.Ref, row int64) float64 {
	if a, is := col.(*arrayColumn); is {
		part := min(1, float64(len(a.away))/float64(max(1, s.places.Lengths[row])))
		return float64(ref.Stored) * part
	}
	return float64(ref.Stored)
}

// Identity names the windows beside the rows.
func (s *Source) Identity() (dataset, commit, selection string, err error) {
	if dataset, commit, selection, err = s.Source.Identity(); err != nil {
		return "", "", "", err
	}
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(s.o)
	_ = binary.Write(h, binary.LittleEndian, s.places.Rows)
	_ = binary.Write(h, binary.LittleEndian, s.places.Frames)
	return dataset, commit, fmt.Sprintf("%s windows %s", selection, hex.EncodeToString(h.Sum(nil)[:16])), nil
}

// check refuses numbers of windows that do not exist.
func (s *Source) check(rows []int64) error {
	for _, row := range rows {
		if row < 0 || row >= int64(len(s.places.Rows)) {
			return errs.New(errs.Range, "window %d is out of range, there are %d", row, len(s.places.Rows))
		}
	}
	return nil
}

// entries writes the entries of a window of a tensor into dst, and reports each that is padding.
func (s *Source) entries(row int64, away, dst []int64, pad func(k int)) {
	for k, d := range away {
		entry, beyond := within(s.places.Frames[row], d, s.places.Lengths[row])
		dst[k] = entry
		if beyond && pad != nil {
			pad(k)
		}
	}
}
