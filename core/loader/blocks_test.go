package loader

import (
	"context"
	"slices"
	"testing"

	"deeplake/core/errs"
	"deeplake/core/read"
)

// zoned is a Source of one column with given zones.
type zoned struct {
	*fake
	zones []read.Zone
	err   error
}

type zonedColumn struct {
	*fakeColumn
	set *zoned
}

func (z *zoned) Column(name string) (*zonedColumn, error) {
	c, err := z.fake.Column(name)
	return &zonedColumn{c, z}, err
}

func (c *zonedColumn) Access() read.Access {
	a := read.Access{}
	if c.name == "images" {
		a.StoredBytes = 1 << 40
		if c.set.zones != nil || c.set.err != nil {
			a.Zones = func(context.Context) ([]read.Zone, error) { return c.set.zones, c.set.err }
		}
	}
	return a
}

// zonesOf makes zones of pairs of rows and bytes.
func zonesOf(pairs ...[2]int64) (zones []read.Zone) {
	at := int64(0)
	for _, p := range pairs {
		zones = append(zones, read.Zone{From: at, To: at + p[0], Bytes: p[1]})
		at += p[0]
	}
	return zones
}

// Blocks are chunks of the largest tensor. Small chunks are joined and large ones cut.
func TestBlocksOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zones []read.Zone
		want  []int64
	}{
		"chunks":                {zonesOf([2]int64{70, 80}, [2]int64{80, 75}, [2]int64{5, 60}), []int64{0, 70, 150, 155}},
		"small ones":            {zonesOf([2]int64{10, 25}, [2]int64{10, 25}, [2]int64{10, 25}, [2]int64{10, 25}), []int64{0, 30, 40}},
		"small before a large":  {zonesOf([2]int64{10, 30}, [2]int64{10, 90}), []int64{0, 10, 20}},
		"a large one":           {zonesOf([2]int64{100, 400}), []int64{0, 20, 40, 60, 80, 100}},
		"a large row":           {zonesOf([2]int64{1, 400}, [2]int64{2, 400}), []int64{0, 1, 2, 3}},
		"a hole":                {zonesOf([2]int64{1000, 0}, [2]int64{70, 80}, [2]int64{9, 0}), []int64{0, 1070, 1079}},
		"one":                   {zonesOf([2]int64{3, 1}), []int64{0, 3}},
		"the column has no map": {nil, nil},
	} {
		got, err := blocksOf(context.Background(), SourceOf(&zoned{fake: fakeSet(1), zones: c.zones}), 80)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	_, err := blocksOf(context.Background(), SourceOf(&zoned{fake: fakeSet(1), err: errs.New(errs.Corrupt, "damaged")}), 80)
	if !errs.Is(err, errs.Corrupt) {
		t.Errorf("damaged map: %v, want %s", err, errs.Corrupt)
	}
}
