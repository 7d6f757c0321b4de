package codec

import (
	"slices"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// Descriptor is the self-description of a SampleCodec. Callers ask it instead of comparing ids.
type Descriptor struct {
	ID         ID
	Title      string   // of its files, in messages
	Aliases    []string // further names that users may give
	Extensions []string // of files, in lower case and with the dot
	Media      string   // media type, if browsers show such files
	// Sniff recognizes a file by its first bytes. It says nothing about the rest of the file.
	Sniff func(data []byte) bool
	// Orientation reads how a file is turned, from all of it or its beginning. more means that data
	// ends too early to tell. It finds no damage.
	Orientation func(data []byte) (o Orientation, more bool)
	// Lossless reports whether arrays come back as they were encoded.
	Lossless bool
	// DTypes are the dtypes of arrays that Encode accepts.
	DTypes []tensor.DType
	// Instead names compressions for other dtypes, as errors print them.
	Instead string
	// CheckShape returns errs.Type for an array of height, width and channels that Encode refuses.
	CheckShape func(s tensor.Shape, want Channels) error
	// CheckOptions refuses bad settings. It is nil for a codec without settings.
	CheckOptions func(o Options) error
}

// Name returns the name of the codec.
func (d *Descriptor) Name() string { return d.ID.Name() }

// CheckDType returns errs.Type for a dtype that Encode refuses.
func (d *Descriptor) CheckDType(dtype tensor.DType) error {
	if slices.Contains(d.DTypes, dtype) {
		return nil
	}
	list := ""
	for i, t := range d.DTypes {
		if i > 0 {
			list += " or "
		}
		list += t.String()
	}
	return errs.New(errs.Type, "compression %q needs dtype %s, got %s; use %s", d.Name(), list, dtype, d.Instead)
}

// IsZero reports whether all options have their defaults.
func (o Options) IsZero() bool { return o == Options{} }
