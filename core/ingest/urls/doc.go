// Package urls owns fetching the objects that a column of URLs names: in parallel, in bounded
// memory, and handed over in the order of the URLs. A Fetcher takes batches of URLs; each URL gives
// bytes, or a short reason that names the cause. It decodes nothing, and knows neither datasets nor
// tables.
//
// The URLs are hostile text. Each redirection included, only public addresses are dialled
// (core/internal/request). Nothing of the user's settings is sent except User-Agent and Accept. The
// head of an answer, its body, the memory and the time of an object are bounded.
//
// A pool of workers takes the URLs in order (queue.go). A URL whose host is busy waits for the host
// and holds up no other. A request that is silent for long does not count as one of the workers
// (watch.go). Bytes of later batches count against a budget (memory.go). The batch that the caller
// waits for is exempt, so that it always completes. Where memory is scarce, objects of others wait
// in files (spill.go).
package urls
