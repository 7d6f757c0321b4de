// Package cuda will own what the library does with an NVIDIA GPU: the driver's symbols, looked up
// at run time so that the library loads on machines without one, page-locked slabs, the copy stream
// with its events, and decoding by nvJPEG. It does not touch datasets: it fulfils
// [deeplake/core/loader.Stager] and nothing else knows it.
//
// Its contract towards the loader:
//
//   - Memory is registered once, when a slab is first seen, and never allocated or pinned while
//     batches flow.
//   - Every copy runs on one stream of its own; the consumer's stream waits on the copy's event,
//     the host never does.
//   - A slab is released when its copy's event is reached, device memory when the consumer drops
//     the last array.
//   - Without a driver, a device, or after a fork, opening it is a clear errs.Unsupported that says
//     which of these it is.
//
// Nothing of it is built yet: the package holds this contract only.
package cuda
