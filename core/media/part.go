package media

import (
	"context"

	"deeplake/core/errs"
)

// Part is a file made of a part of another one: Head, and then Bytes bytes of the other file from
// Offset on.
type Part struct {
	Head          []byte
	Offset, Bytes int64
	// Tables is the *Video of the new file. Programs without videos need not link its code.
	Tables any
}

// Parter is a Container that makes files of parts of other files.
type Parter interface {
	// Part makes a file of a video, a result of Video.Cut, whose packets lie in another one. The
	// bytes between the packets come along.
	Part(cut *Video) (*Part, error)
}

// PartMaker makes files of parts of others.
type PartMaker interface {
	// Part makes a file of the frames of a file of size bytes that begin at a time of [begin, end),
	// in seconds. An end of 0 is that of the file. name tells files and their versions apart.
	Part(ctx context.Context, name string, file Reader, size int64, begin, end float64) (*Part, error)
}

// Part makes a file of a video, a result of Video.Cut.
func (c Containers) Part(cut *Video) (*Part, error) {
	for _, one := range c {
		if p, ok := one.(Parter); ok {
			return p.Part(cut)
		}
	}
	return nil, errs.New(errs.Unsupported, "this program makes no files of videos")
}
