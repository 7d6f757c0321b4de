// Package cuda brings batches to NVIDIA GPUs. It owns the driver's functions, looked up at run
// time, page-locked and device memory, the copy stream and its events. It fulfils
// [deeplake/core/loader.Stager]. It knows neither datasets nor Python.
//
//   - driver.go finds the driver; find.go lists devices and names missing parts;
//   - device.go opens a device, device.c is its part in C; memory.c has the allocators of rings,
//     which deleters call on any thread; stage.c queues the work of a batch;
//   - stager.go copies batches; plan.go and kernels.go plan the kernels that finish images, which
//     lie in kernels/;
//   - nvjpeg.go and nvjpeg.c let nvJPEG decode files; balance.go divides images between it, the
//     kernels and the CPU;
//   - gorgonia.go gives batches to gorgonia.org/cu, with a build tag;
//   - errors.go turns results of the driver into errors.
//
// The contract towards the loader:
//
//   - Memory is page-locked or allocated when a ring of slabs maps it, and never between the
//     batches of a ring that has its size.
//   - Copies and kernels run on one stream of the device's own; nvJPEG decodes on others. The
//     consumer's stream waits for the copy's event, and the consumer never waits. The loader waits
//     for copies where Reclaim is told to, at the end and after failures.
//   - A slab of the host is written again after the event of its copy. Memory of the device is
//     written again after all streams that acquired it have passed the point at which the last
//     array was dropped.
//   - Without a driver or a device, and in a forked child, opening a device is errs.Unsupported. A
//     failing device is errs.Device.
//
// The package works in the primary context of a device, which torch and JAX use too.
package cuda
