//go:build !unix

package cache

import "os"

// newLocker returns nil: there are no locks here.
func newLocker(func() (*os.File, error)) locker { return nil }
