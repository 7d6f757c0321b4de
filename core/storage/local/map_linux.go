package local

import (
	"context"
	"runtime"

	"golang.org/x/sys/unix"

	"deeplake/core/errs"
	"deeplake/core/storage"
)

var _ storage.Mapper = (*Provider)(nil)

// mostMapped is the number of files that a provider maps at most: the system gives a process 65,530
// mappings, of which others want theirs.
const mostMapped = 1 << 13

// take counts a mapping of n bytes, unless it would be one too many.
func (m *mappings) take(n int64) bool {
	var info unix.Sysinfo_t
	files, bytes := m.files.Add(1), m.bytes.Add(n)
	if unix.Sysinfo(&info) != nil || files > mostMapped || bytes > int64(info.Totalram)*int64(info.Unit)/2 {
		m.giveBack(n)
		return false
	}
	return true
}

func (m *mappings) giveBack(n int64) {
	m.files.Add(-1)
	m.bytes.Add(-n)
}

// Map shows an object in the memory of the page cache. The file is unmapped some time after the
// last use of the Mapping. Beyond half of the machine's memory nothing is shown.
func (p *Provider) Map(ctx context.Context, key string) (*storage.Mapping, error) {
	const op = "map"
	if err := canceled(ctx, op, key); err != nil {
		return nil, err
	}
	f := p.files.acquire(key)
	if f == nil {
		var err error
		if f, err = p.openCached(ctx, key); err != nil {
			return nil, err
		}
	}
	defer f.release()
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return nil, p.readError(op, key, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size == 0 || st.Size != int64(int(st.Size)) {
		return nil, errs.Op(op, key).New(errs.Unsupported, "a file of %d bytes below %q", st.Size, p.root)
	}
	if !steady(f.fd) {
		return nil, errs.Op(op, key).New(errs.Unsupported, "the file system below %q is none whose pages stay readable", p.root)
	}
	if !p.mapped.take(st.Size) {
		return nil, errs.Op(op, key).New(errs.Unsupported, "too much of %q is mapped already", p.root)
	}
	data, err := unix.Mmap(f.fd, 0, int(st.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil { // there are file systems without, and systems with a limit
		p.mapped.giveBack(st.Size)
		return nil, errs.Wrap(errs.Unsupported, op, key, err)
	}
	m := &storage.Mapping{Data: data, Ready: func(off, n int64) error { return p.ready(key, data, off, n) }}
	mapped := p.mapped
	runtime.AddCleanup(m, func(data []byte) {
		_ = unix.Munmap(data)
		mapped.giveBack(int64(len(data)))
	}, data)
	return m, nil
}

// steady reports whether a file lies on a file system of this machine. On remote file
// systems a removed file, or a server that goes away, ends the process that touches mapped pages.
// Such files are read.
func steady(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}

// ready makes the system read the pages that are not in memory yet. A page that cannot be read
// would end the process when it is touched; here it is an error. Systems older than Linux 5.14 do
// not know the request.
func (p *Provider) ready(key string, data []byte, off, n int64) error {
	const op = "map"
	if off < 0 || n < 0 || n > int64(len(data))-off {
		return truncated(op, key, p.root, len(data), off, int(n))
	}
	if n == 0 {
		return nil
	}
	page := int64(unix.Getpagesize())
	from := off / page * page
	for {
		err := unix.Madvise(data[from:off+n], unix.MADV_POPULATE_READ)
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return p.readError(op, key, err)
		}
	}
}
