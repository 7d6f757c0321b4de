package stream

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	rings.Off() // tests look at the figures of rings
	os.Exit(m.Run())
}
