package ingest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deeplake/core/errs"
)

// folder is a directory of images: either one directory per class, as torchvision's ImageFolder has it, or no classes at
// all. Directories below a class belong to the class. Files are taken in order of their paths.
type folder struct {
	root    string
	options Options
	classes []string         // sorted; nil: a flat folder
	kinds   map[string]int64 // files by lower-case extension
	files   int64
}

// imageExtensions are the names that files of the known kinds go by; what a file is, its first bytes say.
var imageExtensions = map[string]string{".jpg": "jpeg", ".jpeg": "jpeg", ".jpe": "jpeg", ".jfif": "jpeg", ".png": "png"}

// openFolder looks through the directory once, without opening a file.
func openFolder(source string, o Options) (*folder, error) {
	root, err := filepath.Abs(source)
	if err != nil {
		return nil, errs.Wrap(errs.Invalid, "import from", source, err)
	}
	st, err := os.Stat(root)
	switch {
	case os.IsNotExist(err):
		return nil, errs.New(errs.NotFound, "import from %q: there is no such folder", source)
	case err != nil:
		return nil, errs.Wrap(errs.Storage, "import from", source, err)
	case !st.IsDir():
		return nil, errs.New(errs.Invalid, "import from %q: it is a file, want a folder of images", source)
	}
	switch o.Compression {
	case "", "auto", "jpeg", "png", "none":
	default:
		return nil, errs.New(errs.Invalid, "import from %q: compression is %q, want auto, jpeg, png or none", source, o.Compression)
	}
	if o.Checkpoint < 0 || o.Workers < 0 {
		return nil, errs.New(errs.Invalid, "import from %q: checkpoint is %d and workers %d, want 1 or more", source, o.Checkpoint, o.Workers)
	}
	f := &folder{root: root, options: o, kinds: map[string]int64{}}
	classes := map[string]bool{}
	err = f.walk(context.Background(), func(file entry) bool {
		f.files++
		kind, image := imageExtensions[strings.ToLower(filepath.Ext(file.path))]
		if image {
			f.kinds[kind]++
			if class := file.class(); class != "" {
				classes[class] = true
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for c := range classes {
		f.classes = append(f.classes, c)
	}
	slices.Sort(f.classes)
	return f, nil
}

// codec is the compression of the images tensor: the kind of most files.
func (f *folder) codec() string {
	switch c := f.options.Compression; {
	case c != "" && c != "auto":
		return c
	case f.kinds["png"] > f.kinds["jpeg"]:
		return "png"
	default:
		return "jpeg"
	}
}

// entry is a file of the folder.
type entry struct {
	path string // relative to the root, with slashes
	size int64  // where list has asked
	err  error  // why it cannot be read at all
}

// class is the name of the directory in the root that the file lies below, "" for a file in the root itself.
func (e entry) class() string {
	class, _, found := strings.Cut(e.path, "/")
	if !found {
		return ""
	}
	return class
}

// walk calls fn for every file, in order, until it returns false. Directories that cannot be read are reported as files
// with an error; links to files are followed, links to directories are not.
func (f *folder) walk(ctx context.Context, fn func(entry) bool) error {
	err := filepath.WalkDir(f.root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, relErr := filepath.Rel(f.root, path)
		if relErr != nil {
			return relErr
		}
		file := entry{path: filepath.ToSlash(rel), err: err}
		switch {
		case err != nil && path == f.root:
			return err
		case err == nil && d.IsDir():
			return nil
		}
		if !fn(file) {
			return fs.SkipAll
		}
		if err != nil && d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if ctx.Err() != nil {
		return errs.Wrap(errs.Canceled, "import from", f.root, ctx.Err())
	}
	return errs.Wrap(errs.Storage, "import from", f.root, err)
}

// after reports whether path comes after last in the order of walk: directory by directory, each by name.
func after(path, last string) bool {
	return slices.Compare(strings.Split(path, "/"), strings.Split(last, "/")) > 0
}
