//go:build cgo && linux

package cuda

import (
	"fmt"

	"deeplake/core/errs"
)

// The results of the driver that are told apart.
const (
	success        = 0
	outOfMemory    = 2
	notInitialized = 3
	noDevice       = 100
	invalidDevice  = 101
)

// failure describes a result of the driver by its name and text.
func (d *driver) failure(code int32) error {
	var name, meaning *byte
	if d.errorName(code, &name) != success || d.errorText(code, &meaning) != success {
		return fmt.Errorf("CUDA error %d", code)
	}
	return fmt.Errorf("%s (%s)", text(meaning), text(name))
}

// remedyOfInit names the way out of a driver that does not start.
func remedyOfInit(code int32) string {
	switch code {
	case noDevice:
		return "this machine shows no CUDA device (CUDA_VISIBLE_DEVICES hides some)"
	case notInitialized:
		return "CUDA does not work in a forked child of a process that has used it; start the process by spawn or forkserver"
	}
	return "`nvidia-smi` shows the state of driver and devices"
}

// version renders a version of CUDA.
func version(n int) string { return fmt.Sprintf("%d.%d", n/1000, n%1000/10) }

// deviceError is the error of a failed call on a device.
func (d *Device) deviceError(op string, code int32) error {
	if code == outOfMemory {
		return errs.New(errs.Device, "%s on device cuda:%d: %w; drop batches that are no longer needed, or use smaller batches or prefetch",
			op, d.number, d.driver.failure(code))
	}
	return errs.New(errs.Device, "%s on device cuda:%d: %w", op, d.number, d.driver.failure(code))
}

// capability renders a compute capability.
func capability(major, minor int32) string { return fmt.Sprintf("%d.%d", major, minor) }
