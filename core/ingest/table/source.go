package table

import (
	"context"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"deeplake/core/arrow"
	"deeplake/core/csv"
	"deeplake/core/dataset"
	"deeplake/core/errs"
	"deeplake/core/litdata"
	"deeplake/core/storage"
	"deeplake/core/tfrecord"
)

// source is the place of the files.
type source struct {
	storage.Ranger
	close     func() error
	uri       string // without secrets
	root      string // that URLs of its files begin with; "": a file on a web server
	local     bool
	isFolder  bool // all files of it are taken
	format    *Format
	files     []*file
	parts     []partition          // of the folders' names, with the types that all values have
	known     map[string]csv.Known // of columns of files without types
	forms     map[string]tfrecord.Form
	documents []string // columns whose values are JSON
	rounded   []string // columns that the user wants as floats
	separator byte     // of CSV; 0: the first records of each file tell
	parted    []string // parts of the dataset by the names of files; nil: none
}

// file is one file of the source.
type file struct {
	key    string
	name   string // the source's name of it; it may hold secrets
	size   int64
	tag    string
	rows   int64             // -1: not known
	start  int64             // the first row to take: earlier ones were, by an interrupted run
	values map[string]string // of partitions; a missing one is null
	// of columns, by the beginning of a file without types
	known map[string]csv.Known
	forms map[string]tfrecord.Form
	index *litdata.Index // that names the chunk; nil: the file is none
	items int64          // that the index states
}

// partition is a column that names of folders make: "year=2026".
type partition struct {
	name   string
	number bool
}

// hiveNull is the value of a partition that stands for null.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// openSource lists the files at a URI: those of a folder that have one format, or one file.
func openSource(ctx context.Context, env *dataset.Env, uri string, how storage.Options, format string) (*source, error) {
	s := &source{uri: storage.RedactURL(uri)}
	var err error
	if format != "" {
		if s.format, err = named(format); err != nil {
			return nil, err
		}
	}
	scheme, rest, found := strings.Cut(uri, "://")
	s.local = !found || scheme == "file"
	switch {
	case s.local:
		if !found {
			rest = uri
		}
		err = s.openLocal(ctx, env, rest, how)
	case scheme == "http" || scheme == "https":
		err = s.openWeb(ctx, env, uri, how)
	default:
		err = s.openStore(ctx, env, uri, how)
	}
	if err == nil && s.format != nil && s.format.Index != nil {
		err = s.format.Index(s, ctx)
	}
	if err == nil && len(s.files) == 0 {
		err = errs.New(errs.Invalid, "no file there has a table; names end with %s", strings.Join(extensions(), " or "))
	}
	if err != nil {
		s.end()
		return nil, err
	}
	s.partitions()
	s.splits()
	return s, nil
}

func extensions() (all []string) {
	for i := range formats {
		all = append(all, formats[i].Extensions...)
	}
	return all
}

func (s *source) end() {
	if s.close != nil {
		_ = s.close()
	}
}

// openLocal opens a folder, or a file, whose link is followed: the user has named it.
func (s *source) openLocal(ctx context.Context, env *dataset.Env, place string, how storage.Options) error {
	st, err := os.Stat(place)
	if err != nil {
		return errs.New(errs.NotFound, "there is no such file or folder")
	}
	if st.IsDir() {
		return s.folder(ctx, env, place, how, "")
	}
	if s.format == nil {
		if s.format = formatOf(place); s.format == nil {
			return errs.New(errs.Invalid, "its name tells no format; want %s, or give the format", strings.Join(extensions(), " or "))
		}
	}
	real, err := filepath.EvalSymlinks(place)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return errs.New(errs.Storage, "%w", err)
	}
	return s.folder(ctx, env, filepath.Dir(real), how, filepath.Base(real))
}

// openStore opens a folder of a store, or an object that has a name of a file.
func (s *source) openStore(ctx context.Context, env *dataset.Env, uri string, how storage.Options) error {
	uri = strings.TrimSuffix(uri, "/")
	at := strings.LastIndex(uri, "/")
	if name := uri[at+1:]; (Named(name) || s.format != nil) && at > strings.Index(uri, "://")+2 {
		err := s.folder(ctx, env, uri[:at], how, name)
		if err != nil || len(s.files) > 0 {
			return err
		}
		s.end()
	}
	return s.folder(ctx, env, uri, how, "")
}

// openWeb opens a file on a web server, which lists no folders.
func (s *source) openWeb(ctx context.Context, env *dataset.Env, uri string, how storage.Options) error {
	u, err := url.Parse(uri)
	if err != nil {
		return errs.New(errs.Invalid, "it is no URL")
	}
	name := path.Base(u.Path)
	if s.format == nil {
		if s.format = formatOf(name); s.format == nil {
			return errs.New(errs.Invalid, "its name tells no format; want %s, or give the format", strings.Join(extensions(), " or "))
		}
	}
	from, err := env.Sources.Open(ctx, uri, how)
	if err != nil {
		return err
	}
	s.Ranger, s.close = from, from.Close
	body, err := s.Range(ctx, uri, 0, 1, "")
	if err != nil {
		return err
	}
	defer body.Close()
	if body.Size() < 0 {
		return errs.New(errs.Unsupported, "the server does not tell the size of the file")
	}
	s.files = []*file{{key: name, name: uri, size: body.Size(), tag: body.Tag()}}
	return nil
}

// folder lists the files of a folder, or the only one that has the name.
func (s *source) folder(ctx context.Context, env *dataset.Env, uri string, how storage.Options, only string) error {
	from, err := env.Sources.Open(ctx, uri, how)
	if err != nil {
		return err
	}
	s.Ranger, s.close, s.isFolder, s.root = from, from.Close, only == "", from.URI()
	isGiven := s.format != nil
	var refused error
	err = from.Objects(ctx, only, "", func(e storage.Entry) bool {
		of := formatOf(e.Key)
		if of == nil && isGiven && s.format.takes(e.Key) {
			of = s.format
		}
		switch {
		case only != "" && e.Key != only:
			return e.Key < only
		case only != "":
			if s.format == nil {
				s.format = of
			}
		case ofLake(e.Key) != nil:
			refused = ofLake(e.Key)
			return false
		case isNote(e.Key) || of == nil || isGiven && of != s.format:
			return true
		case s.format == nil:
			s.format = of
		case of != s.format:
			refused = errs.New(errs.Invalid, "%s has another format than %s; give the format, %s or %s", e.Key, s.files[0].key, s.format.Name, of.Name)
			return false
		}
		s.files = append(s.files, &file{key: e.Key, name: e.Key, size: e.Size, tag: e.Tag})
		return true
	})
	if err == nil {
		err = refused
	}
	return err
}

// ofLake refuses the log of a table of Delta, Iceberg or Hudi: its folder has files with deleted
// rows, and rows that are not committed.
func ofLake(key string) error {
	kind, reader := "", ""
	switch {
	case strings.Contains("/"+key, "/_delta_log/"):
		kind, reader = "Delta", "deltalake"
	case strings.HasSuffix(key, ".metadata.json") && strings.Contains("/"+key, "/metadata/"):
		kind, reader = "Iceberg", "pyiceberg"
	case strings.Contains("/"+key, "/.hoodie/"):
		kind, reader = "Hudi", "hudi"
	default:
		return nil
	}
	return errs.New(errs.Invalid, "%s is of a %s table, whose folder has deleted rows too; read the table with %s, and give it to deeplake.ingest (docs/tables.md)", key, kind, reader)
}

// isNote reports whether a file is a note of a program: those and their folders begin with . or _.
func isNote(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") {
			return true
		}
	}
	return false
}

// partitions reads the columns that names of folders make.
func (s *source) partitions() {
	at := map[string]int{}
	for _, f := range s.files {
		folders := strings.Split(f.key, "/")
		for _, folder := range folders[:len(folders)-1] {
			name, value, ok := strings.Cut(folder, "=")
			if !ok || name == "" {
				continue
			}
			if plain, err := url.PathUnescape(value); err == nil {
				value = plain
			}
			if plain, err := url.PathUnescape(name); err == nil {
				name = plain
			}
			if f.values == nil {
				f.values = map[string]string{}
			}
			if _, twice := f.values[name]; twice {
				continue
			}
			i, known := at[name]
			if !known {
				i = len(s.parts)
				at[name] = i
				s.parts = append(s.parts, partition{name, true})
			}
			if value == hiveNull {
				continue
			}
			if _, err := strconv.ParseInt(value, 10, 32); err != nil || strings.HasPrefix(value, "+") || value == "-0" {
				s.parts[i].number = false
			}
			f.values[name] = value
		}
	}
}

// column returns the values of a partition for rows of a file.
func (p partition) column(f *file, rows int64) (*arrow.Column, error) {
	value, ok := f.values[p.name]
	d := &arrow.Data{Rows: rows}
	t := &arrow.Type{Name: p.name, Format: "u"}
	if !ok {
		d.Valid = make([]byte, (rows+7)/8)
	}
	if p.number {
		t.Format = "i"
		n, _ := strconv.ParseInt(value, 10, 32)
		for range rows {
			d.Values = append(d.Values, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		}
		return arrow.MakeColumn(t, d)
	}
	// Equal texts lie in a dictionary, of which each row has number 0.
	d.Values = make([]byte, 4*rows)
	d.Dictionary = &arrow.Data{Rows: 1, Values: []byte(value), Ends: []int64{0, int64(len(value))}}
	t.Format, t.Dictionary = "i", &arrow.Type{Format: "u"}
	return arrow.MakeColumn(t, d)
}

// opened is a file's content as a format reads it.
type opened struct {
	s *source
	f *file
}

// ReadAt reads a part of the version that was listed.
func (o opened) ReadAt(ctx context.Context, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	body, err := o.s.Range(ctx, o.f.name, off, int64(len(p)), o.f.tag)
	if errs.Is(err, errs.Conflict) {
		return errs.New(errs.Conflict, "it was changed meanwhile; run the import again")
	}
	if err != nil {
		return err
	}
	defer body.Close()
	if n := body.Len(); n < int64(len(p)) {
		return errs.New(errs.Corrupt, "it ends after %d bytes, want %d", off+n, o.f.size)
	}
	_, err = io.ReadFull(body, p)
	return errs.Wrap(errs.Storage, "read", "", err)
}

// open reads the metadata of a file.
func (s *source) open(ctx context.Context, f *file) (Table, error) {
	if f.size < 0 { // the source lists it, and reading it says why it is not there
		body, err := s.Range(ctx, f.name, 0, 1, "")
		if err == nil {
			f.size = body.Size()
			_ = body.Close()
		}
		if err != nil {
			return nil, s.wrong(f, err)
		}
	}
	t, err := s.format.Schema(ctx, opened{s, f})
	if err != nil {
		return nil, s.wrong(f, err)
	}
	return t, nil
}

// wrong names the file of an error.
func (s *source) wrong(f *file, err error) error {
	return errs.New(errs.KindOf(err), "%s: %w", f.key, err)
}
