package tests

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// testsAtOnce is the number of tests that run at once, unless -parallel names another. Most tests
// of this package wait for a server or for a child: with one for each core, cores are idle.
const testsAtOnce = 5

// TestMain sets the number of tests that run at once.
func TestMain(m *testing.M) {
	flag.Parse()
	named := false
	flag.Visit(func(f *flag.Flag) { named = named || f.Name == "test.parallel" })
	if !named {
		if err := flag.Set("test.parallel", fmt.Sprint(max(testsAtOnce, runtime.GOMAXPROCS(0)))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	os.Exit(m.Run())
}
