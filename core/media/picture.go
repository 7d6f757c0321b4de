package media

// Site is where samples of color lie between those of brightness, by the numbers of FFmpeg: those
// of ITU-T H.273 plus one. Zero: not stated.
type Site uint8

// The sites.
const (
	SiteUnknown Site = iota
	SiteLeft
	SiteCenter
	SiteTopLeft
	SiteTop
	SiteBottomLeft
	SiteBottom
)

// PixelFormat is how pixels lie in planes, by FFmpeg's name.
type PixelFormat string

// Layout describes the planes of a PixelFormat.
type Layout struct {
	Model  Model
	Planes int
	ShiftX uint8 // a plane of color has 1 << ShiftX times fewer columns,
	ShiftY uint8 // and 1 << ShiftY times fewer rows
	Bits   uint8 // of a number; more than 8 take two bytes, the low one first
	Full   bool  // numbers use all values whatever else is said
}

// Model is the meaning of the numbers of a pixel, and their planes.
type Model uint8

// The models.
const (
	YUV  Model = iota // brightness, Cb and Cr in three planes
	NV12              // brightness, and pairs of Cb and Cr
	Gray              // brightness
	GBR               // green, blue and red in three planes
	RGB               // red, green and blue in one plane
)

// Layout returns what f stands for; false where this package does not know it.
func (f PixelFormat) Layout() (Layout, bool) {
	l, ok := layouts[f]
	return l, ok
}

var layouts = map[PixelFormat]Layout{
	"gray":        {Gray, 1, 0, 0, 8, true}, // of the full range, as swscale reads it
	"gray10le":    {Gray, 1, 0, 0, 10, true},
	"gray12le":    {Gray, 1, 0, 0, 12, true},
	"yuv420p":     {YUV, 3, 1, 1, 8, false},
	"yuv422p":     {YUV, 3, 1, 0, 8, false},
	"yuv440p":     {YUV, 3, 0, 1, 8, false},
	"yuv444p":     {YUV, 3, 0, 0, 8, false},
	"yuvj420p":    {YUV, 3, 1, 1, 8, true},
	"yuvj422p":    {YUV, 3, 1, 0, 8, true},
	"yuvj440p":    {YUV, 3, 0, 1, 8, true},
	"yuvj444p":    {YUV, 3, 0, 0, 8, true},
	"yuv420p10le": {YUV, 3, 1, 1, 10, false},
	"yuv422p10le": {YUV, 3, 1, 0, 10, false},
	"yuv444p10le": {YUV, 3, 0, 0, 10, false},
	"yuv420p12le": {YUV, 3, 1, 1, 12, false},
	"yuv422p12le": {YUV, 3, 1, 0, 12, false},
	"yuv444p12le": {YUV, 3, 0, 0, 12, false},
	"nv12":        {NV12, 2, 1, 1, 8, false},
	"gbrp":        {GBR, 3, 0, 0, 8, true},
	"gbrp10le":    {GBR, 3, 0, 0, 10, true},
	"gbrp12le":    {GBR, 3, 0, 0, 12, true},
	"rgb24":       {RGB, 1, 0, 0, 8, true},
}

// Plane returns the bytes of a row of a plane and the number of its rows, for a picture of width x
// height pixels.
func (l Layout) Plane(plane, width, height int) (rowBytes, rows int) {
	samples := width
	rows = height
	if plane > 0 && (l.Model == YUV || l.Model == NV12) {
		samples = (width + 1<<l.ShiftX - 1) >> l.ShiftX
		rows = (height + 1<<l.ShiftY - 1) >> l.ShiftY
		if l.Model == NV12 {
			samples *= 2
		}
	}
	if l.Model == RGB {
		samples *= 3
	}
	if l.Bits > 8 {
		samples *= 2
	}
	return samples, rows
}

// Picture is a decoded picture in memory.
type Picture struct {
	Width, Height int
	Format        PixelFormat
	Planes        [4][]byte
	Strides       [4]int // bytes from row to row
	Color         Color
	Site          Site
}
