package main

import "time"

// beatPeriod bounds how long the Go runtime stands still if it loses track of a thread.
//
// To stop the world, Go takes the processors of the threads that are in C. Since 1.26 it misses a
// thread that goes to C at that moment (reentersyscall checks for a stop before the goroutine
// counts as being in C). The processor then stays with the thread until it calls again or the
// runtime's monitor takes it. A thread of Python may be away for long, and the monitor sleeps until
// the next timer, or for a minute if there is none. Meanwhile every call waits.
const beatPeriod = time.Second

// beat keeps a timer pending, for ever.
func beat() { time.AfterFunc(beatPeriod, beat) }
