package ingest

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"deeplake/core/codec"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/ingest/annotations"
	"deeplake/core/media"
	"deeplake/core/storage"
)

const (
	// probedRows and probedObjects bound the part of a lake's listing that probe reads.
	probedRows    = 1000
	probedObjects = 10_000
)

// source is the source of an import, with the facts known before any object is read.
type source struct {
	storage.Source
	local bool
	own   string // names below it are of the dataset, which lies in the folder; "": it does not
	// in natural order, of a folder; nil: no class folders, or they are not known beforehand
	classes []string
	labels  bool     // files lie in class folders
	splits  bool     // the first folders are splits; classes lie within them
	whole   bool     // no folder is taken for a split
	given   []string // the classes that the caller wants; nil: those of the folders
	codecs  *codec.Registry
	// kinds of videos
	containers media.Containers
	format     string                  // that the user gives
	wayOf      func(key string) string // see dataset.Env.Way
	way        string

	image   string             // the first one by its name; "": none was seen
	video   string             // the first one by its name; "": none was seen
	files   annotations.Names  // what layouts of annotations know of the listing
	kinds   map[codec.ID]int64 // images by codec, as their names tell
	shards  int64              // archives, as their names tell
	objects int64              // of a folder; 0: not known

	first []storage.Entry // entries that probe has read; none of a folder
	rest  bool            // the listing goes on behind them
}

// openSource opens the source. A missing folder is an error here; a store that cannot be reached
// fails at its first request.
func openSource(ctx context.Context, env *dataset.Env, into, uri string, o Options) (*source, error) {
	var how storage.Options
	if o.Source != nil {
		how = *o.Source
	} else {
		how = storage.NewLinkPolicy(into, o.Storage).Named(uri)
	}
	how.FollowLinks = o.FollowLinks
	s, err := env.Sources.Open(ctx, uri, how)
	if err != nil {
		return nil, errs.Wrap(errs.Storage, "import from", storage.RedactURL(uri), err)
	}
	scheme, _, found := strings.Cut(uri, "://")
	l := &source{Source: s, local: !found || scheme == "file", given: o.Classes, whole: o.Splits == "none", codecs: env.Codecs, containers: env.Containers, format: o.Format, wayOf: env.Way, kinds: map[codec.ID]int64{}}
	if scheme == "http" || scheme == "https" {
		l.Source = &list{Source: s}
	}
	return l, nil
}

// classOf returns the first folder of a key, within its split, "" for an object outside of folders.
// Names of a list give their last folder.
func (l *source) classOf(key string) string {
	if _, ok := l.Source.(*list); ok {
		return listClass(key)
	}
	if l.splits {
		key = withoutSplit(key)
	}
	class, _, found := strings.Cut(key, "/")
	if !found {
		return ""
	}
	return class
}

// urlOf is the address of an object of a source.
func urlOf(uri, key string) string {
	scheme, rest, _ := strings.Cut(uri, "://")
	if scheme != "http" && scheme != "https" {
		return strings.TrimSuffix(uri, "/") + "/" + key
	}
	// The source is a file that lists objects by their URLs or by paths beside it.
	switch {
	case strings.HasPrefix(key, "http://") || strings.HasPrefix(key, "https://"):
		return key
	case strings.HasPrefix(key, "/"):
		host, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + host + key
	}
	return uri[:strings.LastIndex(uri, "/")+1] + key
}

// isMarker reports whether an object stands for a directory, as consoles of object stores make
// them.
func isMarker(e storage.Entry) bool {
	return e.Key == "" || strings.HasSuffix(e.Key, "/") && e.Size == 0
}

// probe reads the whole listing of a folder, so that classes are numbered in the order of their
// names, and the beginning of other listings.
func (l *source) probe(ctx context.Context) error {
	rows := 0
	classes := map[string]bool{}
	_, listed := l.Source.(*list)
	first := folders{other: listed || l.whole}
	look := func(key string) bool {
		if l.isOwn(key) {
			return true
		}
		l.objects++
		l.files.Add(key)
		l.way = cmp.Or(l.way, l.wayOf(key))
		if isArchive(key) {
			l.shards++
			first.add(key)
		}
		if l.isRow(key) {
			rows++
			first.add(key)
			if class := l.classOf(key); class != "" {
				l.labels = true
				// The files of a class whose name is not text are left out.
				if l.local && utf8.ValidString(class) {
					classes[class] = true
				}
			}
		}
		return l.local || rows < probedRows && l.objects < probedObjects
	}
	var err error
	if folder, ok := l.Source.(interface {
		Names(ctx context.Context, fn func(key string) bool) error
	}); ok {
		err = folder.Names(ctx, look)
	} else {
		err = l.Source.Objects(ctx, "", "", func(e storage.Entry) bool {
			if !l.local {
				l.first = append(l.first, e)
			}
			l.rest = !isMarker(e) && !look(e.Key)
			return !l.rest
		})
	}
	if !l.local {
		l.objects = 0
		if err == nil && l.rest {
			err = l.findRest(ctx, &first)
		}
	}
	if err == nil && l.way != "" {
		return errs.Op("import from", l.URI()).New(errs.Invalid, "%s", l.way)
	}
	// Files in one folder of such a name are no class.
	if isPlain := len(classes) == 1 && l.local; isPlain {
		plain := []string{"images", "imgs", "img", "pictures", "photos", "data", "jpegimages"}
		if l.image == "" || l.format == Videos {
			plain = []string{"videos", "video", "films", "movies", "clips", "data"}
		}
		for class := range classes {
			isPlain = slices.Contains(plain, strings.ToLower(class))
		}
		if isPlain {
			l.labels, classes = false, nil
		}
	}
	if l.splits = first.are(); l.splits {
		if l.labels = l.labels && first.deep; l.local {
			classes = first.below
		}
	}
	for c := range classes {
		l.classes = append(l.classes, c)
	}
	slices.SortFunc(l.classes, natural)
	if l.given != nil {
		l.classes = l.given
	}
	return err
}

// isRow reports whether a name is that of a picture or a video that becomes a row, and notes which.
func (l *source) isRow(key string) bool {
	if kind, ok := l.codecs.ByExtension(path.Ext(key)); ok {
		l.kinds[kind]++
		l.image = cmp.Or(l.image, key)
		return l.format != Videos
	}
	if !l.isVideo(key) {
		return false
	}
	l.video = cmp.Or(l.video, key)
	return l.format == "" || l.format == Videos
}

// isOwn reports whether a name is of a file of the dataset itself.
func (l *source) isOwn(key string) bool { return l.own != "" && strings.HasPrefix(key, l.own) }

// Objects lists the source behind after. It gives the entries that probe has read without another
// request.
func (l *source) Objects(ctx context.Context, prefix, after string, fn func(storage.Entry) bool) error {
	if l.own != "" {
		each := fn
		fn = func(e storage.Entry) bool { return l.isOwn(e.Key) || each(e) }
	}
	if prefix != "" || len(l.first) == 0 {
		return l.Source.Objects(ctx, prefix, after, fn)
	}
	last := l.first[len(l.first)-1].Key
	for _, e := range l.first {
		if e.Key > after && !fn(e) {
			return nil
		}
	}
	l.first = nil // it is read once
	if !l.rest {
		return nil
	}
	return l.Source.Objects(ctx, "", max(after, last), fn)
}

// compression is the name of the compression of the images tensor: the kind of most files.
func (l *source) compression(o Options) string {
	if o.Compression != "" && o.Compression != "auto" {
		return o.Compression
	}
	most := codec.None
	for i, d := range l.codecs.Samples() {
		if i == 0 || l.kinds[d.ID] > l.kinds[most] {
			most = d.ID
		}
	}
	return most.Name()
}
