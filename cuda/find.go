//go:build cgo && linux

package cuda

import "deeplake/core/errs"

// Found describes the driver and the devices of a machine.
type Found struct {
	Driver  string `json:"driver"`  // the library
	Version string `json:"version"` // of CUDA that it supports
	Devices []Info `json:"devices"`
	Missing string `json:"missing"` // why there is no device; "" if there is one
	NVJPEG  string `json:"nvjpeg"`  // the library of the system; "" if there is none
}

// Find looks for a driver and its devices. It opens none.
func Find() Found {
	d, err := openDriver()
	if err != nil {
		return Found{Missing: err.Error()}
	}
	f := Found{Driver: d.path, Version: version(d.version)}
	if files, err := openNVJPEG(nil, d.version/1000); err == nil {
		f.NVJPEG = files.path
	}
	n, err := d.count()
	for i := 0; i < n && err == nil; i++ {
		var info Info
		if _, info, err = d.device(i); err == nil {
			f.Devices = append(f.Devices, info)
		}
	}
	if err != nil {
		f.Missing = err.Error()
	}
	return f
}

func (d *driver) count() (int, error) {
	var n int32
	if code := d.deviceCount(&n); code != success {
		return 0, errs.Op("count CUDA devices", "").New(errs.Unsupported, "%w", d.failure(code))
	}
	if n == 0 {
		return 0, errs.Op("count CUDA devices", "").New(errs.Unsupported, "there is none; %s", remedyOfInit(noDevice))
	}
	return int(n), nil
}

// device returns the handle of a device and describes it.
func (d *driver) device(number int) (int32, Info, error) {
	n, err := d.count()
	if err != nil {
		return 0, Info{}, err
	}
	if number < 0 || number >= n {
		return 0, Info{}, errs.New(errs.Unsupported, "open device cuda:%d: this process sees %d CUDA devices, want 0 to %d", number, n, n-1)
	}
	var handle int32
	info := Info{Number: number}
	fail := func(code int32) (int32, Info, error) {
		return 0, Info{}, errs.New(errs.Device, "describe device cuda:%d: %w", number, d.failure(code))
	}
	if code := d.deviceGet(&handle, int32(number)); code != success {
		return fail(code)
	}
	name := make([]byte, 256)
	if code := d.deviceName(&name[0], int32(len(name)-1), handle); code != success {
		return fail(code)
	}
	info.Name = text(&name[0])
	var memory uintptr
	if code := d.deviceMemory(&memory, handle); code != success {
		return fail(code)
	}
	info.Memory = int64(memory)
	var major, minor, pools int32
	for attribute, value := range map[int32]*int32{computeMajor: &major, computeMinor: &minor, memoryPools: &pools} {
		if code := d.deviceAttribute(value, attribute, handle); code != success {
			return fail(code)
		}
	}
	info.Compute, info.Pools = capability(major, minor), pools != 0
	return handle, info, nil
}
