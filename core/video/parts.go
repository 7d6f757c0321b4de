package video

import (
	"context"

	"deeplake/core/internal/lru"
	"deeplake/core/media"
)

// Parts is the PartMaker of some containers. It keeps the tables of the files that it cut last. All
// methods may be called in parallel.
type Parts struct {
	containers media.Containers
	indexed    *lru.Cache[string, *indexed]
}

// indexed is a file whose tables are read.
type indexed struct {
	video  *media.Video
	cutter *media.Cutter
}

var _ media.PartMaker = (*Parts)(nil)

const (
	indexedBytes = 64 << 20 // of the tables that are kept
	packetBytes  = 40       // of a packet in memory
)

// NewParts makes the PartMaker of containers, of which the first Parter writes the files.
func NewParts(c media.Containers) *Parts {
	return &Parts{containers: c, indexed: lru.New[string, *indexed](indexedBytes)}
}

// Part makes the file of a part. Times are rounded to ticks of the file: those of metadata are
// often rounded themselves.
func (p *Parts) Part(ctx context.Context, name string, file media.Reader, size int64, begin, end float64) (*media.Part, error) {
	of, err := p.indexed.Load(ctx, name, func() (*indexed, int64, error) {
		v, err := p.containers.Index(ctx, file, size)
		if err != nil {
			return nil, 0, err
		}
		return &indexed{v, media.NewCutter(p.containers, v)}, packetBytes * int64(len(v.Packets)), nil
	})
	if err != nil {
		return nil, err
	}
	v, to := of.video, of.video.End
	if end > 0 {
		to = v.TickAt(end)
	}
	return of.cutter.Part(ctx, file, v.TickAt(begin), to)
}
