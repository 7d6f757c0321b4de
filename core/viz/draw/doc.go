// Package draw paints annotations over small pictures in memory: boxes, outlines, masks, points and
// names. It owns the colours of classes, which are those of the page (web/src/draw/colors.ts).
//
// It knows neither datasets nor tensors, and does no I/O. Coordinates may be any numbers: what lies
// outside of a canvas is not drawn, and costs no time.
package draw
