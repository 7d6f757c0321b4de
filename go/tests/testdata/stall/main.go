// Command stall stops the world while threads go from Go to C and stay there. It ends at the first
// stop that took long, and prints its time. TestStall builds it with the file of beat.
package main

// #include "threads.h"
import "C"

import (
	"fmt"
	"runtime"
	"time"
)

const (
	turns = 3000
	long  = 100 * time.Millisecond
)

//export touch
func touch() {}

func main() {
	runtime.LockOSThread() // it holds a lock of C between calls
	runtime.GOMAXPROCS(4)
	beat()
	C.start()
	for range turns {
		C.send()
		began := time.Now()
		runtime.GC()
		took := time.Since(began)
		C.fetch()
		if took > long {
			fmt.Println(took)
			return
		}
	}
}
