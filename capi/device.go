package main

/*
#include "go.h"
*/
import "C"

import (
	"deeplake/core/errs"
	"deeplake/core/loader"
	"deeplake/cuda"
)

// device is a device of DLPack; the zero value is the CPU.
type device struct {
	Type int32 `json:"type"`
	ID   int32 `json:"id"`
}

// deviceOptions are the device of a loader, and libraries of nvJPEG that may decode for it.
type deviceOptions struct {
	device
	NVJPEG []string `json:"nvjpeg"`
}

// loaderOptions are the JSON options of a loader.
type loaderOptions struct {
	loader.Options
	Device *deviceOptions `json:"device"` // of the batches; nil: the CPU
}

// parseLoader reads the options of a loader.
func parseLoader(op, text string) (loader.Options, device, error) {
	var o loaderOptions
	if err := parse(op, text, &o); err != nil {
		return loader.Options{}, device{}, err
	}
	if o.Device == nil || o.Device.isCPU() {
		return o.Options, device{}, nil
	}
	if o.Device.Type != C.DL_DEVICE_CUDA {
		return loader.Options{}, device{}, errs.Op(op, "").New(errs.Unsupported, "device %d of type %d is not supported, want the CPU (type %d, device 0) or CUDA (type %d)", o.Device.ID, o.Device.Type, C.DL_DEVICE_CPU, C.DL_DEVICE_CUDA)
	}
	number, wishes := int(o.Device.ID), cuda.Options{Inexact: o.Inexact, NVJPEG: o.Device.NVJPEG}
	o.Options.Stager = func() (loader.Stager, error) { return cuda.NewStager(number, wishes) }
	return o.Options, o.Device.device, nil
}

func (d device) isCPU() bool { return d == device{} || d == device{Type: C.DL_DEVICE_CPU} }

// checkDevice refuses a device other than that of the memory; nil is the CPU.
func checkDevice(op string, want *C.dl_device_in, is device) error {
	var got device
	if want != nil {
		got = device{Type: int32(want._type), ID: int32(want.id)}
	}
	if got == is || got.isCPU() && is.isCPU() {
		return nil
	}
	if got.isCPU() {
		got.Type = C.DL_DEVICE_CPU
	}
	if is.isCPU() {
		is.Type = C.DL_DEVICE_CPU
	}
	return errs.Op(op, "").New(errs.Unsupported, "the batches are on device %d of type %d, and device %d of type %d is wanted; name the device when the loader is opened", is.ID, is.Type, got.ID, got.Type)
}

//export dlgo_devices
func dlgo_devices(out *C.dl_buffer, e *C.dl_error) C.dl_status {
	return call(e, func() error { return fillJSON(out, cuda.Find()) })
}
