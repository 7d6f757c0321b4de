package codec

import (
	"slices"
	"strings"

	"deeplake/core/errs"
)

// Registry finds codecs by id, name, file extension and first bytes. It is a value; package all
// has the registry of every built-in codec. Safe for parallel use.
type Registry struct {
	bytes   []Codec
	samples []SampleCodec
	limits  Limits
	cut     bool // files without their end have headers too
}

// NewRegistry makes a registry. Lists of names keep the order of the codecs.
func NewRegistry(bytes []Codec, samples []SampleCodec) *Registry {
	return &Registry{bytes: bytes, samples: samples}
}

// Bytes finds a Codec, for any id but None.
func (r *Registry) Bytes(id ID) (Codec, error) {
	for _, c := range r.bytes {
		if c.ID() == id {
			return c, nil
		}
	}
	return nil, errs.New(errs.Unsupported, "compression %d is not known; a newer version of this library may read it", id)
}

// Sample finds a SampleCodec, for any id but None.
func (r *Registry) Sample(id ID) (SampleCodec, error) {
	for _, c := range r.samples {
		if c.Describe().ID == id {
			return c, nil
		}
	}
	return nil, errs.New(errs.Unsupported, "sample compression %d is not known; a newer version of this library may read it", id)
}

// Samples returns the descriptors of all sample codecs.
func (r *Registry) Samples() []*Descriptor {
	all := make([]*Descriptor, len(r.samples))
	for i, c := range r.samples {
		all[i] = c.Describe()
	}
	return all
}

// Titles lists the kinds of files that the sample codecs read, for messages: "JPEG, PNG or WebP",
// with the last word given.
func (r *Registry) Titles(last string) string {
	out := ""
	for i, c := range r.samples {
		switch {
		case i == 0:
		case i == len(r.samples)-1:
			out += " " + last + " "
		default:
			out += ", "
		}
		out += c.Describe().Title
	}
	return out
}

// Sniff recognizes the sample codec of a file by its first bytes. It says nothing about the rest of
// the file; Header checks that.
func (r *Registry) Sniff(data []byte) (ID, bool) {
	for _, c := range r.samples {
		if d := c.Describe(); d.Sniff(data) {
			return d.ID, true
		}
	}
	return None, false
}

// ByExtension finds the sample codec of a file name's extension, such as ".jpg", in any case.
// Names may lie: Sniff decides.
func (r *Registry) ByExtension(ext string) (ID, bool) {
	ext = strings.ToLower(ext)
	for _, c := range r.samples {
		if d := c.Describe(); slices.Contains(d.Extensions, ext) {
			return d.ID, true
		}
	}
	return None, false
}

// Parse finds the id of a name that a user gave; "" is None. sample tells sample codecs from bytes
// codecs.
func (r *Registry) Parse(name string) (id ID, sample bool, err error) {
	if name == "" || name == None.Name() {
		return None, false, nil
	}
	names := []string{None.Name()}
	for _, c := range r.bytes {
		if c.ID().Name() == name {
			return c.ID(), false, nil
		}
		names = append(names, c.ID().Name())
	}
	for _, c := range r.samples {
		d := c.Describe()
		if d.Name() == name || slices.Contains(d.Aliases, name) {
			return d.ID, true, nil
		}
		names = append(names, d.Name())
	}
	return None, false, errs.New(errs.Invalid, "unknown compression %q (want one of %q)%s", name, names, errs.Suggest(name, names))
}
