//go:build cgo && linux

package ffmpeg

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/ebitengine/purego"

	"deeplake/core/errs"
)

const (
	remedy = "pip install deeplake[video]"
	// mode keeps the symbols of the library to itself: others in the process bring FFmpeg, too.
	mode = purego.RTLD_NOW | purego.RTLD_LOCAL
	// mostNeeded bounds the libraries of a folder that are loaded because others need them.
	mostNeeded = 128
)

// find loads libavcodec and its dependencies. It returns the handle and the path of the library.
func find(folders []string) (uintptr, string, error) {
	// The loader keeps the text of an error for the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	op := errs.Op("find FFmpeg", "")
	if folder := os.Getenv(variable); folder != "" {
		handle, path, err := inFolder(folder)
		if err != nil {
			return 0, "", op.New(errs.Unsupported, "%s=%s: %w; name the folder of libavcodec.so.%d to .%d, or unset it and %s", variable, folder, err, oldest, newest, remedy)
		}
		return handle, path, nil
	}
	var failures []string
	for _, folder := range folders {
		handle, path, err := inFolder(folder)
		if err == nil {
			return handle, path, nil
		}
		failures = append(failures, err.Error())
	}
	for major := newest; major >= oldest; major-- {
		name := "libavcodec.so." + strconv.Itoa(major)
		handle, err := purego.Dlopen(name, mode)
		if err == nil {
			return handle, name, nil
		}
		if !strings.Contains(err.Error(), name+": cannot open shared object file") {
			failures = append(failures, err.Error())
		}
	}
	failures = append(failures, fmt.Sprintf("the system has no libavcodec.so.%d to .%d that loads", oldest, newest))
	return 0, "", op.New(errs.Unsupported, "%s; %s", strings.Join(failures, "; "), remedy)
}

// inFolder loads the newest libavcodec of a folder, with the libraries of the same folder.
func inFolder(folder string) (uintptr, string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return 0, "", err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, "", err
	}
	f := loading{folder: folder, left: mostNeeded}
	for _, e := range entries {
		f.files = append(f.files, e.Name())
	}
	var first error
	for major := newest; major >= oldest; major-- {
		name := library(f.files, "avcodec", major)
		if name == "" {
			continue
		}
		var err error
		// Those of the folder come first: a build may be linked with names that others have, too.
		for _, needed := range []string{library(f.files, "avutil", major-2), library(f.files, "swresample", resamplers[major-oldest])} {
			if needed != "" && err == nil {
				_, err = f.load(needed)
			}
		}
		var handle uintptr
		if err == nil {
			handle, err = f.load(name)
		}
		if err == nil {
			return handle, filepath.Join(folder, name), nil
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = fmt.Errorf("no libavcodec.so.%d to .%d is in %q", oldest, newest, folder)
	}
	return 0, "", first
}

// loading is a folder whose libraries are being loaded.
type loading struct {
	folder string
	files  []string
	left   int // libraries that may still be loaded because others need them
}

// load loads a library. Where the loader of the system misses another one that lies in the folder,
// that is loaded first.
func (f *loading) load(name string) (uintptr, error) {
	for {
		handle, err := purego.Dlopen(filepath.Join(f.folder, name), mode)
		if err == nil {
			return handle, nil
		}
		missing, _, found := strings.Cut(err.Error(), ": cannot open shared object file")
		if !found || !slices.Contains(f.files, missing) || f.left == 0 {
			return 0, err
		}
		f.left--
		if _, err := f.load(missing); err != nil {
			return 0, err
		}
	}
}

// resamplers are the versions of libswresample beside libavcodec 58 to 63.
var resamplers = [...]int{3, 4, 4, 5, 6, 7}

// library returns the file of one of FFmpeg's libraries, of a version, with the shortest name; ""
// if there is none. Wheels have a hash in names: libavutil-5809ad29.so.60.26.102.
func library(files []string, name string, major int) string {
	pattern := regexp.MustCompile(fmt.Sprintf(`^lib%s(-[0-9a-f]+)?\.so\.%d(\.|$)`, name, major))
	found := ""
	for _, f := range files {
		if pattern.MatchString(f) && (found == "" || len(f) < len(found)) {
			found = f
		}
	}
	return found
}
