package main

import (
	"io"
	"log"
	"testing"
)

// TestStandardLog: packages that print through package log print nothing into the terminal of the
// host.
func TestStandardLog(t *testing.T) {
	if log.Writer() != io.Discard {
		t.Error("package log writes somewhere")
	}
}
