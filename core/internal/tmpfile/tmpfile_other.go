//go:build !linux

package tmpfile

import (
	"errors"
	"os"
)

func anonymous(*os.Root, string) (*File, error) { return nil, nil }

func (f *File) linkAnonymous(string) error { return errors.ErrUnsupported }
