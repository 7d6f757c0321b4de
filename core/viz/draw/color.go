package draw

import (
	"image/color"
	"math"
)

// The constants of web/src/draw/colors.ts, which says why. Tests on both sides hold the same
// values.
const (
	colorCount  = 4096
	noClass     = 65535
	goldenAngle = 137.50776405
	firstHue    = 25
	roundLength = 21
	roundStep   = 0.03
	rounds      = 3
)

// tone is the lightness and the chroma of OKLCH.
type tone struct{ lightness, chroma float64 }

func tones(dark bool) [3]tone {
	if dark {
		return [3]tone{{0.74, 0.17}, {0.86, 0.12}, {0.64, 0.2}}
	}
	return [3]tone{{0.58, 0.19}, {0.46, 0.16}, {0.68, 0.15}}
}

// Class returns the colour of a class or instance, for dark or light ground. Any number has one.
func Class(value float64, dark bool) color.RGBA {
	at := int(fold(place(value), colorCount))
	t := tones(dark)[at%3]
	shift := roundStep * float64(at/roundLength%rounds)
	if !dark {
		shift = -shift
	}
	return oklch(t.lightness+shift, t.chroma, math.Mod(firstHue+float64(at)*goldenAngle, 360))
}

// place returns the place of a class in the palettes of the page.
func place(value float64) float64 {
	if value < noClass {
		return fold(value, noClass)
	}
	return fold(value, noClass-1) + 1
}

// fold returns a whole number below size for any number.
func fold(value, size float64) float64 {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0
	}
	whole := math.Mod(math.Floor(value), size)
	if whole < 0 {
		whole += size
	}
	return whole
}

// Contrast returns black or white, whichever is easier to read on a colour.
func Contrast(c color.RGBA) color.RGBA {
	luminance := 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	if luminance > 0.179 {
		return color.RGBA{A: 255}
	}
	return color.RGBA{255, 255, 255, 255}
}

// oklch converts OKLCH to sRGB. Chroma that sRGB cannot show is reduced until it can.
func oklch(lightness, chroma, hue float64) color.RGBA {
	sin, cos := math.Sincos(hue * math.Pi / 180)
	for c := chroma; c > 0.004; c *= 0.95 {
		rgb := oklab(lightness, c*cos, c*sin)
		if min(rgb[0], rgb[1], rgb[2]) >= -1e-4 && max(rgb[0], rgb[1], rgb[2]) <= 1.0001 {
			return encoded(rgb)
		}
	}
	return encoded(oklab(lightness, 0, 0))
}

// oklab converts OKLab to linear sRGB.
func oklab(lightness, a, b float64) [3]float64 {
	cube := func(v float64) float64 { return v * v * v }
	l := cube(lightness + 0.3963377774*a + 0.2158037573*b)
	m := cube(lightness - 0.1055613458*a - 0.0638541728*b)
	s := cube(lightness - 0.0894841775*a - 1.291485548*b)
	return [3]float64{
		4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.707614701*s,
	}
}

func encoded(rgb [3]float64) color.RGBA {
	one := func(v float64) uint8 {
		v = min(max(v, 0), 1)
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		return uint8(math.Floor(255*v + 0.5))
	}
	return color.RGBA{one(rgb[0]), one(rgb[1]), one(rgb[2]), 255}
}

func linear(v uint8) float64 {
	x := float64(v) / 255
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}
