package viz

import (
	"cmp"
	"context"
	"math"
	"slices"

	"deeplake/core/read"
)

// mostVerified bounds the rows that are read to make bounds of the chunk map exact.
const mostVerified = 1 << 18

// facts are exact statements of the chunk map about all rows of a column.
type facts struct {
	missing   int64
	ranged    bool // low and high are the least and the greatest number
	low, high float64
}

// factsOf reads the facts of the counted column; nil: its view has no chunk map.
func (c *counter) factsOf(ctx context.Context) (*facts, error) {
	col, err := c.all.Column(c.of.Name)
	if err != nil || col.Access().Zones == nil {
		return nil, err
	}
	zones, err := col.Access().Zones(ctx)
	if err != nil || zones == nil {
		return nil, err
	}
	out := &facts{}
	// Bounds of shapes are rounded in the map, and those of sequences are none of the rows.
	out.ranged = c.of.Draw == "number" && !c.of.Sequence && !c.truth
	filled := zones[:0]
	for _, z := range zones {
		if z.Hole {
			out.missing += z.To - z.From
			continue
		}
		filled = append(filled, z)
		out.ranged = out.ranged && z.Bounded && z.Min >= -mostCounted && z.Max <= mostCounted
	}
	if out.ranged = out.ranged && len(filled) > 0; !out.ranged {
		return out, nil
	}
	left := int64(mostVerified)
	for _, side := range []struct {
		at   *float64
		sign float64
	}{{&out.low, -1}, {&out.high, 1}} {
		if *side.at, out.ranged, err = c.extreme(ctx, filled, side.sign, &left); err != nil || !out.ranged {
			return out, err
		}
	}
	return out, nil
}

// extreme returns the greatest number of zones, or with sign -1 the least. A bound of a zone is no
// number of its rows if some rows of its chunk are not in the view. Such zones are read, from the
// furthest bound on, until no bound is further than a number that was found. Returns false if that
// takes more rows than are left.
func (c *counter) extreme(ctx context.Context, zones []read.Zone, sign float64, left *int64) (float64, bool, error) {
	bound := func(z *read.Zone) float64 {
		if sign < 0 {
			return -z.Min
		}
		return z.Max
	}
	slices.SortFunc(zones, func(a, b read.Zone) int { return cmp.Compare(bound(&b), bound(&a)) })
	best := math.Inf(-1)
	for i := range zones {
		z := &zones[i]
		if bound(z) <= best {
			break
		}
		if z.Attained != nil {
			attained, err := z.Attained(ctx)
			if err != nil {
				return 0, false, err
			}
			if attained {
				best = bound(z)
				break
			}
		}
		if *left -= z.To - z.From; *left < 0 {
			return 0, false, nil
		}
		found, err := c.between(ctx, z)
		if err != nil {
			return 0, false, err
		}
		best = max(best, bound(&found))
	}
	return sign * best, true, nil
}

// between reads the range of the rows of a zone.
func (c *counter) between(ctx context.Context, z *read.Zone) (read.Zone, error) {
	part, err := c.all.Slice(z.From, z.To, 1)
	if err != nil {
		return read.Zone{}, err
	}
	defer part.Close()
	found, err := c.askOf(ctx, part, nil, "SELECT MIN("+c.expr+") AS a, MAX("+c.expr+") AS b")
	if err != nil {
		return read.Zone{}, err
	}
	return read.Zone{Min: found[0][0], Max: found[0][1]}, nil
}

// scale turns counts of a sample into estimates for all rows. known has their exact facts.
func (s *statsInfo) scale(known *facts) {
	counted := s.Sampled - s.Missing
	s.Missing = int64(math.Round(float64(s.Missing) / float64(s.Sampled) * float64(s.Rows)))
	if known != nil {
		s.Missing = known.missing
		if s.Exact = append(s.Exact, "missing"); known.ranged {
			s.Exact = append(s.Exact, "min", "max")
		}
	}
	factor := float64(s.Rows-s.Missing) / float64(max(counted, 1))
	for i := range s.Classes {
		s.Classes[i].Rows = int64(math.Round(float64(s.Classes[i].Rows) * factor))
	}
	for i := range s.Bins {
		s.Bins[i].Rows = int64(math.Round(float64(s.Bins[i].Rows) * factor))
	}
}
