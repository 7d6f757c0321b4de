package episodes

import (
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"deeplake/core/errs"
)

// maxKey bounds the name of a file.
const maxKey = 1024

// fields are the numbers and the name that a template of paths may have.
type fields struct {
	video string // video_key
	chunk int64  // chunk_index, and episode_chunk of version 2
	file  int64  // file_index
	index int64  // episode_index
}

// template is a pattern of paths, such as "data/chunk-{chunk_index:03d}/{file_index}.parquet".
type template []piece

// piece is a text, and the field behind it.
type piece struct {
	text  string
	field string // "": none
	width int    // of the number, with zeros in front
}

// parseTemplate reads the template that info.json has as a member.
func parseTemplate(member, pattern string) (template, error) {
	bad := func(format string, args ...any) (template, error) {
		return nil, errs.New(errs.Invalid, "%s is %q, which %w", member, short(pattern), errs.New(errs.Invalid, format, args...))
	}
	if len(pattern) > maxKey {
		return bad("has %d bytes, want at most %d", len(pattern), maxKey)
	}
	var out template
	for rest := pattern; rest != ""; {
		text, behind, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return bad("has a bracket without its other one")
		}
		if !found {
			out = append(out, piece{text: text})
			break
		}
		field, after, closed := strings.Cut(behind, "}")
		if !closed {
			return bad("has a bracket without its other one")
		}
		name, form, isFormed := strings.Cut(field, ":")
		p := piece{text: text, field: name}
		switch name {
		case "video_key":
			if isFormed {
				return bad("gives a form to a name, want {video_key}")
			}
		case "chunk_index", "episode_chunk", "file_index", "episode_index":
			digits, isNumber := strings.CutSuffix(form, "d")
			n, err := strconv.Atoi("0" + digits)
			if isFormed && (!isNumber || err != nil || n > 20) {
				return bad("has the form %q of a number, want one such as 03d", form)
			}
			p.width = n
		default:
			return bad("has a field {%s}, want video_key, chunk_index, episode_chunk, file_index or episode_index", short(name))
		}
		out, rest = append(out, p), after
	}
	// A path that it makes of plain values must lie below the root.
	if _, err := out.key(fields{video: "video"}); err != nil {
		return nil, errs.New(errs.Invalid, "%s: %w", member, err)
	}
	return out, nil
}

// key returns the path that a template makes of fields. One that may lead out of the root is
// errs.Invalid.
func (t template) key(f fields) (string, error) {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.text)
		n := int64(0)
		switch p.field {
		case "":
			continue
		case "video_key":
			b.WriteString(f.video)
			continue
		case "chunk_index", "episode_chunk":
			n = f.chunk
		case "file_index":
			n = f.file
		case "episode_index":
			n = f.index
		}
		digits := strconv.FormatInt(n, 10)
		b.WriteString(strings.Repeat("0", max(0, p.width-len(digits))))
		b.WriteString(digits)
	}
	key := b.String()
	return key, checkKey(key)
}

// checkKey refuses names of files that may lie elsewhere than below the root of a source.
func checkKey(key string) error {
	switch {
	case key == "" || len(key) > maxKey || !utf8.ValidString(key):
		return errs.New(errs.Invalid, "the path of a file has %d bytes, want 1 to %d of UTF-8", len(key), maxKey)
	case strings.HasPrefix(key, "/") || path.Clean(key) != key || key == "." || strings.HasPrefix(key, "../") || key == "..":
		return errs.New(errs.Invalid, "the path %q leads out of the dataset, want one below it without empty parts and ..", short(key))
	case strings.Contains(key, "://") || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return errs.New(errs.Invalid, "the path %q has characters that no path of a dataset has", short(key))
	}
	return nil
}

// short is a text for a message.
func short(text string) string {
	const most = 100
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
