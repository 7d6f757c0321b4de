//go:build cgo && !nolibjpeg

package jpeg

const pureGo = false
