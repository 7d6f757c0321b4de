// Package codec owns the compression of bytes (Codec) and of single samples (SampleCodec), each
// under a stable numeric id that is stored in chunks. It does no storage I/O and knows nothing of
// chunks.
package codec

import (
	"unsafe"

	"deeplake/core/errs"
	"deeplake/core/tensor"
)

// ID names a codec on disk; the values never change. Bytes codecs are below 32, sample codecs from
// 32 on.
type ID uint8

// The ids.
const (
	None ID = 0
	LZ4  ID = 1
	Zstd ID = 2
	// Shuffle is Zstandard of the planes of numbers.
	Shuffle ID = 3
	JPEG    ID = 32
	PNG     ID = 33
	WebP    ID = 34
)

// Name returns the name of a compression in schemas and calls, "" for an id that no codec has. An
// id and its name are part of the format, so this is the place that reserves both for a new codec.
func (id ID) Name() string {
	switch id {
	case None:
		return "none"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	case Shuffle:
		return "shuffle"
	case JPEG:
		return "jpeg"
	case PNG:
		return "png"
	case WebP:
		return "webp"
	}
	return ""
}

// PerSample reports whether id is of a SampleCodec.
func (id ID) PerSample() bool { return id >= firstSample }

const firstSample = 32

// Reserved reports whether name is the name of an id.
func Reserved(name string) bool {
	for id := range ID(255) {
		if name != "" && id.Name() == name {
			return true
		}
	}
	return false
}

// Codec compresses any bytes. Methods may be called in parallel.
type Codec interface {
	ID() ID
	// Encode appends the compressed form of src to dst.
	Encode(dst, src []byte) ([]byte, error)
	// Decode fills dst, whose length is the exact size of the original; any other size is
	// errs.Corrupt.
	Decode(dst, src []byte) error
}

// NumberKind says how the elements of a block are read as whole numbers.
type NumberKind uint8

// The kinds of elements.
const (
	Opaque   NumberKind = 0 // not at all: floats, and bytes without a meaning
	Unsigned NumberKind = 1 // bools too
	Signed   NumberKind = 2
)

// NumberCodec is a Codec that compresses numbers better where it knows their size and kind. Its
// Decode needs neither.
type NumberCodec interface {
	Codec
	// EncodeNumbers is Encode of elements of size bytes, little-endian.
	EncodeNumbers(dst, src []byte, size int, kind NumberKind) ([]byte, error)
}

// Channels is the form in which a reader wants an image, whatever the file holds.
type Channels int

// The forms of htypes image (as stored), image.rgb (always 3) and image.gray (always 1), and of
// masks, which have no axis of channels.
const (
	AsStored Channels = 0
	Gray     Channels = 1
	RGB      Channels = 3
	// Labels are the numbers of a file: indices of a palette, gray values as they are.
	Labels Channels = -1
	// Binary is Labels as bools: whether a number differs from 0.
	Binary Channels = -2
	// Upright is added to the first three: the image is turned as its Exif data says. Only a
	// Registry takes it. Codecs and Decoders read files as they are stored.
	Upright Channels = 1 << 8
)

// Split returns the form that a codec takes, and whether the image is to be turned.
func (c Channels) Split() (stored Channels, upright bool) {
	if c < Upright {
		return c, false
	}
	return c &^ Upright, true
}

// Unknown returns the error of a codec that cannot decode its files into this form.
func (c Channels) Unknown(title string) error {
	if c == Labels || c == Binary {
		return errs.New(errs.Type, "a %s file keeps colors, not the numbers of a mask; want a PNG file, or decode it first", title)
	}
	return errs.New(errs.Invalid, "%d channels are wanted, want 0 (as stored), 1 or 3", c)
}

// Header is the head of a file, known before its pixels are decoded.
type Header struct {
	DType tensor.DType
	// Shape is (height, width, channels) as Decode will deliver it, of masks (height, width).
	Shape tensor.Shape
}

// Options are the settings of an encoder; zero values mean the default of the codec.
type Options struct {
	Quality     int    // jpeg: 1 to 100, default 90
	Subsampling string // jpeg: "4:4:4", "4:2:2", "4:2:0" (default)
}

// SampleCodec turns one array into a file of a known kind (a JPEG, a PNG, a WebP) and back. Methods
// may be called in parallel; a Decoder may not.
type SampleCodec interface {
	// Describe returns the facts about the codec that others need. The result is shared: read only.
	Describe() *Descriptor
	// Header checks data as far as the header goes, without allocating for pixels. A file of
	// another kind or one that is damaged is errs.Corrupt; a kind of this file that is not built in
	// (12-bit JPEG) is errs.Unsupported.
	Header(data []byte, want Channels) (Header, error)
	// Encode appends the file for the C-order array pix.
	Encode(dst, pix []byte, d tensor.DType, s tensor.Shape, o Options) ([]byte, error)
	// NewDecoder makes a decoder for one goroutine, which reuses its state from sample to sample.
	NewDecoder() Decoder
}

// Decoder decodes one sample at a time.
type Decoder interface {
	// Decode fills dst with the C-order array that Header(data, want) announces; another length is
	// errs.Invalid, a damaged file errs.Corrupt (a truncated one too: no grey lower half), and then
	// dst is undefined.
	Decode(dst, data []byte, want Channels) error
	Close()
}

// RunDecoder is implemented by Decoders for which several samples in one call cost less than one by
// one. A call into C is expensive thousands of times a second, because Go's scheduler takes the
// thread away each time.
type RunDecoder interface {
	// DecodeRun decodes data[i] into dst[i], in order, as Decode would. It returns how many it has
	// decoded: all, or those before the sample that err is about.
	DecodeRun(dst, data [][]byte, want Channels) (done int, err error)
}

// DamageAcceptor is implemented by Decoders that can make pixels of damaged files too.
type DamageAcceptor interface {
	// AcceptDamage says whether the decoder accepts damage from now on. Pixels that cannot be read
	// are then filled in, with the same values at each decoding. Damage that leaves no pixels, or a
	// wrong header, stays errs.Corrupt. All limits hold.
	AcceptDamage(accept bool)
}

// CutHeaderCodec is implemented by SampleCodecs whose Decoders are DamageAcceptors.
type CutHeaderCodec interface {
	// CutHeader is Header of a file that may have lost its end.
	CutHeader(data []byte, want Channels) (Header, error)
}

// Packer is implemented by Decoders whose work can be divided between the CPU and a device: the CPU
// decodes codes to numbers, and the device computes pixels from them.
type Packer interface {
	// Pack decodes data as far as a device needs it, and returns how many bytes of dst that takes.
	// They are for this process alone. 0 says that Decode must decode data: the device cannot
	// finish it, dst is too small, or data is damaged. The address of dst is a multiple of 8. Only
	// the first rows of the image are needed, 0 for all: damage behind them may go unnoticed.
	Pack(dst, data []byte, want Channels, rows int) (int, error)
	// DeviceDecodes reports whether decoders of devices take data unchanged. They may refuse it all
	// the same, and find less damage.
	DeviceDecodes(data []byte, want Channels) bool
}

// Region is the part of an image that a reader wants.
type Region struct {
	X, Y, Width, Height int // in pixels of the image as Downscale makes it
	// 2, 4 or 8: the image in this fraction of its size, sides rounded up; 0 and 1: unchanged
	Downscale int
	// pixels may differ a little from those of Decode, where that is faster
	Fast bool
}

// Within reports whether the region has pixels and lies within an image of w x h.
func (r Region) Within(w, h int) bool {
	return r.X >= 0 && r.Y >= 0 && r.Width > 0 && r.Height > 0 && r.Width <= w-r.X && r.Height <= h-r.Y
}

// PixelSink is given the pixels of a region.
type PixelSink interface {
	// Deliver is given rows of stride bytes, of which the region fills the beginning; they are
	// valid until it returns.
	Deliver(pix []byte, stride int) error
	// Native is Deliver for decoders in C: the address of an int (void* arg, const unsigned char*
	// pix, size_t size, size_t stride, int32_t width, int32_t height, int32_t channels) and its
	// argument, memory of C; nil: there is only Deliver. The function reads at most size bytes. It
	// returns 0, 1 where there is no memory, or 2 where the pixels are not those of the region.
	Native() (call, arg unsafe.Pointer)
}

// ROI is a region and who gets it.
type ROI struct {
	Region
	To PixelSink
}

// ROIDecoder is implemented by Decoders for which a region costs less than the image.
type ROIDecoder interface {
	// DecodeROIs decodes the region parts[i] of data[i] and hands it over, in order. Without Fast
	// and Downscale these are the pixels that Decode gives. It returns how many were handed over:
	// all, or those before the sample that err is about. A region outside the image is
	// errs.Invalid. Damage is found as far as the region needs the file; a file that was cut is
	// always errs.Corrupt.
	DecodeROIs(data [][]byte, parts []ROI, want Channels) (done int, err error)
	// CanDownscale reports whether a region may ask for Downscale.
	CanDownscale() bool
}
