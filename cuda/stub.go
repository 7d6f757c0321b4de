//go:build !cgo || !linux

package cuda

import (
	"deeplake/core/errs"
	"deeplake/core/loader"
)

const missing = "this build has no CUDA: it needs Linux and cgo"

// Info describes a device.
type Info struct{}

// Found describes the driver and the devices of a machine.
type Found struct {
	Driver  string `json:"driver"`
	Version string `json:"version"`
	Devices []Info `json:"devices"`
	Missing string `json:"missing"`
	NVJPEG  string `json:"nvjpeg"`
}

// Find says that this build has no CUDA.
func Find() Found { return Found{Missing: missing} }

// Options are those of a Stager.
type Options struct {
	Inexact bool
	NVJPEG  []string
}

// NewStager refuses: this build has no CUDA.
func NewStager(int, Options) (loader.Stager, error) {
	return nil, errs.Op("open device", "").New(errs.Unsupported, "%s", missing)
}
