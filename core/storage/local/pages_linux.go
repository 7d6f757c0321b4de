package local

import (
	"context"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"deeplake/core/storage"
)

var _ storage.PageCache = (*Provider)(nil)

// CacheBytes is three quarters of the memory that programs leave: other files are read too.
func (p *Provider) CacheBytes() int64 { return availableMemory("/proc", "/sys/fs/cgroup") / 4 * 3 }

// Resident reports whether a page of a file is in memory. The answer is false for file systems that
// cannot tell.
func (p *Provider) Resident(key string, off int64) (yes bool) {
	p.advise(key, func(fd int) { yes = resident(fd, off) })
	return yes
}

// ReadAhead asks the system to read a range of a file. The range is skipped if its first, middle
// and last page are in memory.
func (p *Provider) ReadAhead(key string, off, n int64) {
	p.advise(key, func(fd int) {
		if n > 0 && !(resident(fd, off) && resident(fd, off+n/2) && resident(fd, off+n-1)) {
			_ = unix.Fadvise(fd, off, n, unix.FADV_WILLNEED)
		}
	})
}

// DropPages drops the whole pages of a range that are neither mapped nor changed.
func (p *Provider) DropPages(key string, off, n int64) {
	p.advise(key, func(fd int) { _ = unix.Fadvise(fd, off, n, unix.FADV_DONTNEED) })
}

// advise calls f with the descriptor of an object, if it can be opened.
func (p *Provider) advise(key string, f func(fd int)) {
	file := p.files.acquire(key)
	if file == nil {
		var err error
		if file, err = p.openCached(context.Background(), key); err != nil {
			return // a reader will meet the error
		}
	}
	defer file.release()
	f(file.fd)
}

func resident(fd int, off int64) bool {
	var one [1]byte
	n, err := unix.Preadv2(fd, [][]byte{one[:]}, off, unix.RWF_NOWAIT)
	return n == 1 && err == nil
}

// availableMemory returns the memory that programs leave to the page cache, in this machine or in a
// control group of this process if that has less. proc and groups are the folders that the system
// shows under /proc and /sys/fs/cgroup.
func availableMemory(proc, groups string) int64 {
	available := number(path.Join(proc, "meminfo"), "MemAvailable:") << 10
	if available <= 0 {
		return 0
	}
	list, _ := os.ReadFile(path.Join(proc, "self", "cgroup"))
	for line := range strings.Lines(string(list)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var folder, limit, used, cached string
		switch parts[1] {
		case "": // version 2
			folder, limit, used, cached = groups, "memory.max", "memory.current", "file"
		case "memory":
			folder, limit, used, cached = path.Join(groups, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"
		default:
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			at := path.Join(folder, group)
			if most := number(path.Join(at, limit), ""); most > 0 {
				programs := number(path.Join(at, used), "") - number(path.Join(at, "memory.stat"), cached)
				available = min(available, max(most-max(programs, 0), 0))
			}
			if group == "/" {
				break
			}
		}
	}
	return available
}

// number returns the number of a file of the system, or of the line in it that begins with a word.
// It is 0 without one.
func number(file, word string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if word != "" && (len(fields) < 2 || fields[0] != word) {
			continue
		}
		if word != "" {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			return 0
		}
		n, _ := strconv.ParseInt(fields[0], 10, 64) // "max" is no limit
		return n
	}
	return 0
}
