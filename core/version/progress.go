package version

import "sync/atomic"

// Progress counts what a long operation has done. It may be read at any time. Methods of a nil
// Progress do nothing.
type Progress struct {
	Items, Bytes           atomic.Int64 // objects, or rows of a tensor, that are done
	TotalItems, TotalBytes atomic.Int64 // to be done; 0 until that is known, and where it never is
}

func (p *Progress) did(items, bytes int64) {
	if p != nil {
		p.Items.Add(items)
		p.Bytes.Add(bytes)
	}
}

func (p *Progress) expect(items, bytes int64) {
	if p != nil {
		p.TotalItems.Add(items)
		p.TotalBytes.Add(bytes)
	}
}
